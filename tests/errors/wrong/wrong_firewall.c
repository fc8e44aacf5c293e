/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_firewall.c - a message to a peer behind a firewall that has not connected yet */
#include "tests/errors/pair.h"

#define FIREWALL_ADDR (1ull << 42) /* FI_FIREWALL_ADDR of libfabric 2.2 */

int main(void)
{
	char name[64];
	size_t length = sizeof(name);
	struct pair p;

	pair_open(&p, NULL);
	MUST(fi_getname(&p.target.ep->fid, name, &length));
	MUST(fi_av_insert(p.initiator.av, name, 1, &p.initiator.peer, FIREWALL_ADDR, NULL));
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, NULL));
	pair_wait(&p.initiator);
	return pair_close(&p);
}
