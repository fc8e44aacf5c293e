/* SPDX-License-Identifier: BSD-2-Clause */
/* report_nic.c - refused ops, of both sides, with all that this process knows of them: the post, the region, the likely mix-up.
 *
 * The sentence that both sides write comes from the device. Guesses that would help an attacker are made at the target alone; the
 * initiator guesses among its own regions. */
#include "emu/process/report/report.h"

#include <stdio.h>
#include <string.h>

#include "emu/process/front/process_front.h"
#include "emu/process/report/json.h"
#include "emu/process/report/report_impl.h"
#include "emu/process/report/report_regions.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/ops/op.h"
#include "emu/nic/regions/front_end.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/refusal.h"
#include "emu/nic/regions/refusal_name.h"

/* Everything that a refusal's finding points to. */
struct about {
	struct report_finding finding;
	struct report_op op;
	struct region_facts facts, meant;
	struct report_region region, nearest;
	struct call_stack posted;
	char what[256], text[LIMIT_ERROR_TEXT];
};

static const struct call_stack nowhere;

static void nic_posted(const void *owner, const struct post *post)
{
	struct report_post here = { .owner = owner, .context = post->context, .kind = (uint8_t)post->kind };

	if (!report_on())
		return;
	if (!post->remote_count)
		report_posts_add(&here);
	for (size_t i = 0; i < post->remote_count; i++) {
		here.key = post->remote[i].key;
		here.addr = post->remote[i].addr;
		report_posts_add(&here);
	}
}

static void nic_received(const void *owner, const void *context)
{
	if (report_on())
		report_posts_add(&(struct report_post){ .owner = owner, .context = context, .kind = REFUSAL_OP_RECEIVE });
}

static void nic_begun(unsigned int kind)
{
	report_count(&report_counts.own[kind].posted, 1);
}

static void nic_done(unsigned int kind, uint64_t bytes)
{
	report_count(&report_counts.own[kind].done, 1);
	report_count(&report_counts.own[kind].bytes, bytes);
}

static void nic_served(unsigned int kind, uint64_t bytes, bool first)
{
	report_count(&report_counts.served[kind].executed, first);
	report_count(&report_counts.served[kind].bytes, bytes);
}

static void describe_as(struct report_region *region, const struct region_facts *facts)
{
	uint64_t since_ns = facts->closed_ns ? facts->closed_ns : facts->opened_ns, now_ns = report_line_now();

	*region = (struct report_region){
		.key = facts->key,
		.addr = facts->addr,
		.length = facts->length,
		.access = facts->access,
		.closed = facts->closed_ns,
		.age_ns = now_ns > since_ns ? now_ns - since_ns : 0,
	};
}

/* Is the refusal something that a correct program sees? report.h says why. */
static bool is_answer(enum refusal_cause cause)
{
	switch (cause) {
	case REFUSAL_CANCELLED:
	case REFUSAL_NO_MESSAGE:
	case REFUSAL_STRANGER:
	case REFUSAL_FIREWALL:
	case REFUSAL_SENDER:
	case REFUSAL_GROUP:
	case REFUSAL_NO_RECEIVE:
		return true;
	default:
		return false;
	}
}

/* As what it was posted, and is counted: requests that nobody is sent are posted as messages. */
static unsigned int posted_as(const struct refusal *why)
{
	return why->op > REFUSAL_OP_RECEIVE ? OP_SEND : why->op;
}

static void about_refusal(struct about *about, const struct refusal *why, enum report_side side, const char *peer)
{
	static const char *const local[] = { "recv", "invalidate", "bind" };

	about->op = (struct report_op){
		.kind = why->op >= REFUSAL_OP_RECEIVE && why->op <= REFUSAL_OP_BIND ? local[why->op - REFUSAL_OP_RECEIVE]
										    : op_kind_name(why->op),
		.targets = op_kind_targets(why->op),
		.key = why->key,
		.addr = why->addr,
		.length = why->length,
	};
	about->finding = (struct report_finding){
		.kind = REPORT_REFUSAL,
		.side = side,
		.cause = refusal_name(why->cause) ? refusal_name(why->cause) : "unknown-cause",
		.number = why->cause,
		.peer = peer,
		.op = about->op.kind ? &about->op : NULL,
		.here = &nowhere,
		.injected = why->access & REFUSAL_INJECTED,
	};
}

static uint64_t finding_place(uint64_t key, const char *peer, uint64_t more)
{
	uint64_t hash = (key ^ more) + 1;

	for (; peer && *peer; peer++)
		hash = (hash ^ (unsigned char)*peer) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return hash ? hash : 1;
}

static uint32_t right_asked(const struct refusal *why)
{
	return why->op == OP_READ ? MR_REMOTE_READ : MR_REMOTE_WRITE;
}

