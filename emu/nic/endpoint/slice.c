/* SPDX-License-Identifier: BSD-2-Clause */
/* slice.c - the nic opens and closes, and between these works: a slice is one turn of the work of all rooms, and their timers. */
#include "emu/nic/device/nic.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/collectives/coll_impl.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/trace/trace.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/fault_swap.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/session.h"

static bool work(void *arg)
{
	return nic_work(arg);
}

static bool pending(void *arg)
{
	struct nic *nic = arg;

	return submit_pending(&nic->submit) || commits_pending(&nic->commits);
}

static uint64_t now(void *arg)
{
	return clock_now(&((const struct nic *)arg)->clock);
}

static void nic_driver_settle(void *arg)
{
	nic_flush_acks(arg);
}

static void wake(void *arg)
{
	nic_wake(arg);
}

static void config_defaults(struct nic_config *config)
{
	if (config->retry_budget_ns == 0)
		config->retry_budget_ns = TIME_RETRY_BUDGET_NS;
	if (config->refused_dials == 0)
		config->refused_dials = REFUSED_DIALS_GONE;
	if (config->segment == 0)
		config->segment = LIMIT_SEGMENT;
	if (config->eager == 0)
		config->eager = LIMIT_EAGER;
	if (config->unexpected_bytes == 0)
		config->unexpected_bytes = LIMIT_UNEXPECTED_BYTES;
	if (config->envelopes == 0 && !config->receives_first)
		config->envelopes = LIMIT_ENVELOPES;
}

int nic_open(struct nic **out, const struct nic_config *config, const struct link_ops *ops, void *link,
	     const struct nic_clock *clock)
{
	struct nic *nic = calloc(1, sizeof(*nic));
	const struct driver_ops driver = {
		.work = work,
		.pending = pending,
		.wake = wake,
		.settle = nic_driver_settle,
		.now_ns = now,
		.arg = nic,
	};
	int err;

	assert(config->front);
	if (!nic)
		return -ENOMEM;
	nic->config = *config;
	config_defaults(&nic->config);
	nic->config.secret = NULL;
	if (config->secret) {
		assert(config->secret_length >= LIMIT_SECRET_MIN && config->secret_length <= LIMIT_SECRET);
		nic->secret = secret_memory_take(&nic->secret_memory);
		err = nic->secret ? 0 : -ENOMEM;
		if (err)
			goto free_nic;
		secret_take(nic->secret, config->secret, config->secret_length);
	}
	nic->config.fault = NULL;
	err = config->fault ? fault_plan_begin(nic, config->fault) : 0;
	if (err)
		goto free_nic;
	nic->link = *ops;
	nic->link_arg = link;
	if (ops->join)
		ops->random(link, nic->process, sizeof(nic->process));
	nic->clock = *clock;
	pace_init(&nic->pace);
	nic->pace.now_ns = clock_now(clock);
	log_limit_init(nic);
	atomic_init(&nic->polling, false);
	nic->ready_end = &nic->ready;
	submit_init(&nic->submit);
	err = commits_init(&nic->commits);
	if (err)
		goto free_nic;
	driver_init(&nic->driver, &driver);
	if (config->fault)
		(void)pace_due(&nic->pace, 0); /* the first slice ticks, and so asks when the alarm is due */
	*out = nic;
	return 0;

free_nic:
	fault_plan_end(nic);
	secret_memory_give(&nic->secret_memory, nic->secret);
	secret_memory_fini(&nic->secret_memory);
	free(nic);
	return err;
}

/* Frees connections closed in this slice: no caller up the stack looks at them any more. */
static void nic_reap_conns(struct nic *nic)
{
	struct conn *conn, **at;

	for (at = &nic->busy; nic->dead && *at;) {
		if ((*at)->state == CONN_CLOSED)
			*at = (*at)->next_busy;
		else
			at = &(*at)->next_busy;
	}
	while ((conn = nic->dead)) {
		nic->dead = conn->next_dead;
		proof_close(conn);
		auth_tokens_close(conn->tokens, &nic->secret_memory);
		free(conn->stream.state);
		free(conn->in.own);
		free(conn);
	}
}

void nic_close(struct nic *nic)
{
	nic_role(nic);
	nic_trace_off(nic);
	while (nic->eps)
		ep_close(nic->eps);
	nic_reap_conns(nic);
	commits_fini(&nic->commits);
	sendq_spares_free(&nic->spares);
	free(nic->spare_message);
	fault_plan_end(nic);
	driver_fini(&nic->driver);
	secret_memory_give(&nic->secret_memory, nic->secret);
	secret_memory_fini(&nic->secret_memory);
	free(nic);
}

