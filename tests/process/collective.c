/* SPDX-License-Identifier: BSD-2-Clause */
/* collective.c - groups of processes: rounds of collectives, a member that is killed, and one that leaves and lives on. */
#include <criterion/criterion.h>

#include "include/emu/emu.h"
#include "tests/rules/harness/peer.h"

#include <rdma/fi_collective.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMBERS = 5, COUNT = 50000, ROUNDS = 20, SLEEPER = 2, FEW = 3 };
enum mode { PLAIN, KILLED, ASLEEP, LEFT };

/* What a child and the parent have of each other: a byte each way lets the other go on. */
struct child {
	pid_t pid;
	int line;
};

/* In memory that all share. */
static struct shared {
	uint8_t name[MEMBERS][PEER_ADDR_MAX];
	int done[MEMBERS];     /* all-reduces that were right */
	int failed[MEMBERS];   /* errno of the one that failed */
	int cause[2][MEMBERS]; /* LEFT: prov_errno of each of the two calls, -1: it ended well */
} * shared;

static void report_and_leave(enum check_end end, const char *text)
{
	(void)end;
	fprintf(stderr, "%s\n", text);
	_exit(1);
}

static void step(int line)
{
	char byte = 0;

	CHECK(write(line, &byte, 1) == 1 && read(line, &byte, 1) == 1, "the other process is gone");
}

/* A group of the first `count` members. The first of them, as the address vector has it. */
static fi_addr_t join(struct peer *peer, int count, struct fid_mc **mc)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL };
	struct deadline guard = deadline_start();
	struct fi_eq_entry entry;
	struct fid_av_set *set;
	fi_addr_t address, first;
	uint32_t event;

	CHECK_RC(0, fi_av_set(peer->av, &attr, &set, NULL));
	first = peer_insert(peer, shared->name[0]);
	CHECK_RC(0, fi_av_set_insert(set, first));
	for (int i = 1; i < count; i++)
		CHECK_RC(0, fi_av_set_insert(set, peer_insert(peer, shared->name[i])));
	CHECK_RC(0, fi_av_set_addr(set, &address));
	CHECK_RC(0, fi_join_collective(peer->ep, address, set, 0, mc, NULL));
	CHECK_RC(0, fi_close(&set->fid));
	while (fi_eq_read(peer->eq, &event, &entry, sizeof(entry), 0) == -FI_EAGAIN)
		deadline_check(&guard, "the end of a join");
	CHECK(event == FI_JOIN_COMPLETE, "event %u", event);
	return first;
}

/* errno of the failure, 0: right. `line` not 0: sleeps there before it looks at its queue. */
static int sum(struct peer *peer, struct fid_mc *mc, int member, int line)
{
	static uint64_t in[COUNT], out[COUNT];
	struct op op = { 0 };

	for (int i = 0; i < COUNT; i++)
		in[i] = (uint64_t)(member * COUNT + i);
	CHECK_RC(0, fi_allreduce(peer->ep, in, COUNT, NULL, out, NULL, fi_mc_addr(mc), FI_UINT64, FI_SUM, 0, &op));
	if (line)
		step(line);
	peer_wait(peer, &op);
	for (int i = 0; i < COUNT && !op.err; i++)
		CHECK(out[i] == (uint64_t)(MEMBERS * (MEMBERS - 1) / 2 * COUNT + MEMBERS * i), "element %d is %llu", i,
		      (unsigned long long)out[i]);
	return op.err;
}

static int cause_of(struct peer *peer, struct op *op)
{
	peer_wait(peer, op);
	return op->err ? op->prov_errno : -1;
}

/* Member 0 leaves two groups, and lives on. The others only wait for it: for the root of a broadcast, and in a sum of three. */
static void others_wait(struct peer *peer, int member)
{
	uint64_t in = 1, out;
	struct op op[2] = { { .done = false } };
	struct fid_mc *mc[2];
	fi_addr_t root;

	root = join(peer, MEMBERS, &mc[0]);
	if (member != 0) {
		CHECK_RC(0, fi_broadcast(peer->ep, &in, 1, NULL, fi_mc_addr(mc[0]), root, FI_UINT64, 0, &op[0]));
		shared->cause[0][member] = cause_of(peer, &op[0]);
	}
	CHECK_RC(0, fi_close(&mc[0]->fid));
	if (member >= FEW)
		return;
	join(peer, FEW, &mc[1]);
	if (member != 0) {
		CHECK_RC(0, fi_allreduce(peer->ep, &in, 1, NULL, &out, NULL, fi_mc_addr(mc[1]), FI_UINT64, FI_SUM, 0, &op[1]));
		shared->cause[1][member] = cause_of(peer, &op[1]);
	}
	CHECK_RC(0, fi_close(&mc[1]->fid));
}

