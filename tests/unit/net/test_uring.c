/* SPDX-License-Identifier: BSD-2-Clause */
/* test_uring.c - pinned memory: copies across pieces and segments reach the old pages, whatever the mapping is by then; what
 * cannot be pinned is refused, and leaves nothing behind. */
#include <criterion/criterion.h>
#include <errno.h>
#include <liburing.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/net/memory/uffd.h"
#include "emu/net/memory/uring.h"
#include "emu/nic/base/limits.h"
#include "tests/unit/nic/sandbox.h"

enum { PAGE = 4096, PIECE = 1 << LIMIT_PINNED_SHIFT, LEN = 3 * PIECE };

static void start(void)
{
	int err = uring_start();

	if (err == -EPERM || err == -ENOSYS || err == -ENOMEM)
		cr_skip_test("io_uring is not to be had here: %s", strerror(-err));
	cr_assert_eq(err, 0, "%s", strerror(-err));
	cr_assert_eq(uring_start(), 0);
}

static uint8_t *fresh(void *at, size_t length)
{
	void *got = mmap(at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	cr_assert_neq(got, MAP_FAILED);
	return got;
}

static struct pin *pin_these(const struct iovec *segments, size_t count)
{
	struct pin *pin = NULL;
	int err = uring_pin(segments, count, &pin);

	if (err == -ENOMEM)
		cr_skip_test("RLIMIT_MEMLOCK is too small");
	cr_assert_eq(err, 0, "%s", strerror(-err));
	cr_assert_not(pin->ops->changed(pin));
	return pin;
}

static void fill(uint8_t *bytes, size_t length, uint8_t seed)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(seed + i * 7 + i / 256);
}

static int refusals; /* so many submissions in a row fail */

int __real_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait_nr);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait_nr);

int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait_nr)
{
	return refusals-- > 0 ? -EAGAIN : __real_io_uring_submit_and_wait(ring, wait_nr);
}

/* The kernel had no memory for a request. The copy fails; later ones do what they are asked for, and nothing else. */
Test(uring, goes_on_after_a_request_that_was_not_taken)
{
	static const uint8_t wrong[PAGE] = { 0 };
	static uint8_t out[PAGE], in[PAGE];
	uint8_t *block;
	struct pin *pin;

	start();
	block = fresh(NULL, 2 * PAGE);
	fill(block, 2 * PAGE, 3);
	fill(out, PAGE, 9);
	pin = pin_these(&(struct iovec){ block, 2 * PAGE }, 1);
	refusals = 2;
	cr_assert_not(pin->ops->put(pin, block, wrong, PAGE));
	cr_assert_not(pin->ops->get(pin, block, in, PAGE));
	cr_assert(pin->ops->put(pin, block + PAGE, out, PAGE));
	cr_assert(pin->ops->get(pin, block + PAGE, in, PAGE));
	cr_assert(!memcmp(in, out, PAGE) && memcmp(block, wrong, PAGE));
	uring_unpin(pin);
}

/* Everything, at an odd place, through the border of pieces; then what only the old pages can hold. */
Test(uring, copies_reach_the_old_pages)
{
	static uint8_t out[LEN], in[LEN];
	uint8_t *memory, *new;
	struct pin *pin;
	size_t length = LEN - 3 * PAGE - 500;

	start();
	memory = fresh(NULL, LEN);
	fill(memory, LEN, 1);
	fill(out, LEN, 9);
	pin = pin_these(&(struct iovec){ memory + 100, length }, 1);
	cr_assert(pin->ops->get(pin, memory + 100, in, length));
	cr_assert_arr_eq(in, memory + 100, length);
	cr_assert(pin->ops->put(pin, memory + 100, out, length));
	cr_assert_arr_eq(out, memory + 100, length);
	cr_assert_eq(memory[99], (uint8_t)(1 + 99 * 7));
	munmap(memory, LEN);
	new = fresh(memory, LEN);
	memset(new, 0x55, LEN);
	cr_assert(pin->ops->put(pin, memory + PIECE - 3, "seven..", 7));
	memcpy(out + PIECE - 103, "seven..", 7);
	cr_assert(pin->ops->get(pin, memory + 100, in, length));
	cr_assert_arr_eq(in, out, length);
	for (size_t i = 0; i < LEN; i++)
		cr_assert_eq(new[i], 0x55, "the new mapping was touched at %zu", i);
	munmap(new, LEN);
	cr_assert(pin->ops->get(pin, memory + 100, in, length));
	cr_assert_arr_eq(in, out, length);
	uring_unpin(pin);
}

