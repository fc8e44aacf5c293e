/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cq.c - the completion queue object. A read that finds nothing drives the device and looks again. */
#include "emu/fi/queues/fi_queues.h"

#include <pthread.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_kernel.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/role/driver.h"

enum { BATCH = 16 }; /* entries taken at once */

static struct emu_cq *emu_cq(struct fid_cq *fid)
{
	return (struct emu_cq *)fid;
}

/* The formats are prefixes of the last one. */
static_assert(offsetof(struct fi_cq_tagged_entry, tag) == sizeof(struct fi_cq_data_entry), "formats");
static_assert(offsetof(struct fi_cq_tagged_entry, buf) == sizeof(struct fi_cq_msg_entry), "formats");
static_assert(offsetof(struct fi_cq_tagged_entry, flags) == sizeof(struct fi_cq_entry), "formats");

static size_t format_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_UNSPEC:
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return 0;
	}
}

static inline void cq_write_entry(char *to, const struct completion *from, size_t size)
{
	struct fi_cq_tagged_entry *entry = (struct fi_cq_tagged_entry *)(void *)to;

	entry->op_context = from->context;
	if (size == sizeof(struct fi_cq_entry))
		return;
	entry->flags = from->flags;
	entry->len = from->length;
	if (size == sizeof(struct fi_cq_msg_entry))
		return;
	entry->buf = from->buf;
	entry->data = from->data;
	if (size == sizeof(struct fi_cq_tagged_entry))
		entry->tag = from->tag;
}

/* Programs know memory of devices by other addresses than the NIC. */
static void name_buffers(const struct emu_hmem_ops *hmem, struct completion *batch, size_t count)
{
	for (size_t i = 0; i < count; i++)
		batch[i].buf = hmem->named(batch[i].buf);
}

static void write_entries(const struct emu_cq *cq, char *to, const struct completion *from, size_t count)
{
	size_t size = cq->entry_size;

	for (size_t i = 0; i < count; i++)
		cq_write_entry(to + i * size, &from[i], size);
}

/* Takes entries that are there, without driving: as cq_take(), into the program's buffers. */
static ssize_t cq_read_entries(struct emu_cq *cq, char *buf, size_t count, fi_addr_t *source)
{
	struct completion batch[BATCH];
	size_t done = 0;
	ssize_t got;

	do {
		got = cq_take(cq->cq, batch, count - done < BATCH ? count - done : BATCH);
		if (got < 0)
			return done ? (ssize_t)done : status_of(got);
		if (unlikely(domain_hmem(cq->domain)))
			name_buffers(domain_hmem(cq->domain), batch, (size_t)got);
		write_entries(cq, buf + done * cq->entry_size, batch, (size_t)got);
		for (ssize_t i = 0; source && i < got; i++)
			source[done + (size_t)i] = batch[i].source;
		done += (size_t)got;
	} while (got == BATCH && done < count);
	return (ssize_t)done;
}

static ssize_t read_once(struct emu_cq *cq, void *buf, size_t count, fi_addr_t *source)
{
	ssize_t got;
	bool reading;

	if (count && !buf)
		return REFUSE(CQ, -FI_EINVAL, "fi_cq_read: buf is NULL and count %zu.", count);
	if (!domain_usable(cq->domain))
		return refuse_inherited("fi_cq_read");
	got = count && cq_ready(cq->cq) ? cq_read_entries(cq, buf, count, source) : -FI_EAGAIN; /* count 0 drives in any case */
	if (got != -FI_EAGAIN)
		return got;
	reading = cq_reader_enter(cq->cq);
	driver_poll(nic_driver(cq->domain->nic));
	got = cq_ready(cq->cq) ? cq_read_entries(cq, buf, count, source) : -FI_EAGAIN;
	if (reading)
		cq_reader_exit(cq->cq);
	return got;
}

static ssize_t cq_op_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *source)
{
	return read_once(emu_cq(fid), buf, count, source);
}

static ssize_t cq_op_read(struct fid_cq *fid, void *buf, size_t count)
{
	return read_once(emu_cq(fid), buf, count, NULL);
}

