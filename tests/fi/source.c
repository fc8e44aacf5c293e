/* SPDX-License-Identifier: BSD-2-Clause */
/* source.c - how a program learns the sender, and receives from one sender alone: FI_SOURCE, FI_SOURCE_ERR, FI_DIRECTED_RECV. */
#include "tests/fi/world.h"

#include <rdma/fi_tagged.h>
#include <string.h>
#include <sys/socket.h>

static char from[256], into[256];

/* Two endpoints of one process, each with its own vector. Only `a` knows `b`. */
struct two {
	struct world a, b;
	fi_addr_t b_in_a;
	struct sockaddr_storage a_name;
	size_t a_length;
};

static void open_two(struct two *two, uint64_t caps)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);

	world_open(&two->a, &(struct want){ .caps = FI_MSG | FI_TAGGED | FI_RMA });
	world_open(&two->b, &(struct want){ .caps = FI_MSG | FI_TAGGED | FI_RMA | caps });
	RC(0, fi_getname(&two->b.ep->fid, &name, &length));
	RC(1, fi_av_insert(two->a.av, &name, 1, &two->b_in_a, 0, NULL));
	two->a_length = sizeof(two->a_name);
	RC(0, fi_getname(&two->a.ep->fid, &two->a_name, &two->a_length));
}

static void close_two(struct two *two)
{
	world_close(&two->a);
	world_close(&two->b);
}

static ssize_t next_from(struct world *w, struct fi_cq_tagged_entry *entry, fi_addr_t *source)
{
	ssize_t got;

	while ((got = fi_cq_readfrom(w->cq, entry, 1, source)) == -FI_EAGAIN)
		;
	return got;
}

/* Every way in which something comes from `a`. */
enum way { MESSAGE, TAGGED, RENDEZVOUS, PEEKED, WRITTEN, WAYS };

static void come(struct two *two, enum way way, struct fid_mr *mr)
{
	static char large[100000];
	struct fi_msg_tagged peek = { .addr = FI_ADDR_UNSPEC, .tag = 9, .context = two };
	struct fi_cq_tagged_entry entry;

	switch (way) {
	case MESSAGE:
		RC(0, fi_recv(two->b.ep, into, 64, NULL, FI_ADDR_UNSPEC, two));
		RC(0, fi_senddata(two->a.ep, from, 64, NULL, 77, two->b_in_a, NULL));
		break;
	case TAGGED:
		RC(0, fi_trecv(two->b.ep, into, 64, NULL, FI_ADDR_UNSPEC, 5, 0, two));
		RC(0, fi_tsend(two->a.ep, from, 64, NULL, two->b_in_a, 5, NULL));
		break;
	case RENDEZVOUS:
		RC(0, fi_trecv(two->b.ep, large, sizeof(large), NULL, FI_ADDR_UNSPEC, 5, 0, two));
		RC(0, fi_tsend(two->a.ep, large, sizeof(large), NULL, two->b_in_a, 5, NULL));
		break;
	case PEEKED:
		RC(0, fi_tsend(two->a.ep, from, 64, NULL, two->b_in_a, 9, two));
		do
			RC(1, world_next(&two->a, &entry));
		while (entry.op_context != two); /* now it has arrived */
		RC(0, fi_trecvmsg(two->b.ep, &peek, FI_PEEK | FI_DISCARD));
		break;
	default:
		RC(0, fi_writedata(two->a.ep, from, 64, NULL, 77, two->b_in_a, 0, fi_mr_key(mr), NULL));
	}
}

Test(fi_source, strangers_are_errors_that_name_them)
{
	struct two two;
	struct fid_mr *mr;

	open_two(&two, FI_SOURCE | FI_SOURCE_ERR);
	RC(0, fi_mr_reg(two.b.domain, into, 64, FI_REMOTE_WRITE, 0, 3, 0, &mr, NULL));
	for (enum way way = MESSAGE; way < WAYS; way++) {
		struct sockaddr_storage named = { 0 };
		struct fi_cq_err_entry error = { .err_data = &named, .err_data_size = sizeof(named) };
		struct fi_cq_tagged_entry entry;
		fi_addr_t source = 0;

		memset(from, 'a' + (int)way, sizeof(from));
		come(&two, way, mr);
		RC(-FI_EAVAIL, next_from(&two.b, &entry, &source));
		RC(1, fi_cq_readerr(two.b.cq, &error, 0));
		cr_expect(error.err == FI_EADDRNOTAVAIL && error.olen == 0, "way %d: err %d", way, error.err);
		cr_expect(error.op_context == (way == WRITTEN ? NULL : &two));
		cr_expect(error.len == (way == RENDEZVOUS ? 100000 : 64));
		cr_expect(way == WRITTEN || error.flags & FI_RECV);
		cr_expect(error.tag == (way == TAGGED || way == RENDEZVOUS ? 5 : way == PEEKED ? 9 : 0));
		cr_expect(error.data == (way == MESSAGE || way == WRITTEN ? 77 : 0));
		cr_expect(error.err_data_size == two.a_length && !memcmp(&named, &two.a_name, two.a_length));
		cr_expect(strstr(fi_cq_strerror(two.b.cq, error.prov_errno, error.err_data, NULL, 0), "address vector"));
		cr_expect(way == RENDEZVOUS || way == PEEKED || !memcmp(into, from, 64), "received all the same");
	}
	cr_expect(fi_cntr_readerr(two.b.cntr) == 0 && fi_cntr_read(two.b.cntr) == 3, "nothing failed");
	RC(0, fi_close(&mr->fid));
	close_two(&two);
}

