/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - FI_EMU_FAULT: what a plan does to a program's calls, and what is said of a plan that is wrong. */
#include "tests/fi/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEY = 5 };

static uint8_t near[64], far[64];
static char plan_path[64]; /* names a descriptor: the file is nowhere else */

static void plan(const char *text)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("plan", 0);
	cr_assert(fd >= 0);
	cr_assert(!ftruncate(fd, 0));
	cr_assert(pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text));
	snprintf(plan_path, sizeof(plan_path), "/proc/self/fd/%d", fd);
	setenv("FI_EMU_FAULT", plan_path, 1);
}

static void write_far(struct world *w)
{
	RC(0, fi_write(w->ep, near, sizeof(near), NULL, w->self, 0, KEY, near));
}

/* The second write alone, as a program sees it. */
Test(fi_fault, refuses)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct world w;

	world_need_emu();
	plan("seed = 7\n\n[the second write]\nfault = refuse ; is said\ncause = range\nop = write\nkey = 0x5\nfirst = 2\n"
	     "most = 1\n");
	world_open(&w, &(struct want){ 0 });
	RC(0, fi_mr_reg(w.domain, far, sizeof(far), FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	for (int i = 1; i <= 3; i++) {
		memset(near, i, sizeof(near));
		write_far(&w);
		RC(i == 2 ? -FI_EAVAIL : 1, world_next(&w, &entry));
		cr_expect_eq(far[0], i == 2 ? 1 : i);
		if (i != 2)
			continue;
		RC(1, fi_cq_readerr(w.cq, &error, 0));
		cr_expect_eq(error.err, FI_EACCES);
		cr_expect(strstr(fi_cq_strerror(w.cq, error.prov_errno, error.err_data, NULL, 0), "injected by the target"));
	}
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

static const struct {
	const char *text, *says;
} wrong[] = {
	{ "", ":1: there is no rule" },
	{ "seed = x\n[a]\nfault = refuse\n", ":1: seed: \"x\" is not a number" },
	{ "seed = 1\nseed = 2\n", ":2: \"seed\" is set twice" },
	{ "fault = refuse\n", ":1: \"fault\" stands before any section" },
	{ "[a]\nfault = refuse\ncause = closed\nnonsense\n", ":4: neither [section] nor name = value" },
	{ "[a\nfault = refuse\ncause = closed\n", ":1: neither [section] nor name = value" },
	{ "[a]\nnonsense\nfault = nonsense\n", ":2: neither [section] nor name = value" },
	{ "[a]\nfault = nonsense\n", ":2: fault: \"nonsense\" is not a fault" },
	{ "[a]\nfault = refuse\n", ":2: [a] lacks \"cause\"" },
	{ "[a]\ncause = closed\n", ":2: [a] does not say which fault" },
	{ "[a]\ncause = closed\n[b]\nfault = refuse\ncause = closed\n", ":2: [a] does not say which fault" },
	{ "[a]\nfault = refuse\ncause = nonsense\n", ":3: cause: \"nonsense\" is not a cause" },
	{ "[a]\nfault = refuse\ncause = closed\ncause = right\n", ":4: \"cause\" is set twice in [a]" },
	{ "[a]\nfault = refuse\ncause = closed\nuntil = 3\n", ":4: \"until\" is not known" },
	{ "[a]\nfault = refuse\ncause = closed\nop = send\n", ":2: [a] names ops that are never refused" },
	{ "[a]\nfault = refuse\ncause = auth\nop = send\nkey = 1\n", ":2: [a] names ops that cannot meet it" },
	{ "[a]\nfault = rnr\nop = read\n", ":2: [a] names ops that cannot meet it" },
	{ "[a]\nfault = rnr\ncause = auth\n", ":3: \"cause\" does not go with this fault" },
	{ "[a]\nfault = rnr\ntimes = 0\n", ":3: times: \"0\" is not a positive number" },
	{ "[a]\nfault = rnr\ntimes = 4294967296\n", ":3: times: " },
	{ "[a]\nfault = cut\nwhen = never\n", ":3: when: \"never\" is not before or after" },
	{ "[a]\nfault = cut\ndown = 20\n", ":3: down: \"20\" is not a whole number with us, ms or s" },
	{ "[a]\nfault = cut\ndown = ms\n", ":3: down: " },
	{ "[a]\nfault = cut\ndown = 0.5s\n", ":3: down: " },
	{ "[a]\nfault = cut\ndown = 5 s\n", ":3: down: " },
	{ "[a]\nfault = cut\ndown = 3601s\n", ":3: down: " },
	{ "[a]\nfault = cut\ndown = 18446744073709551615s\n", ":3: down: " },
	{ "[a]\nfault = cut\ndown = 100000000000000000000000s\n", ":3: down: " },
	{ "[a]\nfault = latency\njitter = 1ms\n", ":2: [a] lacks \"wait\"" },
	{ "[a]\nfault = latency\nwait = 1\n", ":3: wait: \"1\" is not a whole number with us, ms or s" },
	{ "[a]\nfault = latency\nwait = 1s\njitter = x\n", ":4: jitter: " },
	{ "[a]\nfault = register\nerror = 12\n", ":3: error: \"12\" is not the name of an error" },
	{ "[a]\nfault = register\npeer = ::1\n", ":3: \"peer\" does not go with this fault" },
	{ "[a]\nfault = bandwidth\n", ":2: [a] lacks \"rate\"" },
	{ "[a]\nfault = bandwidth\nrate = 0\n", ":3: rate: \"0\" is not a positive number" },
	{ "[a]\nfault = bandwidth\nrate = 9\nfirst = 2\n", ":4: \"first\" does not go with this fault" },
	{ "[a]\nfault = queue\n", ":2: [a] lacks \"entries\"" },
	{ "[a]\nfault = queue\nentries = 0\n", ":3: entries: \"0\" is not a positive number" },
	{ "[a]\nfault = queue\nentries = 9\npeer = ::1\n", ":4: \"peer\" does not go with this fault" },
	{ "[a]\nfault = thread\n", ":2: [a] lacks \"wait\"" },
	{ "[a]\nfault = thread\nwait = 1001ms\n", ":2: [a] has the NIC thread wait for more than a second" },
	{ "[a]\nfault = thread\nwait = 1ms\njitter = 1ms\n", ":4: \"jitter\" does not go with this fault" },
	{ "[a]\nfault = full\nwait = 1ms\n", ":3: \"wait\" does not go with this fault" },
	{ "[a]\nfault = full\npeer = ::1\n", ":3: \"peer\" does not go with this fault" },
	{ "[a]\nfault = hold\n", ":2: [a] lacks \"wait\"" },
	{ "[a]\nfault = hold\nwait = 1ms\nop = atomic, send\n", ":2: [a] names ops that cannot meet it" },
	{ "[a]\nfault = lose\nop = send, read\n", ":2: [a] names ops that cannot meet it" },
	{ "[a]\nfault = reorder\nwait = 1s\nop = send\nkey = 1\n", ":2: [a] names ops that cannot meet it" },
	{ "[a]\nfault = refuse\ncause = message-long\nkey = 1\n", ":2: [a] names a key, and ops that have none" },
	{ "[a]\nfault = refuse\ncause = closed\nop = writes\n", ":4: op: \"writes\" is not a list of send" },
	{ "[a]\nfault = refuse\ncause = closed\nop = write, writes\n", ":4: op: \"write, writes\" is not a list of send" },
	{ "[a]\nfault = refuse\ncause = closed\nop = reed\n", ":4: op: \"reed\" is not a list of send" },
	{ "[a]\nfault = refuse\ncause = closed\nop = wri\n", ":4: op: \"wri\" is not a list of send" },
	{ "[a]\nfault = refuse\ncause = closed\nop =\n", ":4: op: \"\" is not a list of send" },
	{ "[a]\nfault = refuse\ncause = closed\nkey = -1\n", ":4: key: \"-1\" is not a number" },
	{ "[a]\nfault = refuse\ncause = closed\nkey = 0x10000000000000000\n", ":4: key: " },
	{ "[a]\nfault = refuse\ncause = closed\nfirst = 0\n", ":4: first: \"0\" is not a positive number" },
	{ "[a]\nfault = refuse\ncause = closed\nevery = 0\n", ":4: every: \"0\" is not a positive number" },
	{ "[a]\nfault = refuse\ncause = closed\nmost = 0\n", ":4: most: \"0\" is not a positive number" },
	{ "[a]\nfault = refuse\ncause = closed\nchance = 2\n", ":4: chance: \"2\" is not a number from 0 to 1" },
	{ "[a]\nfault = refuse\ncause = closed\npeer = somebody\n", ":4: peer: \"somebody\" is not an IPv4" },
	{ "[a]\nfault = refuse\ncause = closed\npeer = 10.0.0.1:0\n", ":4: peer: " },
	{ "[a]\nfault = refuse\ncause = closed\npeer = 10.0.0.1:65536\n", ":4: peer: " },
	{ "[a]\nfault = refuse\ncause = closed\npeer = [::1\n", ":4: peer: " },
	{ "[a]\nfault = refuse\ncause = closed\npeer = [::1]x\n", ":4: peer: " },
	{ "[a]\nfault = refuse\ncause = closed\npeer = [::1]x80\n", ":4: peer: " },
};

/* Each is refused before anything is opened, with the line that is wrong. */
Test(fi_fault, plans_that_are_none)
{
	struct want want = { 0 };
	struct fi_info *info;
	int log = world_catch_log("warn");

	world_need_emu();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char says[256];
		const char *said;

		plan(wrong[i].text);
		snprintf(says, sizeof(says), "setting fault: %s%s", plan_path, wrong[i].says);
		world_logged(log);
		RC(-FI_ENODATA, world_getinfo(&want, world_hints(&want), &info));
		said = world_logged(log);
		cr_expect(strstr(said, says), "wanted \"%s\" of\n%s\nbut: %s", says, wrong[i].text, said);
	}
}

static int judged(const char *text)
{
	struct want want = { 0 };
	struct fi_info *info;
	int err;

	plan(text);
	err = world_getinfo(&want, world_hints(&want), &info);
	if (!err)
		fi_freeinfo(info);
	return err;
}

/* FI_EMU_ORDER puts rules of its own behind those of the plan. */
Test(fi_fault, no_room_for_an_order)
{
	static char text[64 * 40];
	struct want want = { 0 };
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fi_info *info;
	int log = world_catch_log("warn");

	world_need_emu();
	for (int i = 0; i < 62; i++)
		sprintf(text + strlen(text), "[r%d]\nfault = latency\nwait = 1us\n", i);
	plan(text);
	setenv("FI_EMU_ORDER", "weak", 1);
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	world_logged(log);
	RC(-FI_EINVAL, fi_domain(fabric, info, &domain, NULL));
	cr_assert(strstr(world_logged(log), "has no room for its rules"));
	setenv("FI_EMU_ORDER", "rc", 1); /* which has one rule */
	RC(0, fi_domain(fabric, info, &domain, NULL));
	RC(0, fi_close(&domain->fid));
	RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
	unsetenv("FI_EMU_ORDER");
}

/* Up to LIMIT_FAULT_RULES rules, lines as long as the parser takes them whole, and words as long as any that means something. */
Test(fi_fault, bounds_of_plans)
{
	static char text[65 * 64];
	char line[256];

	world_need_emu();
	for (int i = 0; i < 65; i++) {
		char rule[64];

		RC(i ? 0 : -FI_ENODATA, judged(text));
		snprintf(rule, sizeof(rule), "[%d]\nfault = refuse\ncause = closed\n", i);
		strcat(text, rule);
	}
	RC(-FI_ENODATA, judged(text));
	snprintf(line, sizeof(line), "[a]\nfault = refuse\ncause = closed\n#%0197d\n", 0);
	RC(0, judged(line));
	snprintf(line, sizeof(line), "[a]\nfault = refuse\ncause = closed\n#%0198d\n", 0);
	RC(-FI_ENODATA, judged(line));
	snprintf(line, sizeof(line), "[a]\nfault = refuse\ncause = closed\npeer = 10.0.0.1:%090d\n", 1);
	RC(0, judged(line));
	snprintf(line, sizeof(line), "[a]\nfault = refuse\ncause = closed\npeer = 10.0.0.1:%091d\n", 1);
	RC(-FI_ENODATA, judged(line));
}

/* Names of all sorts. */
Test(fi_fault, plans_that_are_good)
{
	static const char *const lines[] = {
		"peer = 10.0.0.1",
		"peer = 10.0.0.1:65535",
		"peer = ::1",
		"peer = [::1]",
		"peer = [::1]:1",
		"op = write,read",
		"op = atomic, write",
		"key = 42",
		"key = 0xffffffffffffffff",
		"chance = 0.5",
		"first = 18446744073709551615",
		"every = 2",
		"most = 1",
		"# nothing",
	};
	static const char *const others[] = {
		"[a]\nfault = rnr\ntimes = 4294967295\n",
		"[a]\nfault = thread\nwait = 1000ms\n",
		"[a]\nfault = latency\nwait = 3600s\n",
		"[a]\nfault = refuse\ncause = closed",
		"seed = 7\n", /* for the rules of FI_EMU_ORDER */
		/* For another library. */
		"[a]\nfault = call\ncall = ibv_open_device\nerror = EIO\n[b]\nfault = fail\nstatus = REM_OP_ERR\n",
		"[a]\nfault = event\nevent = IBV_EVENT_PORT_ERR\nafter = 1ms\n[b]\nfault = unplugged\n",
	};
	char text[128];

	world_need_emu();
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(text, sizeof(text), "[a]\nfault = refuse\ncause = closed\n%s\n", lines[i]);
		cr_expect_eq(judged(text), 0, "%s", lines[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect_eq(judged(others[i]), 0, "%s", others[i]);
	setenv("FI_EMU_FAULT", "", 1);
	RC(0, world_getinfo(&(struct want){ 0 }, world_hints(&(struct want){ 0 }), &(struct fi_info *){ NULL }));
}

static void no_file(const char *path, const char *why)
{
	struct want want = { 0 };
	struct fi_info *info;
	int log = world_catch_log("warn");
	const char *said;

	world_need_emu();
	setenv("FI_EMU_FAULT", path, 1);
	RC(-FI_ENODATA, world_getinfo(&want, world_hints(&want), &info));
	said = world_logged(log);
	cr_expect(strstr(said, "setting fault: ") && strstr(said, why), "%s", said);
}

Test(fi_fault, a_folder_is_no_file)
{
	no_file("/", "/: not a regular file");
}

Test(fi_fault, what_has_no_end_is_no_file)
{
	no_file("/dev/zero", "/dev/zero: not a regular file");
}

Test(fi_fault, a_pipe_is_no_file)
{
	int ends[2];
	char path[64];

	cr_assert(!pipe(ends));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	no_file(path, "not a regular file");
}

/* Comments of a mebibyte, and a byte more. */
Test(fi_fault, a_file_that_is_too_long)
{
	static char text[(1 << 20) + 2] = "[a]\nfault = refuse\ncause = closed\n";

	world_need_emu();
	for (size_t at = strlen(text); at < sizeof(text) - 2; at++)
		text[at] = at % 100 == 99 ? '\n' : '#';
	RC(0, judged(text));
	text[sizeof(text) - 2] = '\n';
	plan(text);
	no_file(plan_path, ": longer than 1 MiB, which is no plan");
}

/* A domain that is asked for when the plan has gone bad is refused, and those that are open do not notice. */
Test(fi_fault, a_plan_that_goes_bad)
{
	struct fid_domain *domain;
	struct fid_mr *mr;
	struct world w;
	uint8_t entry[256];

	world_need_emu();
	plan("[a]\nfault = refuse\ncause = closed\nfirst = 2\n");
	world_open(&w, &(struct want){ 0 });
	RC(0, fi_mr_reg(w.domain, far, sizeof(far), FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	setenv("FI_EMU_FAULT", "/nowhere/plan.ini", 1);
	RC(-FI_EINVAL, fi_domain(w.fabric, w.info, &domain, NULL));
	plan("nonsense");
	RC(-FI_EINVAL, fi_domain(w.fabric, w.info, &domain, NULL));
	write_far(&w);
	RC(1, world_next(&w, entry));
	write_far(&w);
	RC(-FI_EAVAIL, world_next(&w, entry));
	RC(1, fi_cq_readerr(w.cq, &(struct fi_cq_err_entry){ 0 }, 0));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

static int reg(struct world *w, struct fid_mr **mr)
{
	return fi_mr_reg(w->domain, far, sizeof(far), FI_REMOTE_WRITE, 0, KEY, 0, mr, mr);
}

/* The second registration and the fourth fail, and leave nothing behind. */
Test(fi_fault, registrations)
{
	int log = world_catch_log("warn");
	struct fid_mr *mr;
	struct world w;

	world_need_emu();
	plan("[a]\nfault = register\nfirst = 2\nevery = 2\nmost = 2\nerror = EBUSY\n");
	world_open(&w, &(struct want){ 0 });
	world_logged(log);
	for (int i = 1; i <= 7; i++) {
		bool fails = i == 2 || i == 4;

		mr = NULL;
		RC(fails ? -FI_EBUSY : 0, reg(&w, &mr));
		cr_expect_eq(!mr, fails);
		cr_expect_eq(!!strstr(world_logged(log), "injected by the fault plan"), fails);
		if (mr)
			RC(0, fi_close(&mr->fid));
	}
	world_close(&w);
}

/* One that is told of by an event fails by that event. */
Test(fi_fault, asynchronous_registrations)
{
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_entry entry;
	struct fid_mr *mr;
	struct world w;
	uint32_t event;

	world_need_emu();
	plan("[a]\nfault = register\nfirst = 2\nmost = 1\n");
	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_UNSPEC });
	RC(0, fi_domain_bind(w.domain, &w.eq->fid, 1ull << 59)); /* FI_REG_MR, whose use warns since 2.0 */
	for (int i = 1; i <= 3; i++) {
		RC(0, reg(&w, &mr));
		RC(i == 2 ? -FI_EAVAIL : (ssize_t)sizeof(entry), fi_eq_sread(w.eq, &event, &entry, sizeof(entry), -1, 0));
		if (i == 2) {
			RC(sizeof(error), fi_eq_readerr(w.eq, &error, 0));
			cr_expect_eq(error.err, FI_ENOMEM);
			cr_expect_eq(error.fid, &mr->fid);
		}
		RC(0, fi_close(&mr->fid));
	}
	world_close(&w);
}

/* With one entry in the queue, the second write with CQ data waits until the program reads. */
Test(fi_fault, a_small_queue)
{
	enum { WRITES = 3 };
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct world w;
	int told = 0;

	world_need_emu();
	plan("[a]\nfault = queue\nentries = 1\n");
	world_open(&w, &(struct want){ 0 });
	RC(0, reg(&w, &mr));
	memset(near, 7, sizeof(near));
	for (uint64_t i = 0; i < WRITES; i++)
		RC(0, fi_writedata(w.ep, near, 1, NULL, i, w.self, i, KEY, near));
	while (fi_cntr_read(w.cntr) < 1)
		;
	for (int i = 0; i < 1000; i++)
		fi_cntr_read(w.cntr);
	cr_expect(far[0] == 7 && far[1] == 0, "%d, %d", far[0], far[1]);
	for (int i = 0; i < 2 * WRITES; i++) {
		RC(1, world_next(&w, &entry));
		if (entry.flags & FI_REMOTE_CQ_DATA)
			RC(told++, entry.data);
	}
	cr_expect(told == WRITES && far[1] == 7 && far[2] == 7);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

enum posted { A_SEND, A_WRITE, A_READ, A_RECEIVE };

/* It is refused until it has been tried often enough. */
static void expect_full(struct world *w, enum posted kind, int refused)
{
	for (int i = 0; i <= refused; i++) {
		ssize_t rc = kind == A_READ    ? fi_read(w->ep, near, 1, NULL, w->self, 0, KEY, near)
			     : kind == A_WRITE ? fi_inject_write(w->ep, near, 1, w->self, 0, KEY)
			     : kind == A_SEND  ? fi_send(w->ep, near, 1, NULL, w->self, near)
					       : fi_recv(w->ep, far, 1, NULL, w->self, far);

		cr_expect_eq(rc, i < refused ? -FI_EAGAIN : 0, "kind %d: %zd at try %d", kind, rc, i);
	}
}

Test(fi_fault, posts_find_the_queue_full)
{
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct world w;

	world_need_emu();
	plan("[a]\nfault = full\nop = write, read, recv\nfirst = 2\nevery = 2\nmost = 2\ntimes = 3\n");
	world_open(&w, &(struct want){ 0 });
	RC(0, fi_mr_reg(w.domain, far, sizeof(far), FI_REMOTE_WRITE | FI_REMOTE_READ, 0, KEY, 0, &mr, NULL));
	for (int i = 1; i <= 6; i++) {
		int refused = i == 2 || i == 4 ? 3 : 0;

		expect_full(&w, A_RECEIVE, refused);
		expect_full(&w, A_SEND, 0);
		expect_full(&w, A_WRITE, refused);
		expect_full(&w, A_READ, refused);
		for (int completion = 0; completion < 3; completion++)
			RC(1, world_next(&w, &entry));
	}
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}
