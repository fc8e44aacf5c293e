/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_process.c - right programs that do with memory, signals and processes what races mode does, too, or has to see through.
 * Side 1 has an operation under way meanwhile. */
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/races/verbs/verbs_kit.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ

enum { PAGE = 4096, PAGES = 4, HUGE = 1 << 21 };

/* --- memory of its own, of which the first page is under way --- */

struct own {
	uint8_t *at;
	size_t size;
	struct ibv_mr *mr;
};

static struct own own_new(size_t size, int flags)
{
	struct own own = { .size = size };

	own.at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	NEED(own.at != MAP_FAILED);
	own.mr = ibv_reg_mr(mine.pd, own.at, size, IBV_ACCESS_LOCAL_WRITE);
	NEED(own.mr);
	return own;
}

static void own_begin(const struct own *own, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(0, opcode, INTO, X, SHORT, &sge);

	sge.addr = (uintptr_t)own->at;
	sge.lkey = own->mr->lkey;
	post(0, 0, &wr);
}

static void own_drop(const struct own *own)
{
	NEED(!ibv_dereg_mr(own->mr) && !munmap(own->at, own->size));
}

static void touch_all(const struct own *own)
{
	for (size_t at = 0; at < own->size; at += PAGE / 2)
		race_store(own->at + at, (uint8_t)(race_load(own->at + at) + 1));
}

/* --- mappings --- */

/* A source may become read-only, and the rest of its region nothing at all. */
static void protects_its_source(void)
{
	struct own own;

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	touch_all(&own);
	own_begin(&own, WRITE);
	NEED(!mprotect(own.at, PAGE, PROT_READ) && !mprotect(own.at + PAGE, PAGE, PROT_NONE));
	(void)race_load(own.at);
	finish(0);
	NEED(!mprotect(own.at, own.size, PROT_READ | PROT_WRITE));
	touch_all(&own);
	own_drop(&own);
}

/* What takes its place is another mapping, and nobody's. */
static void maps_anew(void)
{
	struct own own;

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	own_begin(&own, READ);
	NEED(mmap(own.at + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == own.at + PAGE);
	race_store(own.at + PAGE, 1);
	finish(0);
	NEED(!ibv_dereg_mr(own.mr) && !munmap(own.at, own.size));
	NEED(mmap(own.at, own.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == own.at);
	touch_all(&own);
	NEED(!munmap(own.at, own.size));
}

static void has_huge_pages(void)
{
	uint8_t *memory;
	struct own own;

	if (!race_self)
		return;
	NEED(!posix_memalign((void **)&memory, HUGE, HUGE));
	(void)madvise(memory, HUGE, MADV_HUGEPAGE);
	memset(memory, 1, HUGE);
	own = (struct own){ .at = memory, .size = HUGE, .mr = ibv_reg_mr(mine.pd, memory, HUGE, IBV_ACCESS_LOCAL_WRITE) };
	NEED(own.mr);
	own_begin(&own, READ);
	race_store(memory + PAGE, 1);
	race_store(memory + SHORT, 1);
	finish(0);
	touch_all(&own);
	NEED(!ibv_dereg_mr(own.mr));
	free(memory);
}

/* --- signals --- */

static uint8_t *barred;
static volatile sig_atomic_t barred_faults;
static sigjmp_buf back;

static void lift_bar(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_addr != barred)
		abort();
	barred_faults++;
	mprotect(barred, PAGE, PROT_READ | PROT_WRITE);
}

static void jump_back(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_addr != barred)
		abort();
	siglongjmp(back, 1);
}

/* As a collector of garbage does: a page of the region has a bar, which its own handler lifts. */
static void handled_faults(void (*handler)(int sig, siginfo_t *info, void *context), bool early)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO }, before;
	struct own own;

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	barred = own.at + PAGE;
	barred_faults = 0;
	if (early)
		NEED(!sigaction(SIGSEGV, &action, &before));
	own_begin(&own, READ);
	if (!early)
		NEED(!sigaction(SIGSEGV, &action, &before));
	NEED(!mprotect(barred, PAGE, PROT_NONE));
	if (handler == lift_bar) {
		race_store(barred, 1);
		NEED(barred_faults == 1);
	} else if (!sigsetjmp(back, 1)) {
		race_store(barred, 1);
		NEED(!"it faults");
	}
	race_store(own.at + SHORT, 1);
	finish(0);
	NEED(!mprotect(barred, PAGE, PROT_READ | PROT_WRITE));
	NEED(!sigaction(SIGSEGV, &before, NULL));
	touch_all(&own);
	own_drop(&own);
}

static void lifts_its_own_bar(void)
{
	handled_faults(lift_bar, false);
}

