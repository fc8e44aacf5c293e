/* SPDX-License-Identifier: BSD-2-Clause */
/* watched_threads.c - records of threads, found by a thread-local pointer. */
#include "emu/process/races/watched_threads.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "emu/process/races/thread_list.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#define SYSCALL_DISPATCH_FILTER_ALLOW 0
#define SYSCALL_DISPATCH_FILTER_BLOCK 1
#endif

/* The control block of the C library's threads, to the end of the part that the kernel writes to (struct rseq). */
enum { CONTROL_SIZE = 2304 };
enum { STORAGE_SPARE = 4096, SAME_STACK = 1 << 20, STACK_REACH = 1 << 20 };

static struct watched_thread threads[WATCHED_THREADS];
static atomic_uint threads_used; /* records from there on were never used */
static size_t storage_size;      /* thread-local, at most; constant after the start */
static atomic_bool unsettled;    /* perhaps a thread does not trap its calls */
static atomic_bool has_answered; /* one that was asked, since they were looked at last */

/* initial-exec: handlers must not allocate thread-local storage. */
static _Thread_local struct watched_thread *self __attribute__((tls_model("initial-exec")));

struct watched_thread *watched_thread_self(void)
{
	return self;
}

static struct watched_thread *thread_of(int id)
{
	unsigned int used = atomic_load(&threads_used);

	for (unsigned int i = 0; i < used; i++)
		if (atomic_load(&threads[i].id) == id && atomic_load(&threads[i].state) != THREAD_NONE)
			return &threads[i];
	return NULL;
}

struct watched_thread *watched_thread_new(void)
{
	for (unsigned int i = 0; i < WATCHED_THREADS; i++) {
		struct watched_thread *thread = &threads[i];
		unsigned char state = THREAD_NONE;
		unsigned int used = atomic_load(&threads_used);

		if (!atomic_compare_exchange_strong(&thread->state, &state, THREAD_NEW))
			continue;
		while (used <= i && !atomic_compare_exchange_weak(&threads_used, &used, i + 1))
			;
		atomic_store(&thread->id, 0);
		atomic_store(&thread->selector, SYSCALL_DISPATCH_FILTER_BLOCK);
		atomic_store(&thread->depth, 0);
		atomic_store(&thread->alternate_length, 0);
		atomic_store(&thread->stack, 0);
		atomic_store(&thread->control, 0);
		thread->hidden = 0;
		thread->missed = 0;
		return thread;
	}
	return NULL;
}

void watched_thread_free(struct watched_thread *thread)
{
	atomic_store(&thread->id, 0);
	atomic_store(&thread->state, THREAD_NONE);
}

static uintptr_t stack_here(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

static uintptr_t control_here(void)
{
	uintptr_t control;

	__asm__("mov %%fs:0, %0" : "=r"(control));
	return control;
}

/* False: the kernel cannot. */
static bool trap_calls(struct watched_thread *thread)
{
	return !exempt_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, (long)exempt_begin,
			    exempt_end - exempt_begin, (long)&thread->selector, 0);
}

bool watched_threads_possible(void)
{
	return !exempt_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0, 0);
}

bool watched_threads_settled(void)
{
	return !atomic_load(&unsettled);
}

static void become(struct watched_thread *thread, stack_t *alternate)
{
	self = thread;
	atomic_store(&thread->id, (int)exempt_thread());
	atomic_store(&thread->stack, stack_here());
	atomic_store(&thread->control, control_here());
	watched_thread_alternate(thread, alternate);
	atomic_store(&thread->depth, 0);
	atomic_store(&thread->selector, SYSCALL_DISPATCH_FILTER_BLOCK);
}

void watched_thread_born(struct watched_thread *thread)
{
	stack_t alternate;

	become(thread, &alternate);
	if (trap_calls(thread))
		atomic_store(&thread->state, THREAD_TRAPS);
	else
		watched_thread_open(thread);
}

bool watched_thread_gave(const struct watched_thread *thread, const stack_t *stack)
{
	return thread->own_alternate && (uintptr_t)stack->ss_sp == thread->own_alternate;
}

