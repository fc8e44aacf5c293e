/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_eq.c - the event queue object. */
#include "emu/fi/fi_eq.h"

#include <pthread.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "emu/fi/fi_fabric.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_stubs.h"
#include "emu/fi/fi_wait.h"
#include "emu/net/net.h"
#include "emu/nic/driver.h"

struct event {
	struct event *next;
	uint32_t event;
	bool   error;		/* data is a struct fi_eq_err_entry */
	size_t size;
	unsigned char data[];
};

struct emu_eq {
	struct fid_eq fid;
	struct emu_fabric *fabric;
	atomic_uint users;
	enum fi_wait_obj obj;
	bool   writable;	/* opened with FI_WRITE */
	int    fd;		/* eventfd, readable while there are events; -1 with FI_WAIT_NONE */
	size_t limit;
	pthread_mutex_t lock;	/* of all below */
	struct event *first, **end;
	size_t count;
	bool   overrun;		/* an event was lost: said once all others are read */
};

static struct emu_eq *emu_eq(struct fid_eq *fid)
{
	return (struct emu_eq *)fid;
}

const struct emu_fabric *emu_eq_fabric(const struct emu_eq *eq)
{
	return eq->fabric;
}

void emu_eq_get(struct emu_eq *eq)
{
	atomic_fetch_add(&eq->users, 1);
}

void emu_eq_put(struct emu_eq *eq)
{
	atomic_fetch_sub(&eq->users, 1);
}

/* With the lock: makes the descriptor say what the list says. */
static void show(struct emu_eq *eq)
{
	uint64_t one = 1;
	ssize_t  done;

	if (eq->fd < 0)
		return;
	/* Neither can fail but for being done already: the descriptor does not block and its counter is 0 or 1. */
	if (eq->first || eq->overrun)
		done = eq->count <= 1 ? write(eq->fd, &one, sizeof(one)) : 0;
	else
		done = read(eq->fd, &one, sizeof(one));
	(void)done;
}

static int push(struct emu_eq *eq, uint32_t event, bool error, const void *data, size_t size)
{
	struct event *new = malloc(sizeof(*new) + size);

	pthread_mutex_lock(&eq->lock);
	if (!new || eq->overrun || eq->count >= eq->limit) {
		if (!eq->overrun)
			EMU_WARN(EQ, "event queue overrun: an event is lost\n");
		eq->overrun = true;
		show(eq);
		pthread_mutex_unlock(&eq->lock);
		free(new);
		return -FI_EOVERRUN;
	}
	new->next = NULL;
	new->event = event;
	new->error = error;
	new->size = size;
	memcpy(new->data, data, size);
	*eq->end = new;
	eq->end = &new->next;
	eq->count++;
	show(eq);
	pthread_mutex_unlock(&eq->lock);
	return 0;
}

int emu_eq_push(struct emu_eq *eq, uint32_t event, struct fid *fid, void *context, uint64_t data)
{
	struct fi_eq_entry entry = { .fid = fid, .context = context, .data = data };

	return push(eq, event, false, &entry, sizeof(entry));
}

int emu_eq_push_error(struct emu_eq *eq, struct fid *fid, void *context, uint64_t data, int err)
{
	struct fi_eq_err_entry entry = { .fid = fid, .context = context, .data = data, .err = err, .prov_errno = err };

	return push(eq, 0, true, &entry, sizeof(entry));
}

/* With the lock. */
static void drop_first(struct emu_eq *eq)
{
	struct event *event = eq->first;

	eq->first = event->next;
	if (!eq->first)
		eq->end = &eq->first;
	eq->count--;
	free(event);
	show(eq);
}

static ssize_t take(struct emu_eq *eq, uint32_t *event, void *buf, size_t len, bool peek)
{
	struct event *first;
	ssize_t got;

	pthread_mutex_lock(&eq->lock);
	first = eq->first;
	if (!first) {
		got = eq->overrun ? -FI_EAVAIL : -FI_EAGAIN;
	} else if (first->error) {
		got = -FI_EAVAIL;
	} else if (first->size > len) {
		got = -FI_ETOOSMALL;
	} else {
		*event = first->event;
		memcpy(buf, first->data, first->size);
		got = (ssize_t)first->size;
		if (!peek)
			drop_first(eq);
	}
	pthread_mutex_unlock(&eq->lock);
	return got;
}

static ssize_t eq_op_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct emu_eq *eq = emu_eq(fid);
	ssize_t got;

	if (!event || (len && !buf))
		return -FI_EINVAL;
	if (flags & ~FI_PEEK)
		return -FI_EBADFLAGS;
	got = take(eq, event, buf, len, flags & FI_PEEK);
	if (got == -FI_EAGAIN && net_mine()) {
		driver_poll(nic_driver(net_nic()));
		got = take(eq, event, buf, len, flags & FI_PEEK);
	}
	return got;
}

