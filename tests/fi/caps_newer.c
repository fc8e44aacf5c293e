/* SPDX-License-Identifier: BSD-2-Clause */
/* caps_newer.c - like caps.c, for the capabilities that came with libfabric 2.0, of which fi_info 2.1 does not know the names. */
#include "tests/fi/world.h"

#include <string.h>
#include <sys/socket.h>

#include <rdma/fi_tagged.h>

#include "emu/fi/provider/fi_compat.h"

static uint64_t near[8], far[8];
static char room[100000];

static void open_newer(struct world *w, uint64_t caps)
{
	if (!world_has(FI_VERSION(2, 0)))
		cr_skip_test("this libfabric does not know the capability");
	world_open(w, &(struct want){ .api = FI_VERSION(2, 0), .caps = caps });
	cr_assert_eq(w->info->caps & caps, caps);
	for (int i = 0; i < 8; i++) {
		near[i] = 100 + (uint64_t)i;
		far[i] = 0;
	}
}

/* The next completion is a success with this context. */
static void done(struct world *w, const void *context)
{
	struct fi_cq_tagged_entry entry;

	RC(1, world_next(w, &entry));
	cr_assert_eq(entry.op_context, context);
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

/* "Similar to FI_DIRECTED_RECV, but only applies to tagged receive operations". */
Test(fi_caps, tagged_directed_recv)
{
	fi_addr_t stranger;
	struct world w, other;

	open_newer(&other, FI_MSG);
	open_newer(&w, FI_MSG | FI_TAGGED | COMPAT_TAGGED_DIRECTED_RECV);
	stranger = know(&w, &other);
	RC(0, fi_trecv(w.ep, far, 8, NULL, stranger, 1, 0, far));
	RC(0, fi_trecv(w.ep, far + 1, 8, NULL, FI_ADDR_UNSPEC, 1, 0, far + 1));
	RC(0, fi_tinject(w.ep, near, 8, w.self, 1));
	done(&w, far + 1);
	RC(0, fi_recv(w.ep, far, 8, NULL, stranger, far));
	RC(0, fi_inject(w.ep, near, 8, w.self));
	done(&w, far);
	world_close(&w);
	world_close(&other);
}

/* "requires the source address to be exact, i.e., FI_ADDR_UNSPEC is not allowed": alone, or as a modifier of either. */
Test(fi_caps, exact_directed_recv)
{
	static const uint64_t with[] = { 0, FI_DIRECTED_RECV, COMPAT_TAGGED_DIRECTED_RECV };
	struct world w;

	for (int i = 0; i < 3; i++) {
		open_newer(&w, FI_MSG | FI_TAGGED | COMPAT_EXACT_DIRECTED_RECV | with[i]);
		RC(-FI_EINVAL, fi_trecv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, 1, 0, far));
		RC(i == 2 ? 0 : -FI_EINVAL, fi_recv(w.ep, far, 8, NULL, FI_ADDR_UNSPEC, far));
		RC(0, fi_trecv(w.ep, far, 8, NULL, w.self, 1, 0, far + 1));
		RC(0, fi_tinject(w.ep, near, 8, w.self, 1));
		done(&w, far + 1);
		world_close(&w);
	}
	open_newer(&w, 0);
	cr_expect(!(w.info->caps & COMPAT_EXACT_DIRECTED_RECV), "granted to none but who asks");
	world_close(&w);
}

/* "must support the FI_MULTI_RECV flag when posting tagged receive buffers". */
Test(fi_caps, tagged_multi_recv)
{
	struct iovec iov = { room, sizeof(room) };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 1, .context = room };
	struct fi_msg untagged = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC };
	struct world w;

	open_newer(&w, FI_MSG | FI_TAGGED | COMPAT_TAGGED_MULTI_RECV);
	RC(0, fi_trecvmsg(w.ep, &msg, FI_MULTI_RECV));
	RC(-FI_EBADFLAGS, fi_recvmsg(w.ep, &untagged, FI_MULTI_RECV));
	for (int i = 0; i < 2; i++) {
		RC(0, fi_tinject(w.ep, near + i, 8, w.self, 1));
		done(&w, room);
	}
	cr_expect(!memcmp(room, near, 16), "one behind the other");
	world_close(&w);
	open_newer(&w, FI_TAGGED);
	RC(-FI_EBADFLAGS, fi_trecvmsg(w.ep, &msg, FI_MULTI_RECV));
	world_close(&w);
}

/* Before, the bits meant something else. */
Test(fi_caps, bits_of_older_versions)
{
	static const uint64_t bits[] = { COMPAT_TAGGED_DIRECTED_RECV, COMPAT_TAGGED_MULTI_RECV, COMPAT_EXACT_DIRECTED_RECV };
	struct fi_info *info;

	world_need_emu();
	for (int i = 0; i < 3; i++) {
		struct want want = { .caps = FI_MSG | FI_TAGGED | bits[i] };

		RC(-FI_ENODATA, world_getinfo(&want, world_hints(&want), &info));
	}
	RC(0, world_getinfo(&(struct want){ 0 }, world_hints(&(struct want){ 0 }), &info));
	cr_expect(!(info->caps & (bits[0] | bits[1] | bits[2])));
	fi_freeinfo(info);
}
