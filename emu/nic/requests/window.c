/* SPDX-License-Identifier: BSD-2-Clause */
/* window.c - requests of a queue pair that nobody is sent (POST_LOCAL): a region ends for peers, a memory window is bound. */
#include <assert.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/regions/mr_rules.h"
#include "emu/nic/regions/mr_window.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/transport/transport_calls.h"

static_assert(sizeof(struct mr_bind) <= LIMIT_INJECT, "a bind is the payload of its op");

void access_end(struct pd *pd, struct mr *mr)
{
	struct nic *nic = pd->nic;

	nic_role(nic);
	if (nic->trace)
		trace_region(nic, mr, TRACE_REGION_CLOSED);
	access_revoke(nic, mr);
	mr_remove(pd->regions, mr, clock_now(&nic->clock));
}

void window_end(struct pd *pd, struct mr_window *window)
{
	nic_role(pd->nic);
	if (window->mr)
		access_end(pd, window->mr);
	window->mr = NULL;
}

int pd_open_window(struct pd *pd, bool of_one_ep, uint32_t *key)
{
	const struct nic *nic = pd->nic;
	struct mr_window *window;
	int err;

	nic_role(nic);
	err = mr_window_open(&pd->windows, pd->regions, nic->link.random, nic->link_arg, &window);
	if (err)
		return err;
	window->of_one_ep = of_one_ep;
	nic->link.random(nic->link_arg, key, sizeof(*key));
	*key = window->name << MR_WINDOW_TAG_BITS | (*key & ((1u << MR_WINDOW_TAG_BITS) - 1));
	return 0;
}

void pd_close_window(struct pd *pd, uint32_t key)
{
	struct mr_window *window = mr_window_find(&pd->windows, key);

	nic_role(pd->nic);
	window_end(pd, window);
	mr_window_close(&pd->windows, window); /* V161 */
}

/* What mr_may_bind_window() has allowed. 0 or -ENOMEM: it is not bound then. */
static int window_bind(const struct ep *ep, struct mr_window *window, struct mr *base, const struct mr_bind *bind)
{
	const struct iovec iov = { (void *)(uintptr_t)(bind->zero_based ? 0 : bind->addr), bind->length };
	const struct mr_attr attr = {
		.iov = &iov,
		.iov_count = 1,
		.access = bind->access,
		.key = window->name << MR_WINDOW_TAG_BITS | (bind->key & ((1u << MR_WINDOW_TAG_BITS) - 1)),
		.key_bytes = MR_WINDOW_KEY_BYTES,
		.virtual_addr = true,
		.by_endpoint = window->of_one_ep,
		.base = base,
		.base_shift = bind->zero_based ? bind->addr : 0, /* V168 */
		.window = true,
	};
	struct pd *pd = ep->attr.pd;
	int err = mr_add(pd->regions, &attr, &window->mr);

	nic_role(pd->nic);
	if (!err && window->of_one_ep)
		err = binding_add(window->mr, ep->attr.bindings); /* V166, V179 */
	if (err && window->mr)
		mr_remove(pd->regions, window->mr, clock_now(&pd->nic->clock));
	if (err)
		window->mr = NULL;
	else
		pd_added_region(pd, window->mr);
	return err;
}

/* Nobody else hears of it, so the log says it here. */
static void local_fail(struct op *op, enum refusal_cause cause, const struct refusal *known)
{
	struct nic *nic = op->ep->nic;
	char text[LIMIT_ERROR_TEXT];

	nic_role(nic);
	complete_note(op, cause, known);
	if (log_limit_ok(nic, LOG_LIMIT_REFUSAL)) {
		refusal_text(nic->config.front, &op->leader->why, NULL, text, sizeof(text));
		nic_log(nic, NIC_LOG_WARN, "%s", text);
	}
	complete_failed(op, cause, known);
}

static void local_bind(struct session *session, struct op *op)
{
	struct pd *pd = session->ep->attr.pd;
	struct mr_window *window;
	struct mr_bind bind;
	enum mr_rule rule;
	struct mr *base;
	int err = 0;

	memcpy(&bind, op->inject, sizeof(bind));
	window = mr_window_find(&pd->windows, bind.key);
	base = bind.desc ? mr_find_local(pd->regions, (const void *)(uintptr_t)bind.desc) : NULL;
	rule = mr_may_bind_window(window, base, &bind);
	if (rule == MR_RULE_NONE)
		window_end(pd, window);
	if (rule == MR_RULE_NONE && bind.length)
		err = window_bind(session->ep, window, base, &bind);
	op->length = op->total = 0; /* nothing was moved */
	if (rule == MR_RULE_NONE && !err) {
		complete_good(op);
		return;
	}
	op->remote = (struct remote){ .addr = bind.addr, .key = bind.key };
	op->length = bind.length;
	local_fail(op, err ? REFUSAL_RESOURCE : REFUSAL_BIND, &(struct refusal){ .excess = rule });
}

static void local_invalidate(struct session *session, struct op *op)
{
	if (access_invalidate(session, op->cq_data)) { /* V29 */
		complete_good(op);
		return;
	}
	op->remote.key = op->cq_data;
	local_fail(op, REFUSAL_NO_REGION, NULL);
}

void local_execute(struct session *session, struct op *op)
{
	nic_role(session->ep->nic);
	if (op->flags & POST_BIND)
		local_bind(session, op);
	else
		local_invalidate(session, op);
}

void requester_local(struct session *session, struct op *op)
{
	nic_role(session->ep->nic);
	if (!requester_idle(session) || session->late || session->req.held) {
		requester_post(session, op);
		return;
	}
	op->session = session;
	if (session->fault)
		fault_post(session, op);
	local_execute(session, op);
}
