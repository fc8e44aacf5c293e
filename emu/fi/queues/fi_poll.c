/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_poll.c - the poll set object. */
#include "emu/fi/queues/fi_wait.h"

#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/nic/base/mutex.h"

struct polled {
	struct polled *next;
	struct fid *fid;        /* completion queue or counter */
	uint64_t count, errors; /* of a counter, when fi_poll() last reported it */
};

struct emu_poll {
	struct fid_poll fid;
	struct emu_domain *domain;
	struct mutex lock; /* guards the list */
	struct polled *first;
};

/* Its domain; NULL: objects of its kind are not polled. */
static const struct emu_domain *domain_of(const struct fid *fid)
{
	switch (fid->fclass) {
	case FI_CLASS_CQ:
		return ((const struct emu_cq *)fid)->domain;
	case FI_CLASS_CNTR:
		return ((const struct emu_cntr *)fid)->domain;
	default:
		return NULL;
	}
}

static void poll_ref_object(struct fid *fid, bool hold)
{
	if (fid->fclass == FI_CLASS_CQ)
		(hold ? cq_get : cq_put)(((struct emu_cq *)fid)->cq);
	else
		(hold ? cntr_get : cntr_put)(((struct emu_cntr *)fid)->cntr);
}

static struct polled **poll_find_link(struct emu_poll *poll, const struct fid *fid) REQUIRES(poll->lock)
{
	struct polled **at = &poll->first;

	while (*at && (*at)->fid != fid)
		at = &(*at)->next;
	return at;
}

static int poll_check_object(struct emu_poll *poll, const struct fid *fid, uint64_t flags)
{
	if (!domain_usable(poll->domain))
		return refuse_inherited("fi_poll_add or fi_poll_del");
	if (flags)
		return REFUSE_FLAGS(CQ, "fi_poll_add or fi_poll_del", flags);
	if (!fid || !domain_of(fid))
		return REFUSE(CQ, -FI_EINVAL,
			      "fi_poll_add or fi_poll_del: completion queues and counters are polled, and "
			      "nothing else.");
	return domain_of(fid) == poll->domain
		       ? 0
		       : REFUSE(CQ, -FI_EDOMAIN, "fi_poll_add or fi_poll_del: the object is of another domain than the poll set.");
}

static int poll_op_add(struct fid_poll *pollset, struct fid *fid, uint64_t flags)
{
	struct emu_poll *poll = (struct emu_poll *)pollset;
	struct polled *polled, **at;
	int err = poll_check_object(poll, fid, flags);

	if (err)
		return err;
	polled = calloc(1, sizeof(*polled));
	if (!polled)
		return -FI_ENOMEM;
	polled->fid = fid;
	mutex_lock(&poll->lock);
	at = poll_find_link(poll, fid);
	if (!*at) {
		poll_ref_object(fid, true);
		*at = polled;
		polled = NULL;
	}
	mutex_unlock(&poll->lock);
	err = polled ? REFUSE(CQ, -FI_EINVAL, "fi_poll_add: the object is in the poll set already.") : 0;
	free(polled);
	return err;
}

static int poll_op_del(struct fid_poll *pollset, struct fid *fid, uint64_t flags)
{
	struct emu_poll *poll = (struct emu_poll *)pollset;
	struct polled *polled, **at;
	int err = poll_check_object(poll, fid, flags);

	if (err)
		return err;
	mutex_lock(&poll->lock);
	at = poll_find_link(poll, fid);
	polled = *at;
	if (polled) {
		*at = polled->next;
		poll_ref_object(fid, false);
	}
	mutex_unlock(&poll->lock);
	free(polled);
	return polled ? 0 : REFUSE(CQ, -FI_EINVAL, "fi_poll_del: the object is not in the poll set.");
}

/* A queue is reported until it is empty, a counter once for each change. */
static bool has_something(struct polled *polled)
{
	uint64_t count, errors;
	bool changed;

	if (polled->fid->fclass == FI_CLASS_CQ)
		return cq_ready(((struct emu_cq *)polled->fid)->cq);
	count = cntr_read(((struct emu_cntr *)polled->fid)->cntr);
	errors = cntr_read_error(((struct emu_cntr *)polled->fid)->cntr);
	changed = count != polled->count || errors != polled->errors;
	polled->count = count;
	polled->errors = errors;
	return changed;
}

static int poll_op_poll(struct fid_poll *pollset, void **context, int count)
{
	struct emu_poll *poll = (struct emu_poll *)pollset;
	int found = 0;

	if (count < 0 || (count && !context))
		return REFUSE(CQ, -FI_EINVAL, "fi_poll: count %d is negative, or context is NULL.", count);
	if (!domain_usable(poll->domain))
		return refuse_inherited("fi_poll");
	driver_poll(nic_driver(poll->domain->nic));
	mutex_lock(&poll->lock);
	for (struct polled *polled = poll->first; polled && found < count; polled = polled->next)
		if (has_something(polled))
			context[found++] = polled->fid->context;
	mutex_unlock(&poll->lock);
	return found;
}

static int poll_close(struct fid *fid)
{
	struct emu_poll *poll = (struct emu_poll *)fid;

	if (poll->first)
		return REFUSE(CQ, -FI_EBUSY, "fi_close: objects are in the poll set. Take them out by fi_poll_del first.");
	atomic_fetch_sub(&poll->domain->users, 1);
	mutex_destroy(&poll->lock);
	free(poll);
	return 0;
}

static struct fi_ops poll_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = poll_close,
	.bind = stub_bind,
	.control = stub_control,
	STUB_FID_OPS,
};

static struct fi_ops_poll poll_ops = {
	.size = sizeof(struct fi_ops_poll),
	.poll = poll_op_poll,
	.poll_add = poll_op_add,
	.poll_del = poll_op_del,
};

int emu_poll_open(struct fid_domain *fid, struct fi_poll_attr *attr, struct fid_poll **out)
{
	struct emu_domain *domain = emu_domain(fid);
	struct emu_poll *poll;

	if (!attr || !out)
		return REFUSE(CQ, -FI_EINVAL, "fi_poll_open: attr or pollset is NULL.");
	if (attr->flags)
		return REFUSE_FLAGS(CQ, "fi_poll_open", attr->flags);
	if (!domain_usable(domain))
		return refuse_inherited("fi_poll_open");
	poll = calloc(1, sizeof(*poll));
	if (!poll)
		return -FI_ENOMEM;
	poll->domain = domain;
	mutex_init(&poll->lock);
	poll->fid.fid.fclass = FI_CLASS_POLL;
	poll->fid.fid.ops = &poll_fid_ops;
	poll->fid.ops = &poll_ops;
	atomic_fetch_add(&domain->users, 1);
	*out = &poll->fid;
	return 0;
}
