/* SPDX-License-Identifier: BSD-2-Clause */
/* guess.c - counts wrong keys, and holds connections that name them. */
#include "emu/nic/transport/greeting.h"

#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"

/* Bytes received before are still processed: less than SLICE_RECV_MORE. */
static void guess_pause_conn(struct conn *conn)
{
	struct nic *nic = conn->nic;
	char name[64];

	conn->throttled = true;
	nic->link.set_readable(conn->line, false);
	nic->guesses.throttling = true;
	nic_arm_timer(nic, nic->guesses.until_ns);
	if (log_limit_ok(nic, LOG_LIMIT_CONNECTION))
		nic_log(nic, NIC_LOG_WARN, "%s guesses keys: more than %d wrong ones a second, so it has to wait",
			conn_name(conn, name, sizeof(name)), LIMIT_GUESSES);
}

void guess_made(struct conn *conn)
{
	struct guesses *guesses = &conn->nic->guesses;

	nic_role(conn->nic);
	if (nic_now(conn->nic) >= guesses->until_ns) {
		guesses->until_ns = nic_now(conn->nic) + TIME_GUESSES_NS;
		guesses->left = LIMIT_GUESSES;
	}
	if (guesses->left)
		guesses->left--;
	else if (!conn->throttled)
		guess_pause_conn(conn);
	else
		conn->nic->link.set_readable(conn->line, false); /* it may not have taken that while it joined (link.h) */
}

uint64_t guess_tick(struct nic *nic)
{
	nic_role(nic);
	if (!nic->guesses.throttling)
		return UINT64_MAX;
	if (nic_now(nic) < nic->guesses.until_ns)
		return nic->guesses.until_ns;
	for (struct conn *conn = nic->conns; conn; conn = conn->next) {
		if (conn->throttled)
			nic->link.set_readable(conn->line, true);
		conn->throttled = false;
	}
	nic->guesses.throttling = false;
	return UINT64_MAX;
}