/* The queue is armed. Sleeps until there is an entry, a signal comes, or time is up (-FI_EAGAIN: fi_cq(3)). */
static ssize_t read_blocking(struct emu_cq *cq, void *buf, size_t count, fi_addr_t *source, int timeout)
{
	uint64_t deadline = wait_deadline(timeout);
	ssize_t got;
	int left;

	for (;;) {
		uint32_t turn = waiter_turn(&cq->waiter);

		got = read_once(cq, buf, count, source);
		if (got != -FI_EAGAIN || cq_signalled(cq->cq))
			return got;
		left = wait_left(deadline);
		if (!left || waiter_sleep(&cq->waiter, turn, left) < 0)
			return -FI_EAGAIN;
	}
}

static void fi_cq_cancelled(void *cq)
{
	cq_disarm(cq);
}

static ssize_t cq_op_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *source, const void *cond, int timeout)
{
	struct emu_cq *cq = emu_cq(fid);
	ssize_t got;

	(void)cond; /* an optimization (fi_cq(3)): fewer entries than asked for may wake the reader */
	if (!waiter_blocks(&cq->waiter))
		return REFUSE(CQ, -FI_EINVAL,
			      "fi_cq_sread: the queue was opened with FI_WAIT_NONE or FI_WAIT_SET. Open it "
			      "with FI_WAIT_UNSPEC to wait, or use fi_cq_read.");
	cq_arm(cq->cq);
	pthread_cleanup_push(fi_cq_cancelled, cq->cq); /* the thread may be cancelled in its sleep */
	got = read_blocking(cq, buf, count, source, timeout);
	pthread_cleanup_pop(1);
	return got;
}

static ssize_t cq_op_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_op_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_op_signal(struct fid_cq *fid)
{
	struct emu_cq *cq = emu_cq(fid);

	if (cq->waiter.obj == FI_WAIT_NONE)
		return REFUSE(CQ, -FI_EINVAL, "fi_cq_signal: the queue was opened with FI_WAIT_NONE, so no thread waits for it.");
	cq_signal(cq->cq);
	return 0;
}

static bool ready(void *arg)
{
	return cq_ready(arg);
}

static bool notify_ready(void *arg)
{
	cq_notify(arg);
	return cq_ready(arg);
}

int emu_cq_trywait(struct emu_cq *cq)
{
	if (cq->waiter.obj == FI_WAIT_NONE)
		return REFUSE(CQ, -FI_EINVAL,
			      "fi_trywait: a completion queue was opened with FI_WAIT_NONE. Open it with "
			      "FI_WAIT_FD.");
	if (!domain_usable(cq->domain))
		return refuse_inherited("fi_trywait");
	return waiter_try(&cq->waiter, notify_ready, cq->cq);
}

static int cq_close_fid(struct fid *fid)
{
	struct emu_cq *cq = (struct emu_cq *)fid;
	bool usable = domain_usable(cq->domain);

	if (usable && cq_bound(cq->cq))
		return REFUSE(CQ, -FI_EBUSY,
			      "fi_close: the completion queue is bound to endpoints, or in a poll set. Close "
			      "those, or take it out, first.");
	if (cq->waiter.set)
		wait_set_remove(cq->waiter.set, &cq->member); /* first: another thread may be using it */
	if (usable) {
		(void)cq_close(cq->cq); /* it is bound to nothing */
		waiter_close(&cq->waiter);
	}
	domain_put(cq->domain, &cq->domain->cqs);
	mutex_destroy(&cq->lock);
	free(cq);
	return 0;
}

/* The kernel's front end asks for these (fi_kernel.h). */
static int kernel_control(struct emu_cq *cq, int command, size_t *number)
{
	struct cq_view view;

	if (command == EMU_FI_CQ_OVERRUN_AT) {
		cq_overrun_at(cq->cq, nic_fault_queue(cq->domain->nic, *number));
		return 0;
	}
	cq_look(cq->cq, &view);
	*number = command == EMU_FI_CQ_LOST ? cq_lost(cq->cq) : view.unread + view.errors;
	return 0;
}

