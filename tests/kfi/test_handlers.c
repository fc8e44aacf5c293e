/* SPDX-License-Identifier: BSD-2-Clause */
/* Handlers of queues: armed when a queue is found empty, once for each arming, in atomic context. */
#include "tests/kfi/kpair.h"

#include <kfi_cm.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_objects.h"
#include "emu/kfi/provider/kemu_provider.h"
#include "tests/kernel/said.h"

enum { GUARD_S = 60, ROUNDS = 20 };

struct seen {
	struct completion called;
	atomic_int calls;
	int atomic_depth;  /* of the last call */
	int close_rc;      /* if `close` */
	bool close, drain; /* what the handler does */
	pthread_t thread;
	void *queue;
};

static void await(struct seen *seen)
{
	cr_assert(wait_for_completion_timeout(&seen->called, GUARD_S * HZ), "no call");
}

static void note(struct seen *seen, void *queue, struct kfid *fid)
{
	seen->atomic_depth = emu_kernel_atomic_depth;
	seen->thread = pthread_self();
	seen->queue = queue;
	if (seen->close)
		seen->close_rc = kfi_close(fid);
	atomic_fetch_add(&seen->calls, 1);
	complete(&seen->called);
}

static void on_event(struct kfid_eq *eq, void *context)
{
	note(context, eq, &eq->fid);
}

static void on_completion(struct kfid_cq *cq, void *context)
{
	struct seen *seen = context;
	struct kfi_cq_data_entry entry;

	if (seen->drain)
		while (kfi_cq_read(cq, &entry, 1) == 1)
			;
	note(seen, cq, &cq->fid);
}

/* --- event queues --- */

struct events {
	struct kfi_info *info;
	struct kfid_fabric *fabric;
	struct kfid_eq *eq;
	struct seen seen;
};

static void events_open(struct events *events)
{
	struct kfi_eq_attr attr = { .size = 16, .flags = KFI_WRITE };

	memset(events, 0, sizeof(*events));
	init_completion(&events->seen.called);
	setenv("FI_EMU_PERSONALITY", "kfi", 1);
	RC(0, kemu_register());
	RC(0, kfi_getinfo(KFI_VERSION(1, 7), NULL, NULL, 0, NULL, &events->info));
	RC(0, kfi_fabric(events->info->fabric_attr, &events->fabric, NULL));
	RC(0, kfi_eq_open(events->fabric, &attr, &events->eq, on_event, &events->seen));
}

static void events_close(struct events *events)
{
	RC(0, kfi_close(&events->eq->fid));
	RC(0, kfi_close(&events->fabric->fid));
	kfi_freeinfo(events->info);
	RC(0, kemu_unregister());
}

static void write_event(const struct events *events, uint64_t data)
{
	struct kfi_eq_entry entry = { .fid = &events->eq->fid, .data = data };

	RC(sizeof(entry), kfi_eq_write(events->eq, KFI_NOTIFY, &entry, sizeof(entry), 0));
}

static ssize_t read_one(const struct events *events, uint64_t *data)
{
	struct kfi_eq_entry entry = { 0 };
	uint32_t event;
	ssize_t rc = kfi_eq_read(events->eq, &event, &entry, sizeof(entry), 0);

	*data = entry.data;
	return rc;
}

Test(kfi_handlers, a_call_for_each_arming)
{
	struct events events;
	uint64_t data;

	events_open(&events);
	for (int i = 0; i < ROUNDS; i++) {
		write_event(&events, 1);
		await(&events.seen); /* armed by the opening, and then by the read that found nothing */
		write_event(&events, 2);
		RC(sizeof(struct kfi_eq_entry), read_one(&events, &data));
		cr_assert_eq(data, 1);
		RC(sizeof(struct kfi_eq_entry), read_one(&events, &data));
		cr_assert_eq(data, 2);
		cr_assert_eq(atomic_load(&events.seen.calls), i + 1, "a call without an arming");
		RC(-KFI_EAGAIN, read_one(&events, &data));
	}
	events_close(&events);
	cr_assert_eq(atomic_load(&events.seen.calls), ROUNDS, "a call without something to read");
}

