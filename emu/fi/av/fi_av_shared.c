/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av_shared.c - an address vector by name.
 *
 * Each process that has it open holds a read lock of the file (an OFD lock, which ends with the process). An opener that gets the
 * write lock is alone: it begins anew, or removes the file. */
#include "emu/fi/av/fi_av_impl.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/queues/av.h"

enum { NAME_BYTES = 100, TRIES = 1000 };

/* One step: an address inserted, or an index removed. */
struct av_record {
	uint64_t removed; /* AV_NONE: inserted */
	uint8_t addr[32];
};

struct shared_file {
	pthread_mutex_t lock;              /* between processes; robust */
	atomic_uint_fast64_t length;       /* records; written under the lock */
	uint64_t inserted;                 /* calls that inserted; under the lock */
	uint64_t fi_addr[LIMIT_SHARED_AV]; /* the results of those calls, for programs to read (map_addr) */
	struct av_record records[LIMIT_SHARED_AV];
};

struct av_shared {
	struct av *av;
	struct shared_file *file;
	bool read_only;
	pid_t owner; /* a fork's child has the same lock, but must neither take nor release it */
	int fd;
	char path[2 * NAME_BYTES + 32];
	struct mutex lock;         /* serializes av_shared_replay_new(); taken inside the file's */
	atomic_uint_fast64_t done; /* records that `av` has seen; written under the lock */
};

static_assert(sizeof(((struct av_record *)0)->addr) >= 28, "an IPv6 socket address fits");

/* --- the log --- */

static void replay(struct av_shared *shared, const struct av_record *record)
{
	struct sockaddr_storage addr = { 0 };
	uint64_t index;

	if (record->removed != AV_NONE) {
		(void)av_remove(shared->av, record->removed); /* it was there when the record was written */
		return;
	}
	memcpy(&addr, record->addr, sizeof(record->addr));
	(void)av_insert(shared->av, &addr, 0, &index); /* without memory, this index stays unknown here */
}

/* Replays the records added since. The device calls it, too: few loads if there are none. */
static void av_shared_replay_new(void *arg)
{
	struct av_shared *shared = arg;
	uint64_t length = atomic_load(&shared->file->length), done;

	if (atomic_load(&shared->done) == length)
		return;
	mutex_lock(&shared->lock);
	for (done = atomic_load(&shared->done); done < length && done < LIMIT_SHARED_AV; done++) {
		replay(shared, &shared->file->records[done]);
		atomic_store(&shared->done, done + 1);
	}
	mutex_unlock(&shared->lock);
}

static void lock_file(struct shared_file *file)
{
	/* An owner that died had written nothing that counts: the length comes last. */
	if (pthread_mutex_lock(&file->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&file->lock);
}

/* Adds a step and replays it here. 0 or -FI_ENOMEM. */
static int append(struct av_shared *shared, const struct av_record *record)
{
	uint64_t length = atomic_load(&shared->file->length);

	if (length >= LIMIT_SHARED_AV)
		return -FI_ENOMEM;
	shared->file->records[length] = *record;
	atomic_store(&shared->file->length, length + 1);
	av_shared_replay_new(shared);
	return 0;
}

int av_shared_insert(struct av_shared *shared, const struct sockaddr_storage *addr, uint64_t *index)
{
	struct av_record record = { .removed = AV_NONE };
	struct sockaddr_storage canonical;
	int err;

	if (shared->read_only)
		return -FI_EACCES;
	if (!address_canonical((const struct sockaddr *)addr, &canonical))
		return -FI_EINVAL;
	memcpy(record.addr, &canonical, sizeof(record.addr));
	lock_file(shared->file);
	err = append(shared, &record);
	if (!err)
		shared->file->fi_addr[shared->file->inserted++] = *index = av_find(shared->av, &canonical, 0);
	pthread_mutex_unlock(&shared->file->lock);
	return err;
}

int av_shared_remove(struct av_shared *shared, uint64_t index)
{
	/* Another process that follows may use another number of context bits, or none. */
	struct av_record record = { .removed = av_entry(shared->av, index) };
	struct sockaddr_storage addr;
	uint64_t stamp;
	int err;

	if (shared->read_only)
		return -FI_EACCES;
	lock_file(shared->file);
	av_shared_replay_new(shared);
	err = av_lookup(shared->av, index, &addr, &stamp) ? -FI_EINVAL : append(shared, &record);
	pthread_mutex_unlock(&shared->file->lock);
	return err;
}

void *av_shared_map(struct av_shared *shared)
{
	return shared->file->fi_addr;
}

/* --- the file --- */

static bool lock_bytes(int fd, short type, bool wait)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };

	while (fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range))
		if (errno != EINTR)
			return false;
	return true;
}

