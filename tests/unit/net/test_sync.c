/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sync.c - which pages are synchronised, and what the device is told of it. msync() is this program's own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emu/net/os/worker.h"
#include "emu/net/thread/net_internal.h"
#include "fake.h"

enum { PAGE = 4096, MANY = 1000 };

static struct {
	uintptr_t at;
	size_t length;
	int flags;
} asked[MANY];
static int calls, fails_at = -1; /* the worker's own */
static sem_t back;

int msync(void *addr, size_t length, int flags)
{
	if (calls < MANY) {
		asked[calls].at = (uintptr_t)addr;
		asked[calls].length = length;
		asked[calls].flags = flags;
	}
	if (calls++ != fails_at)
		return 0;
	errno = EIO;
	return -1;
}

static void came_back(struct flush *flush)
{
	flush->next = flush; /* seen */
	sem_post(&back);
}

static void setup(void)
{
	sem_init(&back, 0, 0);
	fake_flushed = came_back;
	cr_assert_eq(worker_start(), 0);
}

static void flush_one(struct flush *flush)
{
	sync_ops.begin(NULL, flush);
	sem_wait(&back);
	cr_assert_eq(flush->next, flush);
}

TestSuite(sync, .init = setup);

Test(sync, whole_pages_of_each_run)
{
	struct flush flush = { .count = 2, .run = { { (void *)(16 * PAGE + 100), 10 }, { (void *)(32 * PAGE), PAGE + 1 } } };

	flush_one(&flush);
	cr_assert_eq(flush.result, 0);
	cr_assert_eq(calls, 2);
	cr_assert(asked[0].at == 16 * PAGE && asked[0].length >= 110 && asked[0].flags == MS_SYNC);
	cr_assert(asked[1].at == 32 * PAGE && asked[1].length == PAGE + 1 && asked[1].flags == MS_SYNC);
}

Test(sync, a_failure_is_told)
{
	struct flush flush = { .count = 3, .run = { { (void *)PAGE, 1 }, { (void *)PAGE, 1 }, { (void *)PAGE, 1 } } };

	fails_at = 1;
	flush_one(&flush);
	cr_assert_eq(flush.result, -EIO);
	flush_one(&flush);
	cr_assert_eq(flush.result, 0, "the next one is good");
}

Test(sync, what_nobody_waits_for_is_left)
{
	struct flush flush = { .count = 1, .run = { { (void *)PAGE, 1 } } };

	atomic_store(&flush.unwanted, true);
	flush_one(&flush);
	cr_assert_eq(calls, 0);
}

Test(sync, many_at_once)
{
	struct flush *flush = calloc(MANY, sizeof(*flush));

	cr_assert(flush);
	for (int i = 0; i < MANY; i++) {
		flush[i].count = 1;
		flush[i].run[0] = (struct iovec){ (void *)(uintptr_t)((i + 1) * PAGE), 1 };
		sync_ops.begin(NULL, &flush[i]);
	}
	for (int i = 0; i < MANY; i++)
		sem_wait(&back);
	cr_assert_eq(calls, MANY);
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(asked[i].at, (uintptr_t)(i + 1) * PAGE, "in their order");
		cr_assert_eq(flush[i].next, &flush[i]);
	}
	free(flush);
}
