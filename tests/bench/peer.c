/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.c - one block, from both ends. The order of it:
 *   initiator                        target
 *   order (benchmark, candidate) ->
 *   clear inbox, fill outbox         clear inbox, fill outbox
 *   wait for an idle processor       wait for an idle processor
 *                                <-  ready
 *   warm up, measure                 serve
 *   end                          ->
 *                                <-  done, with the hash of its inbox
 *   compare */
#include "peer.h"

#include <err.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "tools/perf/core/fabric.h"
#include "raw.h"

enum order_kind { ORDER_BLOCK, ORDER_QUIT };

struct order {
	enum order_kind kind;
	uint32_t bench, cand;
	uint64_t seed;
};

struct answer {
	int32_t status;
	uint64_t inbox_hash;
	char why[160];
};

static struct block block_of(const struct pair *pair, unsigned bench, unsigned cand, uint64_t seed)
{
	struct candidate *c = &pair->cands[cand];
	struct block block = {
		.host = &pair->host,
		.bench = &benches[bench],
		.cand = c,
		.fabric = c->fabric[benches[bench].world],
		.inbox = c->inbox,
		.outbox = c->outbox,
		.seed = seed,
		.core = pair->core,
	};

	if (block.fabric) {
		block.inbox = block.fabric->memory;
		block.outbox = block.fabric->memory + block.fabric->span;
	}
	return block;
}

static void block_prepare(struct block *block, const struct pair *pair)
{
	size_t span = bench_span(block->bench);

	if (block->bench->proof != PROOF_EACH)
		pattern_fill(block->outbox, span, block->seed);
	memset(block->inbox, 0, block->bench->proof == PROOF_EACH ? sizeof(uint64_t) : span);
	if (pair->settle)
		host_settle();
}

static const char *block_why(const struct block *block, int rc)
{
	if (block->fabric && block->fabric->why[0])
		return block->fabric->why;
	return fi_strerror(-rc);
}

/* The target. */

static void serve_block(struct pair *pair, const struct order *order)
{
	struct answer answer = { 0 };
	struct block block = block_of(pair, order->bench, order->cand, order->seed);
	const struct role *role = block_role(&block);

	if (block.fabric)
		answer.status = fabric_register_keys(block.fabric);
	block_prepare(&block, pair);
	if (!control_send(&pair->host, &answer, sizeof(answer)))
		return;
	if (!answer.status && role->serve)
		answer.status = role->serve(&block);
	if (answer.status)
		snprintf(answer.why, sizeof(answer.why), "%s", block_why(&block, answer.status));
	else if (block.bench->proof == PROOF_TARGET_INBOX)
		answer.inbox_hash = XXH3_64bits(block.inbox, bench_span(block.bench));
	(void)control_send(&pair->host, &answer, sizeof(answer));
}

int pair_serve(struct pair *pair)
{
	struct order order;

	while (control_receive(&pair->host, &order, sizeof(order))) {
		if (order.kind == ORDER_QUIT)
			return 0;
		serve_block(pair, &order);
	}
	return 1; /* the initiator is gone and will have said why */
}

/* The initiator. */

static int run_block(const struct pair *pair, struct block *block)
{
	const struct role *role = block_role(block);
	int rc, end;

	uint64_t length_ns = pair->block_ns * (block->bench->waits ? WAITS_BLOCKS : 1);

	block->length_ns = length_ns / 5; /* warm-up */
	rc = role->run(block);
	if (!rc) {
		block->length_ns = length_ns;
		block->ops = 0;
		block->elapsed_ns = 0;
		rc = role->run(block);
	}
	end = role->end ? role->end(block) : 0;
	atomic_store_explicit(&pair->host.shared->stop, 1, memory_order_release);
	return rc ? rc : end;
}

static int block_proved(const struct block *block, uint64_t target_hash, struct outcome *out)
{
	size_t span = bench_span(block->bench);

	out->bytes_hash = XXH3_64bits(&block->seed, sizeof(block->seed));
	if (block->bench->proof == PROOF_EACH)
		return 0;
	out->bytes_hash = XXH3_64bits(block->outbox, span);
	if (block->bench->proof == PROOF_INITIATOR_INBOX)
		target_hash = XXH3_64bits(block->inbox, span);
	return out->bytes_hash == target_hash ? 0 : -EBADMSG;
}

