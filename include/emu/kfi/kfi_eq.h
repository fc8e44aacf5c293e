/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_eq.h - what reports: event queues, completion queues, counters, wait sets and poll sets: fi_eq(3), fi_cq(3), fi_cntr(3),
 * fi_poll(3). Timeouts are in ms, and a negative one never ends. */
#ifndef EMU_KFI_EQ_H
#define EMU_KFI_EQ_H

#include <kfabric.h>

enum kfi_wait_obj {
	KFI_WAIT_NONE,
	KFI_WAIT_UNSPEC,
	KFI_WAIT_SET,
	KFI_WAIT_QUEUE, /* a wait queue of the kernel; libfabric has FI_WAIT_FD here */
};

struct kfi_wait_attr {
	enum kfi_wait_obj wait_obj;
	uint64_t flags;
};

struct kfi_ops_wait {
	size_t size;
	int (*wait)(struct kfid_wait *waitset, int timeout);
};

struct kfid_wait {
	struct kfid kfid;
	struct kfi_ops_wait *ops;
};

struct kfi_poll_attr {
	uint64_t flags;
};

struct kfi_ops_poll {
	size_t size;
	int (*poll)(struct kfid_poll *pollset, void **context, int count);
	int (*poll_add)(struct kfid_poll *pollset, struct kfid *event_kfid, uint64_t flags);
	int (*poll_del)(struct kfid_poll *pollset, struct kfid *event_kfid, uint64_t flags);
};

struct kfid_poll {
	struct kfid fid;
	struct kfi_ops_poll *ops;
};

struct kfi_eq_attr {
	size_t size; /* events */
	uint64_t flags;
	enum kfi_wait_obj wait_obj;
	int signaling_vector;
	struct kfid_wait *wait_set;
};

enum { KFI_NOTIFY, KFI_CONNREQ, KFI_CONNECTED, KFI_SHUTDOWN, KFI_MR_COMPLETE, KFI_AV_COMPLETE, KFI_JOIN_COMPLETE };

struct kfi_eq_entry {
	kfid_t fid;
	void *context;
	uint64_t data;
};

struct kfi_eq_err_entry {
	kfid_t fid;
	void *context;
	uint64_t data;
	int err;
	int prov_errno;
	void *err_data; /* the provider's, until the queue is read again */
	size_t err_data_size;
};

struct kfi_eq_cm_entry {
	kfid_t fid;
	struct kfi_info *info; /* of KFI_CONNREQ; the reader frees it by kfi_freeinfo() */
	uint8_t data[];        /* the peer's param, as far as the buffer reaches */
};

struct kfi_ops_eq {
	size_t size;
	ssize_t (*read)(struct kfid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags);
	ssize_t (*readerr)(struct kfid_eq *eq, struct kfi_eq_err_entry *buf, uint64_t flags);
	ssize_t (*write)(struct kfid_eq *eq, uint32_t event, const void *buf, size_t len, uint64_t flags);
	ssize_t (*sread)(struct kfid_eq *eq, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags);
	const char *(*strerror)(struct kfid_eq *eq, int prov_errno, const void *err_data, char *buf, size_t len);
};

struct kfid_eq {
	struct kfid fid;
	struct kfi_ops_eq *ops;
	kfi_event_handler event_handler;
};

/* Each format holds the members of the one before it, at the same places. */
enum kfi_cq_format {
	KFI_CQ_FORMAT_UNSPEC,
	KFI_CQ_FORMAT_CONTEXT,
	KFI_CQ_FORMAT_MSG,
	KFI_CQ_FORMAT_DATA,
	KFI_CQ_FORMAT_TAGGED,
};

struct kfi_cq_entry {
	void *op_context;
};

struct kfi_cq_msg_entry {
	void *op_context;
	uint64_t flags;
	size_t len;
};

struct kfi_cq_data_entry {
	void *op_context;
	uint64_t flags;
	size_t len;
	void *buf;
	uint64_t data;
};

struct kfi_cq_tagged_entry {
	void *op_context;
	uint64_t flags;
	size_t len;
	void *buf;
	uint64_t data;
	uint64_t tag;
};

/* It ends where libfabric 1.5's does: there is no src_addr. */
struct kfi_cq_err_entry {
	void *op_context;
	uint64_t flags;
	size_t len;
	void *buf;
	uint64_t data;
	uint64_t tag;
	size_t olen;
	int err;
	int prov_errno;
	void *err_data; /* the provider's, until the queue is read again */
	size_t err_data_size;
};

