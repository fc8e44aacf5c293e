/* SPDX-License-Identifier: BSD-2-Clause */
/* fork.c - closes the NIC's sockets in a fork's child. Otherwise, when the parent dies, its peers would still see open connections
 * and a listener that nobody serves.
 *
 * The fork may have caught the link's lists in the middle of a change, so the sockets are found in /proc, where the kernel lists
 * them for each epoll set; without /proc they stay open. All calls are async-signal-safe. Afterwards nothing of the
 * parent's NIC is left, and the child may open one of its own. */
#include "emu/net/os/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "emu/nic/base/mutex.h"

enum { SETS = 4, HOLD_S = 1 };

static int sets[SETS], count;
static struct mutex lock = MUTEX_INITIALIZER; /* of registration; a leaf */
static bool hooked GUARDED_BY(lock);
/* Those that hold a fork back read, a fork writes. It comes first: threads that read in turn would keep it out for HOLD_S. Where a
 * reader waits for what one has that comes after it, both wait until the fork has given up. */
#define HOLDS_INITIALIZER PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
static pthread_rwlock_t holds = HOLDS_INITIALIZER;
static _Thread_local bool forks;          /* this thread has `holds` for a fork */
static struct fork_reset *_Atomic resets; /* entries are complete before they are linked: a fork may come at any time */

/* "/proc/self/fdinfo/" and the number. */
static void fdinfo_path(char path[40], int fd)
{
	static const char folder[] = "/proc/self/fdinfo/";
	char digits[12];
	size_t length = 0, at = sizeof(folder) - 1;

	memcpy(path, folder, sizeof(folder));
	do
		digits[length++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (length)
		path[at++] = digits[--length];
	path[at] = 0;
}

static unsigned long number(const char *from, unsigned base)
{
	static const char digits[] = "0123456789abcdef";
	unsigned long value = 0;
	const char *digit;

	from += strspn(from, " ");
	for (; *from && (digit = strchr(digits, *from)) && digit < digits + base; from++)
		value = base * value + (unsigned long)(digit - digits);
	return value;
}

/* "tfd:" and the number stand first, "ino:" and the inode's later. The parent shares the set and goes on: a descriptor that it
 * watches by now may have the number of another file here. */
static void close_listed(const char *line)
{
	const char *inode = strstr(line, "ino:");
	int fd = (int)number(line + strcspn(line, " "), 10);
	struct stat status;

	if (strncmp(line, "tfd:", 4) || !inode || fstat(fd, &status))
		return;
	if (S_ISSOCK(status.st_mode) && status.st_ino == number(inode + 4, 16))
		close(fd);
}

static void close_watched(int set)
{
	char path[40], bytes[256], line[128];
	size_t length = 0;
	ssize_t n;
	int at;

	fdinfo_path(path, set);
	at = open(path, O_RDONLY | O_CLOEXEC);
	while (at >= 0 && (n = read(at, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] != '\n') {
				if (length < sizeof(line) - 1)
					line[length++] = bytes[i];
				continue;
			}
			line[length] = '\0';
			length = 0;
			close_listed(line);
		}
	}
	if (at >= 0)
		close(at);
}

/* Not for ever: a program may fork in a signal handler, above a hold, or in a constructor, for which one waits. */
static void before_fork(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += HOLD_S;
	forks = !pthread_rwlock_timedwrlock(&holds, &end);
}

static void after_fork(void)
{
	if (forks)
		pthread_rwlock_unlock(&holds);
}

static void in_child(void)
{
	int saved = errno;

	holds = (pthread_rwlock_t)HOLDS_INITIALIZER; /* holders are threads of the parent's */
	for (int i = 0; i < count; i++)
		close_watched(sets[i]);
	for (int i = 0; i < count; i++)
		close(sets[i]);
	count = 0;
	mutex_forked(&lock);
	for (struct fork_reset *reset = atomic_load(&resets); reset; reset = reset->next)
		reset->in_child();
	errno = saved;
}

int fork_open(void)
{
	int err = 0;

	mutex_lock(&lock);
	if (!hooked)
		err = -pthread_atfork(before_fork, after_fork, in_child);
	hooked = !err;
	mutex_unlock(&lock);
	return err;
}

int fork_register(struct fork_reset *reset)
{
	int err = fork_open();

	mutex_lock(&lock);
	if (!err && !reset->known) {
		reset->known = true;
		reset->next = atomic_load(&resets);
		atomic_store(&resets, reset);
	}
	mutex_unlock(&lock);
	return err;
}

void fork_watch(int fd)
{
	sets[count++] = fd;
}

void fork_hold(void)
{
	pthread_rwlock_rdlock(&holds);
}

void fork_let_go(void)
{
	pthread_rwlock_unlock(&holds);
}
