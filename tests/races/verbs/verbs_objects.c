/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_objects.c - memory windows, threads, queue pairs of rdma_cm, system calls on the buffers, and rsockets. */
#include <errno.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/races/verbs/verbs_kit.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ
#define SEND IBV_WR_SEND

/* --- memory windows --- */

static void bound(struct ibv_mw *mw, unsigned at, unsigned length)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };

	mw->rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ mine.mr, (uintptr_t)mine.memory + at, length, IBV_ACCESS_REMOTE_WRITE };
	post(1, 0, &wr);
	finish(0);
}

static void unbound(struct ibv_mw *mw)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = mw->rkey };

	post(1, 0, &wr);
	finish(0);
}

static struct ibv_mw *window_new(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(mine.pd, IBV_MW_TYPE_2);

	NEED(mw);
	return mw;
}

static struct ibv_send_wr window_write(uint32_t rkey, unsigned at, unsigned length, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = request(0, WRITE, FROM, at, length, sge);

	wr.wr.rdma.rkey = rkey;
	return wr;
}

/* Side 1 writes with the key of the window by one queue pair, and with that of the region by the other; right: beside. */
static void window_and_region(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mw *mw;
	uint32_t rkey;

	if (race_self) {
		share(0, &rkey, sizeof(rkey));
		wr = window_write(rkey, X, SHORT, &sge);
		post(0, 0, &wr);
		does(0, 1, WRITE, FROM, X + (racy() ? SHORT / 2 : SHORT), SHORT);
		finish(0);
		race_tell(0);
		return;
	}
	mw = window_new();
	bound(mw, X, SHORT);
	share(0, &mw->rkey, sizeof(mw->rkey));
	race_hear(1);
	unbound(mw);
	NEED(!ibv_dealloc_mw(mw));
}

/* The window goes from the first to the second half; side 0 looks at the second while side 1 writes to it; right: at the first. */
static void window_moves(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mw *mw;
	uint32_t rkey;

	if (race_self) {
		for (unsigned half = 0; half < 2; half++) {
			share(0, &rkey, sizeof(rkey));
			wr = window_write(rkey, X + half * LONG, LONG, &sge);
			post(0, 0, &wr);
			if (half)
				race_tell(0);
			finish(0);
			race_tell(0);
		}
		return;
	}
	mw = window_new();
	for (unsigned half = 0; half < 2; half++) {
		bound(mw, X + half * LONG, LONG);
		share(0, &mw->rkey, sizeof(mw->rkey));
		race_hear(1);
		if (half) {
			look(racy() ? X + LONG : X, LONG);
			race_hear(1);
		}
		unbound(mw);
	}
	NEED(!ibv_dealloc_mw(mw));
}

/* --- threads of side 1 --- */

struct work {
	unsigned lane, at, length, remote;
	pthread_barrier_t *barrier;
};

static void *thread_stores(void *arg)
{
	struct work *work = arg;

	pthread_barrier_wait(work->barrier);
	fill(work->at, work->length, 1);
	return NULL;
}

static void *thread_writes(void *arg)
{
	struct work *work = arg;

	pthread_barrier_wait(work->barrier);
	does(0, work->lane, WRITE, work->at, work->remote, work->length);
	return NULL;
}

static void thread_made(pthread_t *thread, void *(*does_what)(void *arg), struct work *work)
{
	NEED(!pthread_create(thread, NULL, does_what, work));
}

/* This thread has posted the request when another one stores into the source; right: behind it. */
static void source_and_thread(void)
{
	pthread_barrier_t barrier;
	struct work work = { .at = FROM + (racy() ? LONG / 2 : LONG), .length = SHORT, .barrier = &barrier };
	pthread_t thread;

	if (!race_self)
		return;
	pthread_barrier_init(&barrier, NULL, 2);
	thread_made(&thread, thread_stores, &work);
	begin(0, 0, WRITE, FROM, X, LONG);
	pthread_barrier_wait(&barrier);
	finish(0);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}

static void two_threads_write(void)
{
	pthread_barrier_t barrier;
	struct work work[LANES];
	pthread_t thread[LANES];

	if (!race_self)
		return;
	pthread_barrier_init(&barrier, NULL, LANES);
	for (unsigned i = 0; i < LANES; i++) {
		work[i] = (struct work){ i, FROM, LONG, X + i * (racy() ? LONG - 1 : LONG), &barrier };
		thread_made(&thread[i], thread_writes, &work[i]);
	}
	for (unsigned i = 0; i < LANES; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&barrier);
}

static void *thread_loads(void *arg)
{
	struct work *work = arg;

	look(work->at, work->length);
	return NULL;
}

/* Another thread loads the destination; right: when the READ has completed. */
static void destination_and_thread(void)
{
	struct work work = { .at = INTO, .length = LONG };
	pthread_t thread;

	if (!race_self)
		return;
	begin(0, 0, READ, INTO, X, LONG);
	if (!racy())
		finish(0);
	thread_made(&thread, thread_loads, &work);
	pthread_join(thread, NULL);
	if (racy())
		finish(0);
}

