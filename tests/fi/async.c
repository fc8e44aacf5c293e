/* SPDX-License-Identifier: BSD-2-Clause */
/* async.c - an event queue bound to the domain for registrations: wrong arguments, overrun, close. */
#include "tests/fi/world.h"

#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define REG_MR (1ull << 59) /* FI_REG_MR, whose use warns since 2.0 */

static char buffer[64];

static int reg(struct world *w, uint64_t key, struct fid_mr **mr)
{
	return fi_mr_reg(w->domain, buffer, sizeof(buffer), FI_REMOTE_READ, 0, key, 0, mr, mr);
}

Test(fi_async, what_a_domain_is_bound_to)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fid_eq *stranger;
	struct fid_fabric *other;
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_fabric(w.info->fabric_attr, &other, NULL));
	RC(0, fi_eq_open(other, &attr, &stranger, NULL));
	RC(-FI_EINVAL, w.domain->fid.ops->bind(&w.domain->fid, NULL, REG_MR));
	RC(-FI_EINVAL, fi_domain_bind(w.domain, &w.cq->fid, REG_MR));
	RC(-FI_EINVAL, fi_domain_bind(w.domain, &stranger->fid, REG_MR));
	for (int bit = 0; bit < 64; bit++)
		if (1ull << bit != REG_MR)
			RC(-FI_EBADFLAGS, fi_domain_bind(w.domain, &w.eq->fid, 1ull << bit));
	RC(0, reg(&w, 1, &mr));
	cr_expect(fi_mr_key(mr) == 1, "registration is synchronous");
	RC(0, fi_close(&mr->fid));
	RC(0, fi_domain_bind(w.domain, &w.eq->fid, REG_MR));
	RC(-FI_EINVAL, fi_domain_bind(w.domain, &w.eq->fid, REG_MR));
	RC(-FI_EBUSY, fi_close(&w.eq->fid));
	world_close(&w);
	RC(0, fi_close(&stranger->fid));
	RC(0, fi_close(&other->fid));
}

/* Without FI_REG_MR the queue is bound, and registration as before. */
Test(fi_async, bound_without_the_flag)
{
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_domain_bind(w.domain, &w.eq->fid, 0));
	RC(0, reg(&w, 1, &mr));
	cr_expect(fi_mr_key(mr) == 1);
	RC(0, fi_close(&mr->fid));
	RC(-FI_EBUSY, fi_close(&w.eq->fid));
	world_close(&w);
}

/* S169: events are lost, registrations are not. */
Test(fi_async, an_overrun_queue)
{
	enum { REGIONS = 5000 };
	struct fid_mr **mr = calloc(REGIONS, sizeof(struct fid_mr *));
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_entry entry;
	struct world w;
	uint32_t event;
	int events = 0;
	ssize_t rc;

	cr_assert(mr);
	world_open(&w, &(struct want){ 0 });
	RC(0, fi_domain_bind(w.domain, &w.eq->fid, REG_MR));
	for (uint64_t i = 0; i < REGIONS; i++)
		RC(0, reg(&w, i, &mr[i]));
	for (int i = 0; i < REGIONS; i++)
		while (!__atomic_load_n(&mr[i]->mem_desc, __ATOMIC_ACQUIRE))
			poll(NULL, 0, 1);
	while ((rc = fi_eq_read(w.eq, &event, &entry, sizeof(entry), 0)) == sizeof(entry)) {
		cr_assert(event == FI_MR_COMPLETE && entry.fid == &mr[events]->fid);
		events++;
	}
	cr_expect(events > 0 && events < REGIONS);
	RC(-FI_EAVAIL, rc);
	RC(sizeof(error), fi_eq_readerr(w.eq, &error, 0));
	cr_expect(error.err == FI_EOVERRUN);
	for (uint64_t i = 0; i < REGIONS; i++) {
		cr_assert(fi_mr_key(mr[i]) == i);
		RC(0, fi_close(&mr[i]->fid));
	}
	world_close(&w);
	free(mr);
}

/* A sleeping reader is woken, and the descriptor says what is there when closing takes events back. */
Test(fi_async, the_descriptor_follows)
{
	struct pollfd pollfd = { .events = POLLIN };
	struct fi_eq_entry entry;
	struct fid_mr *mr[3];
	struct world w;
	uint32_t event;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_FD });
	RC(0, fi_control(&w.eq->fid, FI_GETWAIT, &pollfd.fd));
	RC(0, fi_domain_bind(w.domain, &w.eq->fid, REG_MR));
	for (uint64_t i = 0; i < 3; i++)
		RC(0, reg(&w, i, &mr[i]));
	RC(sizeof(entry), fi_eq_sread(w.eq, &event, &entry, sizeof(entry), -1, 0));
	cr_expect(entry.fid == &mr[0]->fid && entry.context == &mr[0]);
	RC(0, fi_close(&mr[1]->fid));
	RC(sizeof(entry), fi_eq_sread(w.eq, &event, &entry, sizeof(entry), -1, FI_PEEK));
	cr_expect(entry.fid == &mr[2]->fid);
	RC(1, poll(&pollfd, 1, 0));
	RC(0, fi_close(&mr[2]->fid));
	RC(0, poll(&pollfd, 1, 0));
	RC(-FI_EAGAIN, fi_eq_read(w.eq, &event, &entry, sizeof(entry), 0));
	RC(0, fi_close(&mr[0]->fid));
	world_close(&w);
}

/* Closing waits for a piece of the memory to be populated, not for the whole, for which the kernel takes seconds. */
Test(fi_async, closed_while_it_is_populated)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)32 << 30;
	unsigned char there[4] = { 0 };
	struct fid_mr *mr;
	struct world w;
	char *memory;

	memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert(memory != MAP_FAILED);
	RC(0, madvise(memory, size, MADV_NOHUGEPAGE)); /* else all is the one huge page of zeros, at once */
	world_open(&w, &(struct want){ .mr_mode = FI_MR_ALLOCATED });
	RC(0, fi_domain_bind(w.domain, &w.eq->fid, REG_MR));
	RC(0, fi_mr_reg(w.domain, memory, size, FI_REMOTE_READ, 0, 1, 0, &mr, NULL));
	while (!(there[0] & 1)) { /* a job that has not begun is taken back */
		sched_yield();
		RC(0, mincore(memory, page, there));
	}
	RC(0, fi_close(&mr->fid));
	RC(0, mincore(memory + size - page, page, there));
	cr_expect(!(there[0] & 1), "the last page of %zu GiB is there", size >> 30);
	world_close(&w);
	RC(0, munmap(memory, size));
}

/* Registered in the background and closed, over and over: the heap stays as large as it is. */
Test(fi_async, closed_regions_leave_nothing)
{
	enum { WARM = 100, TIMES = 2000, BYTES_EACH = 16 };
	size_t before = 0, after;
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_domain_bind(w.domain, &w.eq->fid, REG_MR));
	for (int i = 0; i < WARM + TIMES; i++) {
		if (i == WARM)
			before = mallinfo2().uordblks;
		RC(0, reg(&w, 1, &mr));
		RC(0, fi_close(&mr->fid));
	}
	after = mallinfo2().uordblks;
	world_close(&w);
	cr_expect(after < before + TIMES * BYTES_EACH, "%zu B more", after - before);
}
