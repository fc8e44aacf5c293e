/* SPDX-License-Identifier: BSD-2-Clause */
/* uffd.c - one userfaultfd, the thread that reads it, and its clients.
 *
 * Memory is registered for write protection, and never protected. So no access of the program ever waits. With registration
 * for missing pages accesses would wait, and in user mode a system call that meets such a page would fail. */
#include "emu/net/memory/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/net/os/fork.h"
#include "emu/net/os/spawn.h"
#include "emu/nic/memory/pagemap.h"

#ifndef UFFD_USER_MODE_ONLY /* Linux 5.11 */
#define UFFD_USER_MODE_ONLY 1
#endif
#define FEATURE_WP_SHARED (1ull << 12) /* 5.19: UFFD_FEATURE_WP_HUGETLBFS_SHMEM */
#define FEATURE_WP_ASYNC (1ull << 15)  /* 6.7: with it, memory of any kind can be watched */

#define FEATURES_NEEDED \
	(UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE)
#define FEATURES_LIKED (FEATURE_WP_SHARED | FEATURE_WP_ASYNC)

enum { EVENTS_AT_ONCE = 16 };

static struct {
	struct mutex starting; /* uffd_start(), uffd_end() */
	atomic_int fd;         /* -1: not started */
	int end;               /* an eventfd that tells the thread to end; -1: not started */
	pthread_t self;
} uffd = { .starting = MUTEX_INITIALIZER, .fd = -1, .end = -1 };

struct mutex uffd_mutex = MUTEX_INITIALIZER; /* of the reading of events, too */
static struct uffd_client *clients GUARDED_BY(uffd_mutex);
static uint64_t changes GUARDED_BY(uffd_mutex); /* moves with every event or unwatch: each makes tickets void */

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

/* A descriptor takes one UFFDIO_API, so the first one only tells which features there are. Without a needed one: an error. */
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

/* Tickets become void first, before a client unwatches memory that it drops. */
static void uffd_notify_clients(uint64_t addr, uint64_t length) REQUIRES(uffd_mutex)
{
	changes++;
	for (struct uffd_client *client = clients; client; client = client->next)
		client->changed(client, addr, length);
}

static void handle(const struct uffd_msg *msg) REQUIRES(uffd_mutex)
{
	switch (msg->event) {
	case UFFD_EVENT_REMAP: /* the watch moves along with the memory, and no client knows the new place */
		uffd_notify_clients(msg->arg.remap.from, msg->arg.remap.len);
		uffd_unwatch(msg->arg.remap.to, msg->arg.remap.len);
		break;
	case UFFD_EVENT_REMOVE:
	case UFFD_EVENT_UNMAP:
		uffd_notify_clients(msg->arg.remove.start, msg->arg.remove.end - msg->arg.remove.start);
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
	struct pollfd wait[] = { { .fd = atomic_load(&uffd.fd), .events = POLLIN }, { .fd = uffd.end, .events = POLLIN } };

	while (!wait[1].revents)
		if (poll(wait, 2, -1) > 0)
			read_events(wait[0].fd);
	return arg;
}

/* In a fork's child, whose memory nobody watches. The clients' knowledge is about the parent's memory. */
static void uffd_forked(void)
{
	int fd = atomic_exchange(&uffd.fd, -1);

	if (fd >= 0)
		close(fd);
	if (uffd.end >= 0)
		close(uffd.end);
	uffd.end = -1;
	mutex_forked(&uffd.starting);
	mutex_forked(&uffd_mutex);
	clients = NULL;
	changes++;
}

static struct fork_reset reset = { .in_child = uffd_forked };

/* Tickets become void. `starting` is held, and the thread does not run. */
static void uffd_close(void)
{
	uffd_lock();
	changes++;
	uffd_unlock();
	close(atomic_exchange(&uffd.fd, -1));
	if (uffd.end >= 0)
		close(uffd.end);
	uffd.end = -1;
}

/* `starting` is held. */
static int uffd_start_thread(void)
{
	int fd = fork_register(&reset), err;

	if (!fd)
		fd = open_uffd();
	if (fd < 0)
		return fd;
	atomic_store(&uffd.fd, fd);
	uffd.end = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	err = uffd.end < 0 ? -errno : spawn(&uffd.self, "emu-uffd", uffd_main, NULL);
	if (err)
		uffd_close();
	return err;
}

/* A thread that unmaps memory and waits for its event goes on when the descriptor closes. */
void uffd_end(void)
{
	mutex_lock(&uffd.starting);
	if (atomic_load(&uffd.fd) >= 0) {
		(void)!eventfd_write(uffd.end, 1); /* it is empty: cannot fail */
		pthread_join(uffd.self, NULL);
		uffd_close();
	}
	mutex_unlock(&uffd.starting);
}

int uffd_start(const char **why)
{
	int err = 0;

	mutex_lock(&uffd.starting);
	if (atomic_load(&uffd.fd) < 0)
		err = uffd_start_thread();
	mutex_unlock(&uffd.starting);
	if (err)
		*why = words(err);
	return err;
}

void uffd_add(struct uffd_client *client)
{
	uffd_lock();
	client->next = clients;
	clients = client;
	uffd_unlock();
}

void uffd_remove(struct uffd_client *client)
{
	struct uffd_client **at;

	uffd_lock();
	for (at = &clients; *at && *at != client; at = &(*at)->next)
		;
	if (*at)
		*at = client->next;
	uffd_unlock();
}

void uffd_lock(void)
{
	mutex_lock(&uffd_mutex);
}

void uffd_unlock(void)
{
	mutex_unlock(&uffd_mutex);
}

/* Rounds outward to pages. False: the range is empty or wraps. */
static bool uffd_page_range(uint64_t addr, uint64_t length, struct uffdio_range *pages)
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
	if (!uffd_page_range(addr, length, &watch.range))
		return -EINVAL;
	uffd_lock();
	*ticket = changes;
	uffd_unlock();
	return ioctl(fd, UFFDIO_REGISTER, &watch) ? -errno : 0;
}

bool uffd_unchanged(uint64_t ticket)
{
	return changes == ticket;
}

static bool held(uint64_t addr, uint64_t length) REQUIRES(uffd_mutex)
{
	for (struct uffd_client *client = clients; client; client = client->next)
		if (client->holds(client, addr, length))
			return true;
	return false;
}

/* The pages at the ends may have bytes that a client still holds. */
void uffd_unwatch(uint64_t addr, uint64_t length)
{
	struct uffdio_range pages;

	if (!uffd_page_range(addr, length, &pages))
		return;
	if (held(pages.start, PAGE_BYTES)) {
		pages.start += PAGE_BYTES;
		pages.len -= PAGE_BYTES;
	}
	if (pages.len && held(pages.start + pages.len - PAGE_BYTES, PAGE_BYTES))
		pages.len -= PAGE_BYTES;
	if (!pages.len || held(pages.start, pages.len))
		return;
	changes++;
	ioctl(atomic_load(&uffd.fd), UFFDIO_UNREGISTER, &pages); /* fails where nothing is mapped: nothing is watched then */
}