/* --- a queue pair of rdma_cm --- */

static void managed(void)
{
	if (!race_self)
		expects(1, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin(0, 0, WRITE, FROM, X, LONG);
		if (racy())
			race_tell(0);
		begin(0, 0, SEND, FROM, 0, SHORT);
		finish(0);
		finish(0);
		return;
	}
	if (racy())
		race_hear(1);
	else
		received(0);
	look(X, LONG);
	if (racy())
		received(0);
}

/* --- system calls --- */

/* They read the source while it is sent, and store into its neighbours. */
static void calls_beside_and_on_sources(void)
{
	uint8_t *source = mine.memory + FROM;
	int ends[2];

	if (!race_self)
		return;
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	begin(0, 0, WRITE, FROM, X, SHORT);
	NEED(write(ends[0], source, SHORT) == SHORT && recv(ends[1], source + SHORT, SHORT, MSG_WAITALL) == SHORT);
	finish(0);
	NEED(write(ends[0], source + SHORT, SHORT) == SHORT && read(ends[1], source, SHORT) == SHORT);
	close(ends[0]);
	close(ends[1]);
}

/* --- rsockets: side 0 maps memory, and side 1 writes to it --- */

static void mapped(void)
{
	char byte;

	if (race_self) {
		NEED(rrecv(mine.stream, &byte, 1, MSG_WAITALL) == 1);
		return;
	}
	NEED(riomap(mine.stream, mine.memory + X, LONG, PROT_WRITE, 0, 0) || rsend(mine.stream, "", 1, 0) == 1);
}

static void unmapped(void)
{
	race_meet();
	if (!race_self)
		NEED(!riounmap(mine.stream, mine.memory + X, LONG));
}

static void stream_writes(void)
{
	NEED(riowrite(mine.stream, mine.memory + FROM, LONG, 0, 0) == LONG);
}

static void mapping_loaded_too_early(void)
{
	char byte;

	mapped();
	if (race_self) {
		stream_writes();
		race_tell(0);
		NEED(rsend(mine.stream, "", 1, 0) == 1);
	} else {
		race_hear(1);
		look(X, LONG);
		NEED(rrecv(mine.stream, &byte, 1, MSG_WAITALL) == 1);
	}
	unmapped();
}

static void mapping_polled(void)
{
	unsigned before = mine.memory[X + LONG - 1];

	mapped();
	if (race_self) {
		fill(FROM, LONG, before + 1);
		fill(X + LONG - 1, 1, before + 1);
		stream_writes();
	} else {
		poll_byte(X + LONG - 1, before);
	}
	unmapped();
}

/* What was written is there when what was sent behind it is received; and riowrite() has copied its source. */
static void mapping_loaded_in_time(void)
{
	char byte;

	mapped();
	if (race_self) {
		stream_writes();
		fill(FROM, LONG, 1);
		NEED(rsend(mine.stream, "", 1, 0) == 1);
	} else {
		NEED(rrecv(mine.stream, &byte, 1, MSG_WAITALL) == 1);
		look(X, LONG);
		fill(X, LONG, 0);
	}
	unmapped();
}

static const struct race_case objects_cases[] = {
	VERBS_RACE("window-over-a-region", "remote-conflict", "operation-operation", 2, window_and_region),
	VERBS_RACE("new-half-of-a-window-loaded", "target-load", "operation-load", 2, window_moves),
	VERBS_RACE("thread-stores-source", "threads", "operation-store|send-buffer-changed", 2, source_and_thread),
	VERBS_RACE("threads-write-the-same", "threads", "operation-operation", 2, two_threads_write),
	VERBS_RACE("thread-loads-destination", "threads", "operation-load", 2, destination_and_thread),
	VERBS_RACE("managed-told-too-early", "target-load", "operation-load", 2, managed, .manager = true),
	VERBS_RACE("mapping-loaded-too-early", "target-load", "operation-load", 2, mapping_loaded_too_early, .stream = true),
	VERBS_RACE("mapping-polled", "polling", "memory-polled", 2, mapping_polled, .stream = true),
	VERBS_TWIN("window-beside-bytes", "remote-conflict", 2, window_and_region),
	VERBS_TWIN("old-half-of-a-window-loaded", "target-load", 2, window_moves),
	VERBS_TWIN("thread-stores-beside", "threads", 2, source_and_thread),
	VERBS_TWIN("threads-write-neighbours", "threads", 2, two_threads_write),
	VERBS_TWIN("thread-loads-completed", "threads", 2, destination_and_thread),
	VERBS_TWIN("managed-told-by-message", "target-load", 2, managed, .manager = true),
	VERBS_TWIN("calls-beside-and-on-sources", "local-load", 2, calls_beside_and_on_sources),
	VERBS_TWIN("mapping-loaded-in-time", "target-load", 2, mapping_loaded_in_time, .stream = true),
};

const struct race_set verbs_objects = RACE_SET(objects_cases);
