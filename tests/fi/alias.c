/* SPDX-License-Identifier: BSD-2-Clause */
/* alias.c - fi_ep_alias() of fi_endpoint(3): other default flags over the same endpoint. */
#include "tests/fi/world.h"

#include <string.h>
#include <sys/socket.h>

static char out[64], in[64];

static void open_selective(struct world *w)
{
	world_open(w, &(struct want){ .bind = FI_SELECTIVE_COMPLETION });
	memset(in, 0, sizeof(in));
	memset(out, 7, sizeof(out));
}

static uint64_t flags_of(struct fid_ep *ep, uint64_t side)
{
	uint64_t flags = side;

	RC(0, fi_control(&ep->fid, FI_GETOPSFLAG, &flags));
	return flags;
}

/* What the endpoint says without a completion, its alias says with one. */
Test(fi_alias, completes_by_its_own_flags)
{
	struct fi_cq_tagged_entry entry;
	struct fid_ep *tx = NULL, *rx = NULL;
	struct world w;
	int context[4];

	open_selective(&w);
	RC(0, fi_ep_alias(w.ep, &tx, FI_TRANSMIT | FI_COMPLETION));
	RC(0, fi_ep_alias(w.ep, &rx, FI_RECV | FI_COMPLETION));
	cr_assert_eq(flags_of(tx, FI_TRANSMIT), FI_TRANSMIT | FI_COMPLETION);
	cr_assert_eq(flags_of(tx, FI_RECV), FI_RECV);
	cr_assert_eq(flags_of(w.ep, FI_TRANSMIT), FI_TRANSMIT);
	RC(0, fi_recv(w.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, &context[0]));
	RC(0, fi_recv(rx, in, sizeof(in), NULL, FI_ADDR_UNSPEC, &context[1]));
	RC(0, fi_send(w.ep, out, sizeof(out), NULL, w.self, &context[2]));
	RC(0, fi_send(tx, out, sizeof(out), NULL, w.self, &context[3]));
	for (int seen = 0; seen < 2; seen++) {
		RC(1, world_next(&w, &entry));
		cr_assert_eq(entry.op_context, entry.flags & FI_SEND ? &context[3] : &context[1]);
	}
	while (fi_cntr_read(w.cntr) < 4)
		;
	RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
	cr_assert_arr_eq(in, out, sizeof(in));
	RC(0, fi_close(&tx->fid));
	RC(0, fi_close(&rx->fid));
	world_close(&w);
}

/* All aliases must be closed for the endpoint to be released. */
Test(fi_alias, holds_its_endpoint)
{
	struct fid_ep *one = NULL, *two = NULL;
	struct world w;

	open_selective(&w);
	RC(0, fi_ep_alias(w.ep, &one, FI_TRANSMIT));
	RC(0, fi_ep_alias(one, &two, FI_RECV | FI_COMPLETION));
	RC(-FI_EBUSY, fi_close(&w.ep->fid));
	RC(0, fi_close(&one->fid));
	RC(-FI_EBUSY, fi_close(&w.ep->fid));
	RC(0, fi_close(&two->fid));
	world_close(&w);
}

/* Before fi_enable, which may be called on either. */
Test(fi_alias, made_before_the_endpoint_is_enabled)
{
	struct sockaddr_storage name, same;
	size_t length = sizeof(name), same_length = sizeof(same);
	struct fi_cq_tagged_entry entry;
	struct fid_ep *alias = NULL;
	struct world w;

	world_open_disabled(&w, &(struct want){ .bind = FI_SELECTIVE_COMPLETION });
	RC(0, fi_ep_alias(w.ep, &alias, FI_TRANSMIT | FI_COMPLETION));
	RC(-FI_EOPBADSTATE, fi_send(alias, out, 1, NULL, 0, NULL));
	RC(-FI_EINVAL, fi_ep_bind(alias, &w.av->fid, 0)); /* the endpoint has one */
	RC(0, fi_enable(alias));
	RC(-FI_EOPBADSTATE, fi_enable(w.ep));
	RC(0, fi_getname(&w.ep->fid, &name, &length));
	RC(0, fi_getname(&alias->fid, &same, &same_length));
	cr_assert(length == same_length && !memcmp(&name, &same, length));
	RC(1, fi_av_insert(w.av, &name, 1, &w.self, 0, NULL));
	RC(0, fi_recv(alias, in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_send(alias, out, sizeof(out), NULL, w.self, &w));
	RC(1, world_next(&w, &entry));
	cr_assert_eq(entry.op_context, &w);
	RC(0, fi_recv(w.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in));
	RC(0, fi_cancel(&alias->fid, in));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(0, fi_close(&alias->fid));
	world_close(&w);
}

Test(fi_alias, bad_flags)
{
	struct fid_ep *alias = NULL;
	struct world w;

	open_selective(&w);
	RC(-FI_EINVAL, fi_ep_alias(w.ep, &alias, 0));
	RC(-FI_EINVAL, fi_ep_alias(w.ep, &alias, FI_COMPLETION));
	RC(-FI_EINVAL, fi_ep_alias(w.ep, &alias, FI_TRANSMIT | FI_RECV));
	RC(-FI_EBADFLAGS, fi_ep_alias(w.ep, &alias, FI_TRANSMIT | FI_PEEK));
	RC(-FI_EBADFLAGS, fi_ep_alias(w.ep, &alias, FI_RECV | FI_INJECT));
	RC(-FI_EINVAL, fi_control(&w.ep->fid, FI_ALIAS, NULL));
	RC(-FI_EINVAL, fi_control(&w.ep->fid, FI_ALIAS, &(struct fi_alias){ .flags = FI_TRANSMIT }));
	cr_assert_null(alias);
	world_close(&w);
}