static bool is_kernels(int command)
{
	return command == EMU_FI_CQ_UNREAD || command == EMU_FI_CQ_OVERRUN_AT || command == EMU_FI_CQ_LOST;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct emu_cq *cq = (struct emu_cq *)fid;

	if (is_kernels(command) && cq->domain->attr->caps & ATTR_CAPS_KERNEL)
		return kernel_control(cq, command, arg);
	return waiter_control(&((struct emu_cq *)fid)->waiter, command, arg);
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close_fid,
	.bind = stub_bind,
	.control = cq_control,
	STUB_FID_OPS,
};

static struct compat_ops_cq cq_ops = {
	.base = {
		.size = sizeof(struct compat_ops_cq),
		.read = cq_op_read,
		.readfrom = cq_op_readfrom,
		.readerr = emu_cq_readerr,
		.sread = cq_op_sread,
		.sreadfrom = cq_op_sreadfrom,
		.signal = cq_op_signal,
		.strerror = emu_cq_strerror,
	},
	.COMPAT_XPU(export_xpu) = stub_cq_export_xpu,
};

static struct waiter_want cq_waiter_want(const struct emu_domain *domain, const struct fi_cq_attr *attr)
{
	return (struct waiter_want){ attr->wait_obj, attr->wait_set, domain->fabric, "fi_cq_open" };
}

static int cq_check_attr(const struct emu_domain *domain, const struct fi_cq_attr *attr)
{
	struct waiter_want want;

	if (!attr || !format_size(attr->format))
		return REFUSE(CQ, -FI_EINVAL,
			      "fi_cq_open: attr is NULL, or format %d is none of FI_CQ_FORMAT_UNSPEC to "
			      "FI_CQ_FORMAT_TAGGED.",
			      attr ? (int)attr->format : 0);
	if (attr->flags & ~FI_AFFINITY) /* a hint about interrupts: there are none */
		return REFUSE_FLAGS(CQ, "fi_cq_open", attr->flags & ~FI_AFFINITY);
	if (attr->size > LIMIT_CQ_SIZE_MAX)
		return REFUSE(CQ, -FI_EINVAL, "fi_cq_open: size %zu. At most %d entries are possible.", attr->size,
			      LIMIT_CQ_SIZE_MAX);
	want = cq_waiter_want(domain, attr);
	return waiter_check(&want);
}

/* With a wait set it is armed for good. */
static int cq_open_device(struct emu_cq *cq, const struct fi_cq_attr *attr)
{
	struct waiter_want want = cq_waiter_want(cq->domain, attr);
	size_t size = nic_fault_queue(cq->domain->nic, attr->size ? attr->size : LIMIT_CQ_SIZE);
	int err = waiter_open(&cq->waiter, &want);

	if (err)
		return err;
	err = cq_open(&cq->cq, size, want.obj == FI_WAIT_NONE ? NULL : waiter_wake, &cq->waiter);
	if (!err && cq->waiter.set) {
		cq->member = (struct wait_member){ .ready = ready, .arg = cq->cq, .fd = -1 };
		cq_arm(cq->cq);
		err = wait_set_add(cq->waiter.set, &cq->member);
		if (err)
			(void)cq_close(cq->cq); /* nothing uses it yet */
	}
	if (err)
		waiter_close(&cq->waiter);
	return err;
}

int emu_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_cq *cq;
	int err;

	if (!out)
		return REFUSE(CQ, -FI_EINVAL, "fi_cq_open: cq is NULL.");
	err = cq_check_attr(domain, attr);
	if (!err)
		err = domain_get(domain, &domain->cqs, domain->attr->cq_cnt, "fi_cq_open");
	if (err)
		return err;
	cq = calloc(1, sizeof(*cq));
	if (cq)
		cq->domain = domain;
	err = cq ? cq_open_device(cq, attr) : -FI_ENOMEM;
	if (err) {
		REFUSE(CQ, err, "fi_cq_open: %s.", fi_strerror(-err));
		free(cq);
		domain_put(domain, &domain->cqs);
		return err;
	}
	cq->entry_size = format_size(attr->format);
	mutex_init(&cq->lock);
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops.base;
	*out = &cq->fid;
	return 0;
}
