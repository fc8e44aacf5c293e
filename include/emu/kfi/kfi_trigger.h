/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_trigger.h - operations that wait for a counter, as types: fi_trigger(3). KFI_TRIGGER and KFI_QUEUE_WORK take them. */
#ifndef EMU_KFI_TRIGGER_H
#define EMU_KFI_TRIGGER_H

#include <kfi_atomic.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>

enum kfi_trigger_event { KFI_TRIGGER_THRESHOLD };

enum kfi_op_type {
	KFI_OP_RECV,
	KFI_OP_SEND,
	KFI_OP_TRECV,
	KFI_OP_TSEND,
	KFI_OP_READ,
	KFI_OP_WRITE,
	KFI_OP_ATOMIC,
	KFI_OP_FETCH_ATOMIC,
	KFI_OP_COMPARE_ATOMIC,
	KFI_OP_CNTR_SET,
	KFI_OP_CNTR_ADD,
};

struct kfi_trigger_threshold {
	struct kfid_cntr *cntr;
	size_t threshold;
};

struct kfi_op_msg {
	struct kfid_ep *ep;
	struct kfi_msg msg;
	uint64_t flags;
};

struct kfi_op_tagged {
	struct kfid_ep *ep;
	struct kfi_msg_tagged msg;
	uint64_t flags;
};

struct kfi_op_rma {
	struct kfid_ep *ep;
	struct kfi_msg_rma msg;
	uint64_t flags;
};

struct kfi_op_atomic {
	struct kfid_ep *ep;
	struct kfi_msg_atomic msg;
	uint64_t flags;
};

struct kfi_op_fetch_atomic {
	struct kfid_ep *ep;
	struct kfi_msg_atomic msg;
	struct kfi_msg_fetch fetch;
	uint64_t flags;
};

struct kfi_op_compare_atomic; /* upstream has no members of it */

struct kfi_op_cntr {
	struct kfid_cntr *cntr;
	uint64_t value;
};

/* In the place of a struct kfi_context, and as large. */
struct kfi_triggered_context {
	enum kfi_trigger_event event_type;
	union {
		struct kfi_trigger_threshold threshold;
		void *internal[3];
	} trigger;
};

/* In the place of a struct kfi_context2, and as large. */
struct kfi_triggered_context2 {
	enum kfi_trigger_event event_type;
	union {
		struct kfi_trigger_threshold threshold;
		void *internal[7];
	} trigger;
};

/* The caller's, and unchanged until the work is done or cancelled. */
struct kfi_deferred_work {
	struct kfi_context2 context;
	uint64_t threshold;
	struct kfid_cntr *triggering_cntr;
	struct kfid_cntr *completion_cntr;
	enum kfi_op_type op_type;
	union {
		struct kfi_op_msg *msg;
		struct kfi_op_tagged *tagged;
		struct kfi_op_rma *rma;
		struct kfi_op_atomic *atomic;
		struct kfi_op_fetch_atomic *fetch_atomic;
		struct kfi_op_compare_atomic *compare_atomic;
		struct kfi_op_cntr *cntr;
	} op;
};

#endif