/* The address goes straight into the vector; from then on all is well. */
Test(fi_source, strangers_become_known)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	fi_addr_t inserted, source;
	struct two two;
	char cut[4];

	open_two(&two, FI_SOURCE | FI_SOURCE_ERR);
	come(&two, MESSAGE, NULL);
	RC(-FI_EAVAIL, next_from(&two.b, &entry, &source));
	RC(1, fi_cq_readerr(two.b.cq, &error, 0)); /* the provider's own memory */
	RC(1, fi_av_insert(two.b.av, error.err_data, 1, &inserted, 0, NULL));
	come(&two, TAGGED, NULL);
	RC(1, next_from(&two.b, &entry, &source));
	cr_expect(source == inserted && entry.op_context == &two);
	RC(0, fi_av_remove(two.b.av, &inserted, 1, 0));
	come(&two, TAGGED, NULL);
	RC(-FI_EAVAIL, next_from(&two.b, &entry, &source));
	error = (struct fi_cq_err_entry){ .err_data = cut, .err_data_size = sizeof(cut) };
	RC(1, fi_cq_readerr(two.b.cq, &error, 0));
	cr_expect(error.err_data_size == sizeof(cut) && !memcmp(cut, &two.a_name, sizeof(cut)));
	close_two(&two);
}

/* A message that does not fit is that error, from any sender. */
Test(fi_source, truncation_comes_first)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct two two;

	open_two(&two, FI_SOURCE | FI_SOURCE_ERR);
	RC(0, fi_recv(two.b.ep, into, 10, NULL, FI_ADDR_UNSPEC, &two));
	RC(0, fi_send(two.a.ep, from, 64, NULL, two.b_in_a, NULL));
	RC(-FI_EAVAIL, world_next(&two.b, &entry));
	RC(1, fi_cq_readerr(two.b.cq, &error, 0));
	cr_expect(error.err == FI_ETRUNC && error.olen == 54);
	close_two(&two);
}

/* FI_SOURCE alone: not known is FI_ADDR_NOTAVAIL. Neither: nobody is named. */
Test(fi_source, strangers_without_the_error)
{
	static const uint64_t caps[] = { 0, FI_SOURCE };

	for (int i = 0; i < 4; i++) {
		struct fi_cq_tagged_entry entry;
		fi_addr_t inserted = FI_ADDR_NOTAVAIL, source = 0;
		struct two two;

		open_two(&two, caps[i / 2]);
		if (i & 1)
			RC(1, fi_av_insert(two.b.av, &two.a_name, 1, &inserted, 0, NULL));
		come(&two, i & 1 ? MESSAGE : TAGGED, NULL);
		RC(1, next_from(&two.b, &entry, &source));
		cr_expect(source == (i == 3 ? inserted : FI_ADDR_NOTAVAIL), "case %d", i);
		close_two(&two);
	}
}

/* A receive for another one is not taken, posted first though it was. */
Test(fi_source, receives_for_one_source)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t a_in_b;
	struct two two;
	int first, second;

	open_two(&two, FI_DIRECTED_RECV | FI_SOURCE);
	RC(1, fi_av_insert(two.b.av, &two.a_name, 1, &a_in_b, 0, NULL));
	RC(0, fi_recv(two.b.ep, into, 64, NULL, two.b.self, &first));
	RC(0, fi_trecv(two.b.ep, into, 64, NULL, two.b.self, 1, UINT64_MAX, &first));
	RC(0, fi_recv(two.b.ep, into, 64, NULL, a_in_b, &second));
	RC(0, fi_trecv(two.b.ep, into, 64, NULL, a_in_b, 1, 0, &second));
	RC(0, fi_send(two.a.ep, from, 64, NULL, two.b_in_a, NULL));
	RC(0, fi_tsend(two.a.ep, from, 64, NULL, two.b_in_a, 1, NULL));
	for (int i = 0; i < 2; i++) {
		RC(1, world_next(&two.b, &entry));
		cr_expect(entry.op_context == &second);
	}
	RC(0, fi_inject(two.b.ep, from, 64, two.b.self));
	RC(0, fi_tinject(two.b.ep, from, 64, two.b.self, 8));
	for (int i = 0; i < 2; i++) {
		RC(1, world_next(&two.b, &entry));
		cr_expect(entry.op_context == &first);
	}
	RC(-FI_EINVAL, fi_recv(two.b.ep, into, 64, NULL, 4711, &first)); /* nobody by that address */
	close_two(&two);
}

/* Granted only to a program that asks, also where the info asks for nothing. */
Test(fi_source, errors_come_to_who_asks)
{
	struct want want = { .caps = 0 };
	struct fi_info *info;

	world_need_emu();
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_expect(info->caps & FI_SOURCE && !(info->caps & FI_SOURCE_ERR));
	fi_freeinfo(info);
}