static int map_file(struct av_shared *shared)
{
	void *map = mmap(NULL, sizeof(struct shared_file), PROT_READ | PROT_WRITE, MAP_SHARED, shared->fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	shared->file = map;
	return 0;
}

/* Starts an empty log; the caller holds the write lock. */
static int av_log_create(struct av_shared *shared)
{
	pthread_mutexattr_t attr;
	int err;

	if (ftruncate(shared->fd, 0) || ftruncate(shared->fd, sizeof(struct shared_file)))
		return -errno;
	err = map_file(shared);
	if (err)
		return err;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&shared->file->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return 0;
}

/* 0; -EAGAIN: another process has just removed the file. */
static int av_shared_join(struct av_shared *shared)
{
	bool alone = lock_bytes(shared->fd, F_WRLCK, false);
	struct stat stat;
	int err;

	if (!alone && !lock_bytes(shared->fd, F_RDLCK, true))
		return -errno;
	if (fstat(shared->fd, &stat))
		return -errno;
	if (!stat.st_nlink)
		return -EAGAIN;
	if (alone && shared->read_only) {
		shm_unlink(shared->path); /* its processes are gone */
		return -FI_ENOENT;
	}
	if (alone) {
		err = av_log_create(shared);
		return err || lock_bytes(shared->fd, F_RDLCK, false) ? err : -errno;
	}
	return stat.st_size == sizeof(struct shared_file) ? map_file(shared) : -EAGAIN;
}

static int open_file(struct av_shared *shared)
{
	int err = -EAGAIN;

	for (int i = 0; i < TRIES && err == -EAGAIN; i++) {
		shared->fd = shm_open(shared->path, O_RDWR | (shared->read_only ? 0 : O_CREAT), 0600);
		if (shared->fd < 0)
			return -errno;
		err = av_shared_join(shared);
		if (err)
			close(shared->fd);
	}
	return err;
}

static bool is_name(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return length && length < NAME_BYTES;
}

int av_shared_open(struct av *av, const char *domain, const char *name, bool read_only, struct av_shared **out)
{
	struct av_shared *shared;
	size_t length;
	int err;

	if (!is_name(name))
		return -FI_EINVAL;
	shared = calloc(1, sizeof(*shared));
	if (!shared)
		return -FI_ENOMEM;
	shared->av = av;
	shared->read_only = read_only;
	shared->owner = getpid();
	length = (size_t)snprintf(shared->path, sizeof(shared->path), "/emu-av-%u-", (unsigned)getuid());
	for (const char *at = domain; *at && at < domain + NAME_BYTES; at++) /* a domain's name may be an address of any form */
		shared->path[length++] = isalnum((unsigned char)*at) ? *at : '_';
	snprintf(shared->path + length, sizeof(shared->path) - length, "-%s", name);
	err = open_file(shared);
	if (err) {
		free(shared);
		return err;
	}
	mutex_init(&shared->lock);
	av_shared_replay_new(shared);
	av_follow(av, av_shared_replay_new, shared);
	*out = shared;
	return 0;
}

void av_shared_close(struct av_shared *shared)
{
	if (!shared)
		return;
	munmap(shared->file, sizeof(*shared->file));
	if (shared->owner == getpid() && lock_bytes(shared->fd, F_WRLCK, false))
		shm_unlink(shared->path);
	close(shared->fd);
	mutex_destroy(&shared->lock);
	free(shared);
}
