/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_calls.c - trapped calls that make threads and processes, or end them.
 *
 * A new process has no trap, and its memory is a copy, or this process's until it calls execve(): nothing is protected
 * meanwhile. */
#include "emu/process/races/system_calls.h"

#include <errno.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "emu/process/races/memory_map.h"
#include "emu/process/races/page_watch.h"

/* What clone() and clone3() are asked for. */
struct birth {
	uint64_t flags;
	uintptr_t stack; /* its end; 0: the parent's */
	uintptr_t storage;
};

/* As much of struct clone_args as every kernel has. */
struct clone3_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

/* --- threads --- */

/* The C library's threads begin with a pointer to itself. */
static bool storage_is_a_thread(uintptr_t storage)
{
	uintptr_t control = 0;

	return exempt_peek(&control, (void *)(storage + 2 * sizeof(control)), sizeof(control)) && control == storage;
}

/* Below the child's stack, which is there: where it goes on, and as whom. */
__attribute__((no_sanitize("address"))) static void leave_for_child(const struct trap *trap, uintptr_t stack,
								    struct watched_thread *thread)
{
	uintptr_t *words = (uintptr_t *)stack; /* NOLINT(performance-no-int-to-ptr): the program's */

	words[-1] = (uintptr_t)trap->registers[REG_RIP];
	words[-2] = (uintptr_t)thread;
}

/* A stack is never protected; this one may have been that of a thread that has ended with watches on it. */
static void free_stack(struct watched_thread *thread, uintptr_t stack)
{
	exempt_mask mask = watched_take();
	const struct memory_mapping *mapping = memory_map_find(stack - 1);

	atomic_store(&thread->stack, stack - 1);
	if (mapping)
		watched_lift(mapping->start, mapping->end - mapping->start);
	watched_let_go(mask);
}

static long make_thread(struct trap *trap, const struct birth *birth)
{
	struct watched_thread *thread;
	long result;

	if (!birth->stack || !(birth->flags & CLONE_SETTLS) || !storage_is_a_thread(birth->storage)) {
		trap_end_all("the program makes threads without the C library");
		return trap_open(trap);
	}
	thread = watched_thread_new();
	if (!thread) {
		trap_end_all("the program has too many threads");
		return trap_open(trap);
	}
	free_stack(thread, birth->stack);
	leave_for_child(trap, birth->stack, thread);
	result = exempt_clone(trap->number, trap->registers);
	if (result < 0)
		watched_thread_free(thread);
	return result;
}

/* --- processes --- */

/* The memory is this one's until the child calls execve() or ends, and so long this thread sleeps. */
static long make_sharing_process(struct trap *trap, const struct birth *birth)
{
	long result;

	if (!(birth->flags & CLONE_VFORK)) {
		trap_end_all("another process shares the program's memory");
		return trap_open(trap);
	}
	if (!birth->stack) /* it returns to the program on the stack of this handler */
		return trap_open(trap);
	trap_forbid();
	leave_for_child(trap, birth->stack, NULL);
	result = exempt_clone(trap->number, trap->registers);
	trap_allow();
	return result;
}

static long make_process(struct trap *trap) UNCHECKED
{
	exempt_mask mask = watched_take();
	long result;

	watched_lift_all();
	result = trap_make(trap);
	if (!result)
		page_watch_forked(); /* the lock is free */
	else
		exempt_unlock(&watched_lock.lock);
	exempt_unblock(mask);
	return result;
}

static long call_birth(struct trap *trap, const struct birth *birth)
{
	if (birth->flags & CLONE_THREAD)
		return make_thread(trap, birth);
	if (birth->flags & CLONE_VM)
		return make_sharing_process(trap, birth);
	if (birth->stack) {
		trap_end_all("the program makes processes with a stack of their own");
		return trap_open(trap);
	}
	return make_process(trap);
}

static long call_clone(struct trap *trap)
{
	const struct birth birth = { (uint64_t)trap->arg[0], (uintptr_t)trap->arg[1], (uintptr_t)trap->arg[4] };

	return call_birth(trap, &birth);
}

static long call_clone3(struct trap *trap)
{
	struct clone3_args args;
	struct birth birth;

	if ((size_t)trap->arg[1] < sizeof(args) || !exempt_peek(&args, (void *)trap->arg[0], sizeof(args)))
		return trap_plain(trap); /* the kernel refuses it */
	birth.flags = args.flags;
	birth.stack = args.stack ? (uintptr_t)(args.stack + args.stack_size) : 0;
	birth.storage = (uintptr_t)args.tls;
	return call_birth(trap, &birth);
}

static long call_fork(struct trap *trap)
{
	return make_process(trap);
}

static long call_vfork(struct trap *trap)
{
	return trap_open(trap);
}

/* --- ends --- */

static long call_execute(struct trap *trap)
{
	long result;

	trap_forbid();
	result = trap_make(trap);
	trap_allow();
	return result;
}

static long call_exit(struct trap *trap)
{
	watched_thread_free(trap->thread);
	return trap_make(trap);
}

trap_handler *thread_call(long number)
{
	switch (number) {
	case SYS_clone:
		return call_clone;
	case SYS_clone3:
		return call_clone3;
	case SYS_fork:
		return call_fork;
	case SYS_vfork:
		return call_vfork;
	case SYS_execve:
	case SYS_execveat:
		return call_execute;
	case SYS_exit:
		return call_exit;
	default:
		return NULL;
	}
}
