/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_file.c - ring files: made, mapped and given back. Their blocks are reserved before they are mapped, since a full disk would
 * kill the program at the first store otherwise; a file that is cut meanwhile would, too, and goes to guard_file(). */
#include "emu/process/trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "emu/process/log/log.h"
#include "emu/net/os/fork.h"
#include "emu/net/thread/net.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/base/nocancel_file.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/trace/trace_format.h"

enum { DEFAULT_SIZE = 16 << 20, NAME_TRIES = 8 };

static struct {
	struct mutex lock;
	bool started; /* trace_start() was called */
	void *memory; /* NULL: no ring */
	size_t bytes;
	char folder[PATH_MAX - 160];
	char path[PATH_MAX];
	size_t size; /* as set; 0: the default */
} trace = { .lock = MUTEX_INITIALIZER };

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void trace_child(void)
{
	mutex_forked(&trace.lock);
	trace.started = false;
	trace.memory = NULL; /* not mapped in the child */
	guard_file(NULL, 0);
	trace_forked();
}

static struct fork_reset reset = { .in_child = trace_child };

static void say_line(const char *line)
{
	char text[1024];
	int length = snprintf(text, sizeof(text), "emu %d %s", (int)getpid(), line);

	if (length >= (int)sizeof(text))
		length = (int)sizeof(text) - 1;
	if (nocancel_write(STDERR_FILENO, text, (size_t)length) < 0)
		return; /* there is nowhere to say it */
}

/* The first words of a file, without the line's end. */
static void file_word(const char *path, char *word, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, word, size - 1);

	if (fd >= 0)
		close(fd);
	word[got > 0 ? got : 0] = 0;
	word[strcspn(word, "\n")] = 0;
}

static void fill_head(struct trace_head *head, const char *host)
{
	head->real_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	snprintf(head->host, sizeof(head->host), "%s", host);
	snprintf(head->program, sizeof(head->program), "%.127s", program_invocation_name);
	snprintf(head->release, sizeof(head->release), "%d.%d", EMU_VERSION_MAJOR, EMU_VERSION_MINOR);
	file_word("/proc/sys/kernel/random/boot_id", head->boot, sizeof(head->boot));
}

/* A file beyond this limit is a signal that ends the program. */
static bool may_write(size_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/* Makes and maps the file: 0 and trace.memory, or -errno. */
static int file_map(const char *host, size_t bytes)
{
	int fd = -1, err;

	if (!may_write(bytes))
		return -EFBIG;
	for (int i = 0; fd < 0 && i < NAME_TRIES; i++) {
		snprintf(trace.path, sizeof(trace.path), "%s/%s-%d-%llu.emutrace", trace.folder, host, (int)getpid(),
			 (unsigned long long)clock_ns(CLOCK_REALTIME));
		fd = open(trace.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	if (fd < 0)
		return -EEXIST;
	err = -posix_fallocate(fd, 0, (off_t)bytes);
	if (!err) {
		trace.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
		err = trace.memory == MAP_FAILED ? -errno : 0;
	}
	if (!err && madvise(trace.memory, bytes, MADV_DONTFORK)) {
		err = -errno;
		munmap(trace.memory, bytes);
	}
	close(fd);
	if (err) {
		trace.memory = NULL;
		unlink(trace.path);
	}
	trace.bytes = bytes;
	return err;
}

static void file_unmap(void)
{
	guard_file(NULL, 0);
	munmap(trace.memory, trace.bytes);
	trace.memory = NULL;
}

static int trace_begin(struct nic *nic, const struct trace_config *config)
{
	int err;

	if (!driver_enter(nic_driver(nic)))
		return -EAGAIN;
	err = nic_trace_on(nic, config);
	driver_leave(nic_driver(nic));
	return err;
}

static int begin_ring(struct nic *nic)
{
	uint32_t blocks = (uint32_t)(((trace.size ? trace.size : DEFAULT_SIZE) - TRACE_HEAD) / TRACE_BLOCK);
	struct trace_config config = { .blocks = blocks, .pid = (uint32_t)getpid() };
	char host[64] = "";
	int err;

	if (gethostname(host, sizeof(host) - 1) || !*host || strchr(host, '/'))
		snprintf(host, sizeof(host), "host");
	snprintf(trace.path, sizeof(trace.path), "%s", trace.folder);
	if (mkdir(trace.folder, 0700) && errno != EEXIST)
		return -errno;
	err = file_map(host, TRACE_HEAD + (size_t)blocks * TRACE_BLOCK);
	if (err)
		return err;
	guard_file(trace.memory, trace.bytes);
	fill_head(trace.memory, host);
	config.memory = trace.memory;
	err = trace_begin(nic, &config);
	if (err) {
		file_unmap();
		unlink(trace.path);
	}
	return err;
}

void trace_start(struct nic *nic, const char *where, size_t size)
{
	int err = 0;

	if (fork_register(&reset))
		return;
	mutex_lock(&trace.lock);
	if (trace.started)
		goto unlock;
	trace.started = true;
	if (!strcmp(where, "text")) {
		err = trace_begin(nic, &(struct trace_config){ .say = say_line });
		snprintf(trace.path, sizeof(trace.path), "text");
	} else {
		trace.size = size;
		snprintf(trace.path, sizeof(trace.path), "%.*s", (int)sizeof(trace.path) - 1, where);
		err = strlen(where) >= sizeof(trace.folder) ? -ENAMETOOLONG : 0;
		if (!err) {
			snprintf(trace.folder, sizeof(trace.folder), "%s", where);
			err = begin_ring(nic);
		}
	}
	if (err)
		log_warn(PROCESS_START, "no trace: %s: %s", trace.path, strerror(-err));
unlock:
	mutex_unlock(&trace.lock);
}

static int switch_on(struct nic *nic, const char *folder)
{
	if (trace.memory)
		return -EALREADY;
	if (!*trace.folder)
		snprintf(trace.folder, sizeof(trace.folder), "%s", folder);
	return begin_ring(nic);
}

static int switch_off(struct nic *nic)
{
	if (!driver_enter(nic_driver(nic)))
		return -EAGAIN;
	if (!nic_is_traced(nic)) {
		driver_leave(nic_driver(nic));
		return -EALREADY;
	}
	nic_trace_off(nic);
	driver_leave(nic_driver(nic));
	if (trace.memory)
		file_unmap();
	return 0;
}

int trace_switch(bool on, const char *folder, char *text, size_t size)
{
	struct nic *nic = net_mine() ? net_nic() : NULL;
	int err = nic ? 0 : -ENODEV;

	if (!err)
		err = fork_register(&reset);
	mutex_lock(&trace.lock);
	trace.started = true;
	if (!err)
		err = on ? switch_on(nic, folder) : switch_off(nic);
	if (err && err != -EALREADY)
		snprintf(text, size, "no trace: %s: %s", trace.path, strerror(-err));
	else
		snprintf(text, size, "%s", trace.path);
	mutex_unlock(&trace.lock);
	return err;
}

bool trace_is_on(char *text, size_t size)
{
	bool on;

	mutex_lock(&trace.lock);
	on = trace.memory;
	if (text)
		snprintf(text, size, "%s", on ? trace.path : "");
	mutex_unlock(&trace.lock);
	return on;
}