static int complain(const struct block *block, const char *side, const char *why)
{
	fprintf(stderr, "bench: %s: %s of %zu B: %s: %s\n", block->cand->name, block->bench->name, block->bench->size, side, why);
	return -EIO;
}

static int start_block(struct pair *pair, struct block *block, unsigned bench, unsigned cand)
{
	struct order order = { .kind = ORDER_BLOCK, .bench = bench, .cand = cand, .seed = block->seed };
	struct answer ready;

	atomic_store(&pair->host.shared->stop, 0);
	atomic_store(&pair->host.shared->goal, 0);
	atomic_store(&pair->host.shared->arrived, 0);
	atomic_store(&pair->host.shared->computed, 0);
	atomic_store(&pair->host.shared->served_ns, 0);
	if (!control_send(&pair->host, &order, sizeof(order)))
		return complain(block, "target", "process is gone");
	block_prepare(block, pair);
	if (!control_receive(&pair->host, &ready, sizeof(ready)))
		return complain(block, "target", "process is gone");
	return 0;
}

int pair_measure(struct pair *pair, unsigned bench, unsigned cand, uint64_t seed, struct outcome *out)
{
	struct block block = block_of(pair, bench, cand, seed);
	uint64_t waited, since;
	struct answer done;
	int rc;

	*out = (struct outcome){ 0 };
	rc = start_block(pair, &block, bench, cand);
	if (rc)
		return rc;
	waited = host_waited_ns(getpid());
	since = now_ns();
	rc = run_block(pair, &block);
	out->own_waited = (double)(host_waited_ns(getpid()) - waited) / (double)(now_ns() - since);
	if (!control_receive(&pair->host, &done, sizeof(done)))
		return complain(&block, "target", "process is gone");
	if (done.status && !(done.status == -ETIMEDOUT && block.bench->may_starve))
		return complain(&block, "target", done.why);
	if ((rc == -ETIMEDOUT || done.status) && block.bench->may_starve) {
		out->starved = true;
		return 0;
	}
	if (rc)
		return complain(&block, "initiator", block_why(&block, rc));
	if (block_proved(&block, done.inbox_hash, out))
		return complain(&block, "initiator", "the bytes that arrived are not those that were sent");
	if (block.bench->waits)
		out->served_waited = (double)atomic_load(&pair->host.shared->waited_ns) /
				     (double)atomic_load(&pair->host.shared->served_ns);
	out->ops = block.ops;
	out->ns_per_op = (double)block.elapsed_ns / (double)block.ops / block.bench->legs;
	return 0;
}

int pair_greet(struct pair *pair, unsigned cand)
{
	struct outcome ignored;

	return pair_measure(pair, 0, cand, 1, &ignored);
}

void pair_quit(struct pair *pair)
{
	struct order order = { .kind = ORDER_QUIT };

	(void)control_send(&pair->host, &order, sizeof(order));
}

/* A child that outlives a killed initiator would spin for ever. */
void pair_start(struct pair *pair)
{
	struct host ends[2];
	struct raw raws[2];
	pid_t initiator = getpid(), pid;
	int rc;

	host_pair(ends);
	raw_pair(raws);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	pair->core = pid || pair->one_core ? 0 : 1;
	host_pin(pair->core);
	pair->host = ends[pid ? 0 : 1];
	pair->target = pid;
	close(ends[pid ? 1 : 0].control);
	close(raws[pid ? 1 : 0].fd);
	if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != initiator))
		_exit(1);
	pair_open(pair, &raws[pid ? 0 : 1]);
	if (pid)
		return;
	rc = pair_serve(pair);
	pair_close(pair);
	exit(rc);
}

int pair_stop(struct pair *pair)
{
	int status = 0;

	pair_quit(pair);
	pair_close(pair);
	waitpid(pair->target, &status, 0);
	return status;
}
