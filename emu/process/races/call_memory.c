/* SPDX-License-Identifier: BSD-2-Clause */
/* call_memory.c - what memory a system call is told of: a table for calls with buffers, a page's worth for each pointer of the
 * others. */
#include "emu/process/races/system_calls.h"

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

enum { POINTERS = 4, CALLS = 512, TEXT_BYTES = 4096, ADDRESS_BYTES = 128, VECTORS_MAX = 1024 };

enum pointer_kind {
	POINTER_NONE,     /* no more, or not in the table */
	POINTER_ABSENT,   /* the call has none: what stands in the registers is of something else */
	POINTER_BYTES,    /* `size` */
	POINTER_ARRAY,    /* of elements of `size`, as many as the argument `count` says */
	POINTER_VECTOR,   /* likewise, of struct iovec */
	POINTER_MESSAGE,  /* struct msghdr */
	POINTER_MESSAGES, /* as many struct mmsghdr */
	POINTER_FUTEX     /* what the command in argument `count` has besides its word */
};

struct pointer {
	uint8_t arg;
	uint8_t kind; /* enum pointer_kind */
	uint8_t count;
	uint16_t size;
};

struct call_pointers {
	struct pointer pointer[POINTERS];
};

/* In which a wait has looked at its word, and sleeps: some 0.5 ms. Else, or if a signal begins it anew, it fails with EFAULT where
 * the page is protected, and is made again. */
#define FUTEX_TICKS (UINT64_C(1) << 20)

#define NO_POINTER                      \
	{                               \
		0, POINTER_ABSENT, 0, 0 \
	}
#define BYTES(arg, size)                    \
	{                                   \
		arg, POINTER_BYTES, 0, size \
	}
#define TEXT(arg)                                 \
	{                                         \
		arg, POINTER_BYTES, 0, TEXT_BYTES \
	}
#define BUFFER(arg, count)                   \
	{                                    \
		arg, POINTER_ARRAY, count, 1 \
	}
#define ARRAY(arg, count, size)                 \
	{                                       \
		arg, POINTER_ARRAY, count, size \
	}
#define VECTOR(arg, count)                    \
	{                                     \
		arg, POINTER_VECTOR, count, 0 \
	}
#define MESSAGE(arg)                       \
	{                                  \
		arg, POINTER_MESSAGE, 0, 0 \
	}
#define MESSAGES(arg, count)                    \
	{                                       \
		arg, POINTER_MESSAGES, count, 0 \
	}

enum { TIME = 16, EPOLL_EVENT = 12, EVENT = 32, POLL = 8, FD_SET = 128, WAITER = 24 };