Test(kfi_handlers, in_atomic_context_of_another_thread)
{
	struct events events;

	events_open(&events);
	write_event(&events, 1);
	await(&events.seen);
	cr_expect_gt(events.seen.atomic_depth, 0);
	cr_expect_not(pthread_equal(events.seen.thread, pthread_self()));
	cr_expect_eq(events.seen.queue, events.eq);
	events_close(&events);
}

Test(kfi_handlers, a_queue_is_not_closed_by_its_own_handler)
{
	struct events events;

	events_open(&events);
	events.seen.close = true;
	write_event(&events, 1);
	await(&events.seen);
	RC(-KFI_EBUSY, events.seen.close_rc);
	events_close(&events);
}

/* The end of an asynchronous registration, good and bad, as the registration tells it. */
Test(kfi_handlers, ends_of_registrations)
{
	struct kfi_eq_err_entry error = { 0 };
	struct kfi_eq_entry entry;
	struct events events;
	struct kfid mr = { .fclass = KFI_CLASS_MR }, other = mr;
	struct kemu_eq *eq;
	uint32_t event;
	int context;

	events_open(&events);
	eq = container_of(events.eq, struct kemu_eq, kfid);
	RC(0, kemu_eq_tell_mr(eq, &mr, &context, 0));
	RC(0, kemu_eq_tell_mr(eq, &other, NULL, 0));
	RC(0, kemu_eq_tell_mr(eq, &mr, &context, KFI_ENOKEY));
	await(&events.seen);
	RC(sizeof(entry), kfi_eq_read(events.eq, &event, &entry, sizeof(entry), KFI_PEEK));
	RC(sizeof(entry), kfi_eq_read(events.eq, &event, &entry, sizeof(entry), 0));
	cr_expect_eq(event, KFI_MR_COMPLETE);
	cr_expect_eq(entry.fid, &mr);
	cr_expect_eq(entry.context, &context);
	RC(-KFI_EAGAIN, kfi_eq_readerr(events.eq, &error, 0));
	kemu_eq_forget(eq, &other);
	RC(0, kemu_eq_tell_mr(eq, &other, &event, 0));
	RC(-KFI_EAVAIL, kfi_eq_read(events.eq, &event, &entry, sizeof(entry), 0));
	RC(sizeof(error), kfi_eq_readerr(events.eq, &error, KFI_PEEK));
	RC(sizeof(error), kfi_eq_readerr(events.eq, &error, 0));
	cr_expect_eq(error.err, KFI_ENOKEY);
	cr_expect_eq(error.fid, &mr);
	cr_expect_eq(error.context, &context);
	RC(sizeof(entry), kfi_eq_read(events.eq, &event, &entry, sizeof(entry), 0));
	cr_expect_eq(entry.context, &event, "what came behind");
	RC(-KFI_EAGAIN, kfi_eq_read(events.eq, &event, &entry, sizeof(entry), 0));
	RC(0, kemu_eq_tell_mr(eq, &mr, &context, 0)); /* left unread */
	events_close(&events);
}

Test(kfi_handlers, bad_calls_of_event_queues)
{
	struct kfi_eq_entry entry = { 0 };
	struct events events;
	uint32_t event;

	events_open(&events);
	RC(-KFI_EINVAL, kfi_eq_read(events.eq, NULL, &entry, sizeof(entry), 0));
	RC(-KFI_EINVAL, kfi_eq_read(events.eq, &event, NULL, 0, 0));
	RC(-KFI_EBADFLAGS, kfi_eq_read(events.eq, &event, &entry, sizeof(entry), KFI_MORE));
	RC(-KFI_EINVAL, kfi_eq_readerr(events.eq, NULL, 0));
	RC(-KFI_EINVAL, kfi_eq_write(events.eq, KFI_NOTIFY, NULL, 8, 0));
	RC(-KFI_EBADFLAGS, kfi_eq_write(events.eq, KFI_NOTIFY, &entry, sizeof(entry), KFI_MORE));
	write_event(&events, 1);
	RC(-KFI_ETOOSMALL, kfi_eq_read(events.eq, &event, &entry, sizeof(entry) - 1, 0));
	events_close(&events);
}