/* With a page below it that cannot be touched. */
static void make_alternate(struct watched_thread *thread)
{
	long at = exempt_call(SYS_mmap, 0, WATCHED_HANDLER_STACK + WATCHED_PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at < 0 && at > -WATCHED_PAGE)
		return;
	exempt_mprotect((uintptr_t)at, WATCHED_PAGE, PROT_NONE);
	thread->own_alternate = (uintptr_t)at + WATCHED_PAGE;
}

void watched_thread_alternate(struct watched_thread *thread, stack_t *now)
{
	stack_t own = { .ss_size = WATCHED_HANDLER_STACK };

	atomic_store(&thread->alternate_length, 0);
	exempt_call(SYS_sigaltstack, 0, (long)now, 0, 0, 0, 0);
	if (!(now->ss_flags & SS_DISABLE) && !watched_thread_gave(thread, now)) {
		atomic_store(&thread->alternate, (uintptr_t)now->ss_sp);
		atomic_store(&thread->alternate_length, now->ss_size);
		return;
	}
	if (!thread->own_alternate)
		make_alternate(thread);
	own.ss_sp = (void *)thread->own_alternate;
	if (thread->own_alternate && !exempt_call(SYS_sigaltstack, (long)&own, 0, 0, 0, 0, 0))
		*now = own;
}

void watched_thread_open(struct watched_thread *thread)
{
	atomic_store(&thread->state, THREAD_OPEN);
	atomic_store(&unsettled, true);
	atomic_store(&thread->selector, SYSCALL_DISPATCH_FILTER_ALLOW);
}

void watched_thread_exempt(void)
{
	struct watched_thread *thread = self;

	if (!thread || atomic_load(&thread->id) != exempt_thread())
		return;
	atomic_store(&thread->selector, SYSCALL_DISPATCH_FILTER_ALLOW);
	atomic_store(&thread->state, THREAD_EXEMPT);
}

void watched_threads_end(void)
{
	unsigned int used = atomic_load(&threads_used);

	for (unsigned int i = 0; i < used; i++)
		atomic_store(&threads[i].selector, SYSCALL_DISPATCH_FILTER_ALLOW);
}

void watched_threads_forked(void)
{
	memset(threads, 0, sizeof(threads));
	atomic_store(&threads_used, 0);
	self = NULL;
}

static int add_storage(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t *sum = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*sum += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
	return 0;
}

const char *watched_threads_start(void)
{
	exempt_mask blocked = WATCHED_SIGNALS;
	struct watched_thread *thread = watched_thread_new();
	size_t sum = STORAGE_SPARE;
	stack_t alternate;

	if (!thread)
		return "the process has too many threads";
	dl_iterate_phdr(add_storage, &sum);
	storage_size = sum;
	become(thread, &alternate);
	if (!trap_calls(thread)) {
		self = NULL;
		watched_thread_free(thread);
		return "this kernel refuses to trap system calls";
	}
	exempt_call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&blocked, (long)&thread->hidden, sizeof(blocked), 0, 0);
	thread->hidden &= WATCHED_SIGNALS;
	atomic_store(&thread->state, THREAD_TRAPS);
	atomic_store(&unsettled, true);
	return NULL;
}

/* --- asking --- */

bool watched_thread_answer(const siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	greg_t *registers = interrupted->uc_mcontext.gregs;
	struct watched_thread *thread = thread_of((int)exempt_thread());
	exempt_mask *mask = (exempt_mask *)&interrupted->uc_sigmask;

	if (info->si_code != SI_QUEUE || info->si_ptr != threads)
		return false;
	if (!thread || atomic_load(&thread->state) != THREAD_ASKED)
		return true;
	become(thread, &interrupted->uc_stack); /* which returning from the handler sets */
	atomic_store(&thread->stack, (uintptr_t)registers[REG_RSP]);
	if (!trap_calls(thread)) {
		watched_thread_open(thread);
		return true;
	}
	thread->hidden = *mask & WATCHED_SIGNALS;
	*mask &= ~WATCHED_SIGNALS;
	/* The program expects no signal in a call that it has no handler for. */
	if (registers[REG_RAX] == -EINTR && (uintptr_t)registers[REG_RIP] == thread->asked_at &&
	    (uintptr_t)registers[REG_RSP] == thread->asked_stack) {
		registers[REG_RAX] = thread->asked_number;
		registers[REG_RIP] -= 2;
	}
	atomic_store(&thread->state, THREAD_TRAPS);
	atomic_store(&has_answered, true);
	return true;
}

