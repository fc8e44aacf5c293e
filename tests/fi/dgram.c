/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram.c - the calls of unreliable datagram endpoints: fi_msg(3) with the limits that fi_endpoint(3) and fi_cq(3) set. */
#include "tests/fi/world.h"

#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { MTU = 1388, GUARD_S = 30 };
/* Options of fi_endpoint(3) that older headers lack. */
enum { OPT_MAX_MSG_SIZE = 12, OPT_MAX_RMA_SIZE = 14, OPT_INJECT_MSG_SIZE = 16, OPT_INJECT_RMA_SIZE = 18 };

static const struct want dgram = { .caps = FI_MSG, .type = FI_EP_DGRAM };
static const struct want all = { .type = FI_EP_DGRAM };
static uint8_t from[2 * MTU], into[4 * MTU];

static void fill(uint8_t seed)
{
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + seed);
	memset(into, 0xee, sizeof(into));
}

/* The next two completions, in whatever order: that of the send, and *entry that of the receive. */
static void both(struct world *world, struct fi_cq_tagged_entry *entry)
{
	struct fi_cq_tagged_entry one;
	int sends = 0, receives = 0;

	while (sends + receives < 2) {
		RC(1, world_next(world, &one));
		sends += !!(one.flags & FI_SEND);
		receives += !!(one.flags & FI_RECV);
		if (one.flags & FI_RECV)
			*entry = one;
	}
	cr_assert(sends == 1 && receives == 1);
}

/* The next one, of a receive: sends do not tell (fi_inject), or are not asked. */
static void one_receive(struct world *world, struct fi_cq_tagged_entry *entry)
{
	RC(1, world_next(world, entry));
	cr_assert(entry->flags & FI_RECV);
}

/* fi_endpoint(3): "Message boundaries are maintained"; from nothing to the MTU. */
Test(fi_dgram, every_length)
{
	static const size_t lengths[] = { 0, 1, 7, 8, 255, 256, 257, 1024, MTU - 1, MTU };
	struct fi_cq_tagged_entry entry;
	struct world world;

	world_open(&world, &dgram);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		fill((uint8_t)i);
		RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, into));
		RC(0, fi_send(world.ep, from, lengths[i], NULL, world.self, from));
		both(&world, &entry);
		cr_assert(entry.op_context == into && entry.len == lengths[i] && entry.flags == (FI_MSG | FI_RECV));
		cr_assert(!memcmp(from, into, lengths[i]) && into[lengths[i]] == 0xee);
	}
	world_close(&world);
}

/* fi_msg(3): all nine calls. */
Test(fi_dgram, every_call)
{
	struct iovec out[2] = { { from, 5 }, { from + 5, 300 } }, in[2] = { { into, 100 }, { into + 100, 300 } };
	struct fi_cq_tagged_entry entry;
	struct fi_msg msg = { .msg_iov = out, .iov_count = 2, .data = 79 };
	struct fi_msg recv = { .msg_iov = in, .iov_count = 2, .addr = FI_ADDR_UNSPEC };
	struct world world;

	world_open(&world, &dgram);
	msg.addr = world.self;
	fill(3);
	RC(0, fi_recvv(world.ep, in, NULL, 2, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_sendv(world.ep, out, NULL, 2, world.self, NULL));
	both(&world, &entry);
	cr_assert(entry.len == 305 && !memcmp(from, into, 305));
	RC(0, fi_recvmsg(world.ep, &recv, FI_COMPLETION));
	RC(0, fi_sendmsg(world.ep, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_TRANSMIT_COMPLETE | FI_FENCE | FI_MORE));
	both(&world, &entry);
	cr_assert(entry.len == 305 && entry.data == 79 && entry.flags == (FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA));
	RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_senddata(world.ep, from, MTU, NULL, UINT64_MAX, world.self, NULL));
	both(&world, &entry);
	cr_assert(entry.len == MTU && entry.data == UINT64_MAX);
	RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_inject(world.ep, from, 256, world.self));
	one_receive(&world, &entry);
	cr_assert(entry.len == 256 && !(entry.flags & FI_REMOTE_CQ_DATA));
	RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_injectdata(world.ep, from, 9, 5, world.self));
	one_receive(&world, &entry);
	cr_assert(entry.len == 9 && entry.data == 5);
	world_close(&world);
}

