/* SPDX-License-Identifier: BSD-2-Clause */
/* report_counts.c - counts of ops as JSON. */
#include "emu/process/report/report_impl.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "emu/process/report/json.h"
#include "emu/nic/base/op_kind.h"
#include "emu/nic/regions/refusal.h"
#include "emu/nic/regions/refusal_name.h"

static_assert((int)REPORT_KINDS == (int)OP_POSTED_KINDS && (int)REPORT_CAUSES >= (int)REFUSAL_CAUSES, "all are counted");

struct report_counts report_counts;

static uint64_t count_now(const atomic_uint_fast64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void own_json(struct json *json)
{
	json_object(json, "ops");
	for (unsigned kind = 0; kind < REPORT_KINDS; kind++) {
		if (!count_now(&report_counts.own[kind].posted))
			continue;
		json_object(json, op_kind_name(kind));
		json_number(json, "posted", count_now(&report_counts.own[kind].posted));
		json_number(json, "done", count_now(&report_counts.own[kind].done));
		json_number(json, "failed", count_now(&report_counts.own[kind].failed));
		json_number(json, "bytes", count_now(&report_counts.own[kind].bytes));
		json_end(json);
	}
	json_end(json);
}

static void served_json(struct json *json)
{
	json_object(json, "served");
	for (unsigned kind = 0; kind < REPORT_KINDS; kind++) {
		uint64_t executed = count_now(&report_counts.served[kind].executed);
		uint64_t refused = count_now(&report_counts.served[kind].refused);

		if (!executed && !refused)
			continue;
		json_object(json, op_kind_name(kind));
		json_number(json, "done", executed > refused ? executed - refused : 0);
		json_number(json, "refused", refused);
		json_number(json, "bytes", count_now(&report_counts.served[kind].bytes));
		json_end(json);
	}
	json_end(json);
}

static void causes_json(struct json *json, const char *name, const atomic_uint_fast64_t *by)
{
	json_object(json, name);
	for (unsigned cause = 1; cause < REPORT_CAUSES; cause++)
		if (count_now(&by[cause]))
			json_number(json, refusal_name(cause) ? refusal_name(cause) : "unknown-cause", count_now(&by[cause]));
	json_end(json);
}

void report_counts_json(struct json *json)
{
	own_json(json);
	served_json(json);
	causes_json(json, "refusals", report_counts.failed_by);
	causes_json(json, "served_refusals", report_counts.refused_by);
}

void report_counts_forked(void)
{
	memset(&report_counts, 0, sizeof(report_counts));
}