enum kfi_cq_wait_cond {
	KFI_CQ_COND_NONE,
	KFI_CQ_COND_THRESHOLD, /* cond is a size_t */
};

struct kfi_cq_attr {
	size_t size; /* entries */
	uint64_t flags;
	enum kfi_cq_format format;
	enum kfi_wait_obj wait_obj;
	int signaling_vector;
	enum kfi_cq_wait_cond wait_cond;
	struct kfid_wait *wait_set;
};

struct kfi_ops_cq {
	size_t size;
	ssize_t (*read)(struct kfid_cq *cq, void *buf, size_t count);
	ssize_t (*readfrom)(struct kfid_cq *cq, void *buf, size_t count, kfi_addr_t *src_addr);
	ssize_t (*readerr)(struct kfid_cq *cq, struct kfi_cq_err_entry *buf, uint64_t flags);
	ssize_t (*sread)(struct kfid_cq *cq, void *buf, size_t count, const void *cond, int timeout);
	ssize_t (*sreadfrom)(struct kfid_cq *cq, void *buf, size_t count, kfi_addr_t *src_addr, const void *cond, int timeout);
	int (*signal)(struct kfid_cq *cq);
	const char *(*strerror)(struct kfid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len);
};

struct kfid_cq {
	struct kfid fid;
	struct kfi_ops_cq *ops;
	kfi_comp_handler comp_handler;
};

enum kfi_cntr_events { KFI_CNTR_EVENTS_COMP };

struct kfi_cntr_attr {
	enum kfi_cntr_events events;
	enum kfi_wait_obj wait_obj;
	struct kfid_wait *wait_set;
	uint64_t flags;
};

struct kfi_ops_cntr {
	size_t size;
	uint64_t (*read)(struct kfid_cntr *cntr);
	uint64_t (*readerr)(struct kfid_cntr *cntr);
	int (*add)(struct kfid_cntr *cntr, uint64_t value);
	int (*set)(struct kfid_cntr *cntr, uint64_t value);
	int (*wait)(struct kfid_cntr *cntr, uint64_t threshold, int timeout);
	int (*adderr)(struct kfid_cntr *cntr, uint64_t value);
	int (*seterr)(struct kfid_cntr *cntr, uint64_t value);
};

struct kfid_cntr {
	struct kfid fid;
	struct kfi_ops_cntr *ops;
};

/* Sleeps until a queue or counter of the set has something. -KFI_ETIMEDOUT at the end of the time. */
static inline int kfi_wait(struct kfid_wait *waitset, int timeout)
{
	return waitset->ops->wait(waitset, timeout);
}

/* Writes the contexts of at most count queues and counters that have something, and gives their number. */
static inline int kfi_poll(struct kfid_poll *pollset, void **context, int count)
{
	return pollset->ops->poll(pollset, context, count);
}

/* Takes a queue or counter into the set. Flags are reserved and 0. */
static inline int kfi_poll_add(struct kfid_poll *pollset, struct kfid *event_kfid, uint64_t flags)
{
	return pollset->ops->poll_add(pollset, event_kfid, flags);
}

/* Takes it out again. */
static inline int kfi_poll_del(struct kfid_poll *pollset, struct kfid *event_kfid, uint64_t flags)
{
	return pollset->ops->poll_del(pollset, event_kfid, flags);
}

/* Opens an event queue. The handler, which may be NULL, is called with the context: see kfi_event_handler. kfi_close() ends it. */
static inline int kfi_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq,
			      kfi_event_handler event_handler, void *context)
{
	return fabric->ops->eq_open(fabric, attr, eq, event_handler, context);
}

/* Takes one event, and gives its bytes. -KFI_EAGAIN: there is none, and the handler is armed; -KFI_EAVAIL: an error comes first. */
static inline ssize_t kfi_eq_read(struct kfid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	return eq->ops->read(eq, event, buf, len, flags);
}

/* Takes the error that is first, and gives its bytes. -KFI_EAGAIN: none is. */
static inline ssize_t kfi_eq_readerr(struct kfid_eq *eq, struct kfi_eq_err_entry *buf, uint64_t flags)
{
	return eq->ops->readerr(eq, buf, flags);
}

/* Puts an event of the caller's into the queue, which copies len bytes. The queue was opened with KFI_WRITE. */
static inline ssize_t kfi_eq_write(struct kfid_eq *eq, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	return eq->ops->write(eq, event, buf, len, flags);
}

