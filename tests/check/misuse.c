/* SPDX-License-Identifier: BSD-2-Clause */
/* misuse.c - wrong programs for checked mode, and their right twins: misuse CASE wrong|right. Two endpoints in one process.
 * Its exit status is 0 if all went as the case wants, whatever checked mode says. */
#include "tests/check/misuse.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 2, TRIES = 10001, EVENTS = 10000 };

bool wrong;

/* --- the cases --- */

static void send_buffer_changed(void)
{
	send_large();
	if (wrong)
		area[0]++;
	receive_large();
	area[0]++;
}

static void receive_buffer_changed(void)
{
	if (!wrong)
		area[LARGE] = 1;
	receive(0, SMALL, 1);
	if (wrong)
		area[LARGE] = 1;
	send_small(0);
	done(&b, 1);
}

static void receive_buffer_used(void)
{
	receive(0, SMALL, 1);
	if (wrong)
		receive(SMALL / 2, SMALL, 2);
	else
		receive(SMALL, SMALL, 2);
	send_small(0);
	send_small(0);
	done(&b, 2);
}

/* As the source of a message. */
static void receive_buffer_sent(void)
{
	receive(0, SMALL, 1);
	if (!wrong) {
		send_small(0);
		done(&b, 1);
	}
	GOOD(fi_send(a.ep, area + LARGE, SMALL, fi_mr_desc(area_mr), a.peer, &contexts[0]));
	done(&a, 1);
	if (!wrong)
		receive(0, SMALL, 1);
	done(&b, 1);
}

/* The operation has ended, and the program does not know. */
static void send_buffer_unread(void)
{
	receive(0, SMALL, 1);
	GOOD(fi_send(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, &contexts[0]));
	wait_ready(a.cq);
	if (wrong)
		area[0]++;
	done(&a, 1);
	area[0]++;
	done(&b, 1);
}

/* By the peer, through a region that is closed (wrong) before the completion is read. */
static void send_buffer_shared(void)
{
	struct fid_mr *mr = remote_region(&a, area, SMALL, FI_REMOTE_WRITE);

	send_large();
	area[LARGE] = 1;
	GOOD(fi_write(b.ep, area + LARGE, SMALL, fi_mr_desc(area_mr), b.peer, (uintptr_t)area, fi_mr_key(mr), &contexts[1]));
	done(&b, 1);
	if (wrong)
		GOOD(fi_close(&mr->fid));
	receive_large();
	if (!wrong)
		GOOD(fi_close(&mr->fid));
}

static void receive_buffer_cancelled(void)
{
	struct fi_cq_err_entry error = { 0 };

	receive(0, SMALL, 1);
	if (wrong)
		area[LARGE] = 1;
	GOOD(fi_cancel(&b.ep->fid, &contexts[1]));
	GOOD(fi_cq_readerr(b.cq, &error, 0) - 1);
	area[LARGE] = 2;
}

/* The right twin has bytes that it does not want go where others go, too. */
static void vector_overlap(void)
{
	char *at = area + LARGE;
	struct iovec iov[] = { { at, SMALL }, { at + SMALL - wrong, SMALL }, { at, SMALL / 2 }, { at + 1, 0 } };
	void *descs[] = { fi_mr_desc(area_mr), fi_mr_desc(area_mr), fi_mr_desc(area_mr), fi_mr_desc(area_mr) };

	GOOD(fi_recvv(b.ep, iov, descs, sizeof(iov) / sizeof(iov[0]), FI_ADDR_UNSPEC, &contexts[1]));
	send_small(0);
	done(&b, 1);
}

static void vector_overlap_read(void)
{
	struct fid_mr *mr = remote_region(&b, area + LARGE, LARGE, FI_REMOTE_READ);
	struct iovec iov[] = { { area, SMALL }, { area + SMALL - wrong, SMALL } };
	void *descs[] = { fi_mr_desc(area_mr), fi_mr_desc(area_mr) };

	GOOD(fi_readv(a.ep, iov, descs, 2, a.peer, (uintptr_t)area + LARGE, fi_mr_key(mr), &contexts[0]));
	done(&a, 1);
	GOOD(fi_close(&mr->fid));
}

static void memory_unmapped(void)
{
	GOOD(munmap(area, AREA));
	if (wrong) {
		end_close(&a);
		end_close(&b);
		exit(0);
	}
}