Test(uring, segments)
{
	uint8_t *memory, in[8];
	struct iovec segments[3];
	struct pin *pin;

	start();
	memory = fresh(NULL, 4 * PAGE);
	segments[0] = (struct iovec){ memory + 3 * PAGE, 10 };
	segments[1] = (struct iovec){ memory, 0 };
	segments[2] = (struct iovec){ memory + 5, PAGE };
	pin = pin_these(segments, 3);
	cr_assert(pin->ops->put(pin, memory + 3 * PAGE + 2, "01234567", 8));
	cr_assert(pin->ops->put(pin, memory + PAGE - 3, "abcdefgh", 8));
	cr_assert_arr_eq(memory + 3 * PAGE + 2, "01234567", 8);
	cr_assert_arr_eq(memory + PAGE - 3, "abcdefgh", 8);
	cr_assert_not(pin->ops->put(pin, memory + 3 * PAGE + 3, "01234567", 8), "past a segment's end");
	cr_assert_not(pin->ops->get(pin, memory + 4, in, 1), "before a segment");
	cr_assert(pin->ops->get(pin, memory + 5, in, 1));
	cr_assert(pin->ops->put(pin, memory + 5, in, 0));
	uring_unpin(pin);
}

/* Once each, when the call that changes it is back; nothing else counts, nor what ended. */
Test(uring, changes_of_the_mapping)
{
	const char *why = NULL;
	uint8_t *memory, *other;
	struct pin *pin, *beside;

	start();
	if (remap_start(&why))
		cr_skip_test("%s", why);
	cr_assert_eq(remap_start(&why), 0);
	memory = fresh(NULL, 8 * PAGE);
	other = fresh(NULL, PAGE);
	pin = pin_these(&(struct iovec){ memory + PAGE + 5, 3 * PAGE }, 1);
	beside = pin_these(&(struct iovec){ memory + 6 * PAGE + 1, 1 }, 1);
	cr_assert(uring_watched(pin) && uring_watched(beside));
	munmap(other, PAGE);
	munmap(memory + 5 * PAGE, PAGE);
	madvise(memory, PAGE, MADV_DONTNEED);
	memory[PAGE + 5] = 1;
	cr_assert_not(pin->ops->changed(pin));
	cr_assert_not(beside->ops->changed(beside));
	madvise(memory + 4 * PAGE, PAGE, MADV_DONTNEED);
	cr_assert(pin->ops->changed(pin));
	cr_assert_not(pin->ops->changed(pin));
	fresh(memory + 2 * PAGE, PAGE);
	cr_assert(pin->ops->changed(pin));
	cr_assert_not(beside->ops->changed(beside));
	munmap(memory, 8 * PAGE);
	cr_assert(pin->ops->changed(pin));
	cr_assert(beside->ops->changed(beside));
	fresh(memory, 8 * PAGE);
	uring_unpin(beside);
	cr_assert_not(pin->ops->changed(pin));
	beside = pin_these(&(struct iovec){ memory, 8 * PAGE }, 1);
	madvise(memory, 8 * PAGE, MADV_DONTNEED);
	cr_assert(beside->ops->changed(beside));
	uring_unpin(beside);
	munmap(memory, 8 * PAGE);
	uring_unpin(pin);
}

