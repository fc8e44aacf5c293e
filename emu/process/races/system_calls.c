/* SPDX-License-Identifier: BSD-2-Clause */
/* system_calls.c - the handler of trapped system calls. */
#include "emu/process/races/system_calls.h"

#include <errno.h>
#include <link.h>
#include <linux/audit.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "emu/nic/memory/guard.h"
#include "emu/process/races/memory_map.h"
#include "emu/process/races/page_step.h"
#include "emu/process/races/watch_fault.h"

#ifndef SYS_USER_DISPATCH
#define SYS_USER_DISPATCH 2 /* si_code */
#endif
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

enum { INSTRUCTION = 2 /* bytes of syscall */, SA_RESTORED = 0x04000000 };

atomic_uint_fast64_t system_calls_traps, system_calls_lifted;
atomic_uint system_calls_forbid, system_calls_changing;
_Atomic(const char *) system_calls_ended;
static void (*_Atomic heard)(void);
static atomic_uint handler_changes = 1, handlers_checked; /* they stood when there were so many changes */

long trap_make(const struct trap *trap)
{
	const long *arg = trap->arg;

	return exempt_call(trap->number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static void lift_all(void)
{
	exempt_mask mask = watched_take();

	atomic_fetch_add(&system_calls_lifted, watched_lift_all());
	watched_let_go(mask);
}

static void lift_of_call(const struct watched_call *call)
{
	unsigned int ranges = atomic_load_explicit(&call->ranges, memory_order_relaxed);
	exempt_mask mask = watched_take();

	for (unsigned int i = 0; i < ranges; i++)
		atomic_fetch_add(&system_calls_lifted,
				 watched_lift(atomic_load_explicit(&call->range[i].at, memory_order_relaxed),
					      atomic_load_explicit(&call->range[i].length, memory_order_relaxed)));
	watched_let_go(mask);
}

/* The note of what it uses comes before the look at pages, as page_watch_begin() enters pages before it looks at the notes. */
long trap_plain(struct trap *trap)
{
	struct watched_call *call = watched_call_begin(trap->thread, (uintptr_t)trap->registers[REG_RSP]);
	long result;

	call_memory_note(call, trap->number, trap->arg);
	exempt_fence();
	if (atomic_load(&watched.pages))
		lift_of_call(call);
	result = trap_make(trap);
	if (result == -EFAULT && atomic_load(&watched.pages)) {
		trap_forbid();
		result = trap_make(trap);
		trap_allow();
	}
	watched_call_end(trap->thread, call);
	return result;
}

long trap_open(struct trap *trap)
{
	watched_thread_open(trap->thread);
	lift_all();
	trap->registers[REG_RIP] -= INSTRUCTION;
	return trap->number;
}

void trap_forbid(void)
{
	atomic_fetch_add(&system_calls_forbid, 1);
	lift_all();
}

void trap_allow(void)
{
	atomic_fetch_sub(&system_calls_forbid, 1);
}

void trap_end_all(const char *why)
{
	const char *none = NULL;

	atomic_compare_exchange_strong(&system_calls_ended, &none, why);
	lift_all();
	watched_threads_end();
}

/* --- calls that change mappings --- */

/* What the call changes is noted before the table is looked at, so that nobody protects it until the end. The lock is not held over
 * the call, as it may wait for other threads: for the one that reads the events of userfaultfd. Signals are blocked. */
static struct watched_call *change_begin(const struct trap *trap, exempt_mask *mask)
{
	*mask = exempt_block();
	atomic_fetch_add(&system_calls_changing, 1);
	return watched_call_begin(trap->thread, (uintptr_t)trap->registers[REG_RSP]);
}

static void change_note(struct watched_call *call, uintptr_t at, size_t length, bool stays)
{
	exempt_mask mask;

	watched_call_add(call, at ? at : 1, length); /* nothing is at 0 */
	mask = watched_take();
	if (stays)
		atomic_fetch_add(&system_calls_lifted, watched_lift(at, length));
	else
		watched_forget(at, length);
	watched_let_go(mask);
}

static long change_end(const struct trap *trap, struct watched_call *call, exempt_mask mask, bool map)
{
	long result = trap_make(trap);

	if (map)
		memory_map_changed();
	watched_call_end(trap->thread, call);
	atomic_fetch_sub(&system_calls_changing, 1);
	exempt_unblock(mask);
	return result;
}

static long change_mapping(const struct trap *trap, uintptr_t at, size_t length)
{
	exempt_mask mask;
	struct watched_call *call = change_begin(trap, &mask);

	change_note(call, at, length, false);
	return change_end(trap, call, mask, true);
}

static long grow_mapping(const struct trap *trap)
{
	long result = trap_make(trap);

	memory_map_grew();
	return result;
}

static long call_map(struct trap *trap)
{
	if (trap->arg[3] & MAP_FIXED)
		return change_mapping(trap, (uintptr_t)trap->arg[0], (size_t)trap->arg[1]);
	return grow_mapping(trap);
}

/* munmap, mprotect, pkey_mprotect, mseal, remap_file_pages */
static long call_change(struct trap *trap)
{
	return change_mapping(trap, (uintptr_t)trap->arg[0], (size_t)trap->arg[1]);
}

static long call_remap(struct trap *trap)
{
	exempt_mask mask;
	struct watched_call *call = change_begin(trap, &mask);

	change_note(call, (uintptr_t)trap->arg[0], (size_t)trap->arg[1], false);
	if (trap->arg[3] & MREMAP_FIXED)
		change_note(call, (uintptr_t)trap->arg[4], (size_t)trap->arg[2], false);
	return change_end(trap, call, mask, true);
}

/* What lies above the new end goes. A call that fails returns the end as it is. */
static long call_move_break(struct trap *trap)
{
	static atomic_long highest;
	long before = atomic_load(&highest); /* 0: it is not known yet */
	bool up = before && trap->arg[0] > before;
	long result;

	if (!trap->arg[0])
		return trap_make(trap);
	result = up ? grow_mapping(trap) : change_mapping(trap, (uintptr_t)trap->arg[0], (size_t)1 << 32);
	atomic_store(&highest, result);
	return result;
}

/* shmat, shmdt */
static long call_attach(struct trap *trap)
{
	return change_mapping(trap, 0, SIZE_MAX);
}

/* madvise, mlock, mlock2, mbind: the mapping stays, and its pages may have to be there. */
static long call_advise(struct trap *trap)
{
	exempt_mask mask;
	struct watched_call *call = change_begin(trap, &mask);

	change_note(call, (uintptr_t)trap->arg[0], (size_t)trap->arg[1], true);
	return change_end(trap, call, mask, false);
}

static long call_advise_all(struct trap *trap)
{
	long result;

	trap_forbid();
	result = trap_make(trap);
	trap_allow();
	return result;
}

static trap_handler *memory_call(long number)
{
	switch (number) {
	case SYS_mmap:
		return call_map;
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_remap_file_pages:
	case SYS_mseal:
		return call_change;
	case SYS_mremap:
		return call_remap;
	case SYS_brk:
		return call_move_break;
	case SYS_shmat:
	case SYS_shmdt:
		return call_attach;
	case SYS_madvise:
	case SYS_mlock:
	case SYS_mlock2:
	case SYS_mbind:
		return call_advise;
	case SYS_mlockall:
	case SYS_process_madvise:
		return call_advise_all;
	default:
		return NULL;
	}
}

/* --- calls that end the watching --- */

static long call_set_process(struct trap *trap)
{
	if (trap->arg[0] == PR_SET_SYSCALL_USER_DISPATCH)
		trap_end_all("the program traps its system calls itself");
	else if (trap->arg[0] == PR_SET_SECCOMP)
		trap_end_all("the program restricts its system calls by seccomp");
	return trap_plain(trap);
}

static long call_restrict_calls(struct trap *trap)
{
	trap_end_all("the program restricts its system calls by seccomp");
	return trap_plain(trap);
}

static long call_kernel_queue(struct trap *trap)
{
	trap_end_all("the program has the kernel touch its memory between system calls (io_uring or kernel AIO)");
	return trap_plain(trap);
}

static long call_trace(struct trap *trap)
{
	if (trap->arg[0] == PTRACE_TRACEME)
		trap_end_all("a debugger sees the program's signals");
	return trap_plain(trap);
}

static trap_handler *ending_call(long number)
{
	switch (number) {
	case SYS_prctl:
		return call_set_process;
	case SYS_seccomp:
		return call_restrict_calls;
	case SYS_io_uring_setup:
	case SYS_io_setup:
		return call_kernel_queue;
	case SYS_ptrace:
		return call_trace;
	default:
		return NULL;
	}
}

/* --- the handler --- */

/* What the call has done with the one buffer that it has; no length: nothing that is known. */
static struct touch touch_of_call(const struct trap *trap, long result)
{
	struct touch touch = { .at = (uintptr_t)trap->arg[1], .length = result > 0 ? (size_t)result : 0 };

	if (touch.length > (size_t)trap->arg[2]) /* of a datagram that was longer */
		touch.length = (size_t)trap->arg[2];
	switch (trap->number) {
	case SYS_read:
	case SYS_pread64:
	case SYS_recvfrom:
		touch.is_store = true;
		return touch;
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		return touch;
	default:
		return (struct touch){ 0 };
	}
}

/* What another has sent, and the end of nothing. */
static bool brings_bytes(long number, long result)
{
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return result > 0;
	default:
		return false;
	}
}

/* Its calls go untrapped, as those of the handler of faults. */
static void tell_heard(struct watched_thread *thread)
{
	void (*tell)(void) = atomic_load(&heard);
	exempt_mask mask;
	unsigned char selector;
	int err = errno;

	if (!tell)
		return;
	mask = exempt_block();
	selector = atomic_exchange(&thread->selector, 0);
	tell();
	atomic_store(&thread->selector, selector);
	exempt_unblock(mask);
	errno = err;
}

static void trapped(const siginfo_t *info, ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	struct trap trap = {
		.context = context,
		.registers = registers,
		.thread = watched_thread_self(),
		.number = info->si_syscall,
		.arg = { registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10], registers[REG_R8],
			 registers[REG_R9] },
	};
	trap_handler *handler = signal_call(trap.number);
	struct touch touch;

	atomic_fetch_add_explicit(&system_calls_traps, 1, memory_order_relaxed);
	atomic_store_explicit(&trap.thread->stack, (uintptr_t)registers[REG_RSP], memory_order_relaxed);
	if (info->si_arch != AUDIT_ARCH_X86_64) { /* int $0x80 has two bytes, too */
		trap_end_all("the program makes system calls of 32 bits");
		registers[REG_RIP] -= INSTRUCTION;
		registers[REG_RAX] = trap.number;
		return;
	}
	if (!handler)
		handler = memory_call(trap.number);
	if (!handler)
		handler = thread_call(trap.number);
	if (!handler)
		handler = ending_call(trap.number);
	registers[REG_RAX] = handler ? handler(&trap) : trap_plain(&trap);
	touch = touch_of_call(&trap, registers[REG_RAX]);
	if (touch.length)
		watch_fault_by_call(&touch, context);
	if (brings_bytes(trap.number, registers[REG_RAX]))
		tell_heard(trap.thread);
}

