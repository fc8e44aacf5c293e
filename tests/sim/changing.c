/* SPDX-License-Identifier: BSD-2-Clause */
/* changing.c - with payload digests: memory that changes, or goes, between its digest and its send. It costs a connection, and
 * from then on the two copy what they digest. */
#include <criterion/criterion.h>

#include "emu/nic/device/nic_impl.h"
#include "tests/sim/harness/bed.h"

enum { PAGE = 4096, LONG = 3 * LIMIT_SEGMENT, AT = LIMIT_SEGMENT + PAGE };

static struct link_ops below;
static struct world *world;
static uint8_t *victim; /* page-aligned; NULL: all goes by untouched */
static unsigned met;    /* sends that it was lent to */

static bool is_lent(const struct iovec *iov, int count)
{
	for (int i = 0; victim && i < count; i++)
		if ((uintptr_t)victim - (uintptr_t)iov[i].iov_base < iov[i].iov_len)
			return true;
	return false;
}

/* A byte is another while it is sent. */
static ssize_t send_changed(struct line *line, const struct iovec *iov, int count)
{
	ssize_t sent;

	if (!is_lent(iov, count))
		return below.send(line, iov, count);
	met++;
	*victim ^= 1;
	sent = below.send(line, iov, count);
	*victim ^= 1;
	return sent;
}

/* A page goes just before it is sent. */
static ssize_t send_gone(struct line *line, const struct iovec *iov, int count)
{
	if (is_lent(iov, count) && !met++)
		world_poison(world, victim, PAGE);
	return below.send(line, iov, count);
}

static void open_bed(struct bed *bed, uint64_t seed, ssize_t (*send)(struct line *, const struct iovec *, int), int sender)
{
	const struct nic_config config = { .digest = NIC_DIGEST_FULL };

	bed_open(bed, seed, 2, &config, NULL);
	bed->world->weather.capacity = seed & 1 ? LIMIT_SEGMENT / 2 : 2 * LONG;
	world = bed->world;
	victim = NULL;
	met = 0;
	below = bed->node[sender]->nic->link;
	bed->node[sender]->nic->link.send = send;
}

static void close_bed(struct bed *bed, int sender)
{
	bed->node[sender]->nic->link = below;
	model_end(bed->model, BED_LIMIT_NS);
	bed_close(bed);
}

static uint8_t *page_at(const struct iovec *run)
{
	return (uint8_t *)(((uintptr_t)run->iov_base + AT) & ~(uintptr_t)(PAGE - 1));
}

static struct job *long_job(struct bed *bed, struct region *region, enum op_kind kind)
{
	struct job *job;

	if (kind != OP_SEND) {
		job = job_rma(bed->party[0], region, kind, 0, LONG, POST_COMPLETE, 1);
	} else {
		intake_post(bed->party[1], LONG, 1, NULL);
		job = job_message(bed->party[0], bed->party[1], LONG, POST_COMPLETE, 1);
	}
	cr_assert(job);
	return job;
}

/* Twice: the second goes by the connection that copies. The model judges the bytes that arrive. */
static void changes(enum op_kind kind, uint64_t seed)
{
	int sender = kind == OP_READ;
	unsigned cables = 0;
	struct region *region;
	struct bed bed;

	open_bed(&bed, seed, send_changed, sender);
	region = region_open(bed.party[1], LONG, 1, BED_BOTH, false, 0);
	for (int round = 0; round < 2; round++) {
		struct job *job = long_job(&bed, region, kind);

		victim = page_at(sender ? &region->seg[0] : &job->iov[0]);
		cr_assert(!job_post(job));
		model_finish(bed.model, BED_LIMIT_NS);
		cr_assert(!job->failed);
		cr_assert_geq(met, 1, "it was never lent");
		cr_assert_gt(bed.world->cables_made, 1); /* perhaps both have dialled */
		cr_assert(round == 0 || bed.world->cables_made == cables, "%u connections", bed.world->cables_made);
		cables = bed.world->cables_made;
		cr_assert_eq(bed.node[!sender]->warns, 1);
		cr_assert(node_logged(bed.node[!sender], "WIRE-11"));
	}
	close_bed(&bed, sender);
}

Test(sim_changing, source_of_a_write)
{
	changes(OP_WRITE, 2400);
	changes(OP_WRITE, 2401);
}

Test(sim_changing, source_of_a_read)
{
	changes(OP_READ, 2402);
	changes(OP_READ, 2403);
}

Test(sim_changing, source_of_a_message)
{
	changes(OP_SEND, 2404);
	changes(OP_SEND, 2405);
}

/* The op fails alone; what was under way with it, and what comes, goes well on another connection. */
static void goes(enum op_kind kind, uint64_t seed)
{
	int sender = kind == OP_READ;
	struct region *region, *other;
	struct bed bed;
	struct job *job;

	open_bed(&bed, seed, send_gone, sender);
	region = region_open(bed.party[1], LONG, 1, BED_BOTH, false, 0);
	other = region_open(bed.party[1], LONG, 1, BED_BOTH, false, 0);
	job = long_job(&bed, region, kind);
	victim = page_at(sender ? &region->seg[0] : &job->iov[0]);
	job->may.good = false;
	job_may(job, sender ? REFUSAL_NOT_BACKED : REFUSAL_SOURCE_FAULT);
	cr_assert(!job_post(job));
	cr_assert(!job_post(job_rma(bed.party[0], other, kind, 0, LONG, POST_COMPLETE, 1)));
	model_finish(bed.model, BED_LIMIT_NS);
	cr_assert(job->failed);
	cr_assert_eq(bed.world->cables_made, 2, "%u connections", bed.world->cables_made);
	world_heal(bed.world, victim);
	close_bed(&bed, sender);
}

Test(sim_changing, source_of_a_write_goes)
{
	goes(OP_WRITE, 2406);
	goes(OP_WRITE, 2407);
}

Test(sim_changing, source_of_a_read_goes)
{
	goes(OP_READ, 2408);
	goes(OP_READ, 2409);
}
