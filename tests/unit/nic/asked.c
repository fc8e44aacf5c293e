/* SPDX-License-Identifier: BSD-2-Clause */
/* asked.c - requests to a peer that does not answer. */
#include "tests/unit/nic/asked.h"

uint8_t asked_memory[3 * ASKED_LONG];

void asked_open(struct asked *asked)
{
	struct region *region;
	struct job *job;

	bed_open(&asked->bed, 71, 2, NULL, NULL);
	asked->party = asked->bed.party[0];
	region = region_open(asked->bed.party[1], 64, 1, BED_BOTH, false, 0);
	job = job_rma(asked->party, region, OP_WRITE, 0, 8, POST_COMPLETE, 1);
	WORLD_CHECK(asked->bed.world, !job_post(job), "not posted");
	model_end(asked->bed.model, BED_LIMIT_NS);
	asked->party->deaf = true;
	asked->bed.node[1]->asleep = true;
	asked->session = party_session(asked->party, asked->bed.party[1]);
	asked->req = &asked->session->req;
	asked->req->requests = ASKED_AT_ONCE; /* so a long WRITE behind another cannot be sent whole */
	asked->first = asked->req->next_seq;
	WORLD_CHECK(asked->bed.world, asked->req->acked == asked->first - 1, "something is under way");
}

void asked_close(struct asked *asked)
{
	asked->bed.node[1]->asleep = false;
	bed_close(&asked->bed);
}

void asked_settle(struct asked *asked)
{
	world_pass(asked->bed.world, SIM_SECOND / 1000);
}

void asked_post_at(struct asked *asked, enum op_kind kind, uint64_t key, uint64_t addr, uint64_t length, uint32_t flags)
{
	struct iovec iov = { asked_memory, length }, result = { asked_memory + 2 * ASKED_LONG, length };
	struct remote remote = { .addr = addr, .length = length, .key = key };
	struct post_atomic atomic = {
		.what = { ATOMIC_FETCH, ATOMIC_SUM, ATOMIC_UINT64 },
		.result = &result,
		.result_count = 1,
	};
	struct post post = {
		.kind = kind,
		.flags = POST_COMPLETE | flags,
		.dest = asked->party->index[1],
		.iov = &iov,
		.iov_count = 1,
		.remote = &remote,
		.remote_count = kind != OP_SEND,
		.atomic = kind == OP_ATOMIC ? &atomic : NULL,
	};

	WORLD_CHECK(asked->bed.world, !ep_post(asked->party->ep, &post), "not posted");
}

void asked_post(struct asked *asked, enum op_kind kind, uint64_t length, uint32_t flags)
{
	asked_post_at(asked, kind, 1, 0, length, flags);
	asked_settle(asked);
}

int asked_came_to(struct asked *asked)
{
	struct completion c;
	struct cq_error error;

	if (cq_take_error(asked->party->tx, &error) == 1)
		return (int)error.prov_errno;
	return cq_take(asked->party->tx, &c, 1) == 1 ? ASKED_GOOD : ASKED_NOTHING;
}
