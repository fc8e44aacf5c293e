/* SPDX-License-Identifier: BSD-2-Clause */
/* conn_state.c - the table of a connection's states. */
#include "emu/nic/transport/conn.h"

#include <assert.h>

#include "emu/nic/device/nic_impl.h"

/* The states from which each state may be entered. */
static const uint8_t from_states[CONN_STATES] = {
	[CONN_GREETING] = 1 << CONN_DIALING,
	[CONN_OPEN] = 1 << CONN_GREETING,
	[CONN_CLOSED] = 1 << CONN_DIALING | 1 << CONN_GREETING | 1 << CONN_OPEN,
};

static const char *const names[CONN_STATES] = {
	[CONN_DIALING] = "dialling",
	[CONN_GREETING] = "greeting",
	[CONN_OPEN] = "open",
	[CONN_CLOSED] = "closed",
};

static __attribute__((cold, noinline)) void conn_state_log(const struct conn *conn, enum conn_state from)
{
	char name[64];

	nic_log(conn->nic, NIC_LOG_DEBUG, "connection with %s: from %s to %s", conn_name(conn, name, sizeof(name)), names[from],
		names[conn->state]);
}

void conn_enter(struct conn *conn, enum conn_state state)
{
	enum conn_state from = conn->state;

	nic_role(conn->nic);
	assert(from_states[state] & 1 << from);
	conn->state = state;
	if (conn->dialled && from != CONN_OPEN && state != CONN_GREETING)
		conn->nic->dials--;
	if (conn->nic->config.debug)
		conn_state_log(conn, from);
}
