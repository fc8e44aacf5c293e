/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_thread.c - two threads of a process, of which one posts. The domain is opened with FI_THREAD_SAFE. */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "tests/races/fi/fi_kit.h"

enum { TARGET, INITIATOR };

static sem_t posted, done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static pthread_t thread_begin(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	sem_init(&posted, 0, 0);
	sem_init(&done, 0, 0);
	NEED(!pthread_create(&thread, NULL, run, arg));
	return thread;
}

static void thread_end(pthread_t thread)
{
	NEED(!pthread_join(thread, NULL));
}

/* --- one posts a read, and another one uses what it brings: after the post (racy), or after the completion --- */

static void *use_result(void *arg)
{
	(void)arg;
	sem_wait(racy() ? &posted : &done);
	race_compute();
	if (race_this->how)
		race_store(kit_area + RESULT, 0);
	else
		(void)race_load(kit_area + RESULT);
	return NULL;
}

static void result_shared(unsigned round)
{
	pthread_t user;

	(void)round;
	if (race_self == TARGET)
		return;
	user = thread_begin(use_result, NULL);
	kit_do(GET, 0, TARGET, X, 0);
	sem_post(&posted);
	kit_sent(1);
	sem_post(&done);
	thread_end(user);
}

/* --- both send from one buffer. Right: under a mutex, until the completion --- */

static void send_shared(void)
{
	for (int i = 0; i < 2; i++) {
		size_t at = racy() ? X + kit_by * SIZE : X;

		if (!racy())
			pthread_mutex_lock(&mutex);
		race_store(kit_area + SOURCE, (uint8_t)i);
		kit_put(TARGET, SOURCE, at, SIZE, 0);
		kit_sent(1);
		if (!racy())
			pthread_mutex_unlock(&mutex);
	}
}

static void *send_by_second(void *arg)
{
	(void)arg;
	kit_by = 1;
	send_shared();
	return NULL;
}

static void source_shared(unsigned round)
{
	pthread_t second;

	(void)round;
	if (race_self == TARGET)
		return;
	second = thread_begin(send_by_second, NULL);
	send_shared();
	thread_end(second);
}

/* --- each has an endpoint, and writes to the target: to one place (racy), or to its own --- */

static void *write_own(void *arg)
{
	kit_by = arg ? 1 : 0;
	kit_put(TARGET, SOURCE + kit_by * KIT_SLOT, X + (racy() ? 0 : kit_by * SIZE), SIZE, 0);
	kit_sent(1);
	return NULL;
}

static void writes_of_threads(unsigned round)
{
	pthread_t second;

	(void)round;
	if (race_self == TARGET)
		return;
	second = thread_begin(write_own, &kit_by);
	write_own(NULL);
	thread_end(second);
}

/* --- at the target one waits for what tells of a write, and another one uses what was written --- */

enum use { LOADS, STORES, BY_DATA = 2 /* CQ data tell; else a message */ };

static void *use_written(void *arg)
{
	(void)arg;
	if (!racy())
		sem_wait(&done);
	for (int i = 0; i < 4; i++) {
		race_compute();
		if (race_this->how & STORES)
			race_store(kit_area + X, 0);
		else
			(void)race_load(kit_area + X);
	}
	return NULL;
}

static void written_shared(unsigned round)
{
	bool data = race_this->how & BY_DATA;
	pthread_t user;

	(void)round;
	if (race_self == INITIATOR) {
		race_hear(TARGET);
		kit_put(TARGET, SOURCE, X, SIZE, data ? FI_REMOTE_CQ_DATA : 0);
		kit_sent(1);
		if (data)
			return;
		kit_send(TARGET, SOURCE, SIZE, 0);
		kit_sent(1);
		return;
	}
	if (!data)
		kit_receive(INBOX, SIZE);
	user = thread_begin(use_written, NULL);
	race_tell(INITIATOR);
	kit_came(1);
	sem_post(&done);
	thread_end(user);
}

/* --- one posts a receive, and another one clears the buffer: after the post (racy), or before --- */

static void *clear_buffer(void *arg)
{
	(void)arg;
	if (racy())
		sem_wait(&posted);
	memset(kit_area + INBOX, 0, SIZE);
	sem_post(&done);
	return NULL;
}

static void receive_shared(unsigned round)
{
	pthread_t clearer;

	(void)round;
	if (race_self == INITIATOR) {
		race_hear(TARGET);
		kit_send(TARGET, SOURCE, SIZE, 0);
		kit_sent(1);
		return;
	}
	clearer = thread_begin(clear_buffer, NULL);
	if (!racy())
		sem_wait(&done);
	kit_receive(INBOX, SIZE);
	sem_post(&posted);
	race_tell(INITIATOR);
	kit_came(1);
	thread_end(clearer);
}

#define LOADED "operation-load"
#define STORED "operation-store"
#define WANT_TWO                 \
	&(const struct kit_want) \
	{                        \
		.endpoints = 2   \
	}

static const struct race_case cases[] = {
	RACE("thread-loads-result", "threads", LOADED, 2, result_shared, .how = 0),
	RACE("thread-stores-result", "threads", STORED, 2, result_shared, .how = 1),
	TWIN("thread-loads-result-when-done", "threads", 2, result_shared, .how = 0),
	TWIN("thread-stores-result-when-done", "threads", 2, result_shared, .how = 1),
	RACE("threads-share-source", "threads", STORED "|send-buffer-changed", 2, source_shared, .want = WANT_TWO),
	TWIN("threads-share-source-by-mutex", "threads", 2, source_shared, .want = WANT_TWO),
	RACE("threads-write-one-place", "threads", "operation-operation", 2, writes_of_threads, .want = WANT_TWO),
	TWIN("threads-write-own-places", "threads", 2, writes_of_threads, .want = WANT_TWO),
	RACE("thread-loads-written", "threads", LOADED, 2, written_shared, .how = LOADS),
	RACE("thread-stores-written", "threads", STORED, 2, written_shared, .how = STORES),
	RACE("thread-loads-before-data", "threads", LOADED, 2, written_shared, .how = LOADS | BY_DATA),
	TWIN("thread-loads-written-when-told", "threads", 2, written_shared, .how = LOADS),
	TWIN("thread-stores-written-when-told", "threads", 2, written_shared, .how = STORES),
	TWIN("thread-stores-behind-data", "threads", 2, written_shared, .how = STORES | BY_DATA),
	RACE("thread-clears-receive", "threads", STORED "|receive-buffer-changed", 2, receive_shared),
	TWIN("thread-clears-before-receive", "threads", 2, receive_shared),
};

const struct race_set fi_thread_cases = RACE_SET(cases);
