/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_async.c - registration that ends on the worker thread (fi_domain_bind with FI_REG_MR, S168 to S172).
 *
 * The call itself finds all errors in its arguments, a key in use included: then there is no event (S171). The worker does
 * the part that may sleep: it populates the memory. Until it is done the region stands in the table with its key, closed
 * to peers, and the program sees neither key nor descriptor (S42, S174). */
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/queues/fi_eq.h"
#include "emu/net/os/worker.h"

struct mr_async {
	struct worker_job job; /* first */
	struct emu_mr *mr;
	struct emu_eq *eq;
	struct mr_memory memory; /* no segments: the registration of the base has done all */
	atomic_bool stop;
	int fault;                 /* not 0: registration fails with this, for any memory */
	struct mr_backing backing; /* the result of mr_async_run(), until mr_async_complete() */
};

/* Without the role, so it reads nothing of the region that may change. The segments are constant as long as the region
 * exists, and closing the region takes this job back first. */
static int mr_async_run(struct worker_job *job)
{
	struct mr_async *async = (struct mr_async *)job;

	if (async->fault)
		return async->fault;
	return async->memory.iov ? mr_back(async->mr->domain, &async->memory, &async->backing) : 0;
}

/* [role] Moves the result of mr_async_run() to the region. */
static void open_to_peers(struct emu_mr *mr)
{
	struct mr_backing *backing = &mr->parts->async->backing;

	mr->mr->registering = false;
	if (!mr->mr->base) {
		mr->mr->pages = backing->pages;
		mr->mr->pin = mr->parts->pin = backing->pin;
	}
	*backing = (struct mr_backing){ NULL, NULL };
	mr_publish(mr);
}

/* Opens the region to peers, or takes it from the table: its key is free then. The object stays until fi_close(). An fi_close()
 * that waits for this job has taken the region from the table already. */
static void mr_async_complete(struct emu_mr *mr, int result)
{
	struct driver *driver = nic_driver(mr->domain->nic);

	driver_take(driver);
	if (mr->mr && !result)
		open_to_peers(mr);
	else if (mr->mr)
		pd_remove_region(mr->domain->pd, mr->mr);
	if (result)
		mr->mr = NULL;
	driver_leave(driver);
	mr_unback(&mr->parts->async->backing); /* unless the region has taken it */
}

/* A full queue loses the event and reports FI_EOVERRUN; the region is registered all the same. */
static void mr_async_job_done(struct worker_job *job, int result)
{
	struct mr_async *async = (struct mr_async *)job;
	struct emu_mr *mr = async->mr;
	struct fid *fid = &mr->fid.fid;

	mr_async_complete(mr, result);
	if (result)
		emu_eq_push_error(async->eq, fid, fid->context, 0, -result);
	else
		emu_eq_push(async->eq, FI_MR_COMPLETE, fid, fid->context, 0);
}

int mr_async_open(struct emu_mr *mr, struct emu_eq *eq)
{
	int err = worker_start();

	if (err) {
		EMU_WARN(MR, "fi_mr_reg: the worker thread cannot be started: %s\n", fi_strerror(-err));
		return err;
	}
	mr->parts->async = calloc(1, sizeof(*mr->parts->async));
	if (!mr->parts->async)
		return -FI_ENOMEM;
	*mr->parts->async = (struct mr_async){ .job = { .run = mr_async_run, .done = mr_async_job_done }, .mr = mr, .eq = eq };
	return 0;
}

void mr_async_begin(struct emu_mr *mr, const struct mr_request *req, int fault)
{
	struct mr_async *async = mr->parts->async;

	async->fault = fault;
	if (!req->base)
		async->memory = (struct mr_memory){
			.iov = req->count > 1 ? mr->mr->more : &mr->mr->one, /* those of the request end with the call */
			.count = req->count,
			.shift = req->shift,
			.access = req->access,
			.stop = &async->stop,
		};
	worker_submit(&async->job);
}

void mr_async_close(struct emu_mr *mr)
{
	atomic_store_explicit(&mr->parts->async->stop, true, memory_order_relaxed); /* a hint: worker_cancel() waits */
	worker_cancel(&mr->parts->async->job);
	emu_eq_withdraw(mr->parts->async->eq, &mr->fid.fid);
}
