/* SPDX-License-Identifier: BSD-2-Clause */
/* guard.c - copies that survive memory that is not there.
 *
 * Few bytes are moved by instructions that are known to the handler, as is where to go on if one of them faults. For more, the
 * thread notes what it is about to touch and where to land, copies, and forgets the note; a fault on the noted bytes lands instead
 * of killing the program.
 *
 * A fault comes to the handler if that is the one installed and the thread has not blocked the signal; the kernel ends the process
 * otherwise. The program may change either at any time, and no word in memory tells. So a thread asks the kernel before it touches
 * anything, and believes the answer for SURE_TICKS. Where faults would not come here, as for STANDS_TICKS after the program put a
 * handler (fault_handler.c), and for WARY_TICKS after each fault that did, the kernel copies (process_vm_writev, or a pipe where
 * that is forbidden), which answers EFAULT whatever the program does meanwhile. Never /proc/self/mem, which writes through
 * read-only pages. */
#include "emu/nic/memory/guard.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Sanitizers would judge the program's memory by rules that are not ours: a region may be freed, a peer may race. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GUARD_OWN_COPY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GUARD_OWN_COPY 1
#endif
#endif

/* Ticks of a counter of the processor's, some 3 GHz; without a known counter each access asks. */
#define SURE_TICKS (UINT64_C(1) << 20) /* 0.4 ms: to ask takes a thousandth of it */
#define WARY_TICKS (UINT64_C(1) << 32) /* a second or two: a thread that met missing memory meets it again */

/* The bytes that a thread is touching. */
struct guard {
	sigjmp_buf land;
	uintptr_t to, from;
	size_t length;
};

/* initial-exec: the handler must not allocate thread-local storage, and a copy should not call for it. */
static _Thread_local struct guard *volatile current __attribute__((tls_model("initial-exec")));

/* When this thread last found that faults come to the handler, and that they do not. */
static _Thread_local uint64_t sure_at __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t unsure_at __attribute__((tls_model("initial-exec")));
/* A slice looks at the counter once, as that takes as long as to copy a few bytes: what it found counts until its end. */
enum slice { NO_SLICE, SLICE_BEGUN, SLICE_SURE };
static _Thread_local uint8_t slice_is __attribute__((tls_model("initial-exec"))); /* enum slice */
static atomic_uint_fast64_t faulted_at; /* relaxed: the last fault of ours in any thread; 0: none yet */

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	static _Thread_local uint64_t accesses;

	return accesses += SURE_TICKS;
#endif
}

/* --- few bytes --- */

/* Instructions from..to touch nothing but the program's bytes; where one of them faults, `land` goes on. The numbers are
 * distances from their own place, so that nothing is to be relocated. */
struct landing {
	int32_t from, to, land;
};

#if defined(__x86_64__)
/* Made by the linker around the entries that COPY_ENDS() leaves. */
extern const struct landing __start_guard_landings[] __attribute__((visibility("hidden")));
extern const struct landing __stop_guard_landings[] __attribute__((visibility("hidden")));

/* Moves `width` bytes at either end, which is all of width to 2 * width bytes. Both are read before one is written, as copies
 * that overlap need it. */
#define COPY_ENDS(move, width, first, last)                                                                              \
	__asm__ goto("1:\t" move "\t(%1), %%" first "\n\t" move "\t-" #width "(%1,%2), %%" last "\n\t" move "\t%%" first \
		     ", (%0)\n\t" move "\t%%" last ", -" #width "(%0,%2)\n"                                              \
		     "2:\t.pushsection guard_landings, \"a\"\n\t"                                                        \
		     ".balign 4\n\t"                                                                                     \
		     ".long 1b - .\n\t.long 2b - .\n\t.long %l[fault] - .\n\t"                                           \
		     ".popsection"                                                                                       \
		     :                                                                                                   \
		     : "r"(to), "r"(from), "r"(length)                                                                   \
		     : first, last, "memory"                                                                             \
		     : fault)

static bool are_few(size_t length)
{
	return length - 1 < 32;
}

/* 1 to 32 bytes. */
static bool copy_few(void *to, const void *from, size_t length)
{
	if (length >= 8 && length <= 16)
		COPY_ENDS("mov", 8, "rax", "rcx");
	else if (length > 16)
		COPY_ENDS("movdqu", 16, "xmm0", "xmm1");
	else if (length >= 4)
		COPY_ENDS("mov", 4, "eax", "ecx");
	else if (length >= 2)
		COPY_ENDS("mov", 2, "ax", "cx");
	else
		COPY_ENDS("mov", 1, "al", "cl");
	return true;
fault:
	return false;
}