bool nic_is_drained(struct nic *nic)
{
	nic_role(nic);
	for (struct ep *ep = nic->eps; ep; ep = ep->next)
		if (!ep_quiet(ep))
			return false;
	return true;
}

void nic_say_bye(struct nic *nic)
{
	struct conn *conn, *next;

	nic_role(nic);
	for (struct ep *ep = nic->eps; ep; ep = ep->next)
		ep_stop_listening(ep);
	for (conn = nic->conns; conn; conn = next) {
		next = conn->next;
		conn_bye(conn, WIRE_BYE_CLOSED, "its process ended", true);
	}
	nic_trace_off(nic);
}

static __attribute__((noinline)) bool flush_busy(struct nic *nic)
{
	struct conn *conn = nic->busy, *next;
	bool sent = false;

	nic->busy = NULL;
	for (; conn; conn = next) {
		next = conn->next_busy;
		conn->busy = false;
		sent |= conn_transmit(conn);
	}
	return sent;
}

/* Collectives get on, and what they send leaves. */
static __attribute__((noinline, cold)) bool flush_ready(struct nic *nic)
{
	coll_work(nic);
	if (nic->busy)
		flush_busy(nic);
	if (nic->ready)
		coll_again(nic);
	return true;
}

/* Bytes of conns that wait for a send, or of lines that share a stream. */
static inline bool has_unsent(const struct nic *nic)
{
	return nic->busy || nic->pace.urgent || nic->pace.keeps;
}

/* `all`: also what lines keep for others that share their stream. */
static bool nic_flush(struct nic *nic, bool all)
{
	bool sent;

	nic->pace.urgent = false;
	if (unlikely(nic->ready != NULL))
		sent = flush_ready(nic);
	else
		sent = nic->busy && flush_busy(nic);
	if (nic->link.flush)
		nic->pace.keeps = nic->link.flush(nic->link_arg, all);
	return sent;
}

void nic_flush_acks(struct nic *nic)
{
	struct session *session = nic->owing, *next;
	bool slicing = nic->pace.slicing;

	nic_role(nic);
	nic->pace.idle_before_ack = SLICE_IDLE_ACKS;
	if (!session && !nic->dead && !has_unsent(nic))
		return;
	nic->pace.slicing = true;
	nic->owing = NULL;
	for (; session; session = next) {
		next = session->next_owing;
		session->owing = false;
		session_flush_ack(session);
	}
	nic_flush(nic, true);
	nic_reap_conns(nic);
	nic->pace.slicing = slicing;
	nic->pace.clocked &= slicing;
	if (nic->busy) /* more than one go sends */
		nic_kick(nic);
	else if (!nic->owing) /* no look is due any more: a sleep with a near deadline costs twice as much as one without any */
		pace_timers_alone(&nic->pace);
}

/* Stores the acknowledgements that no answer is about to carry, as they cost no send. */
static void store_acks(struct nic *nic)
{
	nic->pace.stores = false;
	for (struct session *session = nic->owing; session; session = session->next_owing)
		if (session->rsp.quick)
			(void)conn_store_ack(session->conn);
}

/* With a fault plan, acknowledgements come and go as frames of the stream, where its rules see them. */
void nic_set_polling(struct nic *nic, bool on)
{
	nic_role(nic);
	if (atomic_load_explicit(&nic->polling, memory_order_relaxed) == on || (on && fault_plan_of(nic)))
		return;
	atomic_store_explicit(&nic->polling, on, memory_order_relaxed);
	nic->link.set_polling(nic->link_arg, on);
	nic_reap_conns(nic);
}

/* Connections that have not said HELLO in time. Returns when the next of them is due. */
static uint64_t tick_greetings(struct nic *nic)
{
	uint64_t due = UINT64_MAX;
	struct conn *conn, *next;

	for (conn = nic->greeting ? nic->conns : NULL; conn; conn = next) {
		next = conn->next;
		if (conn->state != CONN_DIALING && conn->state != CONN_GREETING)
			continue;
		if (conn->greet_by_ns > nic_now(nic)) {
			due = conn->greet_by_ns < due ? conn->greet_by_ns : due;
		} else {
			if (log_limit_ok(nic, LOG_LIMIT_CONNECTION))
				nic_log(nic, NIC_LOG_WARN, "connection closed: no HELLO%s within %u ms",
					conn->proof ? " and proof of the secret" : "", (unsigned)(TIME_HELLO_NS / TIME_MS(1)));
			conn_close(conn, ETIMEDOUT, false);
		}
	}
	nic->greeting = due != UINT64_MAX;
	return due;
}

