/* SPDX-License-Identifier: BSD-2-Clause */
/* test_nic_slices.c - what a device does in one slice and what it leaves for the next, when the NIC thread is to run again,
 * and when it is woken for that. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/regions/key_map.h"
#include "emu/nic/regions/raw_key.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/bed.h"
#include "tests/sim/harness/lines.h"

/* One device in the test's hands. */
struct stage {
	struct bed bed;
	struct node *node;
	struct nic *nic;
};

static int wakes, polls;

static void wake(void *arg)
{
	(void)arg;
	wakes++;
}

static int poll(void *link)
{
	(void)link;
	polls++;
	return 0;
}

static void stage_open(struct stage *stage, uint64_t seed, const struct nic_config *config)
{
	bed_open(&stage->bed, seed, 1, config, NULL);
	stage->node = stage->bed.node[0];
	stage->nic = stage->node->nic;
	node_enter(stage->node);
	wakes = polls = 0;
}

static void stage_close(struct stage *stage)
{
	node_leave(stage->node);
	bed_close(&stage->bed);
}

/* A wake is a system call: for a timer that is earlier than all before it, where the thread sleeps. Inside of a slice its end
 * tells of it. */
Test(nic_slices, an_earlier_timer)
{
	const struct nic_config config = { .wake = wake };
	struct stage stage;
	struct nic *nic;

	stage_open(&stage, 1, &config);
	nic = stage.nic;
	atomic_store(&nic->pace.deadline_ns, 1000);
	atomic_store(&nic->driver.armed, true);
	nic_arm_timer(nic, 1001);
	nic_arm_timer(nic, 1000);
	cr_assert_eq(nic_deadline(nic), 1000);
	cr_assert_eq(wakes, 0);
	nic_arm_timer(nic, 999);
	cr_assert_eq(nic_deadline(nic), 999);
	cr_assert_eq(wakes, 1);
	nic->pace.slicing = true;
	nic_arm_timer(nic, 998);
	nic->pace.slicing = false;
	atomic_store(&nic->driver.armed, false);
	nic_arm_timer(nic, 997);
	cr_assert_eq(nic_deadline(nic), 997);
	cr_assert_eq(wakes, 1);
	nic->pace.ticking = true;
	nic->pace.tick_due_ns = 500;
	nic_arm_timer(nic, 600);
	cr_assert_eq(nic->pace.tick_due_ns, 500);
	nic_arm_timer(nic, 400);
	cr_assert_eq(nic->pace.tick_due_ns, 400);
	cr_assert_eq(nic_deadline(nic), 997, "which nic_tick() sees to");
	nic->pace.ticking = false;
	stage_close(&stage);
}

/* A NIC without a thread need not say so. */
Test(nic_slices, nobody_to_wake)
{
	struct stage stage;

	stage_open(&stage, 2, NULL);
	atomic_store(&stage.nic->driver.armed, true);
	nic_arm_timer(stage.nic, 1);
	atomic_store(&stage.nic->driver.armed, false);
	stage_close(&stage);
}

static struct session *stranger(struct stage *stage)
{
	struct sockaddr_storage at = stage->bed.party[0]->name;

	((uint8_t *)&at)[7] ^= 1;
	return session_get(stage->bed.party[0]->ep, &at);
}

/* An owed acknowledgement is looked at again soon, by the NIC thread if no other thread comes. */
Test(nic_slices, what_is_owed)
{
	const struct nic_config config = { .wake = wake };
	struct stage stage;
	struct nic *nic;
	uint64_t look;

	stage_open(&stage, 3, &config);
	nic = stage.nic;
	look = clock_now(&nic->clock) + TIME_FLUSH_NS;
	atomic_store(&nic->driver.armed, true);
	nic_work(nic);
	cr_assert_eq(nic_deadline(nic), UINT64_MAX, "nothing is");
	cr_assert_eq(wakes, 0);
	nic->pace.idle_slices = 0;
	session_owe(stranger(&stage));
	nic_work(nic);
	cr_assert_eq(nic_deadline(nic), look);
	cr_assert_eq(wakes, 1);
	nic_work(nic);
	cr_assert_eq(nic_deadline(nic), look);
	cr_assert_eq(wakes, 1, "once for each time");
	atomic_store(&nic->driver.armed, false);
	atomic_store(&nic->pace.deadline_ns, UINT64_MAX);
	nic->pace.idle_slices = 0;
	nic_work(nic);
	cr_assert_eq(nic_deadline(nic), look);
	cr_assert_eq(wakes, 1, "it is awake");
	nic_flush_acks(nic);
	stage_close(&stage);
}

