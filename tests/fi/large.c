/* SPDX-License-Identifier: BSD-2-Clause */
/* large.c - messages longer than 32 bits can count, of an endpoint that addresses itself.
 *
 * The buffers are longer than the memory behind them: one window of pages is mapped again and again, but for the windows
 * in which a length that lost its upper bits would end. */
#include "tests/fi/world.h"

#include <assert.h>
#include <rdma/fi_tagged.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WINDOW ((size_t)2 << 20)
#define WINDOWS ((size_t)2051)
#define LENGTH ((WINDOWS - 1) * WINDOW + 12345) /* 4 GiB, 4 MiB and some bytes */
static_assert(LENGTH > UINT32_MAX, "longer than 32 bits can count");

/* The first, those on both sides of 4 GiB, and the last. */
static const size_t own[] = { 0, 2047, 2048, WINDOWS - 1 };
enum { OWN = 4 };

/* Windows 0 to OWN - 1 of the file are those of `own`, the next one is all others. */
static char *map_windows(int *fd)
{
	char *base = mmap(NULL, WINDOWS * WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*fd = memfd_create("windows", 0);
	cr_assert(base != MAP_FAILED && *fd >= 0 && !ftruncate(*fd, (off_t)((OWN + 1) * WINDOW)));
	for (size_t i = 0; i < WINDOWS; i++) {
		size_t at = 0;

		while (at < OWN && own[at] != i)
			at++;
		cr_assert(mmap(base + i * WINDOW, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, *fd,
			       (off_t)(at * WINDOW)) != MAP_FAILED);
	}
	return base;
}

static void unmap_windows(char *base, int fd)
{
	munmap(base, WINDOWS * WINDOW);
	close(fd);
}

static void fill(char *base, size_t window, unsigned seed)
{
	uint32_t value = seed * 2654435761u + 1;

	for (size_t i = 0; i < WINDOW; i++) {
		value = value * 1664525u + 1013904223u;
		base[window * WINDOW + i] = (char)(value >> 24);
	}
}

static ssize_t next_receive(struct world *w, struct fi_cq_tagged_entry *entry)
{
	ssize_t got;

	do
		got = fi_cq_read(w->cq, entry, 1);
	while (got == -FI_EAGAIN || (got == 1 && entry->flags & FI_SEND));
	return got;
}

Test(fi_large, a_message_of_more_than_4_GiB)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	int from_fd, into_fd;
	char *from = map_windows(&from_fd), *into = map_windows(&into_fd);
	struct world w;

	for (unsigned i = 0; i < OWN; i++)
		fill(from, own[i], i);
	fill(from, 1, OWN);
	world_open(&w, &(struct want){ .caps = FI_TAGGED });
	RC(0, fi_trecv(w.ep, into, WINDOWS * WINDOW, NULL, FI_ADDR_UNSPEC, 7, 0, &w));
	RC(0, fi_tsend(w.ep, from, LENGTH, NULL, w.self, 7, NULL));
	RC(1, next_receive(&w, &entry));
	cr_expect(entry.len == LENGTH && entry.op_context == &w);
	for (unsigned i = 0; i + 1 < OWN; i++)
		cr_expect(!memcmp(from + own[i] * WINDOW, into + own[i] * WINDOW, WINDOW), "window %zu", own[i]);
	cr_expect(!memcmp(from + WINDOW, into + WINDOW, WINDOW));
	cr_expect(!memcmp(from + (WINDOWS - 1) * WINDOW, into + (WINDOWS - 1) * WINDOW, 12345) && !into[LENGTH]);
	/* Bytes that do not fit are counted, and not sent. */
	RC(0, fi_tsend(w.ep, from, LENGTH, NULL, w.self, 8, NULL));
	RC(0, fi_trecv(w.ep, into, 100, NULL, FI_ADDR_UNSPEC, 8, 0, &w));
	RC(-FI_EAVAIL, next_receive(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_expect(error.err == FI_ETRUNC && error.len == 100 && error.olen == LENGTH - 100);
	world_close(&w);
	unmap_windows(from, from_fd);
	unmap_windows(into, into_fd);
}