Test(kfi_handlers, an_event_queue_wakes_who_sleeps_in_it)
{
	struct kfi_eq_attr attr = { .wait_obj = KFI_WAIT_UNSPEC, .flags = KFI_WRITE };
	struct kfi_eq_entry entry = { .data = 5 }, got = { 0 };
	struct events events;
	struct kfid_eq *eq;
	uint32_t event;

	events_open(&events);
	RC(0, kfi_eq_open(events.fabric, &attr, &eq, NULL, NULL));
	RC(-KFI_EAGAIN, kfi_eq_sread(eq, &event, &got, sizeof(got), 1, 0));
	RC(sizeof(entry), kfi_eq_write(eq, KFI_NOTIFY, &entry, sizeof(entry), 0));
	RC(sizeof(got), kfi_eq_sread(eq, &event, &got, sizeof(got), -1, 0));
	cr_expect_eq(got.data, 5);
	RC(0, kfi_close(&eq->fid));
	events_close(&events);
}

/* A reader of one event takes all that libfabric's queue has, and the others must not be slept over. */
Test(kfi_handlers, events_that_are_left_wake_a_wait_set)
{
	struct kfi_eq_attr attr = { .wait_obj = KFI_WAIT_SET, .flags = KFI_WRITE };
	struct kfi_eq_entry entry = { .data = 1 };
	struct events events;
	struct kfid_eq *eq;
	uint32_t event;

	events_open(&events);
	RC(0, kfi_wait_open(events.fabric, NULL, &attr.wait_set));
	RC(0, kfi_eq_open(events.fabric, &attr, &eq, NULL, NULL));
	for (int i = 0; i < 3; i++)
		RC(sizeof(entry), kfi_eq_write(eq, KFI_NOTIFY, &entry, sizeof(entry), 0));
	for (int left = 2; left > 0; left--) {
		RC(sizeof(entry), kfi_eq_read(eq, &event, &entry, sizeof(entry), 0));
		RC(0, kfi_wait(attr.wait_set, GUARD_S * 1000));
	}
	RC(sizeof(entry), kfi_eq_read(eq, &event, &entry, sizeof(entry), 0));
	RC(-KFI_EAGAIN, kfi_eq_read(eq, &event, &entry, sizeof(entry), 0));
	RC(-KFI_ETIMEDOUT, kfi_wait(attr.wait_set, 1));
	RC(0, kfi_close(&eq->fid));
	RC(0, kfi_close(&attr.wait_set->kfid));
	events_close(&events);
}

enum { SLEEPERS = 2, WRITERS = 4, PAIRS = 500, EVENTS_MOST = 1024 };

static void *sleep_for_events(void *arg)
{
	struct kfi_eq_entry entry;
	uint32_t event;

	for (int i = 0; i < PAIRS; i++)
		RC(sizeof(entry), kfi_eq_sread(arg, &event, &entry, sizeof(entry), GUARD_S * 1000, 0));
	return NULL;
}