static void rounds(struct peer *peer, int member, int line, enum mode mode)
{
	struct fid_mc *mc;

	join(peer, MEMBERS, &mc);
	for (int round = 0; round < ROUNDS && !shared->failed[member]; round++) {
		if (mode == KILLED && member == MEMBERS - 1 && round == ROUNDS / 2)
			kill(getpid(), SIGKILL);
		shared->failed[member] = sum(peer, mc, member, mode == ASLEEP && member == SLEEPER ? line : 0);
		if (mode == ASLEEP && member != SLEEPER)
			step(line);
		shared->done[member] += !shared->failed[member];
	}
	step(line);
	CHECK_RC(0, fi_close(&mc->fid));
}

/* A member's life. The last one ends it itself after half of the rounds. */
static void member_main(int member, int line, enum mode mode)
{
	const struct peer_want want = { .caps = FI_MSG | FI_COLLECTIVE };
	struct peer peer;

	check_report = report_and_leave;
	peer_open(&peer, &want);
	peer_name(&peer, shared->name[member]);
	step(line);
	if (mode == LEFT) {
		others_wait(&peer, member);
		step(line);
	} else {
		rounds(&peer, member, line, mode);
	}
	peer_close(&peer);
}

static void run(enum mode mode)
{
	int turns = mode == ASLEEP ? 2 + ROUNDS : 2;
	struct child child[MEMBERS];
	char byte;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(shared != MAP_FAILED);
	for (int i = 0; i < MEMBERS; i++) {
		int lines[2];

		cr_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, lines));
		child[i].line = lines[0];
		child[i].pid = fork();
		cr_assert(child[i].pid >= 0);
		if (!child[i].pid) {
			close(lines[0]);
			member_main(i, lines[1], mode);
			_exit(0);
		}
		close(lines[1]);
	}
	for (int turn = 0; turn < turns; turn++) {
		for (int i = 0; i < MEMBERS; i++)
			cr_assert(read(child[i].line, &byte, 1) == 1 || (mode == KILLED && i == MEMBERS - 1), "member %d has ended",
				  i);
		for (int i = 0; i < MEMBERS; i++)
			(void)!send(child[i].line, &byte, 1, MSG_NOSIGNAL);
	}
	for (int i = 0; i < MEMBERS; i++) {
		int status;

		cr_assert_eq(waitpid(child[i].pid, &status, 0), child[i].pid);
		cr_assert(status == 0 || (mode == KILLED && i == MEMBERS - 1 && WTERMSIG(status) == SIGKILL), "member %d: %x", i,
			  (unsigned)status);
		close(child[i].line);
	}
}

Test(process_collective, rounds)
{
	run(PLAIN);
	for (int i = 0; i < MEMBERS; i++)
		cr_assert(shared->done[i] == ROUNDS, "member %d: %d", i, shared->done[i]);
}

/* Each of the others hears of it, and none hangs. */
Test(process_collective, killed_member)
{
	run(KILLED);
	for (int i = 0; i < MEMBERS - 1; i++)
		cr_assert(shared->failed[i] && shared->done[i] <= ROUNDS / 2, "member %d: %d right, error %d", i, shared->done[i],
			  shared->failed[i]);
}

/* A program that sleeps in a call of its own is no brake: in each round the others have the result while it sleeps. */
Test(process_collective, asleep)
{
	run(ASLEEP);
	for (int i = 0; i < MEMBERS; i++)
		cr_assert(shared->done[i] == ROUNDS, "member %d: %d", i, shared->done[i]);
}

static void leaves_and_lives_on(void)
{
	run(LEFT);
	for (int i = 1; i < MEMBERS; i++)
		cr_assert(shared->cause[0][i] == EMU_CAUSE_GROUP, "broadcast, member %d: %d", i, shared->cause[0][i]);
	for (int i = 1; i < FEW; i++)
		cr_assert(shared->cause[1][i] == EMU_CAUSE_GROUP, "sum, member %d: %d", i, shared->cause[1][i]);
}

/* Those that only wait for a member that has left hear of it. */
Test(process_collective, leaves_and_lives_on)
{
	leaves_and_lives_on();
}

Test(process_collective, leaves_and_lives_on_over_tcp)
{
	setenv("FI_EMU_LOCAL", "tcp", 1);
	leaves_and_lives_on();
}
