/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr.h - a personality: what the NIC offers, asks and allows, as data; and the order of closing. Behaviour comes from these
 * values, never from a personality's name. Each table is one file: fi_attr_strict.c, fi_attr_lax.c, fi_attr_kfi.c,
 * fi_attr_kcxi.c. Constant. */
#ifndef EMU_FI_ATTR_H
#define EMU_FI_ATTR_H

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_kernel.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/regions/raw_key.h"

/* Which are closed first: regions, the objects they are bound to, or either (fi_close_policy.c). */
enum close_order { CLOSE_ANY, CLOSE_MR_LAST, CLOSE_MR_FIRST };

struct attr_table {
	const char *name; /* as FI_EMU_PERSONALITY says it */
	uint64_t caps;    /* all that are built; struct attr_type excludes some for a type of endpoint */
	int mr_mode;      /* asked of a program, of the bits that it offers */
	size_t mr_key_size;
	size_t raw_key_size; /* instead of mr_key_size under FI_MR_RAW */
	size_t mr_iov_limit;
	size_t iov_limit; /* transmit and receive */
	size_t rma_iov_limit;
	size_t inject_size;
	size_t max_msg_size; /* this and the next two: of reliable endpoints (struct attr_type) */
	size_t cq_data_size;
	uint64_t msg_order; /* kcxi promises none: KCXI_TX_MSG_ORDER */
	size_t tx_size, rx_size;
	size_t buffered_recv;
	size_t cntr_cnt, cq_cnt, ep_cnt, mr_cnt; /* per domain */
	size_t ctx_cnt; /* per domain: transmit, and receive, contexts of scalable endpoints and shared ones */
	size_t max_err_data;
	bool cntr_wait_none; /* fi_cntr_wait() waits with FI_WAIT_NONE, too, where fi_cntr(3) calls it invalid */
	/* fi_ep_bind() binds counters and a shared transmit context to an endpoint that is enabled; the context with any
	 * tx_ctx_cnt that the endpoint was opened with, as providers sockets and shm do. */
	bool binds_late;
	/* Ports that a scalable endpoint holds at its first enable; contexts above bind theirs when they are enabled. 0: all. */
	size_t row_ports;
	uint32_t rnr_most;   /* tries of an op whose receiver is not ready, unless FI_EMU_RNR_RETRY says; 0: without end */
	bool receives_first; /* a message finds its receive, or a receiver that is not ready; else it waits for one */
	/* fi_close() takes a shared transmit context whose endpoints are open, as provider sockets does; the last of these frees
	 * it. */
	bool closes_shared;
	bool binds_contexts;     /* fi_mr_bind() takes an enabled receive context of a scalable endpoint, too */
	uint64_t access_ignored; /* bits of a registration's access, beside the rights, that are not looked at */
	bool empty_regions;      /* regions of no byte may be registered, whatever the API version */
	bool multi_last;         /* FI_MULTI_RECV comes with a buffer's last message, in place of a completion of its own */
	bool multi_buf;          /* completions name the buffer of receives with FI_MULTI_RECV alone */
	bool kernel_words;       /* sentences speak of kfabric: kfi_ and KFI_ (fi_words.h) */
	/* Settings change these for any personality. */
	enum close_order close; /* FI_EMU_MR_CLOSE */
	bool pinned;            /* FI_EMU_PINNED */
	bool mr_cache;          /* FI_EMU_MR_CACHE */
	bool fetch_reads;       /* FI_EMU_FETCH_RIGHTS=both */
};

extern const struct attr_table attr_strict, attr_lax, attr_kfi, attr_kcxi;

/* Initialisers of the fields that have the same value in all personalities. */
#define ATTR_COMMON                                                                                                            \
	.raw_key_size = RAW_KEY_LONG, .mr_iov_limit = LIMIT_IOV, .iov_limit = LIMIT_IOV, .rma_iov_limit = LIMIT_IOV,           \
	.inject_size = LIMIT_INJECT, .max_msg_size = ATTR_MAX_MSG_SIZE, .cq_data_size = 8, .tx_size = LIMIT_TX_OPS,            \
	.rx_size = LIMIT_RX_OPS, .buffered_recv = LIMIT_UNEXPECTED_BYTES, .cntr_cnt = 65536, .cq_cnt = 65536, .ep_cnt = 65536, \
	.ctx_cnt = 65536, .max_err_data = LIMIT_ERROR_TEXT