Test(kfi_handlers, each_sleeper_gets_an_event)
{
	struct kfi_eq_attr attr = { .wait_obj = KFI_WAIT_UNSPEC, .flags = KFI_WRITE };
	struct kfi_eq_entry entry = { .data = 1 };
	pthread_t sleeper[SLEEPERS];
	struct events events;
	struct kfid_eq *eq;

	events_open(&events);
	RC(0, kfi_eq_open(events.fabric, &attr, &eq, NULL, NULL));
	for (int i = 0; i < SLEEPERS; i++)
		RC(0, pthread_create(&sleeper[i], NULL, sleep_for_events, eq));
	for (int i = 0; i < SLEEPERS * PAIRS; i++)
		while (kfi_eq_write(eq, KFI_NOTIFY, &entry, sizeof(entry), 0) == -KFI_EAGAIN)
			;
	for (int i = 0; i < SLEEPERS; i++)
		RC(0, pthread_join(sleeper[i], NULL));
	RC(0, kfi_close(&eq->fid));
	events_close(&events);
}

static void *fill_events(void *arg)
{
	struct kfi_eq_entry entry = { .data = 1 };

	while (kfi_eq_write(arg, KFI_NOTIFY, &entry, sizeof(entry), 0) == sizeof(entry))
		;
	return NULL;
}

Test(kfi_handlers, writers_keep_the_size_of_a_queue)
{
	struct kfi_eq_attr attr = { .flags = KFI_WRITE };
	struct kfi_eq_entry entry;
	pthread_t writer[WRITERS];
	struct events events;
	struct kfid_eq *eq;
	uint32_t event;

	events_open(&events);
	RC(0, kfi_eq_open(events.fabric, &attr, &eq, NULL, NULL));
	for (int i = 0; i < WRITERS; i++)
		RC(0, pthread_create(&writer[i], NULL, fill_events, eq));
	for (int i = 0; i < WRITERS; i++)
		RC(0, pthread_join(writer[i], NULL));
	for (int i = 0; i < EVENTS_MOST; i++)
		RC(sizeof(entry), kfi_eq_read(eq, &event, &entry, sizeof(entry), 0));
	RC(-KFI_EAGAIN, kfi_eq_read(eq, &event, &entry, sizeof(entry), 0));
	RC(0, kfi_close(&eq->fid));
	events_close(&events);
}

/* A read that sleeps goes on where an event that woke it is gone: with what is left of its time. */
Test(kfi_handlers, the_time_that_is_left)
{
	uint64_t now = emu_kernel_ns();

	cr_expect_eq(kemu_time_left(now, -1), -1);
	cr_expect_eq(kemu_time_left(now, 100), 0);
	cr_expect_leq(kemu_time_left(emu_kernel_ns() + 100 * 1000000, 100), 100);
	cr_expect_gt(kemu_time_left(emu_kernel_ns() + GUARD_S * 1000000000ULL, GUARD_S * 1000), 0);
}

/* --- completion queues: a loopback message makes two entries --- */

struct loop {
	struct kpair pair;
	struct kfid_cq *cq;
	struct kfid_ep *ep;
	kfi_addr_t self;
	struct seen seen;
};

static void loop_open(struct loop *loop, kfi_comp_handler handler, enum kfi_cq_format format)
{
	static const struct kpair_wish wish = { .caps = KFI_SOURCE };
	struct kfi_cq_attr attr = { .format = format, .size = 64 };
	uint8_t name[64];
	size_t length = sizeof(name);
	struct kend *end = &loop->pair.a;

	memset(loop, 0, sizeof(*loop));
	init_completion(&loop->seen.called);
	kpair_open(&loop->pair, &wish);
	RC(0, kfi_cq_open(end->domain, &attr, &loop->cq, handler, &loop->seen));
	RC(0, kfi_endpoint(end->domain, end->info, &loop->ep, NULL));
	RC(0, kfi_ep_bind(loop->ep, &end->av->fid, 0));
	RC(0, kfi_ep_bind(loop->ep, &loop->cq->fid, KFI_TRANSMIT | KFI_RECV));
	RC(0, kfi_enable(loop->ep));
	RC(0, kfi_getname(&loop->ep->fid, name, &length));
	RC(1, kfi_av_insert(end->av, name, 1, &loop->self, 0, NULL));
}

