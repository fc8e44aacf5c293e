/* SPDX-License-Identifier: BSD-2-Clause */
/* auth_tokens.h - how authorization keys are shown on a connection that has proved a shared secret (WIRE-106): by tokens that
 * are good for this connection and direction alone, and tell no reader anything of the key.
 * Owner: the connection. Thread: holder of the driver role. */
#ifndef EMU_NIC_AUTH_TOKENS_H
#define EMU_NIC_AUTH_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/conn.h"

struct auth_tokens;
struct secret_memory;
struct wire_secret;
struct wire_target;
struct wire_target_fields;

/* Makes them from a greeting that is through. NULL without memory. */
MUST_USE struct auth_tokens *auth_tokens_open(struct secret_memory *memory, const struct wire_secret *secret, const void *frames,
					      size_t length, bool dialled);
/* NULL: there are none. */
void auth_tokens_close(struct auth_tokens *tokens, struct secret_memory *memory);

/* The token for auth.h's `auth`, not 0; there are some. */
uint64_t auth_token(struct auth_tokens *tokens, uint64_t auth);

/* The number that a frame carries for auth.h's `auth`: `auth` itself if there is no secret. */
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
/* A target as frames carry it, with its authorization turned into auth.h's `auth`. */
void auth_get_target(struct conn *conn, const struct wire_target *target, struct wire_target_fields *fields);

#endif