/* It is sent after so many slices in vain, or in the first one if a peer waits for it, or at a timer. */
Test(nic_slices, when_it_is_settled)
{
	struct stage stage;
	struct nic *nic;

	stage_open(&stage, 4, NULL);
	nic = stage.nic;
	nic->pace.idle_slices = 0;
	session_owe(stranger(&stage));
	for (int i = 1; i < SLICE_IDLE_ACKS; i++) {
		nic_work(nic);
		cr_assert(nic->owing, "slice %d", i);
	}
	nic_work(nic);
	cr_assert_null(nic->owing);
	for (int timer = 0; timer < 2; timer++) {
		atomic_store(&nic->pace.deadline_ns, UINT64_MAX);
		nic->pace.idle_slices = 0;
		session_owe(stranger(&stage));
		if (timer)
			atomic_store(&nic->pace.deadline_ns, clock_now(&nic->clock));
		else
			nic->pace.idle_before_ack = 1;
		nic_work(nic);
		cr_assert_null(nic->owing);
	}
	stage_close(&stage);
}

/* Timers are looked at when the first is due, and whether faults still come to the guard when it is time. */
Test(nic_slices, times)
{
	struct stage stage;
	struct nic *nic;

	stage_open(&stage, 5, NULL);
	nic = stage.nic;
	nic->pace.tick_due_ns = 7;
	atomic_store(&nic->pace.deadline_ns, clock_now(&nic->clock) + 1);
	nic->pace.guard_check_ns = clock_now(&nic->clock) + 1;
	nic_work(nic);
	cr_assert_eq(nic->pace.tick_due_ns, 7, "not looked at");
	cr_assert_eq(nic->pace.guard_check_ns, clock_now(&nic->clock) + 1);
	stage.bed.world->now_ns++;
	nic_work(nic);
	cr_assert_eq(nic->pace.tick_due_ns, UINT64_MAX);
	cr_assert_eq(nic_deadline(nic), UINT64_MAX);
	cr_assert_eq(nic->pace.guard_check_ns, clock_now(&nic->clock) + TIME_GUARD_NS);
	stage_close(&stage);
}

static int find(void *link)
{
	(void)link;
	return 1;
}

/* Slices with other work look at the time now and then, the first without at once. */
Test(nic_slices, times_among_work)
{
	struct stage stage;
	struct nic *nic;

	stage_open(&stage, 9, NULL);
	nic = stage.nic;
	nic->pace.tick_due_ns = 7;
	atomic_store(&nic->pace.deadline_ns, clock_now(&nic->clock));
	nic->link.poll = find;
	for (int i = 1; i < SLICE_BLIND; i++) {
		nic_work(nic);
		cr_assert_eq(nic->pace.tick_due_ns, 7, "slice %d", i);
	}
	nic_work(nic);
	cr_assert_eq(nic->pace.tick_due_ns, UINT64_MAX);
	nic->pace.tick_due_ns = 7;
	atomic_store(&nic->pace.deadline_ns, clock_now(&nic->clock));
	nic_work(nic);
	cr_assert_eq(nic->pace.tick_due_ns, 7, "counted anew");
	nic->link.poll = poll;
	nic_work(nic);
	cr_assert_eq(nic->pace.tick_due_ns, UINT64_MAX);
	nic->pace.tick_due_ns = 7;
	nic->link.poll = find;
	for (int i = 1; i < SLICE_BLIND; i++) {
		atomic_store(&nic->pace.deadline_ns, clock_now(&nic->clock));
		nic_work(nic);
		cr_assert_eq(nic->pace.tick_due_ns, 7, "slice %d, counted anew", i);
	}
	nic_work(nic);
	cr_assert_eq(nic->pace.tick_due_ns, UINT64_MAX);
	stage_close(&stage);
}

/* A peer waits, for the program or for a flush. */
Test(nic_slices, pending)
{
	struct stage stage;
	struct driver *driver;

	stage_open(&stage, 6, NULL);
	driver = nic_driver(stage.nic);
	atomic_store(&driver->owed, false);
	cr_assert_not(driver_left(driver));
	atomic_store(&stage.nic->commits.waiting, true);
	cr_assert(driver_left(driver));
	atomic_store(&stage.nic->commits.waiting, false);
	atomic_fetch_add(&stage.nic->submit.waiting, 1);
	cr_assert(driver_left(driver));
	atomic_fetch_sub(&stage.nic->submit.waiting, 1);
	stage_close(&stage);
}

static struct job *post(struct job *job)
{
	cr_assert(job && !job_post(job));
	return job;
}

static bool quiet(struct node *node)
{
	bool is_quiet;

	node_enter(node);
	is_quiet = nic_is_drained(node->nic);
	node_leave(node);
	return is_quiet;
}