static void thread_ask(struct watched_thread *thread, int id)
{
	int process = (int)exempt_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	siginfo_t question = { .si_signo = SIGSYS, .si_code = SI_QUEUE };
	struct thread_call call;

	question.si_pid = process;
	question.si_uid = (uid_t)exempt_call(SYS_getuid, 0, 0, 0, 0, 0, 0);
	question.si_ptr = threads; /* no other signal has this */
	thread_call_read(id, &call);
	thread->asked_number = call.number;
	thread->asked_stack = call.stack;
	thread->asked_at = call.at;
	atomic_store(&thread->state, THREAD_ASKED);
	exempt_call(SYS_rt_tgsigqueueinfo, process, id, SIGSYS, (long)&question, 0, 0);
}

/* Is one about to be born, whose number is not known yet? */
static bool thread_is_coming(void)
{
	unsigned int used = atomic_load(&threads_used);

	for (unsigned int i = 0; i < used; i++)
		if (atomic_load(&threads[i].state) == THREAD_NEW && !atomic_load(&threads[i].id))
			return true;
	return false;
}

/* With watched_lock. Else asks it. */
static bool thread_traps(int id)
{
	struct watched_thread *thread = thread_of(id);

	if (!thread && thread_is_coming())
		return false;
	if (!thread)
		thread = thread_of(id); /* born meanwhile */
	if (thread && atomic_load(&thread->state) == THREAD_OPEN)
		thread_ask(thread, id);
	if (thread)
		return atomic_load(&thread->state) >= THREAD_TRAPS;
	thread = watched_thread_new();
	if (!thread)
		return false;
	atomic_store(&thread->id, id);
	atomic_store(&thread->selector, SYSCALL_DISPATCH_FILTER_ALLOW);
	thread_ask(thread, id);
	return false;
}

/* Those that have ended in a call that was not trapped. */
static void free_ended(const struct thread_list *list)
{
	unsigned int used = atomic_load(&threads_used);
	long process = exempt_call(SYS_getpid, 0, 0, 0, 0, 0, 0);

	for (unsigned int i = 0; i < used; i++) {
		unsigned char state = atomic_load(&threads[i].state);
		int id = atomic_load(&threads[i].id);

		if (state != THREAD_NONE && state != THREAD_NEW && !thread_list_has(list, id) &&
		    exempt_call(SYS_tgkill, process, id, 0, 0, 0, 0) == -ESRCH)
			watched_thread_free(&threads[i]);
	}
}

bool watched_threads_trap(void)
{
	static uint64_t looked GUARDED_BY(watched_lock);
	static struct thread_list list GUARDED_BY(watched_lock);
	const uint64_t pause = UINT64_C(1) << 21; /* some 0.7 ms */
	uint64_t now = __builtin_ia32_rdtsc();
	bool all = true;

	if (!atomic_load(&unsettled))
		return true;
	if (now - looked < pause && !atomic_exchange(&has_answered, false))
		return false;
	looked = now;
	atomic_store(&unsettled, false);
	if (thread_list_read(&list)) {
		for (unsigned int i = 0; i < list.count; i++)
			all = thread_traps(list.id[i]) && all;
		free_ended(&list);
	} else {
		all = false;
	}
	if (!all)
		atomic_store(&unsettled, true);
	return all;
}

unsigned int watched_threads_list(int *ids, unsigned int most)
{
	unsigned int used = atomic_load(&threads_used), count = 0;

	for (unsigned int i = 0; i < used; i++) {
		if (atomic_load(&threads[i].state) != THREAD_TRAPS)
			continue;
		if (count == most)
			return 0;
		ids[count++] = atomic_load(&threads[i].id);
	}
	return count;
}

/* --- calls under way --- */

/* A handler may have left calls by a jump: they were deeper in the stack, if they were on this one. */
static void drop_calls_left(struct watched_thread *thread, uintptr_t stack)
{
	unsigned int depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);

	while (depth && stack - atomic_load(&thread->call[depth - 1].stack) < SAME_STACK)
		depth--;
	atomic_store_explicit(&thread->depth, depth, memory_order_release);
}

