/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_context_in_use.c - one struct fi_context for two receives */
#include "tests/errors/pair.h"

int main(void)
{
	struct fi_context context;
	struct pair p;

	pair_open(&p, &(struct pair_want){ .mode = FI_CONTEXT });
	MUST(fi_recv(p.target.ep, p.target.memory, 8, p.target.desc, FI_ADDR_UNSPEC, &context));
	MUST(fi_recv(p.target.ep, p.target.memory + 8, 8, p.target.desc, FI_ADDR_UNSPEC, &context));
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, NULL));
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, NULL));
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	return pair_close(&p);
}
