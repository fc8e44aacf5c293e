/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_wait_set.c - the wait set object. */
#include "emu/fi/queues/fi_wait.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/net/thread/net.h"
#include "emu/net/wait/wait.h"
#include "emu/nic/base/mutex.h"

struct emu_wait_set {
	struct fid_wait fid;
	struct emu_fabric *fabric;
	struct waiter waiter;
	pid_t owner;       /* a fork's child may only close it */
	struct mutex lock; /* guards the members; a leaf but for the locks that their ready() takes */
	struct wait_member *members;
};

static bool is_mine(const struct emu_wait_set *set)
{
	return getpid() == set->owner;
}

const struct emu_fabric *wait_set_fabric(struct fid_wait *fid)
{
	return ((struct emu_wait_set *)fid)->fabric;
}

int wait_set_share(struct fid_wait *fid, struct waiter *waiter)
{
	struct emu_wait_set *set = (struct emu_wait_set *)fid;

	waiter->wait = set->waiter.wait;
	waiter->cond = set->waiter.cond;
	waiter->set = set;
	return wait_watch_device(set->waiter.wait);
}

int wait_set_add(struct emu_wait_set *set, struct wait_member *member)
{
	int err = member->fd < 0 ? 0 : wait_watch(set->waiter.wait, member->fd);

	if (err)
		return err;
	mutex_lock(&set->lock);
	member->next = set->members;
	set->members = member;
	mutex_unlock(&set->lock);
	return 0;
}

static void unlink_member(struct emu_wait_set *set, const struct wait_member *member)
{
	struct wait_member **at;

	for (at = &set->members; *at != member; at = &(*at)->next)
		;
	*at = member->next;
}

void wait_set_remove(struct emu_wait_set *set, struct wait_member *member)
{
	if (!is_mine(set)) { /* the lock may be taken for ever, and the watched descriptors are the parent's */
		unlink_member(set, member);
		return;
	}
	mutex_lock(&set->lock);
	unlink_member(set, member);
	mutex_unlock(&set->lock);
	if (member->fd >= 0)
		wait_unwatch(set->waiter.wait, member->fd);
}

static bool any_ready(void *arg)
{
	struct emu_wait_set *set = arg;
	bool ready = false;

	mutex_lock(&set->lock);
	for (struct wait_member *member = set->members; member && !ready; member = member->next)
		ready = member->ready(member->arg);
	mutex_unlock(&set->lock);
	return ready;
}

int emu_wait_set_trywait(struct emu_wait_set *set)
{
	return is_mine(set) ? waiter_try(&set->waiter, any_ready, set) : refuse_inherited("fi_trywait");
}

static int set_op_wait(struct fid_wait *fid, int timeout)
{
	struct emu_wait_set *set = (struct emu_wait_set *)fid;
	uint64_t deadline = wait_deadline(timeout);

	if (!is_mine(set))
		return refuse_inherited("fi_wait");
	for (;;) {
		uint32_t turn = waiter_turn(&set->waiter);
		int left;

		if (net_mine())
			driver_poll(nic_driver(net_nic()));
		if (any_ready(set))
			return 0;
		left = wait_left(deadline);
		if (!left)
			return -FI_ETIMEDOUT;
		if (waiter_sleep(&set->waiter, turn, left) < 0)
			return -FI_EINTR;
	}
}

static int set_close(struct fid *fid)
{
	struct emu_wait_set *set = (struct emu_wait_set *)fid;

	if (set->members)
		return REFUSE(CORE, -FI_EBUSY, "fi_close: queues or counters were opened with the wait set. Close them first.");
	waiter_close(&set->waiter);
	atomic_fetch_sub(&set->fabric->users, 1);
	mutex_destroy(&set->lock);
	free(set);
	return 0;
}

static int set_control(struct fid *fid, int command, void *arg)
{
	return waiter_control(&((struct emu_wait_set *)fid)->waiter, command, arg);
}

static struct fi_ops set_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = set_close,
	.bind = stub_bind,
	.control = set_control,
	STUB_FID_OPS,
};

static struct fi_ops_wait set_ops = {
	.size = sizeof(struct fi_ops_wait),
	.wait = set_op_wait,
};

int emu_wait_open(struct fid_fabric *fid, struct fi_wait_attr *attr, struct fid_wait **out)
{
	struct waiter_want want = { .what = "fi_wait_open" };
	struct emu_wait_set *set;
	int err;

	if (!attr || !out || attr->wait_obj == FI_WAIT_NONE || attr->wait_obj == FI_WAIT_SET)
		return REFUSE(CORE, -FI_EINVAL,
			      "fi_wait_open: attr or waitset is NULL, or wait_obj is FI_WAIT_NONE or "
			      "FI_WAIT_SET.");
	if (attr->flags)
		return REFUSE_FLAGS(CORE, "fi_wait_open", attr->flags);
	want.obj = attr->wait_obj;
	err = waiter_check(&want);
	if (err)
		return err;
	set = calloc(1, sizeof(*set));
	err = set ? waiter_open(&set->waiter, &want) : -FI_ENOMEM;
	if (err) {
		REFUSE(CORE, err, "fi_wait_open: %s.", fi_strerror(-err));
		free(set);
		return err;
	}
	set->owner = getpid();
	set->fabric = emu_fabric(fid);
	mutex_init(&set->lock);
	set->fid.fid.fclass = FI_CLASS_WAIT;
	set->fid.fid.ops = &set_fid_ops;
	set->fid.ops = &set_ops;
	atomic_fetch_add(&set->fabric->users, 1);
	*out = &set->fid;
	return 0;
}