static void has_a_handler_already(void)
{
	handled_faults(lift_bar, true);
}

static void jumps_out_of_a_fault(void)
{
	handled_faults(jump_back, false);
}

static uint8_t *signalled;

static void on_signal(int sig)
{
	(void)sig;
	race_store(signalled, (uint8_t)(race_load(signalled) + 1));
}

/* A handler, on a stack of its own, touches what is beside the bytes. */
static void touches_in_a_handler(void)
{
	uint8_t *memory = malloc(MINSIGSTKSZ + 64 * 1024);
	stack_t stack = { .ss_sp = memory, .ss_size = MINSIGSTKSZ + 64 * 1024 }, before;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct own own;

	if (race_self) {
		NEED(memory && !sigaltstack(&stack, &before) && !sigaction(SIGUSR1, &action, NULL));
		own = own_new(PAGES * PAGE, 0);
		signalled = own.at + SHORT;
		own_begin(&own, READ);
		NEED(!raise(SIGUSR1));
		finish(0);
		touch_all(&own);
		own_drop(&own);
		NEED(!sigaltstack(&before, NULL));
	}
	free(memory);
}

static void on_trap(int sig)
{
	(void)sig;
	barred_faults++;
}

/* SIGTRAP is the program's own. */
static void traps_by_itself(void)
{
	struct sigaction action = { .sa_handler = on_trap }, before, now;
	struct own own;

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	barred_faults = 0;
	own_begin(&own, READ);
	race_store(own.at + SHORT, 1);
	NEED(!sigaction(SIGTRAP, NULL, &before) && before.sa_handler == SIG_DFL);
	NEED(!sigaction(SIGTRAP, &action, &before) && before.sa_handler == SIG_DFL);
	race_store(own.at + SHORT, 1);
	NEED(!raise(SIGTRAP) && barred_faults == 1);
	NEED(!sigaction(SIGTRAP, &before, &now) && now.sa_handler == on_trap);
	race_store(own.at + SHORT, 1);
	finish(0);
	touch_all(&own);
	own_drop(&own);
}

static void *deaf(void *arg)
{
	const struct own *own = arg;
	sigset_t all;

	sigfillset(&all);
	NEED(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	for (size_t at = SHORT; at < own->size; at += SHORT)
		race_store(own->at + at, 1);
	return NULL;
}

/* A thread that blocks all signals stores beside the bytes. */
static void has_a_deaf_thread(void)
{
	pthread_t thread;
	struct own own;

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	own_begin(&own, READ);
	NEED(!pthread_create(&thread, NULL, deaf, &own) && !pthread_join(thread, NULL));
	finish(0);
	touch_all(&own);
	own_drop(&own);
}

/* --- processes --- */

/* The child has a copy, of which the NIC knows nothing. */
static void forks(void)
{
	struct own own;
	pid_t child;
	int status;

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	own_begin(&own, READ);
	child = fork();
	if (!child) {
		touch_all(&own);
		_exit(0);
	}
	NEED(child > 0 && waitpid(child, &status, 0) == child && !status);
	race_store(own.at + SHORT, 1);
	finish(0);
	touch_all(&own);
	own_drop(&own);
}

static void spawns(void)
{
	char word[] = "true", *words[] = { word, NULL }, *none[] = { NULL };
	struct own own;
	pid_t child;
	int status;

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	own_begin(&own, READ);
	NEED(!posix_spawnp(&child, "true", NULL, NULL, words, none) && waitpid(child, &status, 0) == child && !status);
	race_store(own.at + SHORT, 1);
	finish(0);
	touch_all(&own);
	own_drop(&own);
}

/* --- the kernel --- */

/* It fills pages when they are touched first; where programs may not ask for that, there is nothing to see. */
static void *fill_pages(void *arg)
{
	int fd = *(int *)arg;
	struct uffd_msg msg;
	static uint8_t page[PAGE];

	while (read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.event == UFFD_EVENT_PAGEFAULT) {
		struct uffdio_copy copy = { .dst = msg.arg.pagefault.address & ~(uint64_t)(PAGE - 1),
					    .src = (uintptr_t)page,
					    .len = PAGE };

		if (ioctl(fd, UFFDIO_COPY, &copy) && errno != EEXIST)
			abort();
	}
	return NULL;
}

static void fills_its_own_pages(void)
{
	int fd = race_self ? (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY) : -1;
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;
	struct own own;

	if (fd < 0)
		return;
	own = own_new(PAGES * PAGE, 0);
	touch_all(&own);
	NEED(!madvise(own.at + PAGE, PAGE, MADV_DONTNEED));
	range.range.start = (uintptr_t)own.at + PAGE;
	range.range.len = PAGE;
	NEED(!ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &range));
	NEED(!pthread_create(&thread, NULL, fill_pages, &fd));
	own_begin(&own, READ);
	(void)race_load(own.at + PAGE);
	finish(0);
	NEED(!pthread_cancel(thread) && !pthread_join(thread, NULL) && !close(fd));
	touch_all(&own);
	own_drop(&own);
}

