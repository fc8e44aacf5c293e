/* SPDX-License-Identifier: BSD-2-Clause */
/* stress.c - the parts that several threads touch, for tsan to watch. A missed wake is a hang. A plain program, since
 * Criterion's forks and fixed mappings do not go with tsan; prints a line for each case. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/nic/atomics/atomic.h"
#include "emu/nic/base/address.h"
#include "emu/nic/base/errno.h"
#include "emu/nic/base/futex_lock.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/queues/cntr.h"
#include "emu/nic/queues/cq.h"
#include "emu/nic/regions/key_map.h"
#include "emu/nic/regions/mr_table.h"

static const char *running; /* the case */

#define CHECK(condition)                                                                  \
	do {                                                                              \
		if (!(condition)) {                                                       \
			printf("not ok %s line %d: %s\n", running, __LINE__, #condition); \
			exit(1);                                                          \
		}                                                                         \
	} while (0)

enum { THREADS = 3 };

static void start(pthread_t *threads, int count, void *(*body)(void *), void *arg)
{
	for (int i = 0; i < count; i++)
		CHECK(pthread_create(&threads[i], NULL, body, arg) == 0);
}

static void finish(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void post(void *arg)
{
	sem_post(arg);
}

/* --- a counter: adders against one that sleeps --- */

enum { ADDS = 20000 };

static void *add_many(void *arg)
{
	for (int i = 0; i < ADDS; i++)
		cntr_add(arg, 1);
	return NULL;
}

static void cntr_no_wake_is_missed(void)
{
	pthread_t adders[THREADS];
	struct cntr *cntr;
	sem_t woken;

	sem_init(&woken, 0, 0);
	CHECK(cntr_open(&cntr, post, &woken) == 0);
	start(adders, THREADS, add_many, cntr);
	for (uint64_t seen = 0; seen < THREADS * ADDS;) {
		cntr_arm(cntr);
		while (cntr_read(cntr) == seen)
			sem_wait(&woken);
		seen = cntr_read(cntr);
		cntr_disarm(cntr);
	}
	finish(adders, THREADS);
	CHECK(cntr_read(cntr) == THREADS * ADDS);
	CHECK(cntr_close(cntr) == 0);
}

/* --- a completion queue: one writer; one reader that sleeps, or several that spin --- */

enum { PUSHES = 50000, ERROR_EACH = 1000 };

static atomic_int released;

static void release(struct cq_node *node)
{
	atomic_fetch_add(&released, 1);
	free(node);
}

static void *push_many(void *arg)
{
	struct cq *cq = arg;

	for (uint64_t i = 0; i < PUSHES; i++) {
		struct cq_node *node = calloc(1, sizeof(*node));

		node->c.data = i;
		node->release = release;
		cq_push(cq, node);
		if (i % ERROR_EACH == 0)
			cq_push_error(cq, &(struct cq_error){ .c = { .data = i }, .err = EACCES });
	}
	return NULL;
}

static void take_one_error(struct cq *cq, uint64_t wanted)
{
	struct cq_error error;

	CHECK(cq_take_error(cq, &error) == 1);
	CHECK(error.c.data == wanted && error.err == EACCES);
}

static void cq_one_sleeper(void)
{
	struct completion out[7];
	uint64_t next = 0;
	pthread_t writer;
	struct cq *cq;
	sem_t woken;

	atomic_store(&released, 0);
	sem_init(&woken, 0, 0);
	CHECK(cq_open(&cq, 16, post, &woken) == 0);
	start(&writer, 1, push_many, cq);
	while (next < PUSHES) {
		ssize_t n = cq_take(cq, out, 7);

		for (ssize_t i = 0; i < n; i++)
			CHECK(out[i].data == next++);
		if (n == -NIC_EAVAIL) {
			take_one_error(cq, next - 1);
		} else if (n == -EAGAIN) {
			cq_arm(cq);
			while (!cq_ready(cq))
				sem_wait(&woken);
			cq_disarm(cq);
		}
	}
	finish(&writer, 1);
	CHECK(atomic_load(&released) == PUSHES);
	CHECK(cq_close(cq) == 0);
}

static _Atomic uint64_t sum;
static atomic_int taken;

static void *take_many(void *arg)
{
	while (atomic_load(&taken) < PUSHES) {
		struct completion out[3];
		struct cq_error error;
		ssize_t n = cq_take(arg, out, 3);

		if (n == -NIC_EAVAIL)
			cq_take_error(arg, &error);
		for (ssize_t i = 0; i < n; i++)
			atomic_fetch_add(&sum, out[i].data);
		if (n > 0)
			atomic_fetch_add(&taken, (int)n);
		else
			sched_yield();
	}
	return NULL;
}

static void cq_many_readers(void)
{
	pthread_t readers[THREADS], writer;
	struct cq *cq;

	atomic_store(&released, 0);
	CHECK(cq_open(&cq, 8, NULL, NULL) == 0);
	start(&writer, 1, push_many, cq);
	start(readers, THREADS, take_many, cq);
	finish(&writer, 1);
	finish(readers, THREADS);
	CHECK(atomic_load(&sum) == (uint64_t)PUSHES * (PUSHES - 1) / 2);
	CHECK(atomic_load(&released) == PUSHES);
	CHECK(cq_close(cq) == 0);
}

/* --- an address vector: inserts, finds and removes from all sides --- */

enum { INSERTS = 5000 };

static atomic_uint hosts;

static void *churn(void *arg)
{
	uint32_t host = atomic_fetch_add(&hosts, 1);

	for (int i = 0; i < INSERTS; i++) {
		struct sockaddr_storage addr = { 0 }, out;
		struct sockaddr_in *in = (struct sockaddr_in *)&addr;
		uint64_t index, stamp;

		in->sin_family = AF_INET;
		in->sin_addr.s_addr = host;
		in->sin_port = (in_port_t)i;
		CHECK(av_insert(arg, &addr, 0, &index) == 0);
		CHECK(av_lookup(arg, index, &out, &stamp) == 0 && address_same(&addr, &out));
		CHECK(av_find(arg, &addr, 0) == index);
		CHECK(av_remove(arg, index) == 0);
		CHECK(av_find(arg, &addr, 0) == AV_NONE);
	}
	return NULL;
}

static void av_churn(void)
{
	pthread_t threads[THREADS];
	struct av *av;

	CHECK(av_open(&av, 0) == 0);
	start(threads, THREADS, churn, av);
	finish(threads, THREADS);
	CHECK(av_generation(av) == 2 * THREADS * INSERTS);
	CHECK(av_close(av) == 0);
}

/* --- regions: the holder of the role adds and removes, program threads ask for descriptors that come and go --- */

static char memory[64];
static atomic_bool stop;
static _Atomic uint64_t shared_desc;

static void count_up(void *arg, void *bytes, size_t length)
{
	*(uint64_t *)arg += 0x9e3779b97f4a7c15;
	memset(bytes, 0, length);
	memcpy(bytes, arg, length < 8 ? length : 8);
}

static void *ask(void *arg)
{
	while (!atomic_load(&stop)) {
		uint64_t desc = atomic_load(&shared_desc);
		int rc = mr_table_local_ok(arg, (void *)(uintptr_t)desc, memory, 8, MR_SEND);

		CHECK(rc == 0 || rc == -EINVAL);
	}
	return NULL;
}

static void mr_asked_while_they_go(void)
{
	struct iovec iov = { memory, sizeof(memory) };
	struct mr_attr attr = { .iov = &iov, .iov_count = 1, .access = MR_SEND, .key_bytes = 8 };
	pthread_t threads[THREADS];
	struct mr_table *table;
	uint64_t state = 1;
	struct mr *mr;

	CHECK(mr_table_open(&table, count_up, &state) == 0);
	start(threads, THREADS, ask, table);
	for (attr.key = 0; attr.key < 20000; attr.key++) {
		CHECK(mr_add(table, &attr, &mr) == 0);
		atomic_store(&shared_desc, mr->desc);
		if (attr.key % 16 == 0)
			sched_yield();
		mr_remove(table, mr, attr.key);
	}
	atomic_store(&stop, true);
	finish(threads, THREADS);
	mr_table_close(table);
}

/* --- the guard: every thread lands where it jumped off --- */

enum { FAULTS = 3000 };

static void *fault_and_copy(void *arg)
{
	char *forbidden = arg, own[32] = "own bytes", copy[32];

	for (int i = 0; i < FAULTS; i++) {
		CHECK(!guard_copy(forbidden, own, 1));
		CHECK(guard_copy(copy, own, sizeof(own)) && !strcmp(copy, "own bytes"));
		CHECK(!guard_copy(copy, forbidden, 1));
		if (i % 64 == 0)
			guard_check();
	}
	return NULL;
}

static void guard_faults_everywhere(void)
{
	void *forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t threads[THREADS];

	CHECK(guard_install() == 0);
	start(threads, THREADS, fault_and_copy, forbidden);
	finish(threads, THREADS);
}

/* --- atomics: the device, one thread under the role, against the CPU on the same words --- */

enum { ROUNDS = 50000 };

static struct {
	_Alignas(16) _Atomic uint64_t half[2]; /* of 16 bytes: the device adds to all, the CPU to the upper one */
	_Alignas(8) _Atomic uint64_t word;
	_Atomic uint8_t bytes[4];
} contended;

static void *count_on_words(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		atomic_fetch_add(&contended.word, 1);
		atomic_fetch_add(&contended.bytes[i % 4], 1);
		atomic_fetch_add(&contended.half[1], 1);
	}
	return NULL;
}

static void device_adds(uint8_t type, void *at, size_t length, const void *ones)
{
	struct atomic_what add = { .kind = ATOMIC_PLAIN, .op = ATOMIC_SUM, .type = type };
	struct mr_place place = { .run = { { at, length } }, .count = 1 };

	CHECK(atomic_run(add, &place, length / atomic_size(type), ones, NULL, NULL));
}

static void atomics_against_the_cpu(void)
{
	const uint8_t ones[4] = { 1, 1, 1, 1 };
	const uint64_t one[2] = { 1, 0 };
	pthread_t threads[THREADS];

	CHECK(guard_install() == 0);
	start(threads, THREADS, count_on_words, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		device_adds(ATOMIC_UINT64, &contended.word, 8, one);
		device_adds(ATOMIC_INT8, contended.bytes, 4, ones);
		device_adds(ATOMIC_UINT128, contended.half, 16, one);
	}
	finish(threads, THREADS);
	CHECK(atomic_load(&contended.word) == (THREADS + 1) * (uint64_t)ROUNDS);
	for (int i = 0; i < 4; i++)
		CHECK(atomic_load(&contended.bytes[i]) == (uint8_t)(THREADS * (ROUNDS / 4) + ROUNDS));
	CHECK(atomic_load(&contended.half[0]) == ROUNDS);
#if defined(__x86_64__) /* elsewhere an element of 16 bytes is not one access */
	CHECK(atomic_load(&contended.half[1]) == THREADS * (uint64_t)ROUNDS);
#endif
}

/* --- mapped keys: each thread finds its own, however many others come and go --- */

static void *map_keys(void *arg)
{
	struct key_map *map = arg;

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		struct raw_key key = { .key = i, .tail = (uintptr_t)&key }, found;
		uint64_t handle;

		CHECK(key_map_add(map, &key, false, &handle) == 0);
		CHECK(key_map_find(map, handle, &found) && found.key == i && found.tail == key.tail);
		CHECK(key_map_remove(map, handle) == 0);
		CHECK(key_map_remove(map, handle) == -NIC_ENOKEY);
	}
	return NULL;
}

