/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_completions_unread.c - a program that takes a sign of life for a success */
#include "tests/errors/pair.h"

int main(void)
{
	struct fid_poll *poll;
	struct pair p;
	void *queue;

	pair_open(&p, NULL);
	MUST(fi_poll_open(p.domain, &(struct fi_poll_attr){ 0 }, &poll));
	MUST(fi_poll_add(poll, &p.initiator.cq->fid, 0));
	MUST(fi_write(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, p.addr, p.key, NULL));
	while (!MUST(fi_poll(poll, &queue, 1)))
		;
	MUST(fi_poll_del(poll, &p.initiator.cq->fid, 0));
	MUST(fi_close(&poll->fid));
	return pair_close(&p);
}
