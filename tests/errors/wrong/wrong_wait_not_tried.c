/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_wait_not_tried.c - a program that sleeps on its queue's descriptor as on a socket's */
#include <poll.h>

#include "tests/errors/pair.h"

int main(void)
{
	struct pollfd wake = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	struct fid_poll *set;
	struct pair p;
	void *queue;

	pair_open(&p, &(struct pair_want){ .wait = FI_WAIT_FD });
	MUST(fi_poll_open(p.domain, &(struct fi_poll_attr){ 0 }, &set));
	MUST(fi_poll_add(set, &p.initiator.cq->fid, 0));
	MUST(fi_control(&p.initiator.cq->fid, FI_GETWAIT, &wake.fd));
	for (int i = 0; i < 4; i++) { /* the first write connects, which wakes */
		MUST(fi_write(p.initiator.ep, p.initiator.memory, 8, p.initiator.desc, p.initiator.peer, p.addr, p.key, NULL));
		while (!MUST(fi_poll(set, &queue, 1)))
			;
		MUST(poll(&wake, 1, -1));
		MUST(fi_cq_read(p.initiator.cq, &entry, 1));
	}
	MUST(fi_poll_del(set, &p.initiator.cq->fid, 0));
	MUST(fi_close(&set->fid));
	return pair_close(&p);
}
