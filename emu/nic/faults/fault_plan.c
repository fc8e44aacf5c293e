/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_plan.c - rules, counts and draws. */
#include "emu/nic/faults/fault_plan.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "emu/nic/base/address.h"
#include "wire/codec.h"
#include "wire/digest.h"

struct fault_count {
	uint64_t ops;  /* so far */
	uint32_t held; /* how often the next one was */
};

struct fault_peer {
	const struct fault_plan *plan;
	bool meant[LIMIT_FAULT_RULES];           /* the rule is for this peer */
	struct fault_count count[][FAULT_KINDS]; /* of each rule */
};

static const struct fault_plan no_plan;
struct fault_peer fault_watching = { .plan = &no_plan };

static void forget_port(struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = 0;
	else
		((struct sockaddr_in *)address)->sin_port = 0;
}

static bool names_peer(const struct fault_rule *rule, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage host = *peer;

	forget_port(&host);
	return !rule->peer.ss_family || address_same(&rule->peer, peer) || address_same(&rule->peer, &host);
}

struct fault_peer *fault_peer_open(const struct fault_plan *plan, const struct sockaddr_storage *peer)
{
	struct fault_peer *counts = calloc(1, sizeof(*counts) + plan->rules * sizeof(counts->count[0]));

	if (!counts)
		return NULL;
	counts->plan = plan;
	for (uint32_t i = 0; i < plan->rules; i++)
		counts->meant[i] = names_peer(&plan->rule[i], peer);
	return counts;
}

const struct fault_rule *fault_always(const struct fault_peer *peer, enum fault_sort sort)
{
	const struct fault_plan *plan = peer->plan;

	for (uint32_t i = 0; i < plan->rules; i++)
		if (plan->rule[i].sort == sort && peer->meant[i])
			return &plan->rule[i];
	return NULL;
}

static bool names_op(const struct fault_rule *rule, const struct fault_op *op)
{
	if (op->ours != (rule->sort >= PLAN_LATENCY) || !(rule->kinds & 1u << op->kind))
		return false;
	if (rule->sort == PLAN_RNR && op->kind != OP_SEND && !op->cq_data)
		return false;
	return !rule->keyed || (op->kind != OP_SEND && op->key == rule->key);
}

enum use { WHETHER, HOW_LONG };

/* Even in all bits, by seed, rule, kind and number. */
static uint64_t fault_plan_draw(const struct fault_plan *plan, enum use use, uint32_t rule, enum op_kind kind, uint64_t number)
{
	wire_u64 what[] = { wire_put64(plan->seed), wire_put64(use), wire_put64(rule), wire_put64(kind), wire_put64(number) };

	return digest_bytes(what, sizeof(what));
}

static bool hits(const struct fault_plan *plan, uint32_t i, enum op_kind kind, uint64_t number)
{
	const struct fault_rule *rule = &plan->rule[i];

	if (number < rule->first || (number - rule->first) % rule->every || (number - rule->first) / rule->every >= rule->most)
		return false;
	return rule->chance == FAULT_CERTAIN || fault_plan_draw(plan, WHETHER, i, kind, number) % FAULT_CERTAIN < rule->chance;
}

const struct fault_rule *fault_next(const struct fault_peer *peer, enum fault_sort sort, const struct fault_op *op)
{
	const struct fault_plan *plan = peer->plan;

	for (uint32_t i = 0; i < plan->rules; i++) {
		const struct fault_rule *rule = &plan->rule[i];

		if (rule->sort == sort && peer->meant[i] && names_op(rule, op) &&
		    hits(plan, i, op->kind, peer->count[i][op->kind].ops + 1))
			return rule;
	}
	return NULL;
}

const struct fault_rule *fault_holds(struct fault_peer *peer, enum fault_sort sort, const struct fault_op *op)
{
	const struct fault_rule *rule = fault_next(peer, sort, op);
	struct fault_count *count = rule ? &peer->count[rule - peer->plan->rule][op->kind] : NULL;

	if (!rule || count->held >= rule->times)
		return NULL;
	count->held++;
	return rule;
}

static uint64_t drawn_wait(const struct fault_plan *plan, uint32_t i, enum op_kind kind, uint64_t number)
{
	const struct fault_rule *rule = &plan->rule[i];
	uint64_t drawn = fault_plan_draw(plan, HOW_LONG, i, kind, number);

	return rule->wait_ns + (rule->jitter_ns ? drawn % (rule->jitter_ns + 1) : 0);
}

uint64_t fault_wait(const struct fault_peer *peer, const struct fault_rule *rule, const struct fault_op *op)
{
	uint32_t i = (uint32_t)(rule - peer->plan->rule);

	return drawn_wait(peer->plan, i, op->kind, peer->count[i][op->kind].ops + 1);
}

uint64_t fault_draw(const struct fault_peer *peer, const struct fault_rule *rule, const struct fault_op *op)
{
	uint32_t i = (uint32_t)(rule - peer->plan->rule);

	return fault_plan_draw(peer->plan, HOW_LONG, i, op->kind, peer->count[i][op->kind].ops + 1);
}

void fault_count(struct fault_peer *peer, const struct fault_op *op)
{
	const struct fault_plan *plan = peer->plan;

	for (uint32_t i = 0; i < plan->rules; i++)
		if (peer->meant[i] && names_op(&plan->rule[i], op))
			peer->count[i][op->kind] = (struct fault_count){ .ops = peer->count[i][op->kind].ops + 1 };
}

bool fault_hits(const struct fault_plan *plan, uint32_t i, uint64_t number)
{
	return hits(plan, i, OP_SEND, number);
}

uint64_t fault_call_wait(const struct fault_plan *plan, uint32_t i, uint64_t number)
{
	return drawn_wait(plan, i, OP_SEND, number);
}

const struct fault_rule *fault_registration(const struct fault_plan *plan, uint64_t number)
{
	for (uint32_t i = 0; i < plan->rules; i++)
		if (plan->rule[i].sort == PLAN_REGISTER && fault_hits(plan, i, number))
			return &plan->rule[i];
	return NULL;
}

const struct fault_rule *fault_full(const struct fault_plan *plan, unsigned int kind, uint64_t number)
{
	for (uint32_t i = 0; i < plan->rules; i++) {
		const struct fault_rule *rule = &plan->rule[i];

		if (rule->sort == PLAN_FULL && rule->kinds & 1u << kind && hits(plan, i, (enum op_kind)kind, number))
			return rule;
	}
	return NULL;
}

bool fault_fills(const struct fault_plan *plan)
{
	for (uint32_t i = 0; i < plan->rules; i++)
		if (plan->rule[i].sort == PLAN_FULL)
			return true;
	return false;
}

size_t fault_queue(const struct fault_plan *plan, size_t entries)
{
	for (uint32_t i = 0; i < plan->rules; i++)
		if (plan->rule[i].sort == PLAN_QUEUE)
			return entries < plan->rule[i].entries ? entries : plan->rule[i].entries;
	return entries;
}

uint64_t fault_thread(const struct fault_plan *plan)
{
	for (uint32_t i = 0; i < plan->rules; i++)
		if (plan->rule[i].sort == PLAN_THREAD)
			return plan->rule[i].wait_ns;
	return 0;
}
