/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_vector_overlap.c - a vector whose second buffer begins inside of the first */
#include "tests/errors/pair.h"

int main(void)
{
	struct iovec vector[2];
	void *descs[2];
	struct pair p;

	pair_open(&p, NULL);
	vector[0] = (struct iovec){ p.target.memory, 64 };
	vector[1] = (struct iovec){ p.target.memory + 32, 64 };
	descs[0] = descs[1] = p.target.desc;
	MUST(fi_recvv(p.target.ep, vector, descs, 2, FI_ADDR_UNSPEC, NULL));
	MUST(fi_send(p.initiator.ep, p.initiator.memory, 128, p.initiator.desc, p.initiator.peer, NULL));
	pair_wait(&p.initiator);
	pair_wait(&p.target);
	return pair_close(&p);
}
