/* SPDX-License-Identifier: BSD-2-Clause */
/* fake.c - the fake device. */
#include "fake.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct nic fake;

static struct conn conns[CONNS]; /* each test is a process of its own */

struct conn *conn_make(const struct link_ops *ops)
{
	static int made;

	assert(made < CONNS);
	conns[made].ops = ops;
	return &conns[made++];
}

void conn_up(struct conn *conn)
{
	conn->ups++;
}

static void hang_up(struct conn *conn)
{
	conn->ops->close(conn->line);
	conn->line = NULL;
}

void conn_down(struct conn *conn, int error)
{
	conn->downs++;
	conn->error = error;
	if (conn->hangs_up)
		hang_up(conn);
}

void conn_moved(struct conn *conn, struct line *line)
{
	conn->line = line;
}

void conn_writable(struct conn *conn)
{
	conn->writables++;
}

void conn_ack_stored(struct conn *conn, uint64_t number)
{
	conn->notes++;
	conn->noted = number;
	if (conn->gives_up)
		hang_up(conn);
}

void conn_readable(struct conn *conn)
{
	size_t got = atomic_load(&conn->got);
	struct iovec iov = { conn->bytes + got, CONN_ROOM - got };
	ssize_t n;

	conn->readables++;
	if (conn->closes && *conn->closes) {
		struct line *line = *conn->closes;

		*conn->closes = NULL;
		conn->ops->close(line);
		return;
	}
	if (conn->deaf || !iov.iov_len)
		return;
	if (conn->place.iov_len) {
		conn->placed = conn->ops->recv(conn->line, &conn->place, 1);
		conn->place.iov_len = 0;
		return;
	}
	n = conn->ops->recv(conn->line, &iov, 1);
	if (n > 0) {
		iov.iov_len = (size_t)n;
		if (conn->echo && conn->ops->send(conn->line, &iov, 1) != n)
			abort();
		if (conn->eats)
			conn->eats(conn, (size_t)n);
		else if (!conn->echo)
			atomic_store(&conn->got, got + (size_t)n);
	} else if (n != -EAGAIN) {
		conn->eof = true;
		conn->error = (int)-n;
		hang_up(conn);
	}
}

struct conn *conn_accept(struct ep *ep, struct line *line)
{
	struct conn *conn = ep->accepts[ep->accepted];

	if (!conn) {
		ep->refused++;
		return NULL;
	}
	ep->accepted++;
	conn->line = line;
	return conn;
}

bool ep_make_room(struct ep *ep)
{
	struct conn *conn = ep->spared;

	ep->spared = NULL;
	if (conn) {
		conn->ops->close(conn->line);
		conn->line = NULL;
	}
	return conn;
}

void ep_readable(struct ep *ep, struct port *port)
{
	ssize_t n;

	(void)port;
	ep->readables++;
	while (ep->port && (n = ep->ops->recv_datagram(ep->port, ep->bytes, sizeof(ep->bytes), NULL)) != -EAGAIN) {
		ep->taken += n >= 0;
		ep->length = n;
	}
}

void ep_writable(struct ep *ep)
{
	ep->writables++;
}

static bool work(void *arg)
{
	return nic_work(arg);
}

void (*fake_flushed)(struct flush *flush);

static bool pending(void *arg)
{
	struct nic *nic = arg;

	return atomic_load(&nic->left);
}

static uint64_t now(void *arg)
{
	return clock_now(&((const struct nic *)arg)->clock);
}

static void settle(void *arg)
{
	nic_flush_acks(arg);
}

static void wake(void *arg)
{
	struct nic *nic = arg;

	if (nic->config.wake)
		nic->config.wake(nic->config.wake_arg);
}

int nic_open(struct nic **nic, const struct nic_config *config, const struct link_ops *ops, void *link,
	     const struct nic_clock *clock)
{
	struct driver_ops driver_ops = {
		.work = work,
		.pending = pending,
		.wake = wake,
		.settle = settle,
		.now_ns = now,
		.arg = &fake,
	};

	if (fake.fails)
		return -ENOMEM;
	fake = (struct nic){ .config = *config, .ops = ops, .link = link, .clock = *clock };
	atomic_init(&fake.deadline_ns, UINT64_MAX);
	driver_init(&fake.driver, &driver_ops);
	*nic = &fake;
	return 0;
}

void nic_flushed(struct nic *nic, struct flush *flush)
{
	(void)nic;
	fake_flushed(flush);
}

void nic_close(struct nic *nic)
{
	assert(driver_mine(&nic->driver));
	driver_fini(&nic->driver);
}

bool nic_is_drained(struct nic *nic)
{
	return atomic_load(&nic->slices) >= nic->loud_slices;
}

void nic_say_bye(struct nic *nic)
{
	assert(driver_mine(&nic->driver));
	nic->goodbyes++;
	for (int i = 0; i < CONNS; i++) {
		if (conns[i].line)
			nic->ops->close(conns[i].line);
		conns[i].line = NULL;
	}
}

struct driver *nic_driver(struct nic *nic)
{
	return &nic->driver;
}

bool nic_work(struct nic *nic)
{
	bool did = nic->ops->poll(nic->link) > 0;

	assert(driver_mine(&nic->driver));
	atomic_fetch_add(&nic->slices, 1);
	if (atomic_exchange(&nic->left, false))
		did = true;
	if (clock_now(&nic->clock) >= atomic_load(&nic->deadline_ns)) {
		atomic_store(&nic->deadline_ns, UINT64_MAX);
		atomic_fetch_add(&nic->timers, 1);
		did = true;
	}
	if (nic->owes) {
		nic->owes--;
		driver_owe(&nic->driver);
	}
	return did;
}

uint64_t nic_deadline(const struct nic *nic)
{
	return atomic_load(&nic->deadline_ns);
}

void nic_set_polling(struct nic *nic, bool on)
{
	assert(driver_mine(&nic->driver));
	atomic_store(&nic->looks, on);
}

bool nic_is_polling(const struct nic *nic)
{
	return atomic_load(&nic->looks);
}

void nic_flush_acks(struct nic *nic)
{
	assert(driver_mine(&nic->driver));
	atomic_fetch_add(&nic->settled, 1);
}