static ssize_t eq_op_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags)
{
	struct emu_eq *eq = emu_eq(fid);
	uint64_t deadline = wait_deadline(timeout);
	struct pollfd pollfd = { .fd = eq->fd, .events = POLLIN };
	ssize_t got;

	if (eq->obj == FI_WAIT_NONE)
		return -FI_EINVAL;
	for (;;) {
		int left;

		got = eq_op_read(fid, event, buf, len, flags);
		left = wait_left(deadline);
		if (got != -FI_EAGAIN || !left)
			return got;
		if (poll(&pollfd, 1, left) < 0)
			return -FI_EAGAIN; /* a signal: fi_eq(3) */
	}
}

static ssize_t eq_op_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry, uint64_t flags)
{
	struct emu_eq *eq = emu_eq(fid);
	ssize_t got = sizeof(*entry);

	if (!entry)
		return -FI_EINVAL;
	if (flags & ~FI_PEEK)
		return -FI_EBADFLAGS;
	pthread_mutex_lock(&eq->lock);
	if (eq->first && eq->first->error) {
		memcpy(entry, eq->first->data, sizeof(*entry));
		if (!(flags & FI_PEEK))
			drop_first(eq);
	} else if (!eq->first && eq->overrun) {
		*entry = (struct fi_eq_err_entry){ .fid = &eq->fid.fid, .err = FI_EOVERRUN, .prov_errno = FI_EOVERRUN };
	} else {
		got = -FI_EAGAIN;
	}
	pthread_mutex_unlock(&eq->lock);
	return got;
}

static ssize_t eq_op_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	struct emu_eq *eq = emu_eq(fid);
	int err;

	if (!eq->writable || !buf || !len || len > EQ_DATA)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	err = push(eq, event, false, buf, len);
	return err ? err : (ssize_t)len;
}

static const char *eq_op_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf, size_t len)
{
	const char *text = fi_strerror(prov_errno); /* ours are libfabric's own */

	(void)fid, (void)err_data;
	if (!buf || !len)
		return text;
	snprintf(buf, len, "%s", text);
	return buf;
}

int emu_eq_trywait(struct emu_eq *eq)
{
	bool some;

	if (eq->obj == FI_WAIT_NONE)
		return -FI_EINVAL;
	if (net_mine())
		driver_poll(nic_driver(net_nic()));
	pthread_mutex_lock(&eq->lock);
	some = eq->first || eq->overrun;
	pthread_mutex_unlock(&eq->lock);
	return some ? -FI_EAGAIN : 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct emu_eq *eq = (struct emu_eq *)fid;

	if (command != FI_GETWAIT && command != FI_GETWAITOBJ)
		return -FI_ENOSYS;
	if (!arg)
		return -FI_EINVAL;
	if (command == FI_GETWAITOBJ)
		*(enum fi_wait_obj *)arg = eq->obj;
	else if (eq->obj == FI_WAIT_FD)
		*(int *)arg = eq->fd;
	else
		return -FI_ENODATA;
	return 0;
}

static int eq_close(struct fid *fid)
{
	struct emu_eq *eq = (struct emu_eq *)fid;

	if (atomic_load(&eq->users))
		return -FI_EBUSY;
	while (eq->first)
		drop_first(eq);
	if (eq->fd >= 0)
		close(eq->fd);
	atomic_fetch_sub(&eq->fabric->users, 1);
	pthread_mutex_destroy(&eq->lock);
	free(eq);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = stub_bind,
	.control = eq_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_op_read,
	.readerr = eq_op_readerr,
	.write = eq_op_write,
	.sread = eq_op_sread,
	.strerror = eq_op_strerror,
};

static int check_attr(const struct fi_eq_attr *attr)
{
	if (!attr || attr->size > EQ_EVENTS_MAX)
		return -FI_EINVAL;
	if (attr->flags & ~(FI_WRITE | FI_AFFINITY))
		return -FI_EBADFLAGS;
	return waiter_check(attr->wait_obj, "event queue");
}

int emu_eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **out, void *context)
{
	struct emu_eq *eq;
	int err;

	if (!out)
		return -FI_EINVAL;
	err = check_attr(attr);
	if (err)
		return err;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	eq->fd = attr->wait_obj == FI_WAIT_NONE ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (eq->fd < 0 && attr->wait_obj != FI_WAIT_NONE) {
		err = -errno;
		free(eq);
		return err;
	}
	eq->fabric = emu_fabric(fid);
	eq->obj = attr->wait_obj;
	eq->writable = attr->flags & FI_WRITE;
	eq->limit = attr->size > EQ_EVENTS ? attr->size : EQ_EVENTS;
	eq->end = &eq->first;
	pthread_mutex_init(&eq->lock, NULL);
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fid_ops;
	eq->fid.ops = &eq_ops;
	atomic_fetch_add(&eq->fabric->users, 1);
	*out = &eq->fid;
	return 0;
}