/* Sleeps until there is an event, then reads it. -KFI_EAGAIN at the end of the time. */
static inline ssize_t kfi_eq_sread(struct kfid_eq *eq, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags)
{
	return eq->ops->sread(eq, event, buf, len, timeout, flags);
}

/* Gives the provider's words for an error's prov_errno; buf takes a copy, and may be NULL. */
static inline const char *kfi_eq_strerror(struct kfid_eq *eq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	return eq->ops->strerror(eq, prov_errno, err_data, buf, len);
}

/* Takes at most count completions, and gives their number. -KFI_EAGAIN: there is none, and the handler is armed; -KFI_EAVAIL: an
 * error comes first. */
static inline ssize_t kfi_cq_read(struct kfid_cq *cq, void *buf, size_t count)
{
	return cq->ops->read(cq, buf, count);
}

/* Reads as kfi_cq_read(), with the address of each sender, or KFI_ADDR_NOTAVAIL. */
static inline ssize_t kfi_cq_readfrom(struct kfid_cq *cq, void *buf, size_t count, kfi_addr_t *src_addr)
{
	return cq->ops->readfrom(cq, buf, count, src_addr);
}

/* Takes the error that is first, and gives 1. -KFI_EAGAIN: none is. */
static inline ssize_t kfi_cq_readerr(struct kfid_cq *cq, struct kfi_cq_err_entry *buf, uint64_t flags)
{
	return cq->ops->readerr(cq, buf, flags);
}

/* Sleeps until there are completions (cond: so many), then reads them. -KFI_EAGAIN at the end of the time or by kfi_cq_signal(). */
static inline ssize_t kfi_cq_sread(struct kfid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	return cq->ops->sread(cq, buf, count, cond, timeout);
}

/* Sleeps as kfi_cq_sread(), and reads as kfi_cq_readfrom(). */
static inline ssize_t kfi_cq_sreadfrom(struct kfid_cq *cq, void *buf, size_t count, kfi_addr_t *src_addr, const void *cond,
				       int timeout)
{
	return cq->ops->sreadfrom(cq, buf, count, src_addr, cond, timeout);
}

/* Wakes a thread that sleeps in a read of the queue. */
static inline int kfi_cq_signal(struct kfid_cq *cq)
{
	return cq->ops->signal(cq);
}

/* Gives the provider's words for an error's prov_errno; buf takes a copy, and may be NULL. */
static inline const char *kfi_cq_strerror(struct kfid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	return cq->ops->strerror(cq, prov_errno, err_data, buf, len);
}

/* Gives the number of operations that succeeded. */
static inline uint64_t kfi_cntr_read(struct kfid_cntr *cntr)
{
	return cntr->ops->read(cntr);
}

/* Gives the number of operations that failed. */
static inline uint64_t kfi_cntr_readerr(struct kfid_cntr *cntr)
{
	return cntr->ops->readerr(cntr);
}

/* Adds to the successes. Waiters whose threshold is reached go on. */
static inline int kfi_cntr_add(struct kfid_cntr *cntr, uint64_t value)
{
	return cntr->ops->add(cntr, value);
}

/* Adds to the failures. -KFI_ENOSYS: the provider cannot. */
static inline int kfi_cntr_adderr(struct kfid_cntr *cntr, uint64_t value)
{
	return KFI_CHECK_OP(cntr->ops, struct kfi_ops_cntr, adderr) ? cntr->ops->adderr(cntr, value) : -ENOSYS;
}

/* Sets the successes. */
static inline int kfi_cntr_set(struct kfid_cntr *cntr, uint64_t value)
{
	return cntr->ops->set(cntr, value);
}

/* Sets the failures. -KFI_ENOSYS: the provider cannot. */
static inline int kfi_cntr_seterr(struct kfid_cntr *cntr, uint64_t value)
{
	return KFI_CHECK_OP(cntr->ops, struct kfi_ops_cntr, seterr) ? cntr->ops->seterr(cntr, value) : -ENOSYS;
}

/* Sleeps until the successes reach the threshold. -KFI_EAVAIL: a failure was counted; -KFI_ETIMEDOUT: the time ended. */
static inline int kfi_cntr_wait(struct kfid_cntr *cntr, uint64_t threshold, int timeout)
{
	return cntr->ops->wait(cntr, threshold, timeout);
}

#endif