/* A region of whole pages: the pages that touch it are none of it. */
Test(uring, changes_right_beside)
{
	const char *why = NULL;
	struct pin *first, *second;
	uint8_t *memory;

	start();
	if (remap_start(&why))
		cr_skip_test("%s", why);
	memory = fresh(NULL, 5 * PAGE);
	first = pin_these(&(struct iovec){ memory, 5 * PAGE }, 1); /* so all pages are watched */
	second = pin_these(&(struct iovec){ memory + PAGE, 3 * PAGE }, 1);
	madvise(memory, PAGE, MADV_DONTNEED);
	madvise(memory + 4 * PAGE, PAGE, MADV_DONTNEED);
	cr_assert(first->ops->changed(first));
	cr_assert_not(second->ops->changed(second));
	madvise(memory + 3 * PAGE, PAGE, MADV_DONTNEED);
	cr_assert(second->ops->changed(second));
	uring_unpin(first);
	madvise(memory + PAGE, PAGE, MADV_DONTNEED);
	cr_assert(second->ops->changed(second));
	uring_unpin(second);
	munmap(memory, 5 * PAGE);
}

/* More often than there are slots. */
Test(uring, what_ends_makes_room)
{
	uint8_t *memory;
	struct pin *pin, *last;

	start();
	memory = fresh(NULL, PAGE);
	last = pin_these(&(struct iovec){ memory, PAGE }, 1);
	for (int i = 0; i < LIMIT_PINNED + 100; i++) {
		cr_assert_eq(uring_pin(&(struct iovec){ memory, PAGE }, 1, &pin), 0, "round %d", i);
		uring_unpin(pin);
	}
	cr_assert(last->ops->put(last, memory, "still", 5));
	cr_assert_arr_eq(memory, "still", 5);
	uring_unpin(last);
	uring_unpin(NULL);
}

/* *pin stays as it was, and the slots taken until then are free again: nothing is pinned but in pieces. */
Test(uring, what_cannot_be_pinned)
{
	struct pin *none = (struct pin *)&none, *pin = none;
	struct iovec two[2];
	uint8_t *memory, *border;

	start();
	memory = fresh(NULL, 2 * PIECE);
	border = memory + PIECE - (uintptr_t)memory % PIECE;
	for (int side = 0; side < 2; side++) { /* which of two pieces is the wrong one */
		uint8_t *wrong = side ? border : border - PAGE;

		mprotect(wrong, PAGE, PROT_READ);
		for (int i = 0; i < LIMIT_PINNED; i++)
			cr_assert_eq(uring_pin(&(struct iovec){ border - PAGE, 2 * PAGE }, 1, &pin), -EFAULT);
		mprotect(wrong, PAGE, PROT_READ | PROT_WRITE);
	}
	two[0] = (struct iovec){ border, PAGE };
	two[1] = (struct iovec){ NULL, PAGE };
	cr_assert_eq(uring_pin(two, 2, &pin), -EFAULT);
	two[1] = (struct iovec){ memory, (size_t)LIMIT_PINNED * PIECE + PIECE };
	cr_assert_eq(uring_pin(two, 2, &pin), -ENOSPC);
	two[1].iov_len = SIZE_MAX - (uintptr_t)memory;
	cr_assert_eq(uring_pin(two, 2, &pin), -ENOSPC);
	cr_assert_eq(pin, none);
	uring_unpin(pin_these(two, 1));
}

/* As many pieces as there are, and no more until one is let go. */
Test(uring, every_slot)
{
	static struct pin *pins[LIMIT_PINNED + 1];
	struct iovec page;
	int count = 0, err = 0;

	start();
	page = (struct iovec){ fresh(NULL, PAGE), PAGE };
	while (count <= LIMIT_PINNED && !(err = uring_pin(&page, 1, &pins[count])))
		count++;
	if (err == -ENOMEM)
		cr_skip_test("RLIMIT_MEMLOCK is too small");
	cr_assert_eq(err, -ENOSPC);
	cr_assert_eq(count, LIMIT_PINNED);
	uring_unpin(pins[77]);
	pins[77] = pin_these(&page, 1);
	cr_assert(pins[77]->ops->put(pins[77], page.iov_base, "here", 4));
	cr_assert_arr_eq(page.iov_base, "here", 4);
	cr_assert_eq(uring_pin(&page, 1, &pins[LIMIT_PINNED]), -ENOSPC, "a refusal made room");
	while (count)
		uring_unpin(pins[--count]);
}