/* The first op towards an idle peer leaves at once, and alone. Those behind it wait for a poll, or for so many more. */
Test(nic_slices, posts_share_a_look)
{
	struct region *region;
	struct link_ops link;
	struct party *from;
	struct bed bed;

	bed_open(&bed, 7, 2, NULL, NULL);
	from = bed.party[0];
	region = region_open(bed.party[1], 4096, 1, BED_BOTH, false, 0);
	post(job_rma(from, region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	link = bed.node[0]->nic->link;
	bed.node[0]->nic->link.poll = poll;
	bed.node[0]->nic->pace.post_slices = 0;
	polls = 0;
	for (uint64_t posts = 1; posts < SLICE_LAZY_POSTS; posts++) {
		post(job_rma(from, region, OP_WRITE, 64 * posts, 8, POST_COMPLETE, 1));
		cr_assert_eq(tap_count(bed.world, TAP_WRITE), 2, "post %d", (int)posts);
		cr_assert_eq(polls, 0, "post %d", (int)posts);
	}
	post(job_rma(from, region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	cr_assert_eq(tap_count(bed.world, TAP_WRITE), 1 + SLICE_LAZY_POSTS);
	cr_assert_eq(polls, 1);
	bed.node[0]->nic->link = link;
	cr_assert_not(quiet(bed.node[0]));
	model_end(bed.model, BED_LIMIT_NS);
	cr_assert(quiet(bed.node[0]));
	bed_close(&bed);
}

/* Two that have met; the first has one op under way, and one that waits for its next look. */
static void open_waiting(struct bed *bed, uint64_t seed)
{
	struct region *region;

	bed_open(bed, seed, 2, NULL, NULL);
	region = region_open(bed->party[1], 4096, 1, BED_BOTH, false, 0);
	post(job_rma(bed->party[0], region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	model_end(bed->model, BED_LIMIT_NS);
	bed->node[0]->nic->pace.post_slices = 0;
	for (uint64_t posts = 1; posts <= 2; posts++)
		post(job_rma(bed->party[0], region, OP_WRITE, 64 * posts, 8, POST_COMPLETE, 1));
	cr_assert_eq(tap_count(bed->world, TAP_WRITE), 2);
}

static struct world *seen;
static uint32_t writes_seen;

static int count_writes(void *link)
{
	(void)link;
	writes_seen = tap_count(seen, TAP_WRITE);
	return 0;
}

/* A program that polls for an answer sends first. */
Test(nic_slices, what_waits_leaves_before_the_look)
{
	struct link_ops link;
	struct nic *nic;
	struct bed bed;

	open_waiting(&bed, 12);
	nic = bed.node[0]->nic;
	link = nic->link;
	seen = bed.world;
	nic->link.poll = count_writes;
	node_enter(bed.node[0]);
	nic_work(nic);
	node_leave(bed.node[0]);
	cr_assert_eq(writes_seen, 3);
	nic->link = link;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

static ssize_t breaks(struct line *line, const struct iovec *iov, int count)
{
	(void)line;
	(void)iov;
	(void)count;
	return -EPIPE;
}

/* An acknowledgement sent outside of a slice goes by the time of that moment, and not by that of the last slice. */
Test(nic_slices, time_of_what_is_settled)
{
	struct session *session;
	struct link_ops link;
	struct nic *nic;
	struct bed bed;

	open_waiting(&bed, 13);
	nic = bed.node[0]->nic;
	session = nic->conns->session;
	link = nic->link;
	nic->link.send = breaks;
	node_enter(bed.node[0]);
	clock_now(&nic->clock);
	bed.world->now_ns += TIME_MS(1);
	nic_flush_acks(nic);
	cr_assert_eq(session->down_since_ns, bed.world->now_ns);
	node_leave(bed.node[0]);
	nic->link = link;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* After a registration the program may have put its handler over the guard, and a post reads its memory. */
Test(nic_slices, the_guard_before_a_post)
{
	struct link_ops link;
	struct job *job;
	struct nic *nic;
	struct bed bed;

	bed_open(&bed, 14, 2, NULL, NULL);
	job = job_message(bed.party[0], bed.party[1], 8, POST_COMPLETE, 1);
	nic = bed.node[0]->nic;
	link = nic->link;
	nic->link.poll = poll;
	nic->pace.post_slices = 0;
	polls = 0;
	node_enter(bed.node[0]);
	nic_check_guard(nic);
	node_leave(bed.node[0]);
	post(job);
	cr_assert_eq(polls, 0, "no other look was due");
	cr_assert_eq(nic->pace.guard_check_ns, bed.world->now_ns + TIME_GUARD_NS);
	nic->link = link;
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* If more than a slice's frames wait, the holder of the role is told. */
Test(nic_slices, more_than_one_go_sends)
{
	const struct nic_config config = { .segment = WIRE_SEGMENT_MIN };
	struct requester *req;
	struct region *region;
	struct driver *driver;
	struct nic *nic;
	struct bed bed;
	uint64_t first;

	bed_open(&bed, 11, 2, &config, NULL);
	bed.world->weather.capacity = 16 << 20;
	region = region_open(bed.party[1], 3 * SLICE_FRAMES * WIRE_SEGMENT_MIN, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	nic = bed.node[0]->nic;
	driver = nic_driver(nic);
	req = &nic->conns->session->req;
	first = req->next_seq;
	post(job_rma(bed.party[0], region, OP_WRITE, 64, 3 * SLICE_FRAMES * WIRE_SEGMENT_MIN - 64, POST_COMPLETE, 1));
	cr_assert_eq(req->next_seq, first + SLICE_FRAMES);
	node_enter(bed.node[0]);
	atomic_store(&driver->owed, false);
	nic_flush_acks(nic);
	cr_assert_eq(req->next_seq, first + 2 * SLICE_FRAMES);
	cr_assert(driver_left(driver));
	node_leave(bed.node[0]);
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

static struct conn *breaking;

/* Something for it comes up as it breaks. */
static ssize_t fail(struct line *line, const struct iovec *iov, int count)
{
	(void)line;
	(void)iov;
	(void)count;
	conn_busy(breaking);
	breaking = NULL;
	return -EPIPE;
}

Test(nic_slices, a_connection_that_breaks_as_it_sends)
{
	struct link_ops link;
	struct region *region;
	struct nic *nic;
	struct bed bed;

	bed_open(&bed, 10, 2, NULL, NULL);
	region = region_open(bed.party[1], 64, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	nic = bed.node[0]->nic;
	breaking = nic->conns;
	link = nic->link;
	nic->link.send = fail;
	post(job_rma(bed.party[0], region, OP_READ, 0, 8, POST_COMPLETE, 1));
	nic->link = link;
	cr_assert_null(breaking);
	cr_assert_null(nic->busy, "it is freed");
	model_end(bed.model, BED_LIMIT_NS);
	bed_close(&bed);
}

/* Until the nanosecond; that there is another one waiting, or open, changes nothing. */
Test(nic_slices, who_says_no_hello)
{
	struct stage stage;
	struct raw *raw[2];
	struct conn *conn;
	struct bed *bed = &stage.bed;
	uint64_t due;

	bed_open(bed, 8, 2, NULL, NULL);
	stage.node = bed->node[1];
	stage.nic = stage.node->nic;
	post(job_message(bed->party[0], bed->party[1], 8, POST_COMPLETE, 1));
	model_end(bed->model, BED_LIMIT_NS);
	bed->node[0]->asleep = stage.node->asleep = true;
	raw[0] = raw_dial(bed->world, party_port(bed->party[1]));
	node_enter(stage.node);
	nic_work(stage.nic);
	conn = stage.nic->conns;
	due = conn->greet_by_ns;
	bed->world->now_ns = due - 1;
	raw[1] = raw_dial(bed->world, party_port(bed->party[1]));
	nic_work(stage.nic);
	nic_arm_timer(stage.nic, bed->world->now_ns);
	nic_work(stage.nic);
	cr_assert_eq(stage.nic->conn_count, 3);
	cr_assert_eq(nic_deadline(stage.nic), due);
	bed->world->now_ns = due;
	nic_work(stage.nic);
	cr_assert_eq(stage.nic->conn_count, 2);
	cr_assert_eq(stage.node->warns, 1);
	cr_assert(node_logged(stage.node, "no HELLO"));
	bed->world->now_ns += TIME_HELLO_NS + TIME_COARSE_NS;
	nic_work(stage.nic);
	cr_assert_eq(stage.nic->conn_count, 1, "who was greeted stays");
	cr_assert_eq(nic_deadline(stage.nic), UINT64_MAX);
	node_leave(stage.node);
	raw_close(raw[0]);
	raw_close(raw[1]);
	bed->node[0]->asleep = stage.node->asleep = false;
	bed_close(bed);
}

Test(nic_slices, protection_domains_in_use)
{
	struct raw_key key = { .key = 1 };
	struct stage stage;
	uint64_t handle;
	struct pd *pd;

	stage_open(&stage, 9, NULL);
	cr_assert_not(pd_open(stage.nic, &pd));
	pd->users++;
	cr_assert_eq(pd_close(pd), -EBUSY, "an endpoint");
	pd->users--;
	cr_assert_not(key_map_add(pd_mappings(pd), &key, false, &handle));
	cr_assert_eq(pd_close(pd), -EBUSY, "a key");
	cr_assert_not(key_map_remove(pd_mappings(pd), handle));
	cr_assert_not(pd_close(pd));
	stage_close(&stage);
}