/* Of a receive, in memory that the NIC could write to when it was posted. */
static void receive_unmapped(void)
{
	char *apart = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fi_cq_err_entry error = { 0 };
	struct fid_mr *mr;

	GOOD(fi_mr_reg(domain, apart, SMALL, FI_RECV, 0, 2, 0, &mr, NULL));
	GOOD(fi_recv(b.ep, apart, SMALL, fi_mr_desc(mr), FI_ADDR_UNSPEC, &contexts[1]));
	if (wrong) /* and nothing else can come to lie there */
		GOOD(mmap(apart, SMALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
	GOOD(fi_send(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, &contexts[0]));
	if (!wrong) {
		done(&a, 1);
		done(&b, 1);
	}
	while (wrong && fi_cq_readerr(b.cq, &error, 0) != 1)
		(void)fi_cq_read(a.cq, NULL, 0);
	while (wrong && fi_cq_readerr(a.cq, &error, 0) != 1)
		(void)fi_cq_read(a.cq, NULL, 0);
	GOOD(fi_close(&mr->fid));
}

static void context_in_use(void)
{
	receive(0, SMALL, 1);
	receive(SMALL, SMALL, wrong ? 1 : 2);
	send_small(0);
	send_small(0);
	done(&b, 2);
}

/* Structures that follow each other; wrong: the second begins in the first. By their size, under FI_CONTEXT alone all is right. */
static void context_overlap(void)
{
	char *first = (char *)contexts, *second = first + (wrong ? sizeof(struct fi_context) : sizeof(struct fi_context2));

	GOOD(fi_recv(b.ep, area + LARGE, SMALL, fi_mr_desc(area_mr), FI_ADDR_UNSPEC, first));
	GOOD(fi_recv(b.ep, area + LARGE + SMALL, SMALL, fi_mr_desc(area_mr), FI_ADDR_UNSPEC, second));
	send_small(4);
	send_small(4);
	done(&b, 2);
}

static void cq_overrun(void)
{
	int most = wrong ? 2 * ROOM : ROOM;

	for (int i = 0; i < most; i++)
		receive(i * SMALL, SMALL, 1 + i);
	for (int i = 0; i < most; i++)
		send_small(0);
	done(&b, most);
}

/* A message that is set aside with one tag, and fetched with another. */
static void claim_mismatch(void)
{
	struct iovec iov = { area + LARGE, SMALL };
	void *desc = fi_mr_desc(area_mr);
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &contexts[1]
	};
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_entry entry;
	ssize_t got;

	GOOD(fi_tsend(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, 0x15, &contexts[0]));
	msg.tag = 5;
	msg.ignore = 0x10;
	do {
		GOOD(fi_trecvmsg(b.ep, &msg, FI_PEEK | FI_CLAIM | FI_COMPLETION));
		while ((got = fi_cq_read(b.cq, &entry, 1)) == -FI_EAGAIN)
			(void)fi_cq_read(a.cq, NULL, 0);
		if (got == -FI_EAVAIL)
			GOOD(fi_cq_readerr(b.cq, &error, 0) - 1);
	} while (got < 0);
	msg.ignore = wrong ? 0 : 0x10;
	GOOD(fi_trecvmsg(b.ep, &msg, FI_CLAIM | FI_COMPLETION));
	done(&b, 1);
	done(&a, 1);
}

/* Of 8 bytes; and one of two parts of 4, for which 4 suffices. */
static void atomic_unaligned(void)
{
	struct fid_mr *mr = remote_region(&b, area + LARGE, LARGE, FI_REMOTE_READ | FI_REMOTE_WRITE);
	uint64_t to = (uintptr_t)area + LARGE;

	memset(area, 0, SMALL);
	GOOD(fi_atomic(a.ep, area, 1, fi_mr_desc(area_mr), a.peer, to + (wrong ? 4 : 8), fi_mr_key(mr), FI_UINT64, FI_SUM,
		       &contexts[0]));
	done(&a, 1);
	GOOD(fi_atomic(a.ep, area, 1, fi_mr_desc(area_mr), a.peer, to + 4, fi_mr_key(mr), FI_FLOAT_COMPLEX, FI_SUM, &contexts[0]));
	done(&a, 1);
	GOOD(fi_inject_atomic(a.ep, area, 1, a.peer, to + 4, fi_mr_key(mr), FI_UINT32, FI_SUM));
	GOOD(fi_read(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, to, fi_mr_key(mr), &contexts[0]));
	done(&a, 1);
	GOOD(fi_close(&mr->fid));
}

static void eq_overrun(void)
{
	struct fi_eq_attr attr = { .size = 1, .flags = FI_WRITE, .wait_obj = FI_WAIT_NONE };
	struct fi_eq_entry entry = { .fid = NULL };
	struct fid_eq *eq;
	uint32_t event;

	GOOD(fi_eq_open(fabric, &attr, &eq, NULL));
	for (int i = 0; i < EVENTS && fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0) == (long)sizeof(entry); i++)
		if (!wrong)
			GOOD(fi_eq_read(eq, &event, &entry, sizeof(entry), 0) - (long)sizeof(entry));
	GOOD(fi_close(&eq->fid));
}

