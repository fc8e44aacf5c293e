/* SPDX-License-Identifier: BSD-2-Clause */
/* refresh.c - each argument of fi_mr_refresh wrong, one at a time; and what may not happen beside it. */
#include "world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, WIDE = 64 << 20, ROUNDS = 200 };

/* S5, S114 */
Test(fi_refresh, wrong_arguments)
{
	static char block[6 * PAGE];
	char *bytes = block + PAGE; /* the region: four pages in the midst of it */
	struct iovec iov[3] = { { bytes, 1 }, { bytes, 1 } };
	struct fi_mr_modify modify = { .attr = { .mr_iov = NULL, .iov_count = 1 } };
	struct world w;
	struct fid_mr *mr;

	memset(block, 1, sizeof(block));
	world_open(&w, &(struct want){ .mr_mode = FI_MR_MMU_NOTIFY });
	RC(0, fi_mr_reg(w.domain, bytes, 4 * PAGE, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	RC(-FI_EINVAL, fi_control(&mr->fid, FI_REFRESH, NULL));
	RC(-FI_EINVAL, fi_control(&mr->fid, FI_REFRESH, &modify));
	for (int bit = 0; bit < 64; bit++)
		RC(-FI_EBADFLAGS, fi_mr_refresh(mr, iov, 1, 1ull << bit));
	RC(-FI_EINVAL, fi_mr_refresh(mr, iov, SIZE_MAX, 0));
	iov[1] = (struct iovec){ bytes - 1, 2 };
	RC(-FI_EINVAL, fi_mr_refresh(mr, iov, 2, 0));
	iov[1] = (struct iovec){ bytes, SIZE_MAX };
	RC(-FI_EINVAL, fi_mr_refresh(mr, iov, 2, 0));
	iov[1] = (struct iovec){ bytes + 4 * PAGE, 1 };
	RC(-FI_EINVAL, fi_mr_refresh(mr, iov, 2, 0));
	iov[1] = (struct iovec){ NULL, 1 };
	RC(-FI_EINVAL, fi_mr_refresh(mr, iov, 2, 0));
	RC(0, fi_mr_refresh(mr, iov, 1, 0));
	RC(0, fi_mr_refresh(mr, NULL, 0, 0));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* A write of one byte at that offset: 0, or its error. */
static int written(struct world *w, uint64_t offset)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	char byte = 1;

	RC(0, fi_write(w->ep, &byte, 1, NULL, w->self, offset, 7, NULL));
	if (world_next(w, &entry) == 1)
		return 0;
	RC(1, fi_cq_readerr(w->cq, &error, 0));
	return error.err;
}

/* S113, S114: any number of ranges, for fi_mr(3) sets no limit; one that is wrong undoes the rest. */
Test(fi_refresh, any_number_of_ranges)
{
	enum { RANGES = 1000 };
	static struct iovec iov[RANGES];
	char *pages = mmap(NULL, RANGES * 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct world w;
	struct fid_mr *mr;

	cr_assert_neq(pages, MAP_FAILED);
	world_open(&w, &(struct want){ .mr_mode = FI_MR_MMU_NOTIFY });
	RC(0, fi_mr_reg(w.domain, pages, RANGES * 2 * PAGE, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	for (int i = 0; i < RANGES; i++)
		iov[i] = (struct iovec){ pages + 2 * i * PAGE, 1 };
	iov[RANGES - 1].iov_base = pages - 1;
	RC(-FI_EINVAL, fi_mr_refresh(mr, iov, RANGES, 0));
	cr_expect_eq(written(&w, 0), FI_EACCES, "the first range was refreshed");
	iov[RANGES - 1].iov_base = pages + 2 * (RANGES - 1) * PAGE;
	RC(0, fi_mr_refresh(mr, iov, RANGES, 0));
	for (uint64_t i = 0; i < 2 * RANGES; i++)
		cr_expect_eq(written(&w, i * PAGE), i % 2 ? FI_EACCES : 0, "page %lu", i);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S110: there is nothing to refresh where the program has promised that nothing changes. */
Test(fi_refresh, not_under_allocated_alone)
{
	struct world w;
	struct fid_mr *mr;
	char byte;

	world_open(&w, &(struct want){ .mr_mode = FI_MR_ALLOCATED });
	RC(0, fi_mr_reg(w.domain, &byte, 1, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	RC(-FI_ENOSYS, fi_mr_refresh(mr, NULL, 0, 0));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S114: memory that may be read alone backs what peers may read alone. */
Test(fi_refresh, memory_that_cannot_be_written)
{
	void *memory = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct world w;
	struct fid_mr *mr;

	cr_assert_neq(memory, MAP_FAILED);
	world_open(&w, &(struct want){ 0 });
	RC(0, fi_mr_reg(w.domain, memory, PAGE, FI_REMOTE_READ, 0, 7, 0, &mr, NULL));
	RC(0, fi_mr_refresh(mr, NULL, 0, 0));
	RC(0, fi_close(&mr->fid));
	RC(0, fi_mr_reg(w.domain, memory, PAGE, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	RC(-FI_EINVAL, fi_mr_refresh(mr, NULL, 0, 0));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

struct refresher {
	struct fid_mr *mr;
	int rc;
	atomic_bool done;
};

static void *refresh(void *arg)
{
	struct refresher *refresher = arg;

	refresher->rc = fi_mr_refresh(refresher->mr, NULL, 0, 0);
	atomic_store(&refresher->done, true);
	return NULL;
}

/* Has the refresh of untouched memory begun? */
static bool begun(void *memory)
{
	unsigned char resident = 0;

	cr_assert_eq(mincore(memory, PAGE, &resident), 0);
	return resident & 1;
}

/* True if the region, closed as soon as its refresh had begun, would not go. */
static bool close_meanwhile(struct world *w, void *memory)
{
	struct refresher refresher = { .mr = NULL };
	pthread_t thread;
	int rc;

	RC(0, fi_mr_reg(w->domain, memory, WIDE, FI_REMOTE_WRITE, 0, 7, 0, &refresher.mr, NULL));
	cr_assert_eq(pthread_create(&thread, NULL, refresh, &refresher), 0);
	while (!begun(memory) && !atomic_load(&refresher.done))
		;
	rc = fi_close(&refresher.mr->fid);
	pthread_join(thread, NULL);
	RC(0, refresher.rc);
	if (rc)
		RC(0, fi_close(&refresher.mr->fid));
	cr_assert(!rc || rc == -FI_EBUSY);
	return rc;
}

/* S116: a region does not close while it is refreshed. A refresh may be over before the call to close it comes, but not
 * each time. */
Test(fi_refresh, no_close_meanwhile)
{
	void *memory = mmap(NULL, WIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool refused = false;
	struct world w;

	cr_assert_neq(memory, MAP_FAILED);
	world_open(&w, &(struct want){ 0 });
	for (int i = 0; i < ROUNDS && !refused; i++) {
		cr_assert_eq(madvise(memory, WIDE, MADV_DONTNEED), 0);
		refused = close_meanwhile(&w, memory);
	}
	cr_assert(refused);
	world_close(&w);
	munmap(memory, WIDE);
}

static void *refresh_cancelled(void *arg)
{
	struct refresher *refresher = arg;

	pthread_cancel(pthread_self());
	refresh(refresher);
	pthread_testcancel();
	return NULL;
}

/* A cancelled thread finishes what it began: of a call cut off in the middle, the region would be busy for ever. */
Test(fi_refresh, a_cancelled_thread)
{
	void *memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct refresher refresher = { .mr = NULL };
	pthread_t thread;
	struct world w;

	cr_assert_neq(memory, MAP_FAILED);
	setenv("FI_LOG_LEVEL", "warn", 1);
	world_open(&w, &(struct want){ .mr_mode = FI_MR_MMU_NOTIFY });
	RC(0, fi_mr_reg(w.domain, memory, 4 * PAGE, FI_REMOTE_WRITE, 0, 7, 0, &refresher.mr, NULL));
	for (int round = 0; round < 2; round++) { /* the second one ends with a line of log */
		atomic_store(&refresher.done, false);
		cr_assert_eq(pthread_create(&thread, NULL, refresh_cancelled, &refresher), 0);
		pthread_join(thread, NULL);
		cr_expect(atomic_load(&refresher.done), "round %d", round);
		RC(round ? -FI_EINVAL : 0, refresher.rc);
		munmap(memory, 4 * PAGE);
	}
	RC(0, fi_close(&refresher.mr->fid));
	world_close(&w);
}
