/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_calls.c - system calls on watched pages. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/races/watch_case.h"

enum { BYTES = 2 * PAGE };

static void reads_and_writes(void)
{
	unsigned char *pages = case_pages(), *to = pages + 4 * PAGE;
	struct told told = { 0 };
	struct page_watch *watch;
	int ends[2];

	case_start();
	NEED(!pipe(ends));
	watch = case_watch(pages, BYTES, PAGE_WATCH_ALL, &told);
	NEED(write(ends[1], pages, BYTES) == BYTES);
	NEED(told.times == 1 && !told.is_store && told.at == (uintptr_t)pages);
	page_watch_end(watch);
	watch = case_watch(to + PAGE, 10, PAGE_WATCH_ALL, &told); /* the second page of a read of two */
	NEED(read(ends[0], to, BYTES) == BYTES);
	NEED(told.times == 2 && told.is_store && told.at == (uintptr_t)to + PAGE);
	page_watch_end(watch);
	NEED(!memcmp(to, pages, BYTES));
}

/* What is behind the bytes that have come, or is only loaded where stores are watched; and a call that fails. */
static void calls_that_touch_nothing(void)
{
	unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *behind, *stores, *full;
	int ends[2];

	case_start();
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	behind = case_watch(pages + 50, 8, PAGE_WATCH_ALL, &told);
	stores = case_watch(pages + PAGE, 8, PAGE_WATCH_STORES, &told);
	full = case_watch(pages + 2 * PAGE, 8, PAGE_WATCH_ALL, &told);
	NEED(recv(ends[0], pages + 2 * PAGE, 8, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	NEED(write(ends[1], pages + PAGE, 50) == 50 && recv(ends[0], pages, 100, 0) == 50);
	NEED(!told.times && pages[49] == case_byte(PAGE + 49));
	page_watch_end(behind);
	page_watch_end(stores);
	page_watch_end(full);
}

static void vectors_and_messages(void)
{
	unsigned char *pages = case_pages(), *to = pages + 8 * PAGE;
	struct iovec *out = (void *)(pages + 4 * PAGE), in[2] = { { to, PAGE }, { to + PAGE, PAGE } };
	struct msghdr *message = (void *)(pages + 5 * PAGE), into = { .msg_iov = in, .msg_iovlen = 2 };
	struct page_watch *watch[4];
	struct told told = { 0 };
	int ends[2];

	case_start();
	NEED(!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	out[0] = (struct iovec){ pages, PAGE };
	out[1] = (struct iovec){ pages + PAGE, PAGE };
	*message = (struct msghdr){ .msg_iov = out, .msg_iovlen = 2 };
	for (int i = 0; i < 2; i++) {
		watch[0] = case_watch(pages, BYTES, PAGE_WATCH_ALL, &told);
		watch[1] = case_watch(out, PAGE, PAGE_WATCH_ALL, &told);
		watch[2] = case_watch(message, PAGE, PAGE_WATCH_ALL, &told);
		watch[3] = case_watch(to, BYTES, PAGE_WATCH_ALL, &told);
		NEED((i ? writev(ends[0], out, 2) : sendmsg(ends[0], message, 0)) == BYTES);
		NEED((i ? readv(ends[1], in, 2) : recvmsg(ends[1], &into, 0)) == BYTES);
		for (int k = 0; k < 4; k++)
			page_watch_end(watch[k]);
		NEED(!memcmp(to, pages, BYTES));
		memset(to, 0, BYTES);
	}
}

static void other_calls(void)
{
	unsigned char *pages = case_pages();
	struct pollfd *poll_set = (void *)pages;
	struct told told = { 0 };
	struct page_watch *watch;
	int ends[2];

	case_start();
	NEED(!pipe(ends));
	*poll_set = (struct pollfd){ .fd = ends[1], .events = POLLOUT };
	watch = case_watch(pages, 8, PAGE_WATCH_ALL, &told);
	NEED(poll(poll_set, 1, -1) == 1);
	page_watch_end(watch);
	watch = case_watch(pages, BYTES, PAGE_WATCH_ALL, &told);
	NEED(getrandom(pages, 6000, 0) == 6000);
	page_watch_end(watch);
	watch = case_watch(pages, BYTES, PAGE_WATCH_ALL, &told);
	NEED(syscall(SYS_futex, pages, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
	NEED(syscall(SYS_futex, pages, FUTEX_WAIT, *pages + 1, NULL, NULL, 0) == -1 && errno == EAGAIN);
	page_watch_end(watch);
	strcpy((char *)pages, "/proc/self/exe");
	watch = case_watch(pages, BYTES, PAGE_WATCH_ALL, &told);
	NEED(!access((char *)pages, R_OK));
	page_watch_end(watch);
	NEED(syscall(SYS_write, ends[1], 8L, 1L) == -1 && errno == EFAULT);
	NEED(syscall(SYS_writev, ends[1], 8L, 1L) == -1 && errno == EFAULT);
}

struct reader {
	int fd;
	unsigned char *to;
	atomic_int id;
};

static void *read_all(void *arg)
{
	struct reader *reader = arg;

	atomic_store(&reader->id, gettid());
	NEED(read(reader->fd, reader->to, BYTES) == BYTES);
	return NULL;
}

static void pages_of_a_call_are_not_protected(bool before)
{
	unsigned char *pages = case_pages();
	struct reader reader = { .to = pages + 4 * PAGE };
	struct told told = { 0 };
	pthread_t thread;
	int ends[2];

	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	reader.fd = ends[0];
	if (!before)
		case_start();
	NEED(!pthread_create(&thread, NULL, read_all, &reader));
	while (!atomic_load(&reader.id))
		;
	case_wait_in_call(reader.id, SYS_read);
	if (before)
		case_start();
	page_watch_end(case_watch(pages, 10, PAGE_WATCH_ALL, &told));
	if (before)
		case_wait_in_call(reader.id, SYS_read);
	NEED(!case_try(reader.to + PAGE, 10, PAGE_WATCH_ALL, &told));
	NEED(write(ends[1], pages, BYTES) == BYTES);
	NEED(!pthread_join(thread, NULL));
	NEED(!memcmp(reader.to, pages, BYTES));
	page_watch_end(case_watch(reader.to + PAGE, 10, PAGE_WATCH_ALL, &told));
}

static void call_under_way(void)
{
	pages_of_a_call_are_not_protected(false);
}

static void call_under_way_before_the_start(void)
{
	pages_of_a_call_are_not_protected(true);
}

static struct waiter {
	_Atomic unsigned int word;
	atomic_int id;
	long result;
} * waiter;

static void *wait_for_word(void *arg)
{
	atomic_store(&waiter->id, gettid());
	waiter->result = syscall(SYS_futex, &waiter->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return arg;
}

/* Its page is watched while it sleeps, and it wakes as ever. */
static void a_sleeper_needs_its_word_no_more(void)
{
	unsigned char *pages = case_pages();
	struct told told = { 0 };
	struct page_watch *watch;
	pthread_t thread;

	waiter = (void *)pages;
	*waiter = (struct waiter){ 0 };
	case_start();
	NEED(!pthread_create(&thread, NULL, wait_for_word, NULL));
	while (!atomic_load(&waiter->id))
		sched_yield();
	case_wait_in_call(atomic_load(&waiter->id), SYS_futex);
	watch = case_watch(pages + 200, 8, PAGE_WATCH_ALL, &told);
	NEED(((volatile unsigned char *)pages)[203] == case_byte(203) && told.times == 1);
	page_watch_end(watch);
	watch = case_watch(pages + 200, 8, PAGE_WATCH_ALL, &told);
	while (!syscall(SYS_futex, &waiter->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0))
		sched_yield();
	NEED(!pthread_join(thread, NULL) && waiter->result == 0 && told.times == 1);
	page_watch_end(watch);
}

static struct hearer {
	unsigned char *pages;
	struct told told;
	struct page_watch *watch;
	int times;
} hearer;

/* It may begin a watch, and its own calls are not trapped. */
static void hear(void)
{
	int ends[2];

	hearer.times++;
	NEED(!pipe(ends) && write(ends[1], "a", 1) == 1 && read(ends[0], hearer.pages + PAGE, 1) == 1);
	close(ends[0]);
	close(ends[1]);
	if (!hearer.watch)
		hearer.watch = case_try(hearer.pages, 8, PAGE_WATCH_ALL, &hearer.told);
	errno = EDOM;
}

/* Bytes that another has sent, and not that there are none, or no more. */
static void what_is_heard(void)
{
	struct pollfd wait;
	char byte;
	int ends[2];

	hearer.pages = case_pages();
	case_heard = hear;
	case_start();
	page_watch_end(case_watch(hearer.pages, 8, PAGE_WATCH_ALL, &hearer.told)); /* all threads trap their calls */
	errno = 0;
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	wait = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	NEED(recv(ends[0], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	NEED(send(ends[1], "abc", 3, 0) == 3 && poll(&wait, 1, -1) == 1 && !hearer.times);
	errno = 0;
	NEED(read(ends[0], &byte, 1) == 1 && byte == 'a' && hearer.times == 1 && !errno);
	NEED(hearer.watch && ((volatile unsigned char *)hearer.pages)[3] == case_byte(3) && hearer.told.times == 1);
	NEED(recv(ends[0], &byte, 1, 0) == 1 && byte == 'b' && hearer.times == 2);
	NEED(recvmsg(ends[0], &(struct msghdr){ .msg_iov = &(struct iovec){ &byte, 1 }, .msg_iovlen = 1 }, 0) == 1);
	NEED(byte == 'c' && hearer.times == 3);
	close(ends[1]);
	NEED(read(ends[0], &byte, 1) == 0 && hearer.times == 3);
	page_watch_end(hearer.watch);
}

const struct watch_case watch_call_cases[] = {
	{ "reads_and_writes", reads_and_writes },
	{ "calls_that_touch_nothing", calls_that_touch_nothing },
	{ "vectors_and_messages", vectors_and_messages },
	{ "other_calls", other_calls },
	{ "a_sleeper_needs_its_word_no_more", a_sleeper_needs_its_word_no_more },
	{ "what_is_heard", what_is_heard },
	{ "call_under_way", call_under_way },
	{ "call_under_way_before_the_start", call_under_way_before_the_start },
	{ NULL, NULL },
};