static void closed_in_flight(void)
{
	send_large();
	if (!wrong)
		receive_large();
	GOOD(fi_close(&a.ep->fid));
	a.ep = NULL;
}

/* A poll set tells that there is a completion, and does not read it. */
static void completion_seen(void)
{
	struct fid_poll *poll;
	void *queue;
	int seen;

	GOOD(fi_poll_open(domain, &(struct fi_poll_attr){ 0 }, &poll));
	GOOD(fi_poll_add(poll, &a.cq->fid, 0));
	GOOD(fi_send(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, &contexts[0]));
	while (!(seen = fi_poll(poll, &queue, 1)))
		;
	GOOD(seen - 1);
	GOOD(fi_poll_del(poll, &a.cq->fid, 0));
	GOOD(fi_close(&poll->fid));
}

static void completions_unread(void)
{
	completion_seen();
	if (!wrong)
		done(&a, 1);
}

static void completions_counted(void)
{
	struct fid_cntr *cntr;

	GOOD(fi_cntr_open(domain, &(struct fi_cntr_attr){ 0 }, &cntr, NULL));
	completion_seen();
	fi_cntr_read(cntr);
	GOOD(fi_close(&cntr->fid));
}

/* While an alias is open the endpoint stays, and nothing is dropped. */
static void closed_busy(void)
{
	struct fid_ep *alias;

	send_large();
	GOOD(fi_ep_alias(a.ep, &alias, FI_TRANSMIT));
	GOOD(fi_close(&a.ep->fid) + FI_EBUSY);
	if (!wrong)
		receive_large();
	GOOD(fi_close(&alias->fid));
	GOOD(fi_close(&a.ep->fid));
	a.ep = NULL;
}

static void progress_not_made(void)
{
	int tries = 0;

	for (int i = 0; i < ROOM; i++)
		GOOD(fi_send(a.ep, area, LARGE, fi_mr_desc(area_mr), a.peer, &contexts[i]));
	while (tries++ < TRIES) {
		if (fi_send(a.ep, area, LARGE, fi_mr_desc(area_mr), a.peer, &contexts[ROOM]) != -FI_EAGAIN)
			exit(1);
		if (!wrong)
			(void)fi_cq_read(a.cq, NULL, 0);
	}
	for (int i = 0; i < ROOM; i++)
		receive(i * LARGE, LARGE, ROOM + i);
	done(&a, ROOM);
	done(&b, ROOM);
}

static void region_open(void)
{
	if (!wrong)
		close_all();
	else
		for (struct end *end = &a; end; end = end == &a ? &b : NULL)
			end_close(end);
	exit(0);
}

static void endpoint_open(void)
{
	if (!wrong)
		close_all();
	else
		GOOD(fi_close(&area_mr->fid));
	exit(0);
}

static void domain_open(void)
{
	end_close(&a);
	end_close(&b);
	GOOD(fi_close(&area_mr->fid));
	if (!wrong)
		GOOD(fi_close(&domain->fid));
	exit(0);
}

static void raw_key_open(void)
{
	uint64_t base, key;
	uint8_t raw[64];
	size_t size = sizeof(raw);

	GOOD(fi_mr_raw_attr(area_mr, &base, raw, &size, 0));
	GOOD(fi_mr_map_raw(domain, base, raw, size, &key, 0));
	if (!wrong) {
		GOOD(fi_mr_unmap_key(domain, key));
		return;
	}
	end_close(&a);
	end_close(&b);
	GOOD(fi_close(&area_mr->fid));
	exit(0);
}

/* Two processes, forked before all: whatever makes progress counts for the process. */
static int line[2];
static pid_t initiator;

struct place {
	uint64_t addr, key;
	char name[128];
};

static void write_late(void)
{
	struct place to;

	GOOD(read(line[0], &to, sizeof(to)) - (ssize_t)sizeof(to));
	GOOD(fi_av_insert(a.av, to.name, 1, &a.peer, 0, NULL) - 1);
	sleep(2); /* longer than a target that polls is silent */
	GOOD(fi_write(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, to.addr, to.key, &contexts[0]));
	done(&a, 1);
	GOOD(write(line[0], "", 1) - 1);
}

static void progress_assumed(void)
{
	struct place self = { .addr = (uintptr_t)area };
	size_t size = sizeof(self.name);
	struct fid_mr *mr;
	ssize_t got;
	int status;

	if (!initiator) {
		write_late();
		return;
	}
	mr = remote_region(&b, area, AREA, FI_REMOTE_WRITE);
	self.key = fi_mr_key(mr);
	GOOD(fi_getname(&b.ep->fid, self.name, &size));
	GOOD(write(line[1], &self, sizeof(self)) - (ssize_t)sizeof(self));
	GOOD(close(line[0]));
	while ((got = recv(line[1], &self, 1, wrong ? 0 : MSG_DONTWAIT)) < 0)
		(void)fi_cq_read(b.cq, NULL, 0);
	GOOD(got - 1);
	GOOD(waitpid(initiator, &status, 0) - initiator);
	GOOD(status);
	GOOD(fi_close(&mr->fid));
}

