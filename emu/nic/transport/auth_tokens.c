/* SPDX-License-Identifier: BSD-2-Clause */
/* auth_tokens.c - a token for each key that this process has, made when the first is needed. */
#include "emu/nic/transport/conn.h"

#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/nic_impl.h"
#include "emu/nic/device/secret_memory.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/role/driver.h"
#include "wire/secret.h"

struct auth_tokens {
	uint8_t salt[WIRE_PROOF_LEN];
	bool dialled;
	uint64_t auth, token; /* shown last */
	uint32_t count, room;
	uint64_t *theirs; /* by number, the token that the peer shows for each key */
};

static_assert(sizeof(struct auth_tokens) <= SECRET_MEMORY_CELL, "one piece");

/* Where requests name receive contexts in their place: shown as they are, and no authorization. Never written to. */
static struct auth_tokens plain;

void auth_tokens_name(struct conn *conn)
{
	nic_role(conn->nic);
	auth_tokens_close(conn->tokens, &conn->nic->secret_memory);
	conn->tokens = &plain;
}

struct auth_tokens *auth_tokens_open(struct secret_memory *memory, const struct wire_secret *secret, const void *frames,
				     size_t length, bool dialled)
{
	struct auth_tokens *tokens = secret_memory_take(memory);

	role_assert();
	if (!tokens)
		return NULL;
	secret_salt(secret, frames, length, tokens->salt);
	tokens->dialled = dialled;
	return tokens;
}

void auth_tokens_close(struct auth_tokens *tokens, struct secret_memory *memory)
{
	role_assert();
	if (!tokens || tokens == &plain)
		return;
	free(tokens->theirs);
	secret_memory_give(memory, tokens);
}

uint64_t auth_token(struct auth_tokens *tokens, uint64_t auth)
{
	role_assert();
	if (tokens == &plain)
		return auth;
	if (tokens->auth != auth) {
		tokens->token = secret_token(tokens->salt, tokens->dialled ? SECRET_DIALLER : SECRET_ACCEPTER, auth);
		tokens->auth = auth;
	}
	return tokens->token;
}

/* Makes the missing tokens, one for each key. Without memory some stay missing, and their keys are strange. */
static void auth_tokens_fill(struct auth_tokens *tokens)
{
	uint32_t count = auth_count();

	if (count > tokens->room) {
		uint64_t *more = realloc(tokens->theirs, 2 * (size_t)count * sizeof(*more));

		if (!more)
			return;
		tokens->theirs = more;
		tokens->room = 2 * count;
	}
	for (; tokens->count < count; tokens->count++)
		tokens->theirs[tokens->count] = secret_token(tokens->salt, tokens->dialled ? SECRET_ACCEPTER : SECRET_DIALLER,
							     auth_at(tokens->count));
}

/* Compares with all tokens, whichever matches: the time tells nothing. */
__attribute__((noinline)) uint64_t auth_of_token(struct auth_tokens *tokens, uint64_t shown)
{
	uint64_t auth = AUTH_STRANGE;

	role_assert();
	if (tokens == &plain)
		return 0;
	auth_tokens_fill(tokens);
	for (uint32_t i = 0; i < tokens->count; i++) {
		uint64_t same = -(uint64_t)(tokens->theirs[i] == shown);

		auth = (auth & ~same) | (auth_at(i) & same);
	}
	return auth;
}

void auth_get_target(struct conn *conn, const struct wire_target *target, struct wire_target_fields *fields)
{
	role_assert();
	wire_get_target(target, fields);
	fields->auth = auth_taken(conn, fields->auth);
}