static void loop_close(struct loop *loop)
{
	RC(0, kfi_close(&loop->ep->fid));
	RC(0, kfi_close(&loop->cq->fid));
	kpair_close(&loop->pair);
}

static void send_self(struct loop *loop, char *buf)
{
	RC(0, kfi_recv(loop->ep, buf, 1, NULL, KFI_ADDR_UNSPEC, buf));
	RC(0, kfi_send(loop->ep, buf + 1, 1, NULL, loop->self, buf + 1));
}

Test(kfi_handlers, completions_call_once_until_the_queue_is_drained)
{
	struct kfi_cq_data_entry entry;
	struct loop loop;
	char buf[2];

	loop_open(&loop, on_completion, KFI_CQ_FORMAT_DATA);
	for (int i = 0; i < ROUNDS; i++) {
		int read = 0;

		send_self(&loop, buf);
		await(&loop.seen);
		cr_assert_gt(loop.seen.atomic_depth, 0);
		while (read < 2) {
			ssize_t rc = kfi_cq_read(loop.cq, &entry, 1);

			if (rc == 1)
				read++;
			else if (rc == -KFI_EAGAIN)
				await(&loop.seen); /* armed again, and there is one more to come */
		}
		RC(-KFI_EAGAIN, kfi_cq_read(loop.cq, &entry, 1));
	}
	loop_close(&loop);
}

Test(kfi_handlers, a_handler_may_drain_its_queue)
{
	struct loop loop;
	char buf[2];

	loop_open(&loop, on_completion, KFI_CQ_FORMAT_DATA);
	loop.seen.drain = true;
	for (int i = 0; i < ROUNDS; i++) {
		send_self(&loop, buf);
		await(&loop.seen);
	}
	loop_close(&loop);
}

Test(kfi_handlers, a_queue_is_closed_by_no_handler_and_not_while_it_is_bound)
{
	struct loop loop;
	char buf[2];

	loop_open(&loop, on_completion, KFI_CQ_FORMAT_DATA);
	RC(-KFI_EBUSY, kfi_close(&loop.cq->fid));
	loop.seen.close = true;
	send_self(&loop, buf);
	await(&loop.seen);
	RC(-KFI_EBUSY, loop.seen.close_rc);
	loop_close(&loop);
}

Test(kfi_handlers, entries_of_each_format)
{
	static const size_t sizes[] = { [KFI_CQ_FORMAT_UNSPEC] = sizeof(struct kfi_cq_data_entry),
					[KFI_CQ_FORMAT_CONTEXT] = sizeof(struct kfi_cq_entry),
					[KFI_CQ_FORMAT_MSG] = sizeof(struct kfi_cq_msg_entry),
					[KFI_CQ_FORMAT_DATA] = sizeof(struct kfi_cq_data_entry),
					[KFI_CQ_FORMAT_TAGGED] = sizeof(struct kfi_cq_tagged_entry) };

	for (enum kfi_cq_format format = KFI_CQ_FORMAT_UNSPEC; format <= KFI_CQ_FORMAT_TAGGED; format++) {
		uint8_t entries[3 * sizeof(struct kfi_cq_tagged_entry)];
		struct kfi_cq_tagged_entry entry;
		kfi_addr_t from[2];
		struct loop loop;
		bool found = false;
		char buf[2];
		int got = 0;

		memset(entries, 0xee, sizeof(entries));
		loop_open(&loop, NULL, format);
		send_self(&loop, buf);
		while (got < 2) {
			ssize_t rc = kfi_cq_readfrom(loop.cq, entries + (size_t)got * sizes[format], (size_t)(2 - got), from + got);

			got += rc > 0 ? (int)rc : 0;
		}
		cr_expect_eq(entries[2 * sizes[format]], 0xee, "format %d: more was written", format);
		for (int i = 0; i < 2; i++) {
			memset(&entry, 0, sizeof(entry));
			memcpy(&entry, entries + (size_t)i * sizes[format], sizes[format]);
			if (entry.op_context != buf)
				continue;
			found = true;
			cr_expect_eq(from[i], loop.self, "format %d: the source", format);
			if (format != KFI_CQ_FORMAT_CONTEXT)
				cr_expect_eq(entry.flags, KFI_MSG | KFI_RECV);
		}
		cr_expect(found, "format %d: no entry of the receive", format);
		loop_close(&loop);
	}
}