/* fi_endpoint(3), max_msg_size; fi_msg(3) of FI_INJECT. Nothing of what is refused leaves. */
Test(fi_dgram, past_the_mtu)
{
	struct iovec two[2] = { { from, MTU }, { from, 1 } };
	struct fi_msg msg = { .msg_iov = two, .iov_count = 2 };
	struct fi_cq_tagged_entry entry;
	struct world world;
	size_t size, length = sizeof(size);

	world_open(&world, &dgram);
	msg.addr = world.self;
	fill(4);
	RC(0, fi_recv(world.ep, into, sizeof(into), NULL, FI_ADDR_UNSPEC, NULL)); /* may be longer */
	RC(-FI_EMSGSIZE, fi_send(world.ep, from, MTU + 1, NULL, world.self, NULL));
	RC(-FI_EMSGSIZE, fi_sendv(world.ep, two, NULL, 2, world.self, NULL));
	RC(-FI_EMSGSIZE, fi_sendmsg(world.ep, &msg, 0));
	RC(-FI_EMSGSIZE, fi_senddata(world.ep, from, MTU + 1, NULL, 1, world.self, NULL));
	RC(-FI_EMSGSIZE, fi_inject(world.ep, from, 257, world.self));
	RC(0, fi_send(world.ep, from, 17, NULL, world.self, NULL));
	both(&world, &entry);
	cr_assert_eq(entry.len, 17);
	RC(0, fi_getopt(&world.ep->fid, FI_OPT_ENDPOINT, OPT_MAX_MSG_SIZE, &size, &length));
	cr_assert_eq(size, MTU);
	RC(0, fi_getopt(&world.ep->fid, FI_OPT_ENDPOINT, OPT_INJECT_MSG_SIZE, &size, &length));
	cr_assert_eq(size, 256);
	RC(-FI_ENOPROTOOPT, fi_getopt(&world.ep->fid, FI_OPT_ENDPOINT, OPT_MAX_RMA_SIZE, &size, &length));
	RC(-FI_ENOPROTOOPT, fi_getopt(&world.ep->fid, FI_OPT_ENDPOINT, OPT_INJECT_RMA_SIZE, &size, &length));
	RC(-FI_ENOPROTOOPT, fi_getopt(&world.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &length));
	world_close(&world);
}