/* Where to go on after a fault at `at`; 0: it is no instruction of these. */
static uintptr_t landing_of(uintptr_t at)
{
	for (const struct landing *landing = __start_guard_landings; landing < __stop_guard_landings; landing++) {
		uintptr_t from = (uintptr_t)&landing->from + (uintptr_t)(intptr_t)landing->from;
		uintptr_t to = (uintptr_t)&landing->to + (uintptr_t)(intptr_t)landing->to;

		if (at - from < to - from)
			return (uintptr_t)&landing->land + (uintptr_t)(intptr_t)landing->land;
	}
	return 0;
}

static bool copies_few(const ucontext_t *interrupted)
{
	return landing_of((uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP]);
}

/* It is behind the instruction. */
static bool copied_few(const ucontext_t *interrupted)
{
	return landing_of((uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP] - 1);
}

static bool land_few(ucontext_t *interrupted)
{
	greg_t *at = &interrupted->uc_mcontext.gregs[REG_RIP];
	uintptr_t land = landing_of((uintptr_t)*at);

	if (land)
		*at = (greg_t)land;
	return land;
}
#else
static bool are_few(size_t length)
{
	(void)length;
	return false;
}

static bool copy_few(void *to, const void *from, size_t length)
{
	(void)to, (void)from, (void)length;
	return false;
}

static bool copies_few(const ucontext_t *interrupted)
{
	(void)interrupted;
	return false;
}

static bool copied_few(const ucontext_t *interrupted)
{
	(void)interrupted;
	return false;
}

static bool land_few(ucontext_t *interrupted)
{
	(void)interrupted;
	return false;
}
#endif

/* --- the handler --- */

static _Atomic uintptr_t file_at;
static atomic_size_t file_length; /* 0: none */

void guard_file(void *at, size_t length)
{
	atomic_store(&file_length, 0);
	atomic_store(&file_at, (uintptr_t)at);
	atomic_store(&file_length, length);
}