/* Returns when the alarm is due next. */
static uint64_t tick_alarm(struct nic *nic)
{
	if (nic->config.alarm && nic->alarm_ns <= nic_now(nic))
		nic->alarm_ns = nic->config.alarm();
	return nic->config.alarm ? nic->alarm_ns : UINT64_MAX;
}

/* True: completions that had been kept back were given to the program. */
__attribute__((noinline, cold)) static bool nic_tick(struct nic *nic)
{
	struct session *session = nic->timed, *next;
	bool did;

	pace_tick_begin(&nic->pace);
	nic->timed = NULL;
	nic_arm_timer(nic, tick_greetings(nic));
	nic_arm_timer(nic, guess_tick(nic));
	nic_arm_timer(nic, coll_look(nic));
	if (nic->asking)
		nic_arm_timer(nic, service_tick(nic));
	if (nic->dgrams_overran)
		dgram_pairs_tick(nic);
	for (; session; session = next) {
		uint64_t at;

		next = session->next_timed;
		session->timed = false;
		at = session_tick(session, nic_now(nic));
		if (at == UINT64_MAX)
			continue;
		nic_arm_timer(nic, at);
		if (!session->timed) { /* else it has put itself back */
			session->timed = true;
			session->next_timed = nic->timed;
			nic->timed = session;
		}
	}
	did = fault_tick(nic);
	if (nic->held)
		held_tick(nic);
	if (nic->opens)
		open_access_tick(nic);
	if (nic->kept)
		conn_kept_tick(nic);
	nic_arm_timer(nic, tick_alarm(nic));
	pace_tick_end(&nic->pace);
	return did;
}

static __attribute__((noinline)) void remind_sooner(struct nic *nic, uint64_t before_ns)
{
	if (pace_unflushed(&nic->pace, nic->owing || has_unsent(nic)))
		pace_flush_by(&nic->pace, nic_now(nic));
	if (pace_sooner(&nic->pace, before_ns) && atomic_load(&nic->driver.armed))
		wake(nic);
}

/* Acknowledgements and frames that wait for a poll must not wait for ever: the program may have stopped polling. And
 * an armed NIC thread must hear of any timer that is earlier than those before this slice (D3). */
static void nic_publish_deadline(struct nic *nic, uint64_t before_ns)
{
	if (pace_deadline(&nic->pace) < before_ns || pace_unflushed(&nic->pace, nic->owing || has_unsent(nic)))
		remind_sooner(nic, before_ns);
}

__attribute__((noinline, cold)) static void check_guard(struct nic *nic)
{
	guard_check(); /* it will find again any flaw that it did not mend */
	if (guard_gave_up())
		nic_log(nic, NIC_LOG_WARN,
			"the program puts handlers of SIGSEGV or SIGBUS over the provider's again and again: they stay "
			"in front now, and the kernel copies, so that operations take several times as long");
	nic->pace.guard_check_ns = nic_now(nic) + TIME_GUARD_NS;
}

/* Is a timer due? */
static bool check_clock(struct nic *nic)
{
	uint64_t now_ns = nic_now(nic);

	if (now_ns >= nic->pace.guard_check_ns)
		check_guard(nic);
	return now_ns >= pace_deadline(&nic->pace);
}

static bool slice(struct nic *nic)
{
	uint64_t before_ns = pace_deadline(&nic->pace);
	bool did = false, due = false;

	if (!nic->pace.guard_check_ns)
		check_guard(nic);
	if (nic->own.first || nic->own_rx || submit_pending(&nic->submit))
		did = submit_take(nic);
	/* A post alone does not look at the lines: it sends, or leaves that to the next poll. */
	if (pace_posts_alone(&nic->pace, did)) {
		if (nic->pace.urgent)
			nic_flush(nic, false);
		nic_reap_conns(nic);
		nic_publish_deadline(nic, before_ns);
		return true;
	}
	if (commits_pending(&nic->commits))
		did |= commits_take(nic);
	if (has_unsent(nic))
		did |= nic_flush(nic, true);
	did |= nic->link.poll(nic->link_arg) > 0;
	if (pace_looks(&nic->pace, did)) {
		due = check_clock(nic);
		did |= due && nic_tick(nic);
	}
	if (has_unsent(nic))
		did |= nic_flush(nic, true);
	if (pace_settles(&nic->pace, did, due, nic->owing))
		nic_flush_acks(nic);
	else if (nic->pace.stores)
		store_acks(nic);
	nic_reap_conns(nic);
	nic_publish_deadline(nic, before_ns);
	return did;
}

bool nic_work(struct nic *nic)
{
	bool did;

	nic_role(nic);
	nic->pace.slicing = true;
	guard_slice_begin();
	did = slice(nic);
	guard_slice_end();
	nic->pace.slicing = nic->pace.clocked = false;
	return did;
}