static void about_mixup(struct about *about, const struct refusal *why, const void *pd, bool target)
{
	struct region_guess guess = {
		.pd = pd,
		.right = right_asked(why),
		.closed = why->cause == REFUSAL_CLOSED,
		.range = why->cause == REFUSAL_RANGE || why->cause == REFUSAL_WRAP,
		.rights = why->cause == REFUSAL_RIGHT,
		.key = why->key,
		.addr = why->addr,
		.length = why->length,
	};

	if (!(guess.closed || guess.range || guess.rights || why->cause == REFUSAL_UNKNOWN_KEY) || about->finding.injected ||
	    why->access & REFUSAL_TAGGED || !op_kind_targets(why->op))
		return;
	if (!report_region_guess(&guess, target, about->what, sizeof(about->what), &about->meant))
		return;
	describe_as(&about->nearest, &about->meant);
	about->finding.nearest_what = about->what;
	about->finding.nearest = &about->nearest;
}

static void about_region(struct about *about, const struct refusal *why, const void *pd)
{
	if (!op_kind_targets(why->op) || why->access & REFUSAL_TAGGED || !report_region_find(pd, why->key, &about->facts))
		return;
	describe_as(&about->region, &about->facts);
	about->finding.region = &about->region;
	about->finding.opened = &about->facts.opened;
	about->finding.closed = &about->facts.closed;
}

static const char *call_of(const void *owner, const struct refusal *why)
{
	if (why->op == REFUSAL_OP_RECEIVE)
		return owner ? process_front.receive_call : process_front.shared_receive_call;
	return posted_as(why) < OP_POSTED_KINDS ? process_front.calls[posted_as(why)] : NULL;
}

static void nic_failed(const void *owner, const void *context, const struct refusal *why, const char *peer, const char *text)
{
	unsigned int kind = posted_as(why);
	struct report_post post = { .owner = owner, .context = context, .kind = (uint8_t)kind };
	struct about about;

	if (kind < OP_POSTED_KINDS)
		report_count(&report_counts.own[kind].failed, 1);
	if (why->cause < REFUSAL_CAUSES)
		report_count(&report_counts.failed_by[why->cause], 1);
	if (is_answer(why->cause) || !report_on())
		return;
	about_refusal(&about, why, REPORT_INITIATOR, peer);
	if (about.op.targets) {
		post.key = why->key;
		post.addr = why->addr;
	}
	if ((kind < OP_POSTED_KINDS || kind == REFUSAL_OP_RECEIVE) && report_posts_find(&post, &about.posted)) {
		about.finding.posted = &about.posted;
		about.finding.place = finding_place(why->key, peer, call_stack_place(&about.posted));
	} else {
		about.finding.place = finding_place(why->key, peer, (uintptr_t)owner);
	}
	if (report_repeated(&about.finding))
		return;
	about.finding.call = call_of(owner, why);
	about.finding.text = text;
	about_mixup(&about, why, NULL, false);
	report_finding(&about.finding);
}

static void nic_refused(const void *pd, const struct refusal *why, const char *peer)
{
	struct about about;

	if (why->op < OP_POSTED_KINDS)
		report_count(&report_counts.served[why->op].refused, 1);
	if (why->cause < REFUSAL_CAUSES)
		report_count(&report_counts.refused_by[why->cause], 1);
	if (is_answer(why->cause) || !report_on())
		return;
	about_refusal(&about, why, REPORT_TARGET, peer);
	about.finding.place = finding_place(why->key, peer, (uintptr_t)pd);
	if (report_repeated(&about.finding))
		return;
	refusal_text(process_front.device, why, NULL, about.text, sizeof(about.text));
	about.finding.text = about.text;
	about_region(&about, why, pd);
	about_mixup(&about, why, pd, true);
	report_finding(&about.finding);
}

static void nic_remapped(const void *pd, const struct refusal *why, const char *peer, const char *text)
{
	struct about about;

	if (!report_on())
		return;
	about_refusal(&about, why, REPORT_TARGET, peer);
	about.finding.kind = REPORT_MISUSE;
	about.finding.cause = "remapped";
	about.finding.place = finding_place(why->key, NULL, (uintptr_t)pd);
	if (report_repeated(&about.finding))
		return;
	about.finding.text = text;
	about_region(&about, why, pd);
	report_finding(&about.finding);
}

const struct front_reports report_nic = {
	.posted = nic_posted,
	.received = nic_received,
	.begun = nic_begun,
	.done = nic_done,
	.failed = nic_failed,
	.served = nic_served,
	.refused = nic_refused,
	.remapped = nic_remapped,
};

void report_nic_end(struct json *json)
{
	report_counts_json(json);
	json_number(json, "regions_open", report_regions_open());
}