/* The file is cut, and is memory now. */
static bool file_replaced(const siginfo_t *info)
{
	uintptr_t at = atomic_load(&file_at);
	size_t length = atomic_load(&file_length);

	return info->si_code > 0 && (uintptr_t)info->si_addr - at < length &&
	       mmap((void *)at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* A non-canonical address raises SIGSEGV without telling which one: believe it of a range so high that it can be. */
static bool range_is_high(uintptr_t at, size_t length)
{
	return (at | (at + (length - 1))) >> 47;
}

static bool fault_is_ours(const siginfo_t *info)
{
	const struct guard *guard = current;
	uintptr_t at = (uintptr_t)info->si_addr;

	if (!guard || info->si_code <= 0) /* a signal that was sent, not a fault */
		return false;
	if (info->si_code == SI_KERNEL)
		return range_is_high(guard->to, guard->length) || range_is_high(guard->from, guard->length);
	return at - guard->to < guard->length || at - guard->from < guard->length;
}

static void forget_sure(void)
{
	sure_at = 0;
	if (slice_is == SLICE_SURE)
		slice_is = SLICE_BEGUN;
}

static void be_wary(void)
{
	forget_sure();
	atomic_store_explicit(&faulted_at, ticks(), memory_order_relaxed);
}

static _Atomic(guard_first *) asked_first;

void guard_ask_first(guard_first *first)
{
	atomic_store(&asked_first, first);
}

static bool take_fault(const siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	guard_first *first = atomic_load(&asked_first);

	if (first && first(info, context, current || copies_few(interrupted)))
		return true;
	if (info->si_signo == SIGBUS && file_replaced(info))
		return true;
	if (info->si_code > 0 && land_few(interrupted)) { /* a fault, not a signal that was sent */
		be_wary();
		return true;
	}
	if (fault_is_ours(info)) {
		be_wary();
		/* The way out does not go through the kernel, which would do this. */
		pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
		siglongjmp(current->land, 1);
	}
	return false;
}

bool guard_made(const void *context)
{
	return current || copied_few(context);
}

int guard_install(void)
{
	return fault_handler_install(take_fault) || kernel_copies() ? 0 : -ENOSYS;
}

void guard_check(void)
{
	forget_sure();
	unsure_at = 0;
}

bool guard_gave_up(void)
{
	return fault_handler_gave_up();
}

void guard_slice_begin(void)
{
	slice_is = SLICE_BEGUN;
}

void guard_slice_end(void)
{
	slice_is = NO_SLICE;
}

void guard_forked(void)
{
	fault_handler_forked();
	kernel_copy_forked();
}

/* --- which handler gets the faults --- */

static inline bool sure(void)
{
	if (slice_is == SLICE_SURE)
		return true;
	if (ticks() - sure_at >= SURE_TICKS)
		return false;
	if (slice_is == SLICE_BEGUN)
		slice_is = SLICE_SURE;
	return true;
}

__attribute__((cold)) static bool ask(void)
{
	sigset_t blocked;
	bool ours = fault_handler_is_first();

	if (!ours) {
		fault_handler_return(ticks());
		ours = fault_handler_is_first();
	}
	ours = ours && !pthread_sigmask(SIG_BLOCK, NULL, &blocked) && !sigismember(&blocked, SIGSEGV) &&
	       !sigismember(&blocked, SIGBUS);
	*(ours ? &sure_at : &unsure_at) = ticks();
	return ours;
}

/* For a thread that is not sure. */
static bool becomes_sure(void)
{
	uint64_t last = atomic_load_explicit(&faulted_at, memory_order_relaxed);

	if (last && ticks() - last < WARY_TICKS)
		return false;
	return ticks() - unsure_at >= SURE_TICKS && ask();
}

/* --- what the kernel touches --- */

static _Atomic(const struct guard_kernel *) kernel_told;

void guard_tell_kernel(const struct guard_kernel *told)
{
	atomic_store(&kernel_told, told);
}

/* For kernel_end(). */
static const struct guard_kernel *kernel_begin(const void *to, const void *from, size_t length)
{
	const struct iovec iov[] = { { (void *)(uintptr_t)to, length }, { (void *)(uintptr_t)from, length } };
	const struct guard_kernel *told = atomic_load(&kernel_told);

	if (told)
		told->begin(iov, to == from ? 1 : 2);
	return told;
}

static void kernel_end(const struct guard_kernel *told)
{
	if (told)
		told->end();
}

/* --- copying --- */

#ifdef GUARD_OWN_COPY
__attribute__((no_sanitize("address", "thread", "undefined"), noinline)) static void copy_bytes(void *to, const void *from,
												size_t length)
{
	volatile unsigned char *t = to;
	const volatile unsigned char *f = from;

	if ((uintptr_t)to - (uintptr_t)from >= length) {
		for (size_t i = 0; i < length; i++)
			t[i] = f[i];
	} else {
		while (length--)
			t[length] = f[length];
	}
}
#else
static void copy_bytes(void *to, const void *from, size_t length)
{
	memmove(to, from, length);
}
#endif

static bool copy_guarded(void *to, const void *from, size_t length)
{
	struct guard guard;

	guard.to = (uintptr_t)to;
	guard.from = (uintptr_t)from;
	guard.length = length;
	if (sigsetjmp(guard.land, 0)) {
		current = NULL;
		return false;
	}
	current = &guard;
	atomic_signal_fence(memory_order_seq_cst);
	copy_bytes(to, from, length);
	atomic_signal_fence(memory_order_seq_cst);
	current = NULL;
	return true;
}

static bool copy_by_cpu(void *to, const void *from, size_t length)
{
	return are_few(length) ? copy_few(to, from, length) : copy_guarded(to, from, length);
}

__attribute__((cold, noinline)) static bool copy_unsure(void *to, const void *from, size_t length)
{
	const struct guard_kernel *told;
	enum kernel_copied copied;

	if (becomes_sure())
		return copy_by_cpu(to, from, length);
	told = kernel_begin(to, from, length);
	copied = kernel_copy(to, from, length);
	kernel_end(told);
	if (copied == KERNEL_FORBIDDEN)
		return ask() && copy_by_cpu(to, from, length);
	return copied == KERNEL_COPIED;
}

/* A function of its own, or each copy of few bytes would save the registers that this one needs. */
__attribute__((noinline)) static bool copy_more(void *to, const void *from, size_t length)
{
	if (!length)
		return true;
	if (sure())
		return copy_guarded(to, from, length);
	return copy_unsure(to, from, length);
}

bool guard_copy(void *to, const void *from, size_t length)
{
	if (are_few(length) && sure())
		return copy_few(to, from, length);
	return copy_more(to, from, length);
}

/* --- probing --- */

/* The probed word is compared with this value: if they are equal, a thread that waits on the word is woken in vain, so it is a
 * value that is rarely waited on. The kernel takes 12 bits, with a sign. */
enum { PROBE_COMPARED = 0x800 };

/* Has the kernel touch one word as a program would, without changing it: FUTEX_WAKE_OP adds 0 atomically,
 * FUTEX_CMP_REQUEUE reads, and moves nobody. */
static bool page_probe(uintptr_t page, bool writable)
{
	uint32_t unused = 0;
	long rc;

	if (writable)
		rc = syscall(SYS_futex, &unused, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, (long)0, page,
			     FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, PROBE_COMPARED));
	else
		rc = syscall(SYS_futex, page, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, (long)0, &unused, 0);
	return rc >= 0 || errno == EAGAIN;
}

static bool pages_probe(uintptr_t at, size_t length, bool writable)
{
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, page = at & ~mask;
	const struct guard_kernel *told = kernel_begin((void *)at, (void *)at, length);
	bool there = true;

	for (; there && page - (at & ~mask) <= (at & mask) + (length - 1); page += mask + 1)
		there = page_probe(page, writable);
	kernel_end(told);
	return there;
}

/* --- running --- */

static bool run_guarded(void *at, size_t length, void (*body)(void *arg), void *arg)
{
	struct guard guard;

	guard.to = guard.from = (uintptr_t)at;
	guard.length = length;
	if (sigsetjmp(guard.land, 0)) {
		current = NULL;
		return false;
	}
	current = &guard;
	atomic_signal_fence(memory_order_seq_cst);
	body(arg);
	atomic_signal_fence(memory_order_seq_cst);
	current = NULL;
	return true;
}

bool guard_run(void *at, size_t length, bool writable, void (*body)(void *arg), void *arg)
{
	if (!length)
		return true;
	if (sure() || becomes_sure())
		return run_guarded(at, length, body, arg);
	if (!pages_probe((uintptr_t)at, length, writable))
		return false;
	if (ask()) /* wary, but the handler is there for memory that goes away after the look */
		return run_guarded(at, length, body, arg);
	body(arg);
	return true;
}

/* --- copying by a caller's code --- */

#ifndef GUARD_OWN_COPY
struct copy_call {
	guard_copier *copy;
	void *arg, *to;
	const void *from;
	size_t length;
};

static void copy_body(void *arg)
{
	const struct copy_call *call = arg;

	call->copy(call->to, call->from, call->length, call->arg);
}
#endif

bool guard_copy_by(guard_copier *copy, void *arg, void *to, const void *from, size_t length)
{
#ifndef GUARD_OWN_COPY
	struct copy_call call = { copy, arg, to, from, length };

	if (length && (sure() || becomes_sure()))
		return run_guarded((void *)(uintptr_t)from, length, copy_body, &call);
#endif
	if (!guard_copy(to, from, length))
		return false;
	copy(to, to, length, arg);
	return true;
}

/* --- populating --- */

static int populate_pages(uintptr_t start, uintptr_t last, uintptr_t mask, bool writable)
{
	int err;

	if (last - start > mask) {
		do {
			err = madvise((void *)start, last - start + 1, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
		} while (err && errno == EINTR);
		if (!err)
			return 0;
		if (errno != EINVAL)
			return -EFAULT;
	}
	/* A single page, for which this is half as dear; a kernel before 5.14; or a mapping of a device. */
	for (uintptr_t page = start;; page += mask + 1) {
		if (!page_probe(page, writable))
			return -EFAULT;
		if (last - page == mask)
			return 0;
	}
}

int guard_populate(void *addr, size_t length, bool writable)
{
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, start = (uintptr_t)addr & ~mask, last;
	const struct guard_kernel *told;
	int err;

	if (!length)
		return 0;
	if (length - 1 > UINTPTR_MAX - (uintptr_t)addr)
		return -EFAULT;
	last = ((uintptr_t)addr + (length - 1)) | mask;
	if (last - start == UINTPTR_MAX) /* everything: cannot be backed, and has no length */
		return -EFAULT;
	told = kernel_begin(addr, addr, length);
	err = populate_pages(start, last, mask, writable);
	kernel_end(told);
	return err;
}