/* The properties of endpoints of a type, in every personality. */
struct attr_type {
	enum fi_ep_type type;
	uint32_t protocol;
	uint64_t caps_not; /* the personality's capabilities that they lack */
	uint64_t levels;   /* of completion */
	bool reliable;     /* messages have any length, are in order, and wait for a receive; else none of this */
	size_t contexts;   /* at most, per side */
};

enum { ATTR_TYPES = 3 };

/* Programs that ask for no type get infos in this order. */
extern const struct attr_type attr_types[ATTR_TYPES];
/* NULL: there are no such endpoints. */
const struct attr_type *attr_type(enum fi_ep_type type);
/* The capabilities that programs of this API version may ask of endpoints of a type, and the longest message of one. */
uint64_t attr_type_caps(const struct attr_table *attr, const struct attr_type *type, uint32_t api);
size_t attr_type_message(const struct attr_table *attr, const struct attr_type *type);
uint64_t attr_type_order(const struct attr_table *attr, const struct attr_type *type);

/* All tables offer these; the tables differ in what they ask. */
#define ATTR_CAPS                                                                                                              \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_SEND | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | \
	 FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_RMA_EVENT | FI_RMA_PMEM | FI_HMEM | FI_FENCE |      \
	 FI_LOCAL_COMM | FI_REMOTE_COMM | FI_NAMED_RX_CTX | FI_TRIGGER | FI_SHARED_AV | FI_COLLECTIVE | ATTR_CAPS_2_0)
/* Capabilities that are offered only to programs of API 2.0 and later. */
#define ATTR_CAPS_2_0 (COMPAT_TAGGED_DIRECTED_RECV | COMPAT_TAGGED_MULTI_RECV | COMPAT_EXACT_DIRECTED_RECV)
/* Granted only if asked for: they change how registration is read (S138, S184), turn messages into errors, refuse receives. */
#define ATTR_CAPS_ASKED (FI_HMEM | FI_COLLECTIVE | FI_SOURCE_ERR | COMPAT_EXACT_DIRECTED_RECV | ATTR_CAPS_KERNEL)
/* Capabilities that the tables of the kernel offer besides. */
#define ATTR_CAPS_KERNEL (EMU_FI_TAGGED_RMA | EMU_FI_REGION_EVENTS)
/* Completion levels. All of them are met at once where no completion comes before the target's verdict. */
#define ATTR_LEVELS (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define ATTR_MSG_ORDER                                                                                                           \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_SAR | FI_ORDER_SAW | \
	 FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR |        \
	 FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
/* Any fields, up to the highest bit; 2.0 has removed the name FI_TAG_GENERIC. */
#define ATTR_TAG_FORMAT 0xaaaaaaaaaaaaaaaaull
#define ATTR_MAX_MSG_SIZE ((size_t)INT64_MAX)

/* Protocols of the endpoints: provider-specific (the high bit), so they cannot be mistaken for another provider's. */
#define ATTR_PROTOCOL (0x80000000u | 0x656d75u)
#define ATTR_PROTOCOL_DGRAM (0x80000000u | 0x656d64u)
#define ATTR_PROTOCOL_VERSION 1u

/* FI_MULTI_RECV if receives of any kind know the flag, else 0. */
static inline uint64_t caps_multi(uint64_t caps)
{
	return caps & (FI_MULTI_RECV | COMPAT_TAGGED_MULTI_RECV) ? FI_MULTI_RECV : 0;
}

/* Adds the modifiers that capabilities imply: all of them if none is given (fi_getinfo(3)). */
uint64_t caps_complete(uint64_t caps);

/* The modifiers of messages, and of remote accesses. */
#define MSG_MODIFIERS (FI_SEND | FI_RECV)
#define RMA_MODIFIERS (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* --- The order in which regions and the objects they are bound to may be closed (FI_EMU_MR_CLOSE; S180, S181). libfabric's
 * man pages differ between versions, so the API version never chooses. --- */

/* An object that need not wait dissolves its bindings when it closes. */
struct close_policy {
	const char *name;
	bool region_waits; /* fi_close of a region that is bound to an open object: -FI_EBUSY */
	bool end_waits;    /* fi_close of an endpoint or counter that regions are bound to: -FI_EBUSY */
};

/* By enum close_order; NULL ends the names. */
extern const char *const close_policy_names[];
const struct close_policy *close_policy(enum close_order order);

#endif