Test(kfi_handlers, reads_of_completions_that_sleep)
{
	struct kfi_cq_attr attr = { .format = KFI_CQ_FORMAT_DATA, .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_cq_data_entry entry[2];
	struct kfid_cq *cq;
	struct loop loop;

	loop_open(&loop, NULL, KFI_CQ_FORMAT_DATA);
	RC(0, kfi_cq_open(loop.pair.a.domain, &attr, &cq, NULL, NULL));
	RC(-KFI_EAGAIN, kfi_cq_sread(cq, entry, 2, NULL, 1));
	RC(0, kfi_cq_signal(cq));
	RC(-KFI_EAGAIN, kfi_cq_sread(cq, entry, 2, NULL, -1));
	RC(0, kfi_close(&cq->fid));
	attr.format = 9;
	RC(-KFI_EINVAL, kfi_cq_open(loop.pair.a.domain, &attr, &cq, NULL, NULL));
	attr = (struct kfi_cq_attr){ .format = KFI_CQ_FORMAT_DATA, .flags = KFI_MORE };
	RC(-KFI_EBADFLAGS, kfi_cq_open(loop.pair.a.domain, &attr, &cq, NULL, NULL));
	attr = (struct kfi_cq_attr){ .wait_obj = KFI_WAIT_SET };
	RC(-KFI_EINVAL, kfi_cq_open(loop.pair.a.domain, &attr, &cq, NULL, NULL));
	RC(-KFI_EINVAL, kfi_cq_open(loop.pair.a.domain, &attr, NULL, NULL, NULL));
	RC(-KFI_EINVAL, kfi_cq_read(loop.cq, NULL, 1));
	RC(-KFI_EINVAL, kfi_cq_readfrom(loop.cq, entry, 1, NULL));
	RC(-KFI_EINVAL, kfi_cq_readerr(loop.cq, NULL, 0));
	loop_close(&loop);
}

/* --- calls in atomic context: those that may sleep are reported, and work all the same --- */

Test(kfi_handlers, calls_that_may_sleep_are_reported)
{
	struct kfi_cq_attr attr = { .format = KFI_CQ_FORMAT_DATA, .wait_obj = KFI_WAIT_UNSPEC };
	struct kfi_cq_data_entry entry;
	struct kfi_info *info = NULL;
	struct kfid_cq *cq;
	struct loop loop;

	setenv("FI_EMU_CHECK_ATOMIC", "1", 1);
	loop_open(&loop, NULL, KFI_CQ_FORMAT_DATA);
	said_begin();
	emu_kernel_enter_atomic();
	RC(0, kfi_getinfo(KFI_VERSION(1, 7), NULL, NULL, 0, NULL, &info));
	kfi_freeinfo(info);
	RC(0, kfi_cq_open(loop.pair.a.domain, &attr, &cq, NULL, NULL));
	RC(-KFI_EAGAIN, kfi_cq_sread(cq, &entry, 1, NULL, 0));
	RC(-KFI_EAGAIN, kfi_cq_read(cq, &entry, 1));
	RC(0, kfi_close(&cq->fid));
	emu_kernel_leave_atomic();
	cr_expect_gt(said_times("kfi_getinfo"), 0);
	cr_expect_gt(said_times("kfi_cq_open"), 0);
	cr_expect_gt(said_times("kfi_cq_sread"), 0);
	cr_expect_gt(said_times("kfi_close"), 0);
	cr_expect_eq(said_times("kfi_cq_read"), 0);
	loop_close(&loop);
}