/* clang-format off */
static const struct call_pointers calls[CALLS] = {
	[SYS_read] = { { BUFFER(1, 2) } },
	[SYS_write] = { { BUFFER(1, 2) } },
	[SYS_pread64] = { { BUFFER(1, 2) } },
	[SYS_pwrite64] = { { BUFFER(1, 2) } },
	[SYS_readv] = { { VECTOR(1, 2) } },
	[SYS_writev] = { { VECTOR(1, 2) } },
	[SYS_preadv] = { { VECTOR(1, 2) } },
	[SYS_pwritev] = { { VECTOR(1, 2) } },
	[SYS_preadv2] = { { VECTOR(1, 2) } },
	[SYS_pwritev2] = { { VECTOR(1, 2) } },
	[SYS_vmsplice] = { { VECTOR(1, 2) } },
	[SYS_process_vm_readv] = { { VECTOR(1, 2), VECTOR(3, 4) } },
	[SYS_process_vm_writev] = { { VECTOR(1, 2), VECTOR(3, 4) } },
	[SYS_sendto] = { { BUFFER(1, 2), BUFFER(4, 5) } },
	[SYS_recvfrom] = { { BUFFER(1, 2), BYTES(4, ADDRESS_BYTES), BYTES(5, 4) } },
	[SYS_sendmsg] = { { MESSAGE(1) } },
	[SYS_recvmsg] = { { MESSAGE(1) } },
	[SYS_sendmmsg] = { { MESSAGES(1, 2) } },
	[SYS_recvmmsg] = { { MESSAGES(1, 2), BYTES(4, TIME) } },
	[SYS_bind] = { { BUFFER(1, 2) } },
	[SYS_connect] = { { BUFFER(1, 2) } },
	[SYS_setsockopt] = { { BUFFER(3, 4) } },
	[SYS_poll] = { { ARRAY(0, 1, POLL) } },
	[SYS_ppoll] = { { ARRAY(0, 1, POLL), BYTES(2, TIME), BYTES(3, 8) } },
	[SYS_select] = { { BYTES(1, FD_SET), BYTES(2, FD_SET), BYTES(3, FD_SET), BYTES(4, TIME) } },
	[SYS_epoll_wait] = { { ARRAY(1, 2, EPOLL_EVENT) } },
	[SYS_epoll_pwait] = { { ARRAY(1, 2, EPOLL_EVENT), BYTES(4, 8) } },
	[SYS_epoll_pwait2] = { { ARRAY(1, 2, EPOLL_EVENT), BYTES(3, TIME), BYTES(4, 8) } },
	[SYS_epoll_ctl] = { { BYTES(3, EPOLL_EVENT) } },
	[SYS_io_getevents] = { { ARRAY(3, 2, EVENT), BYTES(4, TIME) } },
	[SYS_futex] = { { BYTES(0, 4), { 3, POINTER_FUTEX, 1, 0 } } },
	[SYS_futex_waitv] = { { ARRAY(0, 1, WAITER), BYTES(3, TIME) } },
	[SYS_nanosleep] = { { BYTES(0, TIME), BYTES(1, TIME) } },
	[SYS_clock_nanosleep] = { { BYTES(2, TIME), BYTES(3, TIME) } },
	[SYS_rt_sigprocmask] = { { BYTES(1, 8), BYTES(2, 8) } },
	[SYS_getrandom] = { { BUFFER(0, 1) } },
	[SYS_getcwd] = { { BUFFER(0, 1) } },
	[SYS_getdents] = { { BUFFER(1, 2) } },
	[SYS_getdents64] = { { BUFFER(1, 2) } },
	[SYS_readlink] = { { TEXT(0), BUFFER(1, 2) } },
	[SYS_readlinkat] = { { TEXT(1), BUFFER(2, 3) } },
	[SYS_setxattr] = { { TEXT(0), TEXT(1), BUFFER(2, 3) } },
	[SYS_lsetxattr] = { { TEXT(0), TEXT(1), BUFFER(2, 3) } },
	[SYS_fsetxattr] = { { TEXT(1), BUFFER(2, 3) } },
	[SYS_getxattr] = { { TEXT(0), TEXT(1), BUFFER(2, 3) } },
	[SYS_lgetxattr] = { { TEXT(0), TEXT(1), BUFFER(2, 3) } },
	[SYS_fgetxattr] = { { TEXT(1), BUFFER(2, 3) } },
	[SYS_listxattr] = { { TEXT(0), BUFFER(1, 2) } },
	[SYS_llistxattr] = { { TEXT(0), BUFFER(1, 2) } },
	[SYS_flistxattr] = { { BUFFER(1, 2) } },
	[SYS_mq_timedsend] = { { BUFFER(1, 2), BYTES(4, TIME) } },
	[SYS_mq_timedreceive] = { { BUFFER(1, 2), BYTES(3, 4), BYTES(4, TIME) } },
	[SYS_msgsnd] = { { BUFFER(1, 2), BYTES(1, 16) } },
	[SYS_msgrcv] = { { BUFFER(1, 2), BYTES(1, 16) } },
	[SYS_semop] = { { ARRAY(1, 2, 6) } },
	[SYS_sched_setaffinity] = { { BUFFER(2, 1) } },
	[SYS_sched_getaffinity] = { { BUFFER(2, 1) } },
	[SYS_close] = { { NO_POINTER } },
	[SYS_lseek] = { { NO_POINTER } },
	[SYS_dup] = { { NO_POINTER } },
	[SYS_dup2] = { { NO_POINTER } },
	[SYS_dup3] = { { NO_POINTER } },
	[SYS_getpid] = { { NO_POINTER } },
	[SYS_getppid] = { { NO_POINTER } },
	[SYS_gettid] = { { NO_POINTER } },
	[SYS_getuid] = { { NO_POINTER } },
	[SYS_geteuid] = { { NO_POINTER } },
	[SYS_getgid] = { { NO_POINTER } },
	[SYS_getegid] = { { NO_POINTER } },
	[SYS_sched_yield] = { { NO_POINTER } },
	[SYS_kill] = { { NO_POINTER } },
	[SYS_tkill] = { { NO_POINTER } },
	[SYS_tgkill] = { { NO_POINTER } },
	[SYS_exit_group] = { { NO_POINTER } },
	[SYS_shutdown] = { { NO_POINTER } },
	[SYS_listen] = { { NO_POINTER } },
	[SYS_eventfd2] = { { NO_POINTER } },
	[SYS_epoll_create] = { { NO_POINTER } },
	[SYS_epoll_create1] = { { NO_POINTER } },
	[SYS_timerfd_create] = { { NO_POINTER } },
	[SYS_socket] = { { NO_POINTER } },
	[SYS_fsync] = { { NO_POINTER } },
	[SYS_fdatasync] = { { NO_POINTER } },
	[SYS_ftruncate] = { { NO_POINTER } },
	[SYS_umask] = { { NO_POINTER } },
	[SYS_alarm] = { { NO_POINTER } },
	[SYS_pause] = { { NO_POINTER } },
	[SYS_setpgid] = { { NO_POINTER } },
	[SYS_getpgid] = { { NO_POINTER } },
	[SYS_setsid] = { { NO_POINTER } },
	[SYS_getpriority] = { { NO_POINTER } },
	[SYS_setpriority] = { { NO_POINTER } },
	[SYS_inotify_init1] = { { NO_POINTER } },
	[SYS_fallocate] = { { NO_POINTER } },
	[SYS_flock] = { { NO_POINTER } },
	[SYS_getpgrp] = { { NO_POINTER } },
	[SYS_munlock] = { { NO_POINTER } },
	[SYS_munlockall] = { { NO_POINTER } },
	[SYS_membarrier] = { { NO_POINTER } },
};
/* clang-format on */

