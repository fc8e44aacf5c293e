/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cntr.c - the counter object. Reading drives the device. */
#include "emu/fi/queues/fi_queues.h"

#include <pthread.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/nic/role/driver.h"

static struct emu_cntr *emu_cntr(struct fid_cntr *fid)
{
	return (struct emu_cntr *)fid;
}

static void drive(struct emu_cntr *cntr)
{
	if (domain_usable(cntr->domain))
		driver_poll(nic_driver(cntr->domain->nic));
}

/* Notes the values that the program has read. */
static void cntr_mark_seen(struct emu_cntr *cntr)
{
	atomic_store(&cntr->seen, cntr_read(cntr->cntr));
	atomic_store(&cntr->seen_errors, cntr_read_error(cntr->cntr));
}

static uint64_t cntr_op_read(struct fid_cntr *fid)
{
	drive(emu_cntr(fid));
	cntr_mark_seen(emu_cntr(fid));
	return atomic_load(&emu_cntr(fid)->seen);
}

static uint64_t cntr_op_readerr(struct fid_cntr *fid)
{
	drive(emu_cntr(fid));
	cntr_mark_seen(emu_cntr(fid));
	return atomic_load(&emu_cntr(fid)->seen_errors);
}

static int cntr_op_add(struct fid_cntr *fid, uint64_t value)
{
	cntr_add(emu_cntr(fid)->cntr, value);
	return 0;
}

static int cntr_op_set(struct fid_cntr *fid, uint64_t value)
{
	cntr_set(emu_cntr(fid)->cntr, value);
	return 0;
}

static int cntr_op_adderr(struct fid_cntr *fid, uint64_t value)
{
	cntr_add_error(emu_cntr(fid)->cntr, value);
	return 0;
}

static int cntr_op_seterr(struct fid_cntr *fid, uint64_t value)
{
	cntr_set_error(emu_cntr(fid)->cntr, value);
	return 0;
}

/* The counter is armed. A change of the error count ends the wait, too (fi_cntr(3)). */
static int wait_armed(struct emu_cntr *cntr, uint64_t threshold, int timeout)
{
	uint64_t deadline = wait_deadline(timeout);
	uint64_t errors = cntr_read_error(cntr->cntr);
	int left;

	for (;;) {
		uint32_t turn = waiter_turn(&cntr->waiter);

		if (cntr_read(cntr->cntr) >= threshold)
			return 0;
		if (cntr_read_error(cntr->cntr) != errors)
			return -FI_EAVAIL;
		if (domain_usable(cntr->domain))
			driver_poll(nic_driver(cntr->domain->nic));
		else if (refuse_inherited("fi_cntr_wait") != -FI_EAGAIN)
			return -FI_ENODEV;
		if (cntr_read(cntr->cntr) >= threshold || cntr_read_error(cntr->cntr) != errors)
			continue;
		left = wait_left(deadline);
		if (!left)
			return -FI_ETIMEDOUT;
		if (waiter_sleep(&cntr->waiter, turn, left) < 0)
			return -FI_EINTR;
	}
}

static bool may_wait(const struct emu_cntr *cntr)
{
	return waiter_blocks(&cntr->waiter) || (cntr->waiter.obj == FI_WAIT_NONE && cntr->domain->attr->cntr_wait_none);
}

static void fi_cntr_cancelled(void *cntr)
{
	cntr_disarm(cntr);
}

static int cntr_op_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct emu_cntr *cntr = emu_cntr(fid);
	int err;

	if (!may_wait(cntr))
		return REFUSE(CNTR, -FI_EINVAL,
			      "fi_cntr_wait: the counter was opened with FI_WAIT_NONE or FI_WAIT_SET. Open it "
			      "with FI_WAIT_UNSPEC to wait, or read it.");
	cntr_arm(cntr->cntr);
	pthread_cleanup_push(fi_cntr_cancelled, cntr->cntr); /* the thread may be cancelled in its sleep */
	err = wait_armed(cntr, threshold, timeout);
	pthread_cleanup_pop(1);
	cntr_mark_seen(cntr);
	return err;
}

static bool cntr_unseen(void *arg)
{
	struct emu_cntr *cntr = arg;

	return cntr_read(cntr->cntr) != atomic_load(&cntr->seen) || cntr_read_error(cntr->cntr) != atomic_load(&cntr->seen_errors);
}

static bool notify_changed(void *arg)
{
	cntr_notify(((struct emu_cntr *)arg)->cntr);
	return cntr_unseen(arg);
}

int emu_cntr_trywait(struct emu_cntr *cntr)
{
	if (cntr->waiter.obj == FI_WAIT_NONE)
		return REFUSE(CNTR, -FI_EINVAL, "fi_trywait: a counter was opened with FI_WAIT_NONE. Open it with FI_WAIT_FD.");
	if (!domain_usable(cntr->domain))
		return refuse_inherited("fi_trywait");
	return waiter_try(&cntr->waiter, notify_changed, cntr);
}