/* --- two libraries of emu's in a process, each with all of this, as where libfabric's own provider for verbs opens emu0: the one
 * that starts last has the handlers, and the other one ends its watching. --- */

#define GIVE_WAY ((void *)UINT64_C(0x656d75206761)) /* no pointer of a program's */
static atomic_bool gave_way;

bool system_calls_gave_way(void)
{
	return atomic_load(&gave_way);
}

static void give_way(void)
{
	atomic_store(&gave_way, true);
	trap_end_all("another library of emu's watches in this process");
	page_steps_end();
}

static void have_way(void)
{
	int process = (int)exempt_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	siginfo_t request = { .si_signo = SIGSYS, .si_code = SI_QUEUE };

	request.si_pid = process;
	request.si_ptr = GIVE_WAY;
	exempt_call(SYS_rt_tgsigqueueinfo, process, exempt_thread(), SIGSYS, (long)&request, 0, 0);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	if (info->si_code == SYS_USER_DISPATCH && watched_thread_self())
		trapped(info, context);
	else if (info->si_code == SI_QUEUE && info->si_ptr == GIVE_WAY)
		give_way();
	else if (!watched_thread_answer(info, context))
		signal_calls_pass(sig, info, context);
}

/* Is the handler in this library, which is emu's? */
static int has_handler(struct dl_phdr_info *library, size_t size, void *arg)
{
	uintptr_t at = *(uintptr_t *)arg - library->dlpi_addr;

	(void)size;
	if (!strstr(library->dlpi_name, "/libibverbs.so") && !strstr(library->dlpi_name, "/libemu-fi.so"))
		return 0;
	for (size_t i = 0; i < library->dlpi_phnum; i++)
		if (library->dlpi_phdr[i].p_type == PT_LOAD && at - library->dlpi_phdr[i].p_vaddr < library->dlpi_phdr[i].p_memsz)
			return 1;
	return 0;
}