static void progress_assumed_begin(void)
{
	want.progress = FI_PROGRESS_MANUAL;
	GOOD(socketpair(AF_UNIX, SOCK_STREAM, 0, line));
	initiator = fork();
	GOOD(initiator < 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "send-buffer-changed", send_buffer_changed },
	{ "send-buffer-unread", send_buffer_unread },
	{ "send-buffer-shared", send_buffer_shared },
	{ "receive-buffer-changed", receive_buffer_changed },
	{ "receive-buffer-used", receive_buffer_used },
	{ "receive-buffer-sent", receive_buffer_sent },
	{ "receive-buffer-cancelled", receive_buffer_cancelled },
	{ "vector-overlap", vector_overlap },
	{ "vector-overlap-read", vector_overlap_read },
	{ "memory-unmapped", memory_unmapped },
	{ "receive-unmapped", receive_unmapped },
	{ "context-in-use", context_in_use },
	{ "context-not-asked", context_in_use },
	{ "context-overlap", context_overlap },
	{ "context-small", context_overlap },
	{ "cq-overrun", cq_overrun },
	{ "cq-managed", cq_overrun },
	{ "claim-mismatch", claim_mismatch },
	{ "atomic-unaligned", atomic_unaligned },
	{ "threads-domain", threads_domain },
	{ "threads-locked", threads_locked },
	{ "threads-safe", threads_domain },
	{ "threads-completion", threads_completion },
	{ "eq-overrun", eq_overrun },
	{ "closed-in-flight", closed_in_flight },
	{ "closed-busy", closed_busy },
	{ "completions-unread", completions_unread },
	{ "completions-counted", completions_counted },
	{ "wait-not-tried", wait_poll },
	{ "wait-epoll", wait_epoll },
	{ "wait-select", wait_select },
	{ "wait-behind", wait_behind },
	{ "wait-elsewhere", wait_elsewhere },
	{ "progress-not-made", progress_not_made },
	{ "region-open", region_open },
	{ "endpoint-open", endpoint_open },
	{ "domain-open", domain_open },
	{ "raw-key-open", raw_key_open },
	{ "progress-assumed", progress_assumed },
};

static void take_wants(const char *name)
{
	if (!strcmp(name, "context-not-asked"))
		want.mode = 0;
	if (!strcmp(name, "context-small"))
		want.mode = FI_CONTEXT;
	if (!strcmp(name, "send-buffer-unread") || !strncmp(name, "wait-", 5))
		want.wait = FI_WAIT_FD;
	if (!strncmp(name, "threads-", 8))
		want.wait = FI_WAIT_UNSPEC;
	if (!strcmp(name, "threads-domain") || !strcmp(name, "threads-locked"))
		want.threading = FI_THREAD_DOMAIN;
	if (!strcmp(name, "threads-completion"))
		want.threading = FI_THREAD_COMPLETION;
	if (!strcmp(name, "claim-mismatch"))
		want.caps = FI_TAGGED;
	if (!strcmp(name, "atomic-unaligned"))
		want.caps = FI_ATOMIC;
	want.management = !strcmp(name, "cq-overrun") ? FI_RM_DISABLED : FI_RM_ENABLED;
	if (!strncmp(name, "cq-", 3))
		want.cq_size = ROOM;
	if (!strcmp(name, "progress-not-made")) {
		want.progress = FI_PROGRESS_MANUAL;
		want.tx_size = ROOM;
	}
	if (!strcmp(name, "raw-key-open"))
		want.mr_mode = FI_MR_RAW;
	if (!strcmp(name, "progress-assumed"))
		progress_assumed_begin();
}

int main(int argc, char **argv)
{
	size_t i = 0;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (; i < sizeof(cases) / sizeof(cases[0]); i++)
			puts(cases[i].name);
		return 0;
	}
	while (argc == 3 && i < sizeof(cases) / sizeof(cases[0]) && strcmp(argv[1], cases[i].name))
		i++;
	if (argc != 3 || i == sizeof(cases) / sizeof(cases[0])) {
		fprintf(stderr, "usage: misuse --list | CASE wrong|right\n");
		return 2;
	}
	wrong = !strcmp(argv[2], "wrong");
	take_wants(argv[1]);
	open_all();
	cases[i].run();
	close_all();
	return 0;
}
