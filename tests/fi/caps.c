/* SPDX-License-Identifier: BSD-2-Clause */
/* caps.c - one test for each capability bit that fi_info shows, named for it: what fi_getinfo(3) promises with the bit and,
 * where the page says so, that it is not there without. tests/process/advertised.py fails for a bit without a test. */
#include "tests/fi/world.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>

enum { KEY = 5 };
#define RMA_ALL (FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static uint64_t near[8], far[8];
static char large[100000], room[100000];
static struct fid_mr *mr;

static void open_with(struct world *w, uint64_t caps)
{
	world_open(w, &(struct want){ .caps = caps });
	cr_assert_eq(w->info->caps & caps, caps);
	RC(0, fi_mr_reg(w->domain, far, sizeof(far), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	for (int i = 0; i < 8; i++) {
		near[i] = 100 + (uint64_t)i;
		far[i] = 0;
	}
}

static void close_with(struct world *w)
{
	RC(0, fi_close(&mr->fid));
	world_close(w);
}

/* The next completion is a success with this context. */
static void done(struct world *w, const void *context)
{
	struct fi_cq_tagged_entry entry;

	RC(1, world_next(w, &entry));
	cr_assert_eq(entry.op_context, context);
}

static void failed(struct world *w, int err)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;

	RC(-FI_EAVAIL, world_next(w, &entry));
	RC(1, fi_cq_readerr(w->cq, &error, 0));
	cr_assert_eq(error.err, err, "err %d", error.err);
}

static void quiet(struct world *w)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 100; i++)
		RC(-FI_EAGAIN, fi_cq_read(w->cq, &entry, 1));
}

static fi_addr_t know(struct world *w, struct world *peer)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	fi_addr_t addr;

	RC(0, fi_getname(&peer->ep->fid, &name, &length));
	RC(1, fi_av_insert(w->av, &name, 1, &addr, 0, NULL));
	return addr;
}

static ssize_t write_with(struct world *w, uint64_t flags)
{
	struct iovec iov = { near, 8 };
	struct fi_rma_iov remote = { 0, 8, KEY };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = w->self,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.context = near,
	};

	return fi_writemsg(w->ep, &msg, flags);
}

static ssize_t receive_with(struct world *w, void *buf, size_t length, uint64_t flags)
{
	struct iovec iov = { buf, length };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buf };

	return fi_recvmsg(w->ep, &msg, flags);
}

/* "sending and receiving messages"; "operations defined by struct fi_ops_msg". */
Test(fi_caps, msg)
{
	struct world w;

	open_with(&w, FI_MSG);
	RC(0, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
	RC(0, fi_inject(w.ep, near, 8, w.self));
	done(&w, far);
	cr_expect_eq(far[0], 100);
	close_with(&w);
	open_with(&w, FI_TAGGED | FI_RMA);
	RC(-FI_EOPNOTSUPP, fi_send(w.ep, near, 8, NULL, w.self, NULL));
	RC(-FI_EOPNOTSUPP, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, NULL));
	close_with(&w);
}

/* "a user-specified key or tag with each message that is used for matching". */
Test(fi_caps, tagged)
{
	struct world w;

	open_with(&w, FI_TAGGED);
	RC(0, fi_trecv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, 1, 0, far));
	RC(0, fi_trecv(w.ep, far + 1, 8, NULL, FI_ADDR_UNSPEC, 2, 0, far + 1));
	RC(0, fi_tinject(w.ep, near, 8, w.self, 2));
	done(&w, far + 1);
	cr_expect(far[0] == 0 && far[1] == 100);
	close_with(&w);
	open_with(&w, FI_MSG);
	RC(-FI_EOPNOTSUPP, fi_tsend(w.ep, near, 8, NULL, w.self, 1, NULL));
	RC(-FI_EOPNOTSUPP, fi_trecv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	close_with(&w);
}