static bool is_of_another_library(const struct exempt_action *action)
{
	uintptr_t handler = action->handler;

	return handler != (uintptr_t)on_trap && dl_iterate_phdr(has_handler, &handler);
}

static bool handler_stands(void)
{
	struct exempt_action now;

	return !exempt_call(SYS_rt_sigaction, SIGSYS, 0, (long)&now, sizeof(now.mask), 0, 0) && now.handler == (uintptr_t)on_trap;
}

bool system_calls_start(void (*tell)(void))
{
	const struct exempt_action action = {
		.handler = (uintptr_t)on_trap,
		.flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | SA_RESTORED,
		.restorer = (uintptr_t)exempt_restorer,
	};

	struct exempt_action before;

	atomic_store(&heard, tell);
	if (!exempt_call(SYS_rt_sigaction, SIGSYS, 0, (long)&before, sizeof(before.mask), 0, 0) && is_of_another_library(&before))
		have_way();
	signal_calls_start();
	if (exempt_call(SYS_rt_sigaction, SIGSYS, (long)&action, (long)&before, sizeof(action.mask), 0, 0))
		return false;
	if (before.handler != action.handler)
		signal_calls_pretend(&before);
	return true;
}

/* A thread that does not trap its calls may change what it likes. */
bool system_calls_handlers_stand(void)
{
	unsigned int changes = atomic_load(&handler_changes);

	if (atomic_load(&handlers_checked) == changes && watched_threads_settled())
		return true;
	if (!fault_handler_is_first())
		fault_handler_return(__builtin_ia32_rdtsc());
	if (!handler_stands() || !fault_handler_is_first())
		return false;
	atomic_store(&handlers_checked, changes);
	return true;
}

bool system_calls_handlers_changed(void)
{
	return atomic_load(&handlers_checked) != atomic_load(&handler_changes);
}

/* A look at the handlers before the call tells nothing of those after it. Signals are blocked: a handler might leave by a jump. */
long system_calls_fault_action(struct trap *trap)
{
	exempt_mask mask = exempt_block();
	long result;

	trap_forbid();
	result = trap_make(trap);
	atomic_fetch_add(&handler_changes, 1);
	trap_allow();
	exempt_unblock(mask);
	return result;
}
