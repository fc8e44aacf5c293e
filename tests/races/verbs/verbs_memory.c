/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_memory.c - what programs do to come to know of completions, to post, and to have memory: events, threads that poll, the
 * extended calls, and regions of the heap, of mappings and of the stack. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/races/verbs/verbs_kit.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ

/* --- completions --- */

/* The event says that something has completed; racy: it is that of another queue pair. */
static void event_awaited(void)
{
	struct ibv_cq *cq;
	void *context;

	if (!race_self)
		return;
	NEED(!ibv_req_notify_cq(mine.sends[0], 0));
	begin(0, 0, WRITE, FROM, X, SHORT);
	begin(0, 1, WRITE, FROM + SHORT, X + SHORT, SHORT);
	NEED(!ibv_get_cq_event(mine.channel, &cq, &context) && cq == mine.sends[0]);
	ibv_ack_cq_events(cq, 1);
	finish(0);
	fill(racy() ? FROM + SHORT : FROM, SHORT, 1);
	finish(1);
}

static void *thread_polls(void *arg)
{
	(void)arg;
	finish(0);
	return NULL;
}

/* Another thread polls, and this one goes on when that has ended; racy: at once. */
static void other_thread_polls(void)
{
	pthread_t thread;

	if (!race_self)
		return;
	begin(0, 0, READ, INTO, X, LONG);
	NEED(!pthread_create(&thread, NULL, thread_polls, NULL));
	if (racy())
		look(INTO, LONG);
	pthread_join(thread, NULL);
	look(INTO, LONG);
}

/* --- the extended calls --- */

static void extended_write(void)
{
	struct ibv_qp_ex *pair;

	if (!race_self)
		return;
	pair = ibv_qp_to_qp_ex(mine.qp[0][0]);
	ibv_wr_start(pair);
	pair->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(pair, mine.remote[0].rkey, mine.remote[0].at + X);
	if (racy())
		ibv_wr_set_sge(pair, mine.mr->lkey, (uintptr_t)mine.memory + FROM, SHORT);
	else
		ibv_wr_set_inline_data(pair, mine.memory + FROM, SHORT);
	NEED(!ibv_wr_complete(pair));
	fill(FROM, SHORT, 1);
	finish(0);
}

/* --- regions --- */

/* A READ from side 0 into other memory than the kit's, and what has come back there. */
static void reads_into(uint8_t *memory, unsigned length)
{
	struct ibv_mr *mr = ibv_reg_mr(mine.pd, memory, length, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(0, READ, INTO, X, length, &sge);

	NEED(mr);
	sge.addr = (uintptr_t)memory;
	sge.lkey = mr->lkey;
	post(0, 0, &wr);
	if (racy())
		race_load(memory + length / 2);
	finish(0);
	NEED(!ibv_dereg_mr(mr));
	for (unsigned i = 0; i < length; i++)
		race_store(memory + i, race_load(memory + i) + 1);
}

static void heap_read_into(void)
{
	uint8_t *memory;

	for (unsigned i = 1; race_self && i < 4; i++) {
		memory = malloc(i * SHORT);
		NEED(memory);
		reads_into(memory, i * SHORT);
		free(memory);
	}
}

static void mapping_read_into(void)
{
	uint8_t *memory;

	for (unsigned i = 0; race_self && i < 3; i++) {
		memory = mmap(NULL, LONG, PROT_READ | PROT_WRITE, (i % 2 ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
		NEED(memory != MAP_FAILED);
		reads_into(memory, LONG);
		munmap(memory, LONG);
	}
}

static void stack_read_into(void)
{
	_Alignas(8) uint8_t memory[8]; /* which one breakpoint sees whole */

	if (race_self)
		reads_into(memory, sizeof(memory));
}

static const struct race_case memory_cases[] = {
	VERBS_RACE("event-of-another-pair", "missing-completion", "operation-store|send-buffer-changed", 2, event_awaited,
		   .events = true),
	VERBS_RACE("other-thread-polls", "threads", "operation-load", 2, other_thread_polls),
	VERBS_RACE("extended-source-stored", "local-store", "operation-store|send-buffer-changed", 2, extended_write,
		   .extended = true),
	VERBS_RACE("heap-read-into", "local-load", "operation-load", 2, heap_read_into),
	VERBS_RACE("mapping-read-into", "local-load", "operation-load", 2, mapping_read_into),
	VERBS_RACE("stack-read-into", "local-load", "operation-load", 2, stack_read_into),
	VERBS_TWIN("event-of-the-pair", "missing-completion", 2, event_awaited, .events = true),
	VERBS_TWIN("other-thread-has-polled", "threads", 2, other_thread_polls),
	VERBS_TWIN("extended-inline-stored", "local-store", 2, extended_write, .extended = true),
	VERBS_TWIN("heap-read-into-awaited", "local-load", 2, heap_read_into),
	VERBS_TWIN("mapping-read-into-awaited", "local-load", 2, mapping_read_into),
	VERBS_TWIN("stack-read-into-awaited", "local-load", 2, stack_read_into),
};

const struct race_set verbs_memory = RACE_SET(memory_cases);
