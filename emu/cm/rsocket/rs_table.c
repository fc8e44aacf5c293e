/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_table.c - rsockets by their number. A number is a descriptor of the process as long as its rsocket lives. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "emu/cm/rsocket/rs_dgram.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsocket **table; /* with table_lock */
static size_t table_size;

/* A fork's child has none: its parent goes on with them (rsocket(7)). What they are made of stays as it is. */
static void table_forked(void)
{
	table_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	table = NULL;
	table_size = 0;
}

static void table_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, table_forked); /* it fails without memory alone */
}

static int table_add(struct rsocket *rs)
{
	size_t fd = (size_t)rs->fd;

	pthread_mutex_lock(&table_lock);
	if (fd >= table_size) {
		size_t size = fd < 64 ? 128 : fd * 2;
		struct rsocket **more = realloc(table, size * sizeof(struct rsocket *));

		if (!more) {
			pthread_mutex_unlock(&table_lock);
			return ENOMEM;
		}
		memset(more + table_size, 0, (size - table_size) * sizeof(struct rsocket *));
		table = more;
		table_size = size;
	}
	table[fd] = rs;
	pthread_mutex_unlock(&table_lock);
	return 0;
}

int rs_watch(struct rsocket *rs, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(rs->fd, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

struct rsocket *rs_new(sa_family_t family)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rsocket *rs = calloc(1, sizeof(*rs));
	int err;

	if (!rs)
		return NULL;
	pthread_once(&once, table_watch_forks);
	pthread_mutex_init(&rs->lock, NULL);
	pthread_mutex_lock(&rs->lock);
	rs->users = 2;
	rs->family = family;
	rs_options_init(&rs->options);
	rs->fd = epoll_create1(EPOLL_CLOEXEC);
	if (rs->fd < 0)
		goto free;
	rs->channel = rdma_create_event_channel();
	if (!rs->channel)
		goto close;
	err = fcntl(rs->channel->fd, F_SETFL, O_NONBLOCK) ? errno : rs_watch(rs, rs->channel->fd);
	if (!err)
		err = table_add(rs);
	if (!err)
		return rs;
	rdma_destroy_event_channel(rs->channel);
	errno = err;
close:
	err = errno;
	close(rs->fd);
	errno = err;
free:
	free(rs);
	return NULL;
}

/* The last call has given it back. */
static void rs_free(struct rsocket *rs)
{
	rs_iomaps_free(rs);
	rs_dgram_free(rs);
	rs_queues_close(rs);
	if (rs->id)
		(void)rdma_destroy_id(rs->id);
	rdma_destroy_event_channel(rs->channel);
	close(rs->fd);
	pthread_mutex_destroy(&rs->lock);
	free(rs->targets);
	free(rs);
}

struct rsocket *rs_get(int fd)
{
	struct rsocket *rs;

	pthread_mutex_lock(&table_lock);
	rs = fd >= 0 && (size_t)fd < table_size ? table[fd] : NULL;
	if (rs)
		rs->users++;
	pthread_mutex_unlock(&table_lock);
	if (!rs)
		errno = EBADF;
	return rs;
}

struct rsocket *rs_hold(int fd)
{
	struct rsocket *rs = rs_get(fd);

	if (rs)
		pthread_mutex_lock(&rs->lock);
	return rs;
}

void rs_put(struct rsocket *rs)
{
	int err = errno;
	bool last;

	pthread_mutex_lock(&table_lock);
	last = !--rs->users;
	pthread_mutex_unlock(&table_lock);
	if (last)
		rs_free(rs);
	errno = err;
}

void rs_leave(struct rsocket *rs)
{
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
}

bool rs_unlist(struct rsocket *rs)
{
	bool listed;

	pthread_mutex_lock(&table_lock);
	listed = table[rs->fd] == rs;
	if (listed) {
		table[rs->fd] = NULL;
		rs->users--;
	}
	pthread_mutex_unlock(&table_lock);
	return listed;
}
