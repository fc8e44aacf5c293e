/* SPDX-License-Identifier: BSD-2-Clause */
/* uffd.c - one userfaultfd, the thread that reads it, and its clients.
 *
 * Memory is registered for write protection, and never protected. So no access of the program's ever waits, unlike with
 * registration for missing pages, where in user mode a system call that meets one fails. */
#include "emu/net/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/net/spawn.h"
#include "emu/nic/pagemap.h"

#ifndef UFFD_USER_MODE_ONLY		/* Linux 5.11 */
#define UFFD_USER_MODE_ONLY 1
#endif
#define FEATURE_WP_SHARED	(1ull << 12)	/* 5.19: UFFD_FEATURE_WP_HUGETLBFS_SHMEM */
#define FEATURE_WP_ASYNC	(1ull << 15)	/* 6.7: with it, memory of any kind can be watched */

#define FEATURES_NEEDED (UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | \
			 UFFD_FEATURE_EVENT_REMOVE)
#define FEATURES_LIKED (FEATURE_WP_SHARED | FEATURE_WP_ASYNC)

enum { EVENTS_AT_ONCE = 16 };

static struct {
	pthread_mutex_t starting;	/* uffd_start() */
	atomic_int fd;			/* -1: not started; set once */
	pthread_mutex_t lock;		/* of what follows, and of reading */
	struct uffd_client *clients;
	uint64_t changes;		/* moves with whatever makes a ticket void */
} uffd = { .starting = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static int descriptor(uint64_t features, uint64_t *offered)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		return -EOPNOTSUPP;
	}
	*offered = api.features;
	return fd;
}

/* A descriptor can be asked once, so the first one only says what there is. What is needed and not there is refused. */
static int open_uffd(void)
{
	uint64_t offered = 0;
	int fd = sysconf(_SC_PAGESIZE) == (long)PAGE_BYTES ? descriptor(0, &offered) : -EOPNOTSUPP;

	if (fd < 0)
		return fd;
	close(fd);
	return descriptor(FEATURES_NEEDED | (offered & FEATURES_LIKED), &offered);
}

static const char *words(int err)
{
	switch (err) {
	case -ENOSYS:
		return "the kernel has no userfaultfd";
	case -EPERM:
	case -EACCES:
		return "userfaultfd is forbidden here, as in many containers";
	case -EINVAL:
	case -EOPNOTSUPP:
		return "there is no userfaultfd in user mode with write protection and events of unmapping for this kernel's pages";
	default:
		return "userfaultfd cannot be opened, or its thread not started";
	}
}

/* Tickets go first: a client that unwatches what it drops finds them void already. */
static void tell(uint64_t addr, uint64_t length)
{
	uffd.changes++;
	for (struct uffd_client *client = uffd.clients; client; client = client->next)
		client->changed(client, addr, length);
}

static void handle(const struct uffd_msg *msg)
{
	switch (msg->event) {
	case UFFD_EVENT_REMAP:	/* the watch has moved along, and nobody knows of the new place */
		tell(msg->arg.remap.from, msg->arg.remap.len);
		uffd_unwatch(msg->arg.remap.to, msg->arg.remap.len);
		break;
	case UFFD_EVENT_REMOVE:
	case UFFD_EVENT_UNMAP:
		tell(msg->arg.remove.start, msg->arg.remove.end - msg->arg.remove.start);
		break;
	default:
		break;
	}
}

static void read_events(int fd)
{
	struct uffd_msg msgs[EVENTS_AT_ONCE];
	ssize_t n;

	uffd_lock();
	n = read(fd, msgs, sizeof(msgs));
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*msgs); i++)
		handle(&msgs[i]);
	uffd_unlock();
}

static void *uffd_main(void *arg)
{
	struct pollfd wait = { .fd = atomic_load(&uffd.fd), .events = POLLIN };

	for (;;)
		if (poll(&wait, 1, -1) > 0)
			read_events(wait.fd);
	return arg;
}

/* With `starting`. */
static int start(void)
{
	pthread_t thread;
	int fd = open_uffd(), err;

	if (fd < 0)
		return fd;
	atomic_store(&uffd.fd, fd);
	err = spawn(&thread, "emu-uffd", uffd_main, NULL);
	if (err) {
		atomic_store(&uffd.fd, -1);
		close(fd);
		return err;
	}
	pthread_detach(thread);
	return 0;
}

int uffd_start(const char **why)
{
	int err = 0;

	pthread_mutex_lock(&uffd.starting);
	if (atomic_load(&uffd.fd) < 0)
		err = start();
	pthread_mutex_unlock(&uffd.starting);
	if (err)
		*why = words(err);
	return err;
}

void uffd_add(struct uffd_client *client)
{
	uffd_lock();
	client->next = uffd.clients;
	uffd.clients = client;
	uffd_unlock();
}

void uffd_remove(struct uffd_client *client)
{
	struct uffd_client **at;

	uffd_lock();
	for (at = &uffd.clients; *at && *at != client; at = &(*at)->next)
		;
	if (*at)
		*at = client->next;
	uffd_unlock();
}

void uffd_lock(void)
{
	pthread_mutex_lock(&uffd.lock);
}

void uffd_unlock(void)
{
	pthread_mutex_unlock(&uffd.lock);
}

/* Outward to pages. False: there is no such range. */
static bool pages_of(uint64_t addr, uint64_t length, struct uffdio_range *pages)
{
	uint64_t last = addr + (length - 1);

	if (!length || last < addr || last > UINT64_MAX - PAGE_BYTES)
		return false;
	pages->start = addr & ~(PAGE_BYTES - 1);
	pages->len = (last | (PAGE_BYTES - 1)) + 1 - pages->start;
	return true;
}

int uffd_watch(uint64_t addr, uint64_t length, uint64_t *ticket)
{
	struct uffdio_register watch = { .mode = UFFDIO_REGISTER_MODE_WP };
	int fd = atomic_load(&uffd.fd);

	if (fd < 0)
		return -ENODEV;
	if (!pages_of(addr, length, &watch.range))
		return -EINVAL;
	uffd_lock();
	*ticket = uffd.changes;
	uffd_unlock();
	return ioctl(fd, UFFDIO_REGISTER, &watch) ? -errno : 0;
}

bool uffd_unchanged(uint64_t ticket)
{
	return uffd.changes == ticket;
}

static bool held(uint64_t addr, uint64_t length)
{
	for (struct uffd_client *client = uffd.clients; client; client = client->next)
		if (client->holds(client, addr, length))
			return true;
	return false;
}

/* The pages at the ends may be shared with what is still held. */
void uffd_unwatch(uint64_t addr, uint64_t length)
{
	struct uffdio_range pages;

	if (!pages_of(addr, length, &pages))
		return;
	if (held(pages.start, PAGE_BYTES)) {
		pages.start += PAGE_BYTES;
		pages.len -= PAGE_BYTES;
	}
	if (pages.len && held(pages.start + pages.len - PAGE_BYTES, PAGE_BYTES))
		pages.len -= PAGE_BYTES;
	if (!pages.len || held(pages.start, pages.len))
		return;
	uffd.changes++;
	ioctl(atomic_load(&uffd.fd), UFFDIO_UNREGISTER, &pages); /* fails where nothing is mapped: nothing is watched then */
}
