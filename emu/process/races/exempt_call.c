/* SPDX-License-Identifier: BSD-2-Clause */
/* exempt_call.c - the code whose system calls are not trapped.
 *
 * The way back from a handler is the very bytes by which unwinders know it, and has no unwind table, as in the C library. */
#include "emu/process/races/exempt_call.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* gregs: R8 R9 R10 R11 R12 R13 R14 R15 RDI RSI RBP RBX RDX RAX RCX RSP RIP, 8 bytes each. */
__asm__(".pushsection .text.emu_exempt, \"ax\", @progbits\n"
	".globl exempt_begin, exempt_end, exempt_call, exempt_sigreturn, exempt_restorer, exempt_clone\n"
	".hidden exempt_begin, exempt_end, exempt_call, exempt_sigreturn, exempt_restorer, exempt_clone\n"
	".type exempt_call, @function\n"
	".type exempt_clone, @function\n"
	".type exempt_sigreturn, @function\n"
	".type exempt_restorer, @function\n"
	".balign 16\n"
	"exempt_begin:\n"
	"exempt_call:\n"
	".cfi_startproc\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	mov %r8, %r10\n"
	"	mov %r9, %r8\n"
	"	mov 8(%rsp), %r9\n"
	"	syscall\n"
	"	ret\n"
	".cfi_endproc\n"
	".size exempt_call, . - exempt_call\n"
	"exempt_clone:\n"
	".cfi_startproc\n"
	"	push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
	"	push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbp, 0\n"
	"	push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r12, 0\n"
	"	push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r13, 0\n"
	"	push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r14, 0\n"
	"	push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r15, 0\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rcx\n"
	"	mov 0(%rcx), %r8\n"
	"	mov 8(%rcx), %r9\n"
	"	mov 16(%rcx), %r10\n"
	"	mov 32(%rcx), %r12\n"
	"	mov 40(%rcx), %r13\n"
	"	mov 48(%rcx), %r14\n"
	"	mov 56(%rcx), %r15\n"
	"	mov 64(%rcx), %rdi\n"
	"	mov 72(%rcx), %rsi\n"
	"	mov 80(%rcx), %rbp\n"
	"	mov 88(%rcx), %rbx\n"
	"	mov 96(%rcx), %rdx\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	".cfi_endproc\n"
	"1:	cmpq $0, -16(%rsp)\n" /* the child, on its stack */
	"	je 2f\n"
	"	sub $16, %rsp\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %r10\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %rbx\n"
	"	mov 56(%rsp), %rdi\n"
	"	mov %rsp, %rbx\n"
	"	and $-16, %rsp\n"
	".hidden watched_thread_born\n"
	"	call watched_thread_born\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %r10\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	add $16, %rsp\n"
	"	xor %eax, %eax\n"
	"2:	mov -8(%rsp), %rcx\n"
	"	jmp *%rcx\n"
	".size exempt_clone, . - exempt_clone\n"
	"exempt_sigreturn:\n"
	"	mov %rdi, %rsp\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	"	hlt\n"
	"	nop\n"
	"exempt_restorer:\n"
	"	.byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0\n" /* mov $15, %rax */
	"	syscall\n"
	"	hlt\n"
	"exempt_end:\n"
	".popsection\n");

/* Not in the exempt part: these instructions make no calls. */
__asm__(".pushsection .text\n"
	".globl exempt_peek, exempt_peek_from, exempt_peek_to, exempt_peek_land\n"
	".hidden exempt_peek, exempt_peek_from, exempt_peek_to, exempt_peek_land\n"
	".type exempt_peek, @function\n"
	"exempt_peek:\n"
	".cfi_startproc\n"
	"	mov %rdx, %rcx\n"
	"exempt_peek_from:\n"
	"	rep movsb\n"
	"exempt_peek_to:\n"
	"	mov $1, %eax\n"
	"	ret\n"
	"exempt_peek_land:\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".cfi_endproc\n"
	".size exempt_peek, . - exempt_peek\n"
	".popsection\n");

extern const char exempt_peek_from[] __attribute__((visibility("hidden")));
extern const char exempt_peek_to[] __attribute__((visibility("hidden")));
extern const char exempt_peek_land[] __attribute__((visibility("hidden")));

uintptr_t exempt_peek_landing(uintptr_t at)
{
	return at - (uintptr_t)exempt_peek_from < (uintptr_t)(exempt_peek_to - exempt_peek_from) ? (uintptr_t)exempt_peek_land : 0;
}

long exempt_mprotect(uintptr_t at, size_t length, int protection)
{
	return exempt_call(SYS_mprotect, (long)at, (long)length, protection, 0, 0, 0);
}

long exempt_thread(void)
{
	return exempt_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

exempt_mask exempt_block(void)
{
	const exempt_mask faults = EXEMPT_BIT(SIGSEGV) | EXEMPT_BIT(SIGBUS) | EXEMPT_BIT(SIGFPE) | EXEMPT_BIT(SIGILL) |
				   EXEMPT_BIT(SIGTRAP) | EXEMPT_BIT(SIGABRT) | EXEMPT_BIT(SIGSYS);
	exempt_mask all = ~faults, before = 0;

	exempt_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, sizeof(all), 0, 0);
	return before;
}

void exempt_unblock(exempt_mask before)
{
	exempt_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

bool exempt_try(struct exempt_lock *lock)
{
	unsigned int state = 0;

	return atomic_compare_exchange_strong(&lock->state, &state, 1);
}

void exempt_lock(struct exempt_lock *lock)
{
	if (exempt_try(lock))
		return;
	while (atomic_exchange(&lock->state, 2))
		exempt_call(SYS_futex, (long)&lock->state, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, 0, 0, 0);
}

void exempt_unlock(struct exempt_lock *lock)
{
	if (atomic_exchange(&lock->state, 0) == 2)
		exempt_call(SYS_futex, (long)&lock->state, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
}
