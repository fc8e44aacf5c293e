/* SPDX-License-Identifier: BSD-2-Clause */
/* guess.c - counts wrong keys, and holds who names them. */
#include "emu/nic/guess.h"

#include "emu/nic/conn.h"
#include "emu/nic/nic_impl.h"

/* What was received before is still judged: less than SLICE_RECV_MORE. */
static void hold(struct conn *conn)
{
	struct nic *nic = conn->nic;
	char name[64];

	conn->held = true;
	nic->link.hear(conn->line, false);
	nic->guesses.holding = true;
	nic_due(nic, nic->guesses.until_ns);
	if (told_one(nic, TOLD_CONNECTION))
		nic_log(nic, NIC_LOG_WARN, "%s guesses keys: more than %d wrong ones a second, so it has to wait",
			conn_name(conn, name, sizeof(name)), LIMIT_GUESSES);
}

void guess_made(struct conn *conn)
{
	struct guesses *guesses = &conn->nic->guesses;

	if (nic_now(conn->nic) >= guesses->until_ns) {
		guesses->until_ns = nic_now(conn->nic) + TIME_GUESSES_NS;
		guesses->left = LIMIT_GUESSES;
	}
	if (guesses->left)
		guesses->left--;
	else if (!conn->held)
		hold(conn);
}

uint64_t guess_tick(struct nic *nic)
{
	if (!nic->guesses.holding)
		return UINT64_MAX;
	if (nic_now(nic) < nic->guesses.until_ns)
		return nic->guesses.until_ns;
	for (struct conn *conn = nic->conns; conn; conn = conn->next) {
		if (conn->held)
			nic->link.hear(conn->line, true);
		conn->held = false;
	}
	nic->guesses.holding = false;
	return UINT64_MAX;
}