struct watched_call *watched_call_begin(struct watched_thread *thread, uintptr_t stack)
{
	struct watched_call *call;
	unsigned int depth;

	drop_calls_left(thread, stack);
	depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
	if (depth == WATCHED_CALLS)
		depth--;
	call = &thread->call[depth];
	atomic_store_explicit(&call->ranges, 0, memory_order_relaxed);
	atomic_store_explicit(&call->needed_until, 0, memory_order_relaxed);
	atomic_store_explicit(&call->stack, stack, memory_order_relaxed);
	atomic_store_explicit(&thread->depth, depth + 1, memory_order_release);
	return call;
}

void watched_call_add(struct watched_call *call, uintptr_t at, size_t length)
{
	unsigned int n = atomic_load_explicit(&call->ranges, memory_order_relaxed);
	uintptr_t first, end, last_end;

	if (!length || !at)
		return;
	if (length > UINTPTR_MAX - at)
		length = UINTPTR_MAX - at;
	if (n < WATCHED_RANGES) {
		atomic_store_explicit(&call->range[n].at, at, memory_order_relaxed);
		atomic_store_explicit(&call->range[n].length, length, memory_order_relaxed);
		atomic_store(&call->ranges, n + 1);
		return;
	}
	first = atomic_load(&call->range[n - 1].at);
	last_end = first + atomic_load(&call->range[n - 1].length);
	end = at + length > last_end ? at + length : last_end;
	first = at < first ? at : first;
	atomic_store(&call->range[n - 1].length, 0);
	atomic_store(&call->range[n - 1].at, first);
	atomic_store(&call->range[n - 1].length, end - first);
}

void watched_call_end(struct watched_thread *thread, struct watched_call *call)
{
	atomic_store_explicit(&thread->depth, (unsigned int)(call - thread->call), memory_order_release);
}

/* Is one of these bytes on the page? */
static bool page_meets(uintptr_t page, uintptr_t at, size_t length)
{
	return length && (at - page < WATCHED_PAGE || page - at < length);
}

static bool thread_is_busy(const struct watched_thread *thread, uintptr_t page)
{
	unsigned int depth = atomic_load(&thread->depth);

	for (unsigned int i = 0; i < depth; i++) {
		const struct watched_call *call = &thread->call[i];
		unsigned int ranges = atomic_load(&call->ranges);
		uint64_t until = atomic_load(&call->needed_until);

		if (until && until < __builtin_ia32_rdtsc())
			continue;
		for (unsigned int k = 0; k < ranges; k++) {
			if (page_meets(page, atomic_load(&call->range[k].at), atomic_load(&call->range[k].length)))
				return true;
		}
	}
	return false;
}

/* The C library puts a thread's control block at the upper end of its stack, above which another mapping may continue this one. Of
 * other stacks the bounds are not known. */
static bool thread_has_stack(const struct watched_thread *thread, uintptr_t page, uintptr_t mapping_start, uintptr_t mapping_end)
{
	uintptr_t stack = atomic_load(&thread->stack), control = atomic_load(&thread->control);

	if (stack - mapping_start >= mapping_end - mapping_start)
		return false;
	if (control > stack && control < mapping_end)
		return page < control + CONTROL_SIZE;
	return page + STACK_REACH - stack < 2 * (uintptr_t)STACK_REACH;
}

enum watched_use watched_threads_use(uintptr_t page, uintptr_t mapping_start, uintptr_t mapping_end)
{
	unsigned int used = atomic_load(&threads_used);

	for (unsigned int i = 0; i < used; i++) {
		struct watched_thread *thread = &threads[i];

		if (atomic_load(&thread->state) == THREAD_NONE)
			continue;
		if (thread_has_stack(thread, page, mapping_start, mapping_end) ||
		    page_meets(page, thread->own_alternate, WATCHED_HANDLER_STACK) ||
		    page_meets(page, atomic_load(&thread->alternate), atomic_load(&thread->alternate_length)) ||
		    page_meets(page, atomic_load(&thread->control) - storage_size, storage_size + CONTROL_SIZE))
			return WATCHED_STACK;
		if (thread_is_busy(thread, page))
			return WATCHED_BUSY;
	}
	return WATCHED_UNUSED;
}