static int lowest_free_descriptor(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

/* Then it can be tried again, and no descriptor is lost. */
Test(uring, start_fails)
{
	int lowest = lowest_free_descriptor();

	if (!sandbox_refuse(SYS_pipe2, EMFILE))
		cr_skip_test("no system call can be refused here");
	for (int i = 0; i < 2; i++) {
		int err = uring_start();

		if (err == -EPERM || err == -ENOSYS || err == -ENOMEM)
			cr_skip_test("io_uring is not to be had here: %s", strerror(-err));
		cr_assert_eq(err, -EMFILE);
		cr_assert_eq(lowest_free_descriptor(), lowest);
	}
}

/* What uring_start() says where the kernel answers this call so; it leaves nothing open. */
static void starts_where_refused(int call, int gives, int says)
{
	int lowest = lowest_free_descriptor(), err;

	if (!sandbox_refuse(call, gives))
		cr_skip_test("no system call can be refused here");
	err = uring_start();
	if (call == SYS_io_uring_register && (err == -EPERM || err == -ENOMEM) && err != says)
		cr_skip_test("io_uring is not to be had here: %s", strerror(-err));
	cr_assert_eq(err, says, "%s", strerror(-err));
	cr_assert_eq(lowest_free_descriptor(), lowest);
}

Test(uring, there_is_no_ring)
{
	starts_where_refused(SYS_io_uring_setup, EMFILE, -EMFILE);
}

/* A kernel from before 5.13 does not know empty slots, and says so in one of two ways. */
Test(uring, no_empty_slots)
{
	starts_where_refused(SYS_io_uring_register, EFAULT, -ENOSYS);
}

Test(uring, no_empty_slots_either)
{
	starts_where_refused(SYS_io_uring_register, EINVAL, -ENOSYS);
}

Test(uring, the_table_is_refused)
{
	starts_where_refused(SYS_io_uring_register, EACCES, -EACCES);
}

/* In a child: whether put and get succeed where the kernel refuses this call. */
static void expect_refused(struct pin *pin, uint8_t *memory, int call, bool put, bool get)
{
	pid_t child = _Fork(); /* without handlers: it has the ring still */
	uint8_t bytes[100] = { 0 };
	int status;

	cr_assert_geq(child, 0);
	if (!child) {
		signal(SIGSEGV, SIG_DFL); /* Criterion's handler ends the process well */
		alarm(30);
		if (!sandbox_refuse(call, EPERM))
			_exit(2);
		_exit(pin->ops->put(pin, memory, bytes, sizeof(bytes)) == put &&
				      pin->ops->get(pin, memory, bytes, sizeof(bytes)) == get
			      ? 0
			      : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		cr_skip_test("no system call can be refused here");
	cr_assert_eq(status, 0, "call %d: wait status %#x", call, status);
}

/* A copy that fails says so. One child a test: it has the ring's queues, too, and its parent knows nothing of what it did. */
static void copies_where_refused(int call, bool put, bool get)
{
	uint8_t *memory;
	struct pin *pin;

	start();
	memory = fresh(NULL, PAGE);
	pin = pin_these(&(struct iovec){ memory, PAGE }, 1);
	expect_refused(pin, memory, call, put, get);
	uring_unpin(pin);
}

Test(uring, the_pipe_takes_nothing)
{
	copies_where_refused(SYS_write, false, true);
}

Test(uring, the_pipe_gives_nothing)
{
	copies_where_refused(SYS_read, true, false);
}

Test(uring, the_ring_takes_no_request)
{
	copies_where_refused(SYS_io_uring_enter, false, false);
}

/* A child has the ring, too, and must leave it alone. */
Test(uring, a_forks_child_unpins_nothing)
{
	uint8_t *memory;
	struct pin *pin;
	int status;
	pid_t child;

	start();
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(memory, MAP_FAILED);
	pin = pin_these(&(struct iovec){ memory, PAGE }, 1);
	child = fork();
	cr_assert_geq(child, 0);
	if (!child) {
		uring_unpin(pin);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert(pin->ops->put(pin, memory, "here", 4));
	cr_assert_arr_eq(memory, "here", 4);
	uring_unpin(pin);
}
