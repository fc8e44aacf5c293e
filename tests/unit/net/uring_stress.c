/* SPDX-License-Identifier: BSD-2-Clause */
/* uring_stress.c - one thread copies to pinned memory, as the holder of the driver role does, while others register memory,
 * change its mapping and let it go; for tsan to watch. A plain program, as Criterion does not go with tsan. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/net/memory/uffd.h"
#include "emu/net/memory/uring.h"

enum { PAGE = 4096, THREADS = 3, COPIES = 3000, SKIPPED = 77 };

static atomic_bool over;
static bool told; /* of changes */

static void check(int good, const char *what)
{
	if (good)
		return;
	printf("not ok uring_churn %s\n", what);
	exit(1);
}

static uint8_t *fresh(size_t length)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED, "no memory");
	return at;
}

/* Where another thread had this memory just before, its change may count, too; so only that none is missed is checked. */
static void *churn(void *arg)
{
	for (unsigned round = 0; !atomic_load(&over) || !round; round++) {
		uint8_t *memory = fresh(3 * PAGE);
		bool early = round & 1; /* unmapped while it is pinned */
		struct pin *pin = NULL;
		bool changed;

		check(!uring_pin(&(struct iovec){ memory + 9, 2 * PAGE }, 1, &pin), "not pinned");
		if (early)
			munmap(memory, 3 * PAGE);
		changed = pin->ops->changed(pin);
		check(changed || !early || !told, "a change was missed");
		uring_unpin(pin);
		if (!early)
			munmap(memory, 3 * PAGE);
	}
	return arg;
}

static void copy(struct pin *pin, uint8_t *memory)
{
	uint8_t in[100], out[100];

	for (int i = 0; i < COPIES; i++) {
		memset(out, i, sizeof(out));
		check(pin->ops->put(pin, memory + i, out, sizeof(out)), "put");
		check(pin->ops->get(pin, memory + i, in, sizeof(in)), "get");
		check(!memcmp(in, out, sizeof(in)), "other bytes");
		check(!pin->ops->changed(pin), "a change was made up");
	}
}

int main(void)
{
	uint8_t *memory = fresh(PAGE);
	pthread_t threads[THREADS];
	struct pin *pin = NULL;
	const char *why = NULL;
	int err = uring_start();

	if (!err)
		err = uring_pin(&(struct iovec){ memory, PAGE }, 1, &pin);
	if (err) {
		check(err == -EPERM || err == -ENOSYS || err == -ENOMEM, "not started");
		printf("skip uring_churn: io_uring is not to be had here: %s\n", strerror(-err));
		return SKIPPED;
	}
	told = !remap_start(&why);
	for (size_t i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, churn, NULL), "no thread");
	copy(pin, memory);
	atomic_store(&over, true);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	uring_unpin(pin);
	printf("ok uring_churn\n");
	return 0;
}