static int cntr_close_fid(struct fid *fid)
{
	struct emu_cntr *cntr = (struct emu_cntr *)fid;
	bool usable = domain_usable(cntr->domain);
	int err;

	if (usable) {
		if (cntr_bound(cntr->cntr))
			return REFUSE(CNTR, -FI_EBUSY,
				      "fi_close: the counter is bound to endpoints, in a poll set, or deferred "
				      "work waits for it. Close those, or take it out, first.");
		err = close_end_check(cntr->domain, &cntr->bindings, "counter");
		if (err)
			return err;
		close_end(cntr->domain, &cntr->bindings);
	}
	if (cntr->waiter.set)
		wait_set_remove(cntr->waiter.set, &cntr->member); /* first: another thread may be using it */
	if (usable) {
		(void)cntr_close(cntr->cntr); /* it is bound to nothing */
		waiter_close(&cntr->waiter);
	}
	domain_put(cntr->domain, &cntr->domain->cntrs);
	free(cntr);
	return 0;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	return waiter_control(&((struct emu_cntr *)fid)->waiter, command, arg);
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close_fid,
	.bind = stub_bind,
	.control = cntr_control,
	STUB_FID_OPS,
};

static struct compat_ops_cntr cntr_ops = {
	.base = {
		.size = sizeof(struct compat_ops_cntr),
		.read = cntr_op_read,
		.readerr = cntr_op_readerr,
		.add = cntr_op_add,
		.set = cntr_op_set,
		.wait = cntr_op_wait,
		.adderr = cntr_op_adderr,
		.seterr = cntr_op_seterr,
	},
	.COMPAT_XPU(export_xpu) = stub_cntr_export_xpu,
};

static struct waiter_want cntr_waiter_want(const struct emu_domain *domain, const struct fi_cntr_attr *attr)
{
	return (struct waiter_want){ attr->wait_obj, attr->wait_set, domain->fabric, "fi_cntr_open" };
}

static int cntr_check_attr(const struct emu_domain *domain, const struct fi_cntr_attr *attr)
{
	struct waiter_want want;

	if (!attr)
		return REFUSE(CNTR, -FI_EINVAL, "fi_cntr_open: attr is NULL.");
	if (attr->flags)
		return REFUSE_FLAGS(CNTR, "fi_cntr_open", attr->flags);
	if (attr->events != FI_CNTR_EVENTS_COMP &&
	    ((int)attr->events != COMPAT_CNTR_EVENTS_BYTES || FI_VERSION_LT(domain->api, FI_VERSION(1, 21))))
		return REFUSE(CNTR, -FI_ENOSYS,
			      "fi_cntr_open: events %d is not offered. FI_CNTR_EVENTS_COMP is, and "
			      "FI_CNTR_EVENTS_BYTES from API 1.21 on.",
			      (int)attr->events);
	want = cntr_waiter_want(domain, attr);
	return waiter_check(&want);
}

/* With a wait set it is armed for good. */
static int cntr_open_device(struct emu_cntr *cntr, const struct fi_cntr_attr *attr)
{
	struct waiter_want want = cntr_waiter_want(cntr->domain, attr);
	int err = waiter_open(&cntr->waiter, &want);

	if (err)
		return err;
	err = cntr_open(&cntr->cntr, want.obj == FI_WAIT_NONE ? NULL : waiter_wake, &cntr->waiter);
	if (!err && attr->events != FI_CNTR_EVENTS_COMP)
		cntr_by_bytes(cntr->cntr);
	if (!err && cntr->waiter.set) {
		cntr->member = (struct wait_member){ .ready = cntr_unseen, .arg = cntr, .fd = -1 };
		cntr_arm(cntr->cntr);
		err = wait_set_add(cntr->waiter.set, &cntr->member);
		if (err)
			(void)cntr_close(cntr->cntr); /* nothing uses it yet */
	}
	if (err)
		waiter_close(&cntr->waiter);
	return err;
}

int emu_cntr_open(struct fid_domain *fid, struct fi_cntr_attr *attr, struct fid_cntr **out, void *context)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_cntr *cntr;
	int err;

	if (!out)
		return REFUSE(CNTR, -FI_EINVAL, "fi_cntr_open: cntr is NULL.");
	err = cntr_check_attr(domain, attr);
	if (!err)
		err = domain_get(domain, &domain->cntrs, domain->attr->cntr_cnt, "fi_cntr_open");
	if (err)
		return err;
	cntr = calloc(1, sizeof(*cntr));
	if (cntr)
		cntr->domain = domain;
	err = cntr ? cntr_open_device(cntr, attr) : -FI_ENOMEM;
	if (err) {
		REFUSE(CNTR, err, "fi_cntr_open: %s.", fi_strerror(-err));
		free(cntr);
		domain_put(domain, &domain->cntrs);
		return err;
	}
	cntr->bindings.cntr = cntr->cntr;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fid_ops;
	cntr->fid.ops = &cntr_ops.base;
	*out = &cntr->fid;
	return 0;
}