/* "In the absence of any relevant flags, FI_RMA implies the ability to initiate and be the target". */
Test(fi_caps, rma)
{
	struct world w;

	open_with(&w, FI_RMA);
	cr_assert_eq(w.info->caps & RMA_ALL, RMA_ALL);
	RC(0, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	done(&w, near);
	RC(0, fi_read(w.ep, near + 1, 8, NULL, w.self, 0, KEY, near));
	done(&w, near);
	cr_expect(far[0] == 100 && near[1] == 100);
	close_with(&w);
	open_with(&w, FI_MSG);
	RC(-FI_EOPNOTSUPP, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	RC(-FI_EOPNOTSUPP, fi_read(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	close_with(&w);
}

/* "operations defined by struct fi_ops_atomic". */
Test(fi_caps, atomic)
{
	struct world w;

	open_with(&w, FI_ATOMIC);
	RC(0, fi_fetch_atomic(w.ep, near, 1, NULL, near + 1, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, near));
	done(&w, near);
	cr_expect(far[0] == 100 && near[1] == 0);
	RC(-FI_EOPNOTSUPP, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	close_with(&w);
	open_with(&w, FI_RMA);
	RC(-FI_EOPNOTSUPP, fi_atomic(w.ep, near, 1, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, near));
	close_with(&w);
}

/* "an endpoint capable of initiating reads against remote memory regions". */
Test(fi_caps, read)
{
	struct world w;

	open_with(&w, FI_RMA | FI_READ | FI_REMOTE_READ);
	RC(0, fi_read(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	done(&w, near);
	cr_expect_eq(near[0], 0);
	RC(-FI_EOPNOTSUPP, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	close_with(&w);
}

/* "an endpoint capable of initiating writes against remote memory regions". */
Test(fi_caps, write)
{
	struct world w;

	open_with(&w, FI_RMA | FI_WRITE | FI_REMOTE_WRITE);
	RC(0, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	done(&w, near);
	cr_expect_eq(far[0], 100);
	RC(-FI_EOPNOTSUPP, fi_read(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	close_with(&w);
}

/* FI_SEND "an endpoint capable of sending", FI_RECV "capable of receiving message data transfers": each by itself. */
static void one_way(uint64_t group)
{
	struct world from, to;
	fi_addr_t addr;

	open_with(&to, group | FI_RECV);
	RC(0, fi_close(&mr->fid));
	open_with(&from, group | FI_SEND);
	addr = know(&from, &to);
	if (group == FI_MSG) {
		RC(-FI_EOPNOTSUPP, fi_recv(from.ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
		RC(-FI_EOPNOTSUPP, fi_send(to.ep, near, 8, NULL, to.self, near));
		RC(0, fi_recv(to.ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
		RC(0, fi_send(from.ep, near, 8, NULL, addr, near));
	} else {
		RC(-FI_EOPNOTSUPP, fi_trecv(from.ep, far, 8, NULL, FI_ADDR_UNSPEC, 1, 0, far));
		RC(-FI_EOPNOTSUPP, fi_tsend(to.ep, near, 8, NULL, to.self, 1, near));
		RC(0, fi_trecv(to.ep, far, 8, NULL, FI_ADDR_UNSPEC, 1, 0, far));
		RC(0, fi_tsend(from.ep, near, 8, NULL, addr, 1, near));
	}
	done(&from, near);
	done(&to, far);
	cr_expect_eq(far[0], 100);
	close_with(&from);
	world_close(&to);
}

Test(fi_caps, send)
{
	one_way(FI_MSG);
}

Test(fi_caps, recv)
{
	one_way(FI_TAGGED);
}

/* "an endpoint capable of receiving read memory operations": one without refuses them, whatever the region allows. */
Test(fi_caps, remote_read)
{
	struct world w;

	open_with(&w, FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_WRITE);
	near[0] = 7;
	RC(0, fi_read(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	failed(&w, FI_EACCES);
	cr_expect_eq(near[0], 7);
	close_with(&w);
	open_with(&w, FI_RMA | FI_READ | FI_REMOTE_READ);
	RC(0, fi_read(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	done(&w, near);
	close_with(&w);
}

/* "an endpoint capable of receiving write memory operations". */
Test(fi_caps, remote_write)
{
	struct world w;

	open_with(&w, FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ);
	RC(0, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	failed(&w, FI_EACCES);
	cr_expect_eq(far[0], 0);
	close_with(&w);
	open_with(&w, FI_RMA | FI_WRITE | FI_REMOTE_WRITE);
	RC(0, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	done(&w, near);
	close_with(&w);
}

/* "must support the FI_MULTI_RECV flag when posting receive buffers". */
Test(fi_caps, multi_recv)
{
	struct world w;

	open_with(&w, FI_MSG | FI_MULTI_RECV);
	RC(0, receive_with(&w, room, sizeof(room), FI_MULTI_RECV));
	for (int i = 0; i < 2; i++) {
		RC(0, fi_inject(w.ep, near + i, 8, w.self));
		done(&w, room);
	}
	cr_expect(!memcmp(room, near, 16), "one behind the other");
	close_with(&w);
	open_with(&w, FI_MSG);
	RC(-FI_EBADFLAGS, receive_with(&w, room, sizeof(room), FI_MULTI_RECV));
	close_with(&w);
}

/* "the endpoint should support triggered operations". */
Test(fi_caps, trigger)
{
	struct fi_triggered_context when = { .event_type = FI_TRIGGER_THRESHOLD };
	struct iovec iov = { near, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = &when };
	struct fid_cntr *cntr;
	struct world w;

	open_with(&w, FI_MSG | FI_TRIGGER);
	RC(0, fi_cntr_open(w.domain, &(struct fi_cntr_attr){ 0 }, &cntr, NULL));
	when.trigger.threshold = (struct fi_trigger_threshold){ .cntr = cntr, .threshold = 2 };
	msg.addr = w.self;
	RC(0, fi_sendmsg(w.ep, &msg, FI_TRIGGER));
	RC(0, fi_cntr_add(cntr, 1));
	quiet(&w);
	RC(0, fi_cntr_add(cntr, 1));
	done(&w, &when);
	RC(0, fi_close(&cntr->fid));
	close_with(&w);
	open_with(&w, FI_MSG);
	RC(-FI_EBADFLAGS, fi_sendmsg(w.ep, &msg, FI_TRIGGER));
	close_with(&w);
}

/* "all previous transmit requests to a specified remote endpoint complete prior to initiating the fenced operation": a long
 * message completes when it is received. */
Test(fi_caps, fence)
{
	struct world w;

	open_with(&w, FI_MSG | FI_RMA);
	cr_assert(w.info->caps & FI_FENCE);
	RC(0, fi_send(w.ep, large, sizeof(large), NULL, w.self, large));
	RC(0, write_with(&w, FI_FENCE));
	quiet(&w);
	cr_expect_eq(far[0], 0);
	RC(0, fi_recv(w.ep, room, sizeof(room), NULL, FI_ADDR_UNSPEC, large));
	done(&w, large);
	done(&w, large);
	done(&w, near);
	cr_expect_eq(far[0], 100);
	close_with(&w);
}

/* "must support registration of memory that is backed by non-volatile memory, [...] and enhanced completion semantics". */
Test(fi_caps, rma_pmem)
{
	char path[] = "/tmp/emu_caps_XXXXXX";
	int fd = mkstemp(path);
	struct world w;
	uint64_t *file;

	cr_assert(fd >= 0 && !unlink(path) && !ftruncate(fd, 4096));
	file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(file, MAP_FAILED);
	open_with(&w, FI_RMA | FI_RMA_PMEM);
	RC(0, fi_close(&mr->fid));
	RC(0, fi_mr_reg(w.domain, file, 4096, FI_REMOTE_WRITE, 0, KEY, FI_RMA_PMEM, &mr, NULL));
	RC(0, write_with(&w, FI_COMMIT_COMPLETE));
	done(&w, near);
	cr_expect_eq(file[0], 100);
	close_with(&w);
	open_with(&w, FI_RMA);
	RC(-FI_EBADFLAGS, write_with(&w, FI_COMMIT_COMPLETE));
	close_with(&w);
	munmap(file, 4096);
	close(fd);
}

/* A message of an endpoint that has the address of this info. */
static void talk_over(struct fi_info *list, bool loopback)
{
	for (struct fi_info *info = list; info; info = info->next) {
		const struct sockaddr_in *at = info->src_addr;
		struct world w;

		if (at->sin_family != AF_INET || (ntohl(at->sin_addr.s_addr) >> 24 == 127) != loopback)
			continue;
		open_with(&w, FI_MSG);
		RC(0, fi_close(&w.ep->fid));
		RC(0, fi_endpoint(w.domain, info, &w.ep, NULL));
		RC(0, fi_ep_bind(w.ep, &w.av->fid, 0));
		RC(0, fi_ep_bind(w.ep, &w.cq->fid, FI_TRANSMIT | FI_RECV));
		world_enable(&w);
		RC(0, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
		RC(0, fi_inject(w.ep, near, 8, w.self));
		done(&w, far);
		close_with(&w);
		return;
	}
	cr_skip_test("no interface of this kind is up");
}

static void communicate(uint64_t caps, bool loopback)
{
	struct want want = { .caps = FI_MSG | caps };
	struct fi_info *list;

	world_need_emu();
	RC(0, world_getinfo(&want, world_hints(&want), &list));
	cr_assert(list->caps & caps);
	talk_over(list, loopback);
	fi_freeinfo(list);
}

/* "the endpoint support host local communication". */
Test(fi_caps, local_comm)
{
	communicate(FI_LOCAL_COMM, true);
}

/* "with endpoints located at remote nodes": by an address that they can reach. */
Test(fi_caps, remote_comm)
{
	communicate(FI_REMOTE_COMM, false);
}

/* "address vectors which may be shared among multiple processes": by name. */
Test(fi_caps, shared_av)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(9) }, got;
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .flags = 0 };
	struct fid_av *made, *joined;
	size_t length = sizeof(got);
	fi_addr_t fi_addr;
	char name[40];
	struct world w;

	snprintf(name, sizeof(name), "caps-%d", getpid());
	attr.name = name;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	open_with(&w, FI_MSG | FI_SHARED_AV);
	cr_assert(w.info->domain_attr->caps & FI_SHARED_AV);
	RC(0, fi_av_open(w.domain, &attr, &made, NULL));
	attr.flags = FI_READ;
	RC(0, fi_av_open(w.domain, &attr, &joined, NULL));
	RC(1, fi_av_insert(made, &addr, 1, &fi_addr, 0, NULL));
	RC(0, fi_av_lookup(joined, fi_addr, &got, &length));
	cr_expect_eq(got.sin_port, addr.sin_port);
	RC(0, fi_close(&joined->fid));
	RC(0, fi_close(&made->fid));
	close_with(&w);
}

/* "completion events when it is the target of an RMA and/or atomic operation": counters of the target's side. */
Test(fi_caps, rma_event)
{
	struct fid_cntr *cntr;
	struct world w;

	world_open_disabled(&w, &(struct want){ .caps = FI_RMA | FI_RMA_EVENT });
	RC(0, fi_cntr_open(w.domain, &(struct fi_cntr_attr){ 0 }, &cntr, NULL));
	RC(0, fi_ep_bind(w.ep, &cntr->fid, FI_REMOTE_WRITE));
	world_enable(&w);
	RC(0, fi_mr_reg(w.domain, far, sizeof(far), FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	RC(0, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY, near));
	done(&w, near);
	cr_expect_eq(fi_cntr_read(cntr), 1);
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	RC(0, fi_close(&cntr->fid));
	world_close(&w);
	world_open_disabled(&w, &(struct want){ .caps = FI_RMA });
	RC(-FI_ENOSYS, fi_ep_bind(w.ep, &w.cntr->fid, FI_REMOTE_WRITE));
	world_close(&w);
}

static fi_addr_t source_of_next(struct world *w)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t source = 0;
	ssize_t got;

	while ((got = fi_cq_readfrom(w->cq, &entry, 1, &source)) == -FI_EAGAIN)
		;
	RC(1, got);
	return source;
}

/* "that the endpoint return source addressing data as part of its completion data". */
Test(fi_caps, source)
{
	struct world w;

	for (int with = 0; with < 2; with++) {
		open_with(&w, FI_MSG | (with ? FI_SOURCE : 0));
		RC(0, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
		RC(0, fi_inject(w.ep, near, 8, w.self));
		cr_expect_eq(source_of_next(&w), with ? w.self : FI_ADDR_NOTAVAIL);
		close_with(&w);
	}
}

/* "raw source addressing data [...] for any address that has not been inserted into the local address vector". */
Test(fi_caps, source_err)
{
	struct sockaddr_storage named = { 0 }, name;
	struct fi_cq_err_entry error = { .err_data = &named, .err_data_size = sizeof(named) };
	struct fi_cq_tagged_entry entry;
	size_t length = sizeof(name);
	struct world from, to;

	open_with(&to, FI_MSG | FI_SOURCE | FI_SOURCE_ERR);
	RC(0, fi_close(&mr->fid));
	open_with(&from, FI_MSG);
	RC(0, fi_recv(to.ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
	RC(0, fi_inject(from.ep, near, 8, know(&from, &to)));
	RC(-FI_EAVAIL, world_next(&to, &entry));
	RC(1, fi_cq_readerr(to.cq, &error, 0));
	RC(0, fi_getname(&from.ep->fid, &name, &length));
	cr_expect(error.err == FI_EADDRNOTAVAIL && error.err_data_size == length && !memcmp(&named, &name, length));
	close_with(&from);
	world_close(&to);
}

/* "allow an initiator to target (or name) a specific receive context": fi_rx_addr(). */
Test(fi_caps, named_rx_ctx)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .rx_ctx_bits = 1 };
	struct fid_ep *sep, *rx[2];
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	fi_addr_t addr;
	struct fid_av *av;
	struct world w;

	open_with(&w, FI_MSG | FI_NAMED_RX_CTX);
	RC(0, fi_close(&w.ep->fid));
	RC(0, fi_av_open(w.domain, &attr, &av, NULL));
	RC(0, fi_endpoint(w.domain, w.info, &w.ep, NULL));
	RC(0, fi_ep_bind(w.ep, &av->fid, 0));
	RC(0, fi_ep_bind(w.ep, &w.cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_enable(w.ep));
	w.info->ep_attr->rx_ctx_cnt = 2;
	RC(0, fi_scalable_ep(w.domain, w.info, &sep, NULL));
	RC(0, fi_scalable_ep_bind(sep, &av->fid, 0));
	for (int i = 0; i < 2; i++) {
		RC(0, fi_rx_context(sep, i, NULL, &rx[i], NULL));
		RC(0, fi_ep_bind(rx[i], &w.cq->fid, FI_RECV));
		RC(0, fi_enable(rx[i]));
		RC(0, fi_recv(rx[i], far + i, 8, NULL, FI_ADDR_UNSPEC, far + i));
	}
	RC(0, fi_getname(&sep->fid, &name, &length));
	RC(1, fi_av_insert(av, &name, 1, &addr, 0, NULL));
	for (int i = 1; i >= 0; i--) {
		RC(0, fi_inject(w.ep, near, 8, fi_rx_addr(addr, i, 1)));
		done(&w, far + i);
	}
	for (int i = 0; i < 2; i++)
		RC(0, fi_close(&rx[i]->fid));
	RC(0, fi_close(&sep->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	RC(0, fi_close(&av->fid));
	close_with(&w);
}

/* "use the source address of an incoming message when matching it with a receive buffer. If this capability is not set,
 * then the src_addr parameter [...] is ignored". */
Test(fi_caps, directed_recv)
{
	struct world w, other;
	fi_addr_t stranger;

	open_with(&other, FI_MSG);
	RC(0, fi_close(&mr->fid));
	for (int with = 0; with < 2; with++) {
		open_with(&w, FI_MSG | (with ? FI_DIRECTED_RECV : 0));
		stranger = know(&w, &other);
		RC(0, fi_recv(w.ep, far, 8, NULL, stranger, far));
		RC(0, fi_recv(w.ep, far + 1, 8, NULL, w.self, far + 1));
		RC(0, fi_inject(w.ep, near, 8, w.self));
		done(&w, with ? far + 1 : far);
		close_with(&w);
	}
	world_close(&other);
}

/* "transfers to and from device memory": of the interfaces that fi_mr(3) names, system memory is here. */
Test(fi_caps, hmem)
{
	struct iovec iov = { far, sizeof(far) };
	struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = FI_REMOTE_WRITE,
		.requested_key = KEY + 1,
		.iface = FI_HMEM_SYSTEM,
	};
	struct fid_mr *system, *none;
	struct world w;

	open_with(&w, FI_RMA | FI_HMEM);
	RC(0, fi_mr_regattr(w.domain, &attr, 0, &system));
	RC(0, fi_write(w.ep, near, 8, NULL, w.self, 0, KEY + 1, near));
	done(&w, near);
	cr_expect_eq(far[0], 100);
	RC(0, fi_close(&system->fid));
	attr.iface = FI_HMEM_CUDA;
	RC(-FI_ENOSYS, fi_mr_regattr(w.domain, &attr, 0, &none));
	close_with(&w);
	open_with(&w, FI_RMA);
	RC(0, fi_mr_regattr(w.domain, &attr, 0, &system)); /* not looked at */
	RC(0, fi_close(&system->fid));
	close_with(&w);
}
