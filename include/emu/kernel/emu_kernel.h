/* SPDX-License-Identifier: BSD-2-Clause */
/* emu_kernel.h - what the stand-ins for kernel headers share, and what a front end may call of emu_kernel.
 * Kernel code includes <linux/...> alone. The folder of this file is its one include path. */
#ifndef EMU_KERNEL_H
#define EMU_KERNEL_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* "May not sleep": a thread in atomic context has a depth above 0. Spin locks and timer callbacks raise it, and so does a front
 * end around each callback that the kernel would call in an interrupt. With FI_EMU_CHECK_ATOMIC=1 a call that may sleep is
 * reported there in one line on stderr, once for each call site, and goes on. */
extern _Thread_local int emu_kernel_atomic_depth;

void emu_kernel_enter_atomic(void);
void emu_kernel_leave_atomic(void); /* BUG() where none was entered */

void emu_kernel_report_sleep(const char *call, const char *file, int line);

static inline void emu_kernel_may_sleep(const char *call, const char *file, int line)
{
	if (emu_kernel_atomic_depth)
		emu_kernel_report_sleep(call, file, line);
}

/* In the macro of a call that may sleep: it names the call site. */
#define EMU_KERNEL_SLEEPS(call) emu_kernel_may_sleep(call, __FILE__, __LINE__)

/* Prints "[seconds] level file: text" to stderr with one write. The level is 0 to 7, as in KERN_*, or EMU_KERNEL_LEVEL_IN_TEXT:
 * the text may begin with a KERN_*, and has level 4 otherwise. Lines are cut at 1000 bytes. %p is that of printf(3): letters
 * behind it, which the kernel understands (%pe, %pI4), are printed as they are. Any thread; never sleeps. */
enum { EMU_KERNEL_LEVEL_IN_TEXT = -1, EMU_KERNEL_LEVEL_DEFAULT = 4 };

int emu_kernel_printk(int level, const char *file, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* True at most 10 times in 5 seconds for one state. */
struct emu_kernel_ratelimit {
	uint64_t begin_ns;
	int said;
};

bool emu_kernel_ratelimit(struct emu_kernel_ratelimit *state);

/* What BUG() and WARN() come to: a line on stderr; BUG() aborts the process. */
_Noreturn void emu_kernel_bug(const char *file, int line, const char *what);
void emu_kernel_warn(const char *file, int line, const char *what);

/* Starts a thread that runs clients' code: its signals are blocked, which are for the program's own threads, but for those of
 * faults, whose handlers have a stack when its own is full. 0 or -ENOMEM. */
int emu_kernel_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);

uint64_t emu_kernel_ns(void); /* CLOCK_MONOTONIC */
void emu_kernel_sleep_ns(uint64_t ns);
void emu_kernel_spin_ns(uint64_t ns);

#endif
