/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_counts.c - counts, as one line. They are what the device has anyway: numbers of requests and acknowledgements, and refusals,
 * which are counted off the path of an op. Bytes are counted from the first question on. */
#include <time.h>

#include "emu/process/ctl/ctl_answer.h"
#include "emu/net/thread/net.h"
#include "emu/nic/regions/refusal_name.h"

enum { BATCH = 64, STEP_SESSIONS = UINT32_MAX };

static void add_queue(struct ctl_answer *answer, const struct cq *cq, const struct cq_view *view)
{
	if (!ctl_queue_new(answer, cq))
		return;
	answer->sums.taken += view->taken;
	answer->sums.unread += view->unread;
	answer->sums.errors += view->errors;
}

/* One endpoint a step, then the sessions. */
static void add_ep(struct ctl_answer *answer)
{
	struct nic *nic = net_nic();
	struct view_ep view;
	bool there;

	driver_take(nic_driver(nic));
	if (!answer->step)
		view_count_bytes(nic);
	there = view_ep(nic, answer->step, &view);
	driver_leave(nic_driver(nic));
	answer->step = there ? answer->step + 1 : STEP_SESSIONS;
	if (!there)
		return;
	add_queue(answer, view.tx_cq, &view.tx);
	add_queue(answer, view.rx_cq, &view.rx);
	answer->sums.unexpected += view.unexpected;
	answer->sums.unexpected_bytes += view.unexpected_bytes;
}

/* True: these were the last, and *counts goes with them. */
static bool add_sessions(struct ctl_answer *answer, struct view_counts *counts)
{
	struct view_session views[BATCH];
	struct ctl_sums *sums = &answer->sums;
	struct nic *nic = net_nic();
	size_t count;
	bool end;

	driver_take(nic_driver(nic));
	count = view_sessions(nic, &answer->cursor, views, BATCH, &end);
	if (end)
		view_counts(nic, counts);
	driver_leave(nic_driver(nic));
	sums->sessions += count;
	for (size_t i = 0; i < count; i++) {
		sums->open += views[i].transport != NULL;
		sums->sent += views[i].sent;
		sums->acked += views[i].acked;
		sums->seen += views[i].seen;
	}
	return end;
}

static void put_causes(struct json *json, const char *name, const uint64_t *counts)
{
	json_object(json, name);
	for (unsigned int cause = 0; cause < REFUSAL_CAUSES; cause++)
		if (counts[cause])
			json_number(json, refusal_name(cause) ? refusal_name(cause) : "other", counts[cause]);
	json_end(json);
}

enum ctl_next ctl_stat(struct ctl_answer *answer, struct ctl_piece *piece)
{
	const struct ctl_sums *sums = &answer->sums;
	struct view_counts counts;
	struct timespec now;
	struct json json;

	if (answer->step != STEP_SESSIONS) {
		add_ep(answer);
		return CTL_MORE;
	}
	if (!add_sessions(answer, &counts))
		return CTL_MORE;
	clock_gettime(CLOCK_REALTIME, &now);
	ctl_line(piece, &json, "stat", CTL_PIECE / 2);
	json_number(&json, "time_ns", (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	json_number(&json, "acked", counts.acked + sums->acked);
	json_number(&json, "served", counts.seen + sums->seen);
	json_number(&json, "outstanding", sums->sent - sums->acked);
	json_number(&json, "completions", sums->taken);
	json_number(&json, "unread", sums->unread);
	json_number(&json, "errors_unread", sums->errors);
	json_number(&json, "unexpected", sums->unexpected);
	json_number(&json, "unexpected_bytes", sums->unexpected_bytes);
	json_number(&json, "endpoints", counts.endpoints);
	json_number(&json, "sessions", sums->sessions);
	json_number(&json, "connections", counts.connections);
	json_number(&json, "regions", counts.regions);
	json_number(&json, "bytes_out", counts.bytes_out);
	json_number(&json, "bytes_in", counts.bytes_in);
	put_causes(&json, "refused", counts.refused);
	put_causes(&json, "failed", counts.failed);
	put_causes(&json, "lost", counts.lost);
	ctl_line_end(piece, &json);
	return ctl_end(piece);
}
