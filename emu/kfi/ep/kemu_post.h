/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_post.h - what all data transfer calls have in common: the client's buffers, descriptors and flags as libfabric's, and
 * windows, which the completion queue frees. Any thread; never sleeps. */
#ifndef EMU_KFI_POST_H
#define EMU_KFI_POST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "emu/kfi/mr/kemu_memory.h"
#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_objects.h"

/* A call as the client made it. */
struct kemu_call {
	struct kemu_ep *ep;
	struct kemu_vector vector;
	void *context;
	uint64_t side;  /* FI_TRANSMIT or FI_RECV */
	uint64_t flags; /* kfabric's, of a call that takes a message */
	bool msg;       /* it is one */
};

/* A call as libfabric gets it. */
struct kemu_post {
	struct kemu_memory memory;
	void **desc; /* one for each run, or NULL */
	void *context;
	uint64_t flags; /* libfabric's */
	bool msg;       /* goes by libfabric's call that takes a message and flags */
	struct kemu_cq *lender;
};

/* The descriptors where they mean something (KFI_MR_LOCAL), else NULL: they are not looked at (S74). */
static inline void **kemu_descs(const struct kemu_ep *ep, void **desc)
{
	return ep->domain->mr_mode & KFI_MR_LOCAL ? desc : NULL;
}

/* A call that takes buffers. */
static inline struct kemu_call kemu_call_of(struct kfid_ep *kfid, const char *name, enum kfi_iov_type type, const void *entries,
					    size_t count, void **desc, void *context, uint64_t side)
{
	struct kemu_ep *ep = kemu_ep(kfid);

	return (struct kemu_call){
		.ep = ep,
		.vector = { name, type, entries, count, .desc = kemu_descs(ep, desc), .domain = ep->domain },
		.context = context,
		.side = side,
	};
}

/* A call that takes a message: a struct kfi_msg, kfi_msg_tagged or kfi_msg_rma. */
#define KEMU_MSG_CALL(kfid, name, message, msg_flags, msg_side)                                                                  \
	({                                                                                                                       \
		struct kemu_call kemu_made = kemu_call_of(kfid, name, (message)->type, (message)->msg_iov, (message)->iov_count, \
							  (message)->desc, (message)->context, msg_side);                        \
		kemu_made.flags = (msg_flags);                                                                                   \
		kemu_made.msg = true;                                                                                            \
		kemu_made;                                                                                                       \
	})

/* A peer's address as libfabric has it. kcxi: without KFI_NAMED_RX_CTX the context with the own index is meant. */
static inline fi_addr_t kemu_peer(const struct kemu_ep *ep, kfi_addr_t peer)
{
	uint64_t context = ep->index;

	if (!ep->translates || peer == KFI_ADDR_UNSPEC)
		return peer;
	if (ep->named)
		context = ep->rx_bits ? peer >> (64 - ep->rx_bits) : 0;
	if (context >= KEMU_CONTEXTS)
		return FI_ADDR_NOTAVAIL;
	return (ep->rx_bits ? peer << ep->rx_bits >> ep->rx_bits : peer) | context << (64 - KEMU_CONTEXT_BITS);
}

/* A directed receive takes messages of this entry, whichever context is named. */
static inline fi_addr_t kemu_source(const struct kemu_ep *ep, kfi_addr_t peer)
{
	return ep->translates && ep->rx_bits && peer != KFI_ADDR_UNSPEC ? peer << ep->rx_bits >> ep->rx_bits : peer;
}

/* The side's queue has as many unread entries as its size: what would make one more is to be tried again later. */
bool kemu_post_no_room(const struct kemu_ep *ep, uint64_t side);

static inline bool kemu_saturated(const struct kemu_ep *ep, uint64_t side)
{
	return ep->saturates && kemu_post_no_room(ep, side);
}

/* 0, and kemu_post_end() follows; else nothing is held. -KFI_EBADFLAGS; -KFI_EINVAL, and the others of kemu_memory_take(). */
int kemu_post_begin(struct kemu_post *post, const struct kemu_call *call);
/* Gives back what libfabric's call said. If it failed, the window ends. */
ssize_t kemu_post_end(struct kemu_post *post, ssize_t rc);

/* A single buffer's address and descriptor, as the device knows them. */
void *kemu_post_single(const struct kemu_ep *ep, const void **buf, size_t len, void *desc);

/* A call of one buffer, as libfabric gets it. */
struct kemu_single {
	struct kemu_ep *ep;
	struct fid_ep *fi;
	void *buf, *desc;
};

/* False: the side has no room for the completion (-KFI_EAGAIN). */
bool kemu_single_take(struct kemu_single *one, struct kfid_ep *kfid, const void *buf, size_t len, void *desc, uint64_t side);

#endif