static void note_vector(struct watched_call *call, const struct iovec *vector, size_t count)
{
	struct iovec part;

	if (count > VECTORS_MAX)
		return; /* the kernel refuses it */
	watched_call_add(call, (uintptr_t)vector, count * sizeof(*vector));
	for (size_t i = 0; i < count; i++) {
		if (!exempt_peek(&part, &vector[i], sizeof(part)))
			return;
		watched_call_add(call, (uintptr_t)part.iov_base, part.iov_len);
	}
}

static void note_message(struct watched_call *call, const struct msghdr *message)
{
	struct msghdr head;

	watched_call_add(call, (uintptr_t)message, sizeof(*message));
	if (!exempt_peek(&head, message, sizeof(head)))
		return;
	watched_call_add(call, (uintptr_t)head.msg_name, head.msg_namelen);
	watched_call_add(call, (uintptr_t)head.msg_control, head.msg_controllen);
	note_vector(call, head.msg_iov, head.msg_iovlen);
}

static void note_messages(struct watched_call *call, const struct mmsghdr *message, size_t count)
{
	watched_call_add(call, (uintptr_t)message, count * sizeof(*message));
	for (size_t i = 0; i < count && i < VECTORS_MAX; i++)
		note_message(call, &message[i].msg_hdr);
}

/* Others find a number there, or what is left of another call. */
static void note_futex(struct watched_call *call, long command, const long *arg)
{
	switch (command & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		watched_call_add(call, (uintptr_t)arg[3], TIME);
		atomic_store(&call->needed_until, __builtin_ia32_rdtsc() + FUTEX_TICKS);
		break;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		watched_call_add(call, (uintptr_t)arg[3], TIME);
		break;
	case FUTEX_WAIT_REQUEUE_PI:
		watched_call_add(call, (uintptr_t)arg[3], TIME);
		watched_call_add(call, (uintptr_t)arg[4], sizeof(uint32_t));
		break;
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_WAKE_OP:
		watched_call_add(call, (uintptr_t)arg[4], sizeof(uint32_t));
		break;
	default:
		break;
	}
}

/* Counts are 32 bits or less; a buffer's length is what the program says. */
static void note_pointer(struct watched_call *call, const struct pointer *pointer, const long *arg)
{
	uintptr_t at = (uintptr_t)arg[pointer->arg];
	size_t count = (size_t)arg[pointer->count];

	switch ((enum pointer_kind)pointer->kind) {
	case POINTER_BYTES:
		watched_call_add(call, at, pointer->size);
		break;
	case POINTER_ARRAY:
		watched_call_add(call, at, pointer->size == 1 ? count : (size_t)(uint32_t)count * pointer->size);
		break;
	case POINTER_VECTOR:
		note_vector(call, (const struct iovec *)at, count); /* NOLINT(performance-no-int-to-ptr): an argument */
		break;
	case POINTER_MESSAGE:
		note_message(call, (const struct msghdr *)at); /* NOLINT(performance-no-int-to-ptr): an argument */
		break;
	case POINTER_MESSAGES:
		note_messages(call, (const struct mmsghdr *)at,
			      (uint32_t)count); /* NOLINT(performance-no-int-to-ptr): an argument */
		break;
	case POINTER_FUTEX:
		note_futex(call, (long)count, arg);
		break;
	case POINTER_NONE:
	case POINTER_ABSENT:
		break;
	}
}

void call_memory_note(struct watched_call *call, long number, const long *arg)
{
	const struct pointer *pointer = number >= 0 && number < CALLS ? calls[number].pointer : calls[0].pointer;

	if (number < 0 || number >= CALLS || !pointer->kind) {
		for (int i = 0; i < 6; i++)
			if ((unsigned long)arg[i] >= WATCHED_PAGE)
				watched_call_add(call, (uintptr_t)arg[i], TEXT_BYTES);
		return;
	}
	for (int i = 0; i < POINTERS && pointer[i].kind; i++)
		note_pointer(call, &pointer[i], arg);
}