/* Things that are for reliable endpoints: fi_cq(3) of the levels, fi_getinfo(3) of the capabilities, fi_cm(3). */
Test(fi_dgram, what_is_not_there)
{
	struct iovec iov = { from, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct world world;
	uint64_t word = FI_TRANSMIT | FI_DELIVERY_COMPLETE;

	world_open(&world, &all);
	msg.addr = world.self;
	RC(-FI_EBADFLAGS, fi_sendmsg(world.ep, &msg, FI_DELIVERY_COMPLETE));
	RC(-FI_EBADFLAGS, fi_sendmsg(world.ep, &msg, FI_MATCH_COMPLETE));
	RC(-FI_EBADFLAGS, fi_sendmsg(world.ep, &msg, FI_COMMIT_COMPLETE));
	RC(-FI_EBADFLAGS, fi_sendmsg(world.ep, &msg, FI_MULTICAST));
	RC(-FI_EBADFLAGS, fi_recvmsg(world.ep, &msg, FI_PEEK));
	RC(-FI_EBADFLAGS, fi_control(&world.ep->fid, FI_SETOPSFLAG, &word));
	RC(-FI_EOPNOTSUPP, fi_tsend(world.ep, from, 8, NULL, world.self, 1, NULL));
	RC(-FI_EOPNOTSUPP, fi_trecv(world.ep, into, 8, NULL, world.self, 1, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_write(world.ep, from, 8, NULL, world.self, 0, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_read(world.ep, into, 8, NULL, world.self, 0, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_atomic(world.ep, from, 1, NULL, world.self, 0, 0, FI_UINT64, FI_SUM, NULL));
	RC(-FI_ENOSYS, fi_connect(world.ep, from, NULL, 0));
	RC(-FI_ENOSYS, fi_accept(world.ep, NULL, 0));
	RC(-FI_EINVAL, fi_send(world.ep, from, 8, NULL, FI_ADDR_UNSPEC, NULL));
	world_close(&world);
}

/* fi_cq(3) of FI_TRANSMIT_COMPLETE: "For unreliable endpoints: ... The state of the operation within the fabric is not
 * defined." Nobody need be there, and nobody is waited for. */
Test(fi_dgram, to_nobody)
{
	struct fi_cq_tagged_entry entry;
	struct world world, gone;
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	fi_addr_t dead;

	world_open(&world, &dgram);
	world_open(&gone, &dgram);
	RC(0, fi_getname(&gone.ep->fid, &name, &length));
	RC(1, fi_av_insert(world.av, &name, 1, &dead, 0, NULL));
	world_close(&gone);
	for (int i = 0; i < 50; i++) {
		RC(0, fi_send(world.ep, from, MTU, NULL, dead, &i));
		RC(1, world_next(&world, &entry));
		cr_assert(entry.op_context == &i && entry.flags & FI_SEND);
	}
	RC(-FI_EAGAIN, fi_cq_read(world.cq, &entry, 1));
	cr_assert(fi_cntr_read(world.cntr) == 50 && fi_cntr_readerr(world.cntr) == 0);
	world_close(&world);
}

/* An address that was never inserted is the program's own error, and is told. */
Test(fi_dgram, to_no_address)
{
	struct fi_cq_err_entry error = { .err_data_size = 0 };
	struct fi_cq_tagged_entry entry;
	struct world world;

	world_open(&world, &dgram);
	RC(0, fi_send(world.ep, from, 8, NULL, 4711, from));
	RC(-FI_EAVAIL, world_next(&world, &entry));
	RC(1, fi_cq_readerr(world.cq, &error, 0));
	cr_assert(error.err == FI_EINVAL && error.op_context == from);
	world_close(&world);
}

/* fi_domain(3), "EP Rx CQ": "For FI_EP_DGRAM endpoints, if the target EP queues are unable to accept incoming messages, received
 * messages will be dropped." When it arrives is not ours to say: where the receive was in time after all, the next try
 * tells. */
Test(fi_dgram, without_a_receive_it_is_dropped)
{
	struct fi_cq_tagged_entry entry;
	time_t end = time(NULL) + GUARD_S;
	struct world world;
	bool dropped = false;

	world_open(&world, &dgram);
	while (!dropped) {
		RC(0, fi_inject(world.ep, "first", 5, world.self));
		for (int i = 0; i < 100; i++)
			RC(-FI_EAGAIN, fi_cq_read(world.cq, &entry, 1));
		memset(into, 0, 8);
		RC(0, fi_recv(world.ep, into, 8, NULL, FI_ADDR_UNSPEC, NULL));
		RC(0, fi_inject(world.ep, "later", 5, world.self));
		one_receive(&world, &entry);
		dropped = !memcmp(into, "later", 5);
		cr_assert(dropped || time(NULL) < end, "what came before the receive was posted was kept");
		if (!dropped) { /* then the second is still to come */
			RC(0, fi_recv(world.ep, into, 8, NULL, FI_ADDR_UNSPEC, NULL));
			RC(0, fi_inject(world.ep, "later", 5, world.self));
			one_receive(&world, &entry);
		}
	}
	world_close(&world);
}

/* fi_cq(3): FI_ETRUNC, with olen; the sender hears nothing of it. */
Test(fi_dgram, truncated)
{
	struct fi_cq_err_entry error = { .err_data_size = 0 };
	struct fi_cq_tagged_entry entry;
	struct world world;

	world_open(&world, &dgram);
	fill(5);
	RC(0, fi_recv(world.ep, into, 100, NULL, FI_ADDR_UNSPEC, into));
	RC(0, fi_inject(world.ep, from, 130, world.self));
	RC(-FI_EAVAIL, world_next(&world, &entry));
	RC(1, fi_cq_readerr(world.cq, &error, 0));
	cr_assert(error.err == FI_ETRUNC && error.olen == 30 && error.op_context == into && error.flags & FI_RECV);
	cr_assert(!memcmp(from, into, 100) && into[100] == 0xee);
	cr_assert_eq(fi_cntr_readerr(world.cntr), 1);
	world_close(&world);
}

/* fi_endpoint(3), fi_cancel. */
Test(fi_dgram, cancelled)
{
	struct fi_cq_err_entry error = { .err_data_size = 0 };
	struct fi_cq_tagged_entry entry;
	struct world world;

	world_open(&world, &dgram);
	RC(0, fi_recv(world.ep, into, 100, NULL, FI_ADDR_UNSPEC, into));
	RC(0, fi_recv(world.ep, into + 100, 100, NULL, FI_ADDR_UNSPEC, into + 100));
	RC(0, fi_cancel(&world.ep->fid, into));
	RC(-FI_ENOENT, fi_cancel(&world.ep->fid, into));
	RC(-FI_EAVAIL, world_next(&world, &entry));
	RC(1, fi_cq_readerr(world.cq, &error, 0));
	cr_assert(error.err == FI_ECANCELED && error.op_context == into);
	RC(0, fi_inject(world.ep, "x", 1, world.self));
	one_receive(&world, &entry);
	cr_assert(entry.op_context == into + 100);
	world_close(&world);
}

/* fi_getinfo(3): FI_SOURCE, FI_SOURCE_ERR, FI_DIRECTED_RECV. */
Test(fi_dgram, who_has_sent)
{
	struct world a, b;
	struct sockaddr_storage name, told;
	size_t length = sizeof(name);
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { .err_data = &told, .err_data_size = sizeof(told) };
	fi_addr_t a_in_b, b_in_a, source;

	world_open(&a, &dgram);
	world_open(&b, &(struct want){ .api = FI_VERSION(1, 17),
				       .type = FI_EP_DGRAM,
				       .caps = FI_MSG | FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV });
	RC(0, fi_getname(&b.ep->fid, &name, &length));
	RC(1, fi_av_insert(a.av, &name, 1, &b_in_a, 0, NULL));
	RC(0, fi_recv(b.ep, into, 8, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_inject(a.ep, "who?", 4, b_in_a));
	RC(-FI_EAVAIL, world_next(&b, &entry));
	RC(1, fi_cq_readerr(b.cq, &error, 0));
	length = sizeof(name);
	RC(0, fi_getname(&a.ep->fid, &name, &length));
	cr_assert(error.err == FI_EADDRNOTAVAIL && error.err_data_size == length && !memcmp(error.err_data, &name, length));
	cr_assert(!memcmp(into, "who?", 4));
	RC(1, fi_av_insert(b.av, &name, 1, &a_in_b, 0, NULL));
	RC(0, fi_recv(b.ep, into + 10, 8, NULL, b.self, into + 10));
	RC(0, fi_recv(b.ep, into + 20, 8, NULL, a_in_b, into + 20));
	RC(0, fi_inject(a.ep, "mine", 4, b_in_a));
	while (fi_cq_readfrom(b.cq, &entry, 1, &source) == -FI_EAGAIN)
		;
	cr_assert(source == a_in_b && entry.op_context == into + 20 && !memcmp(into + 20, "mine", 4));
	world_close(&a);
	world_close(&b);
}

/* fi_msg(3), FI_MULTI_RECV. */
Test(fi_dgram, one_buffer_for_many)
{
	struct iovec iov = { into, 3 * 400 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = into };
	struct fi_cq_tagged_entry entry;
	size_t least = 200;
	struct world world;

	world_open(&world, &(struct want){ .type = FI_EP_DGRAM, .caps = FI_MSG | FI_MULTI_RECV });
	RC(0, fi_setopt(&world.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	fill(6);
	RC(0, fi_recvmsg(world.ep, &msg, FI_MULTI_RECV));
	for (int i = 0; i < 3; i++) {
		RC(0, fi_inject(world.ep, from + i, 200, world.self));
		RC(0, fi_inject(world.ep, from + i, 200, world.self));
		for (int j = 0; j < 2; j++) {
			one_receive(&world, &entry);
			cr_assert(entry.op_context == into && entry.len == 200 && entry.buf == into + 400 * i + 200 * j);
			cr_assert(!memcmp(entry.buf, from + i, 200));
		}
	}
	RC(1, world_next(&world, &entry));
	cr_assert(entry.flags & FI_MULTI_RECV && entry.op_context == into);
	world_close(&world);
}

/* fi_endpoint(3), "Shared Contexts". */
Test(fi_dgram, shared_contexts)
{
	struct fi_cq_tagged_entry entry;
	struct fid_ep *srx, *ep;
	struct fid_stx *stx;
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct world world;
	fi_addr_t shared;

	world_open(&world, &dgram);
	RC(0, fi_stx_context(world.domain, NULL, &stx, NULL));
	RC(0, fi_srx_context(world.domain, &(struct fi_rx_attr){ .caps = FI_MSG }, &srx, NULL));
	world.info->ep_attr->tx_ctx_cnt = world.info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	RC(0, fi_endpoint(world.domain, world.info, &ep, NULL));
	RC(0, fi_ep_bind(ep, &world.av->fid, 0));
	RC(0, fi_ep_bind(ep, &world.cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_ep_bind(ep, &stx->fid, 0));
	RC(0, fi_ep_bind(ep, &srx->fid, 0));
	RC(0, fi_enable(ep));
	RC(0, fi_getname(&ep->fid, &name, &length));
	RC(1, fi_av_insert(world.av, &name, 1, &shared, 0, NULL));
	RC(0, fi_recv(srx, into, MTU, NULL, FI_ADDR_UNSPEC, into));
	RC(0, fi_inject(world.ep, "shared", 6, shared));
	one_receive(&world, &entry);
	cr_assert(entry.op_context == into && entry.len == 6);
	RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, into));
	RC(0, fi_send(ep, from, 10, NULL, world.self, ep));
	both(&world, &entry);
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&srx->fid));
	RC(0, fi_close(&stx->fid));
	world_close(&world);
}

/* fi_trigger(3): a datagram that waits for a counter. */
Test(fi_dgram, triggered)
{
	struct iovec iov = { from, 20 };
	struct fi_triggered_context wait = { .event_type = FI_TRIGGER_THRESHOLD };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = &wait };
	struct fi_cq_tagged_entry entry;
	struct world world;

	world_open(&world, &(struct want){ .type = FI_EP_DGRAM, .caps = FI_MSG | FI_TRIGGER });
	msg.addr = world.self;
	wait.trigger.threshold.cntr = world.cntr;
	wait.trigger.threshold.threshold = 7;
	RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_sendmsg(world.ep, &msg, FI_TRIGGER));
	RC(-FI_EAGAIN, fi_cq_read(world.cq, &entry, 1));
	RC(0, fi_cntr_add(world.cntr, 7));
	both(&world, &entry);
	world_close(&world);
}

/* fi_cq(3), fi_poll(3): an arriving datagram wakes a sleeping thread. */
Test(fi_dgram, sleepers_are_woken)
{
	struct fi_cq_tagged_entry entry;
	struct pollfd pollfd = { .events = POLLIN };
	struct world world;
	struct fid *fids[1];
	ssize_t got;

	world_open(&world, &(struct want){ .type = FI_EP_DGRAM, .caps = FI_MSG, .wait_obj = FI_WAIT_FD });
	RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, into));
	RC(-FI_EAGAIN, fi_cq_sread(world.cq, &entry, 1, NULL, 1));
	RC(0, fi_inject(world.ep, "x", 1, world.self));
	RC(1, fi_cq_sread(world.cq, &entry, 1, NULL, 1000 * GUARD_S));
	RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, into));
	RC(0, fi_control(&world.cq->fid, FI_GETWAIT, &pollfd.fd));
	fids[0] = &world.cq->fid;
	RC(0, fi_inject(world.ep, "y", 1, world.self));
	while ((got = fi_cq_read(world.cq, &entry, 1)) == -FI_EAGAIN)
		if (!fi_trywait(world.fabric, fids, 1))
			RC(1, poll(&pollfd, 1, 1000 * GUARD_S));
	RC(1, got);
	world_close(&world);
}

