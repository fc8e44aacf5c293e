/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_device.c - what the device knows, as lines: endpoints, sessions, regions, queues. */
#include <stdint.h>

#include "emu/process/ctl/ctl_answer.h"
#include "emu/net/thread/net.h"

enum { BATCH = 12 }; /* lines of a piece */

static const char *const cap_names[] = {
	"send",
	"recv",
	"read",
	"write",
	"remote-read",
	"remote-write",
	"directed-recv",
	"source",
	"rma-event",
	"remote-atomic-read",
	"remote-atomic-write",
	"tagged-send",
	"tagged-recv",
};
static const uint32_t cap_bits[] = {
	EP_SEND,
	EP_RECV,
	EP_READ,
	EP_WRITE,
	EP_REMOTE_READ,
	EP_REMOTE_WRITE,
	EP_DIRECTED_RECV,
	EP_SOURCE,
	EP_RMA_EVENT,
	EP_REMOTE_ATOMIC_READ,
	EP_REMOTE_ATOMIC_WRITE,
	EP_TSEND,
	EP_TRECV,
};
static const char *const right_names[] = { "read",        "write",        "recv",       "send",
					   "remote-read", "remote-write", "collective", "remote-atomic" };
static const uint32_t right_bits[] = { MR_READ,        MR_WRITE,        MR_RECV,       MR_SEND,
				       MR_REMOTE_READ, MR_REMOTE_WRITE, MR_COLLECTIVE, MR_REMOTE_ATOMIC };

static void put_bits(struct json *json, const char *name, uint32_t bits, const char *const *names, const uint32_t *each,
		     size_t count)
{
	json_array(json, name);
	for (size_t i = 0; i < count; i++)
		if (bits & each[i])
			json_string(json, NULL, names[i]);
	json_end(json);
}

static bool look_ep(uint32_t index, struct view_ep *view)
{
	struct nic *nic = net_nic();
	bool there;

	driver_take(nic_driver(nic));
	there = view_ep(nic, index, view);
	driver_leave(nic_driver(nic));
	return there;
}

enum ctl_next ctl_ep(struct ctl_answer *answer, struct ctl_piece *piece)
{
	struct view_ep view;
	struct json json;

	if (!look_ep(answer->step, &view))
		return ctl_end(piece);
	ctl_line(piece, &json, "ep", CTL_LINE);
	json_number(&json, "index", answer->step++);
	json_string(&json, "name", view.name);
	json_string(&json, "kind", view.type);
	json_number(&json, "domain", view.domain);
	json_number(&json, "sessions", view.sessions);
	if (view.tx_cq)
		json_hex(&json, "tx_cq", (uintptr_t)view.tx_cq);
	if (view.rx_cq)
		json_hex(&json, "rx_cq", (uintptr_t)view.rx_cq);
	json_number(&json, "unexpected", view.unexpected);
	json_number(&json, "unexpected_bytes", view.unexpected_bytes);
	json_bool(&json, "shared_rx", view.shared_rx);
	put_bits(&json, "caps", view.caps, cap_names, cap_bits, sizeof(cap_bits) / sizeof(cap_bits[0]));
	ctl_line_end(piece, &json);
	return CTL_MORE;
}

static void put_cq(struct ctl_piece *piece, const struct cq *cq, const struct cq_view *view)
{
	struct json json;

	ctl_line(piece, &json, "cq", CTL_LINE);
	json_hex(&json, "id", (uintptr_t)cq);
	json_number(&json, "size", view->size);
	json_number(&json, "unread", view->unread);
	json_number(&json, "overflow", view->unread > view->size ? view->unread - view->size : 0);
	json_number(&json, "errors", view->errors);
	json_number(&json, "read", view->taken);
	json_number(&json, "users", view->users);
	ctl_line_end(piece, &json);
}

enum ctl_next ctl_cq(struct ctl_answer *answer, struct ctl_piece *piece)
{
	struct view_ep view;

	if (!look_ep(answer->step++, &view))
		return ctl_end(piece);
	if (ctl_queue_new(answer, view.tx_cq))
		put_cq(piece, view.tx_cq, &view.tx);
	if (ctl_queue_new(answer, view.rx_cq))
		put_cq(piece, view.rx_cq, &view.rx);
	return CTL_MORE;
}

static void put_session(struct ctl_piece *piece, const struct view_session *view)
{
	struct json json;

	ctl_line(piece, &json, "conn", CTL_LINE);
	json_number(&json, "ep", view->ep);
	json_string(&json, "peer", view->peer);
	json_string(&json, "state", view->stands);
	json_string(&json, "transport", view->transport);
	json_number(&json, "sent", view->sent);
	json_number(&json, "acked", view->acked);
	json_number(&json, "outstanding", view->sent - view->acked);
	json_bool(&json, "waits", view->waits);
	json_bool(&json, "not_ready", view->not_ready);
	json_number(&json, "reads_open", view->reads_open);
	json_number(&json, "served", view->seen);
	json_number(&json, "verdicts", view->verdicts);
	json_number(&json, "connections", view->epoch);
	json_number(&json, "refused_dials", view->refused_dials);
	json_number(&json, "failed", view->failed_conns);
	json_bool(&json, "target_only", view->target_only);
	ctl_line_end(piece, &json);
}

enum ctl_next ctl_conn(struct ctl_answer *answer, struct ctl_piece *piece)
{
	struct view_session views[BATCH];
	struct nic *nic = net_nic();
	size_t count;
	bool end;

	driver_take(nic_driver(nic));
	count = view_sessions(nic, &answer->cursor, views, BATCH, &end);
	driver_leave(nic_driver(nic));
	for (size_t i = 0; i < count; i++)
		put_session(piece, &views[i]);
	return end ? ctl_end(piece) : CTL_MORE;
}

static void put_region(const struct ctl_answer *answer, struct ctl_piece *piece, const struct view_region *view)
{
	struct json json;

	ctl_line(piece, &json, "mr", CTL_LINE);
	json_number(&json, "id", view->id);
	json_number(&json, "domain", view->domain);
	ctl_key(answer, &json, "key", view->key);
	json_bool(&json, "raw_key", view->raw);
	json_hex(&json, "addr", view->address);
	json_number(&json, "length", view->length);
	json_number(&json, "segments", view->segments);
	json_number(&json, "within", view->subs);
	put_bits(&json, "access", view->access, right_names, right_bits, sizeof(right_bits) / sizeof(right_bits[0]));
	json_bool(&json, "virtual_address", view->virtual_address);
	json_bool(&json, "enabled", view->enabled);
	json_bool(&json, "registering", view->registering);
	json_bool(&json, "persistent", view->persistent);
	json_bool(&json, "single_use", view->single_use);
	json_bool(&json, "pinned", view->pinned);
	ctl_line_end(piece, &json);
}

enum ctl_next ctl_mr(struct ctl_answer *answer, struct ctl_piece *piece)
{
	struct view_region views[BATCH];
	struct nic *nic = net_nic();
	size_t count;
	bool end;

	driver_take(nic_driver(nic));
	count = view_regions(nic, &answer->cursor, views, BATCH, &end);
	driver_leave(nic_driver(nic));
	for (size_t i = 0; i < count; i++)
		put_region(answer, piece, &views[i]);
	return end ? ctl_end(piece) : CTL_MORE;
}
