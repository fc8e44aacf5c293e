/* SPDX-License-Identifier: BSD-2-Clause */
/* bed.c - the world that most tests begin with. */
#include "tests/sim/harness/bed.h"

void bed_open(struct bed *bed, uint64_t seed, int parties, const struct nic_config *nic, const struct party_config *party)
{
	*bed = (struct bed){ .world = world_open(world_seed(seed)) };
	bed->model = model_open(bed->world);
	bed->world->tapped = true;
	for (int i = 0; i < parties; i++) {
		bed->node[i] = node_open(bed->world, nic);
		bed->party[i] = party_open(bed->model, bed->node[i], party);
	}
	bed_meet(bed);
}

struct job *bed_post(struct bed *bed, enum op_kind kind, struct region *target, uint64_t offset, uint64_t length, uint32_t flags)
{
	struct party *from = bed->party[0];
	struct job *job;
	int rc;

	if (kind == OP_SEND)
		job = job_message(from, bed->party[1], length, POST_COMPLETE | flags, 1);
	else if (kind == OP_ATOMIC)
		job = job_atomic(from, target, JOB_SUM, offset, 64, POST_COMPLETE | flags, 1);
	else
		job = job_rma(from, target, kind, offset, length, POST_COMPLETE | flags, 1);
	rc = job ? job_post(job) : -1;
	WORLD_CHECK(bed->world, !rc, "an op of kind %d was not posted: %d", kind, rc);
	return job;
}

void bed_meet(struct bed *bed)
{
	struct model *model = bed->model;

	for (int i = 0; i < model->parties; i++)
		for (int j = i; j < model->parties; j++)
			if (model->party[i]->index[j] == AV_NONE && model->party[i]->ep && model->party[j]->ep)
				party_meet(model->party[i], model->party[j]);
}

void bed_close(struct bed *bed)
{
	model_close(bed->model);
}
