/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr.h - a personality: what is offered, asked and allowed, as data. Behaviour comes from these values, never from
 * a personality's name. Each table is one file: fi_attr_strict.c, fi_attr_lax.c. Constant. */
#ifndef EMU_FI_ATTR_H
#define EMU_FI_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include "emu/fi/fi_compat.h"
#include "emu/nic/limits.h"

struct attr_table {
	const char *name;
	uint64_t caps;		/* those that are built; what a type of endpoint has of them: struct attr_type */
	int      mr_mode;	/* asked of a program, of the bits that it offers */
	size_t   mr_key_size;
	size_t   raw_key_size;	/* in its place under FI_MR_RAW */
	size_t   mr_iov_limit;
	size_t   iov_limit;	/* transmit and receive */
	size_t   rma_iov_limit;
	size_t   inject_size;
	size_t   max_msg_size;	/* these three of reliable endpoints: struct attr_type */
	size_t   cq_data_size;
	uint64_t msg_order;
	size_t   tx_size, rx_size;
	size_t   buffered_recv;
	size_t   cntr_cnt, cq_cnt, ep_cnt, mr_cnt;	/* a domain */
	size_t   ctx_cnt;	/* a domain: transmit, and receive, contexts of scalable endpoints and shared ones */
	size_t   max_err_data;
	bool     cntr_wait_none;	/* fi_cntr_wait() waits with FI_WAIT_NONE, too, where fi_cntr(3) calls it invalid */
};

extern const struct attr_table attr_strict, attr_lax;

/* What endpoints of a type have, in every personality. */
struct attr_type {
	enum fi_ep_type type;
	uint32_t protocol;
	uint64_t caps_not;	/* of the personality's */
	uint64_t levels;	/* of completion */
	bool     reliable;	/* messages of any length in order, kept until there is a receive; else none of it */
	size_t   contexts;	/* at most, a side */
};

enum { ATTR_TYPES = 3 };

/* Whoever does not say which type gets infos in this order. */
extern const struct attr_type attr_types[ATTR_TYPES];
/* NULL: there are no such endpoints. */
const struct attr_type *attr_type(enum fi_ep_type type);
/* What endpoints of a type may be asked for by programs of this API version, and the longest message of one. */
uint64_t attr_type_caps(const struct attr_table *attr, const struct attr_type *type, uint32_t api);
size_t   attr_type_message(const struct attr_table *attr, const struct attr_type *type);
uint64_t attr_type_order(const struct attr_table *attr, const struct attr_type *type);

/* What both tables offer: they differ in what they ask. */
#define ATTR_CAPS \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_SEND | FI_RECV | FI_REMOTE_READ | \
	 FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_RMA_EVENT | FI_RMA_PMEM | \
	 FI_HMEM | FI_FENCE | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_NAMED_RX_CTX | FI_TRIGGER | FI_SHARED_AV | \
	 ATTR_CAPS_2_0)
/* Of these, offered to programs of API 2.0 and later alone. */
#define ATTR_CAPS_2_0 (COMPAT_TAGGED_DIRECTED_RECV | COMPAT_TAGGED_MULTI_RECV | COMPAT_EXACT_DIRECTED_RECV)
/* Granted to none but who asks: they change how registration is read (S138), make errors of messages, refuse receives. */
#define ATTR_CAPS_ASKED (FI_HMEM | FI_SOURCE_ERR | COMPAT_EXACT_DIRECTED_RECV)
/* Completion levels. All that are offered are met at once where no completion comes before the target's verdict. */
#define ATTR_LEVELS (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define ATTR_MSG_ORDER \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_SAR | \
	 FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | \
	 FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
/* Any fields, up to the highest bit; the name FI_TAG_GENERIC is gone since 2.0. */
#define ATTR_TAG_FORMAT 0xaaaaaaaaaaaaaaaaull
#define ATTR_MAX_MSG_SIZE ((size_t)INT64_MAX)

/* Protocols of the endpoints: provider-specific (the high bit), so no other provider's is taken for them. */
#define ATTR_PROTOCOL		(0x80000000u | 0x656d75u)
#define ATTR_PROTOCOL_DGRAM	(0x80000000u | 0x656d64u)
#define ATTR_PROTOCOL_VERSION	1u

#endif