static void keys_mapped_by_all(void)
{
	static const uint64_t secret[2] = { 1, 2 };
	pthread_t threads[THREADS];
	struct key_map *map;

	CHECK(key_map_open(&map, secret) == 0);
	start(threads, THREADS, map_keys, map);
	finish(threads, THREADS);
	CHECK(key_map_count(map) == 0);
	key_map_close(map);
}

/* --- a pool: all that goes out comes back, and it ends with the last of it, whichever thread has that --- */

enum { OBJECTS = 20 };

static struct {
	struct futex_lock lock; /* takers */
	struct pool *pool;
	uint64_t *out[OBJECTS];
	atomic_int given;
} room;

static void *take_and_give(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t *object;

		futex_lock(&room.lock);
		object = pool_take(room.pool);
		futex_unlock(&room.lock);
		CHECK(object); /* there are more than threads */
		object[1] = i;
		if (i % 64 == 0)
			sched_yield();
		CHECK(object[1] == i);
		pool_give(room.pool, object);
	}
	return NULL;
}

static void *give_the_rest(void *arg)
{
	int i;

	(void)arg;
	while ((i = atomic_fetch_add(&room.given, 1)) < OBJECTS)
		pool_give(room.pool, room.out[i]);
	return NULL;
}

static void pool_ends_with_its_objects(void)
{
	pthread_t threads[THREADS];

	for (int round = 0; round < 100; round++) {
		CHECK(pool_open(&room.pool, 2 * sizeof(uint64_t), OBJECTS) == 0);
		if (round == 0) {
			start(threads, THREADS, take_and_give, NULL);
			finish(threads, THREADS);
		}
		for (int i = 0; i < OBJECTS; i++) {
			room.out[i] = pool_take(room.pool);
			CHECK(room.out[i]);
		}
		CHECK(!pool_take(room.pool));
		pool_give(room.pool, room.out[0]);
		CHECK(pool_take(room.pool) == room.out[0]);
		atomic_store(&room.given, 0);
		start(threads, THREADS, give_the_rest, NULL);
		pool_close(room.pool);
		finish(threads, THREADS);
	}
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "cntr_no_wake_is_missed", cntr_no_wake_is_missed },
		{ "cq_one_sleeper", cq_one_sleeper },
		{ "cq_many_readers", cq_many_readers },
		{ "av_churn", av_churn },
		{ "mr_asked_while_they_go", mr_asked_while_they_go },
		{ "keys_mapped_by_all", keys_mapped_by_all },
		{ "pool_ends_with_its_objects", pool_ends_with_its_objects },
		{ "guard_faults_everywhere", guard_faults_everywhere },
		{ "atomics_against_the_cpu", atomics_against_the_cpu },
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		running = cases[i].name;
		cases[i].run();
		printf("ok %s\n", running);
	}
	return 0;
}