/* fi_endpoint(3), FI_SELECTIVE_COMPLETION; fi_cq(3), every format. */
Test(fi_dgram, formats_and_selective_completion)
{
	static const enum fi_cq_format formats[] = { FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA,
						     FI_CQ_FORMAT_TAGGED };

	for (int i = 0; i < 4; i++) {
		struct fi_cq_tagged_entry entry = { .tag = 0 };
		struct iovec iov = { into, MTU };
		struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = into };
		time_t end = time(NULL) + GUARD_S;
		struct world world;

		world_open(&world,
			   &(struct want){
				   .type = FI_EP_DGRAM, .caps = FI_MSG, .format = formats[i], .bind = FI_SELECTIVE_COMPLETION });
		RC(0, fi_recv(world.ep, into, MTU, NULL, FI_ADDR_UNSPEC, from));
		RC(0, fi_recvmsg(world.ep, &msg, FI_COMPLETION));
		RC(0, fi_send(world.ep, from, 33, NULL, world.self, from));
		RC(0, fi_senddata(world.ep, from, 34, NULL, 78, world.self, from));
		RC(1, world_next(&world, &entry));
		cr_assert_eq(entry.op_context, into);
		cr_assert(formats[i] == FI_CQ_FORMAT_CONTEXT || (entry.len == 34 && entry.flags & FI_RECV));
		cr_assert(formats[i] < FI_CQ_FORMAT_DATA || entry.data == 78);
		while (fi_cntr_read(world.cntr) < 4)
			cr_assert(time(NULL) < end, "the others were not counted");
		world_close(&world);
	}
}
