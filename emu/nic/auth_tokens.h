/* SPDX-License-Identifier: BSD-2-Clause */
/* auth_tokens.h - how authorization keys are shown on a connection that has proved a shared secret (WIRE-106): by tokens that
 * are good for this connection and direction alone, and tell nobody anything of the key.
 * Owner: the connection. Thread: holder of the driver role. */
#ifndef EMU_NIC_AUTH_TOKENS_H
#define EMU_NIC_AUTH_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/conn.h"
#include "emu/nic/likely.h"

struct auth_tokens;
struct hidden;
struct wire_secret;
struct wire_target;
struct wire_target_fields;

/* Of a greeting that is through. NULL without memory. */
struct auth_tokens *auth_tokens_open(struct hidden *hidden, const struct wire_secret *secret, const void *frames, size_t length,
				     bool dialled);
/* NULL: there are none. */
void auth_tokens_close(struct auth_tokens *tokens, struct hidden *hidden);

/* The token for auth.h's `auth`, not 0; there are some. */
uint64_t auth_token(struct auth_tokens *tokens, uint64_t auth);

/* What goes into a frame for auth.h's `auth`: that itself where there is no secret. */
static inline uint64_t auth_shown(const struct conn *conn, uint64_t auth)
{
	return unlikely(auth && conn->tokens) ? auth_token(conn->tokens, auth) : auth;
}

/* And back: AUTH_STRANGE if it stands for no key that this process has. */
uint64_t auth_of_token(struct auth_tokens *tokens, uint64_t shown);
static inline uint64_t auth_taken(const struct conn *conn, uint64_t shown)
{
	return shown && conn->tokens ? auth_of_token(conn->tokens, shown) : shown;
}
/* A target as frames carry it, with what its authorization stands for here. */
void auth_get_target(struct conn *conn, const struct wire_target *target, struct wire_target_fields *fields);

#endif