struct ring {
	int fd;
	struct io_uring_params params;
	uint8_t *queue;
	struct io_uring_sqe *entries;
};

static bool ring_open(struct ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	ring->fd = (int)syscall(SYS_io_uring_setup, 2, &ring->params);
	if (ring->fd < 0)
		return false;
	NEED(ring->params.features & IORING_FEAT_SINGLE_MMAP);
	ring->queue = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->entries = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	NEED(ring->queue != MAP_FAILED && ring->entries != MAP_FAILED);
	return true;
}

static int ring_read(struct ring *ring, int from, void *into, unsigned length)
{
	const struct io_uring_params *at = &ring->params;
	uint32_t *tail = (uint32_t *)(ring->queue + at->sq_off.tail), *head = (uint32_t *)(ring->queue + at->cq_off.head);
	const struct io_uring_cqe *done;

	ring->entries[0] = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = from, .addr = (uintptr_t)into, .len = length };
	((uint32_t *)(ring->queue + at->sq_off.array))[*tail & (at->sq_entries - 1)] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	NEED(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	done = (const struct io_uring_cqe *)(ring->queue + at->cq_off.cqes) + (*head & (at->cq_entries - 1));
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return done->res;
}

/* A read by io_uring beside the bytes. Where programs may not have it, there is nothing to see. */
static void reads_by_a_ring(void)
{
	struct ring ring;
	struct own own;
	int ends[2];

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	own_begin(&own, READ);
	if (ring_open(&ring)) {
		NEED(!pipe(ends) && write(ends[1], own.at + 2 * PAGE, SHORT) == SHORT);
		NEED(ring_read(&ring, ends[0], own.at + SHORT, SHORT) == SHORT);
		NEED(!close(ends[0]) && !close(ends[1]) && !close(ring.fd));
		NEED(!munmap(ring.queue, PAGE) && !munmap(ring.entries, PAGE));
	}
	finish(0);
	touch_all(&own);
	own_drop(&own);
}

/* Calls that have no buffer among their plain arguments, and that fail as they would. */
static void calls_fail_as_ever(void)
{
	struct own own;
	int ends[2];

	if (!race_self)
		return;
	own = own_new(PAGES * PAGE, 0);
	NEED(!pipe(ends));
	own_begin(&own, READ);
	NEED(!mprotect(own.at + PAGE, PAGE, PROT_NONE) && write(ends[1], own.at + PAGE, SHORT) == -1 && errno == EFAULT);
	NEED(poll((struct pollfd *)(own.at + SHORT), 1, 0) >= 0);
	NEED(!mprotect(own.at + PAGE, PAGE, PROT_READ | PROT_WRITE));
	finish(0);
	NEED(!close(ends[0]) && !close(ends[1]));
	touch_all(&own);
	own_drop(&own);
}

static const struct race_case process_cases[] = {
	VERBS_TWIN("protects-its-source", "local-store", 2, protects_its_source),
	VERBS_TWIN("maps-anew", "local-store", 2, maps_anew),
	VERBS_TWIN("has-huge-pages", "local-store", 2, has_huge_pages),
	VERBS_TWIN("lifts-its-own-bar", "local-store", 2, lifts_its_own_bar),
	VERBS_TWIN("has-a-handler-already", "local-store", 2, has_a_handler_already),
	VERBS_TWIN("jumps-out-of-a-fault", "local-store", 2, jumps_out_of_a_fault),
	VERBS_TWIN("touches-in-a-handler", "local-store", 2, touches_in_a_handler),
	VERBS_TWIN("traps-by-itself", "local-store", 2, traps_by_itself),
	VERBS_TWIN("has-a-deaf-thread", "threads", 2, has_a_deaf_thread),
	VERBS_TWIN("forks", "local-store", 2, forks),
	VERBS_TWIN("spawns", "local-store", 2, spawns),
	VERBS_TWIN("fills-its-own-pages", "local-load", 2, fills_its_own_pages),
	VERBS_TWIN("reads-by-a-ring", "local-store", 2, reads_by_a_ring),
	VERBS_TWIN("calls-fail-as-ever", "local-store", 2, calls_fail_as_ever),
};

const struct race_set verbs_processes = RACE_SET(process_cases);
