/* SPDX-License-Identifier: BSD-2-Clause */
/* handlers.c - S18, S84: whatever the program does with its signals, an access to missing memory is refused, and no
 * process dies. */
#include "tests/fi/world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/nic/sandbox.h"

enum { ROUNDS = 20, BYTES = 4096, KEY = 7, IDLE_NS = 5000000 };

static char bytes[BYTES];

static void on_stray(int sig)
{
	static const char said[] = "the program's handler was called for an access of the device's\n";

	(void)sig;
	(void)!write(2, said, sizeof(said) - 1);
	_exit(42);
}

static void put_handlers(void (*handler)(int))
{
	signal(SIGSEGV, handler);
	signal(SIGBUS, handler);
}

/* This thread drives all of the device; where it is idle, none does. */
static struct fid_mr *open_hole(struct world *w)
{
	char *hole = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fid_mr *mr;

	cr_assert_neq(hole, MAP_FAILED);
	setenv("FI_EMU_PROGRESS", "manual", 1);
	world_open(w, &(struct want){ 0 });
	RC(0, fi_mr_reg(w->domain, hole, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	return mr;
}

/* Few bytes, and many; to the hole and from it. */
static void be_refused(struct world *w)
{
	static const size_t lengths[] = { 8, 100, BYTES };
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 6; i++) {
		if (i % 2)
			RC(0, fi_read(w->ep, bytes, lengths[i / 2], NULL, w->self, 0, KEY, NULL));
		else
			RC(0, fi_write(w->ep, bytes, lengths[i / 2], NULL, w->self, 0, KEY, NULL));
		RC(-FI_EAVAIL, world_next(w, &entry));
		RC(1, fi_cq_readerr(w->cq, &error, 0));
		cr_assert_eq(error.err, FI_EFAULT);
	}
}

static void close_hole(struct world *w, struct fid_mr *mr)
{
	RC(0, fi_close(&mr->fid));
	world_close(w);
}

static void *drive_blocked(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
	be_refused(arg);
	return NULL;
}

/* Worker threads do that. */
Test(fi_handlers, signals_blocked_where_the_device_is_driven)
{
	pthread_t thread;
	struct world w;
	struct fid_mr *mr = open_hole(&w);

	cr_assert_eq(pthread_create(&thread, NULL, drive_blocked, &w), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	be_refused(&w);
	close_hole(&w, mr);
}

/* No event tells that the device was idle: it is the time itself. */
static void be_idle(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = IDLE_NS }, NULL);
}

static void after_an_idle_time(void (*handler)(int))
{
	struct world w;
	struct fid_mr *mr = open_hole(&w);

	put_handlers(handler);
	be_idle();
	be_refused(&w);
	close_hole(&w, mr);
}

Test(fi_handlers, own_handler_put_in_an_idle_time)
{
	after_an_idle_time(on_stray);
}

Test(fi_handlers, default_put_in_an_idle_time)
{
	after_an_idle_time(SIG_DFL);
}

Test(fi_handlers, own_handlers_between_accesses)
{
	struct sigaction segv, bus;
	struct world w;
	struct fid_mr *mr = open_hole(&w);

	sigaction(SIGSEGV, NULL, &segv);
	sigaction(SIGBUS, NULL, &bus);
	for (int i = 0; i < ROUNDS; i++) {
		be_refused(&w);
		put_handlers(i % 2 ? SIG_DFL : on_stray);
		be_refused(&w);
		sigaction(SIGSEGV, &segv, NULL);
		sigaction(SIGBUS, &bus, NULL);
	}
	close_hole(&w, mr);
}

Test(fi_handlers, own_handler_where_process_vm_is_forbidden)
{
	struct world w;
	struct fid_mr *mr = open_hole(&w);

	if (!sandbox_refuse_process_vm())
		cr_skip_test("no seccomp filters here");
	put_handlers(on_stray);
	be_idle();
	be_refused(&w);
	close_hole(&w, mr);
}

/* Nothing is left that could say that memory is missing: that is said at once. */
Test(fi_handlers, no_way_left_is_said)
{
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct want want = { 0 };
	struct fi_info *info;
	int log;

	world_need_emu();
	log = world_catch_log("warn");
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	if (!sandbox_refuse_process_vm() || !sandbox_refuse(SYS_pipe2, EPERM) || !sandbox_refuse(SYS_rt_sigaction, EPERM))
		cr_skip_test("no seccomp filters here");
	RC(-FI_ENOSYS, fi_domain(fabric, info, &domain, NULL));
	cr_assert(strstr(world_logged(log), "missing memory would kill this process"));
	RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
}
