/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_refresh.c - fi_mr_refresh(). Under FI_MR_MMU_NOTIFY the ranges are closed to peers while the kernel supplies
 * their pages, and the NIC's table of known pages takes them up (S115). Without it, and without FI_MR_ALLOCATED,
 * the NIC uses the page tables at each access anyway: the ranges are checked, and the region stays open (S118). */
#include "emu/fi/mr/fi_mr.h"

#include <rdma/fi_errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/provider/fi_refuse.h"
#include "emu/net/memory/uffd.h"
#include "emu/nic/base/cancel.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/regions/mr_pages.h"
#include "emu/nic/regions/mr_rules.h"

/* Opens a table that is told of changes, if possible; if not, logs it once a process. */
static int open_pages(const struct iovec *segments, size_t count, struct mr_pages **pages)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	int err = mr_pages_open(pages, segments, count);
	const char *why = err ? NULL : mr_watch(*pages, segments, count);

	if (why && !atomic_flag_test_and_set(&said))
		EMU_WARN(MR, "FI_MR_MMU_NOTIFY: a page that is replaced and touched passes for the old one (S108): %s\n", why);
	return err;
}

int mr_pages_now(const struct emu_domain *domain, const struct iovec *segments, size_t count, struct mr_pages **pages)
{
	int err = 0;

	*pages = NULL;
	if (!(domain->rules & FI_MR_MMU_NOTIFY))
		return 0;
	err = open_pages(segments, count, pages);
	for (size_t i = 0; i < count && !err; i++)
		err = mr_pages_scan(*pages, (uintptr_t)segments[i].iov_base, segments[i].iov_len);
	if (!err)
		return 0;
	mr_pages_close(*pages);
	*pages = NULL;
	if (err == -FI_ENOSYS)
		return REFUSE(MR, err,
			      "fi_mr_reg under FI_MR_MMU_NOTIFY: /proc/self/pagemap cannot be read. Mount /proc, or use "
			      "FI_EMU_PERSONALITY=lax.");
	return REFUSE(MR, err, "fi_mr_reg under FI_MR_MMU_NOTIFY: %s. A region has at most %d pages.", fi_strerror(-err),
		      LIMIT_REGION_PAGES);
}

/* One call. */
struct refresh {
	struct emu_mr *mr;
	struct mr_refresh work;           /* the ranges; `whole`, or freed by free_ranges() */
	struct iovec whole[LIMIT_IOV];    /* the region's, where none are given */
	struct iovec segments[LIMIT_IOV]; /* those that the table of pages covers */
	size_t segment_count;             /* 0: the NIC keeps no table */
	uint64_t shift;                   /* as in struct mr */
	bool writable;
};

/* S114. No ranges: the whole region (S112). */
static int take_ranges(struct refresh *refresh)
{
	const struct mr *mr = refresh->mr->mr;
	struct mr_refresh *work = &refresh->work;

	for (size_t i = 0; i < work->count; i++) {
		if (!mr_covers(mr, (uintptr_t)work->range[i].iov_base, work->range[i].iov_len)) {
			return REFUSE(MR, -FI_EINVAL, "fi_mr_refresh: range %zu, %zu B at %p, is not inside the region (S114).", i,
				      work->range[i].iov_len, work->range[i].iov_base);
		}
	}
	if (!work->count) {
		work->range = refresh->whole;
		work->count = mr->iov_count;
		memcpy(work->range, mr_segments(mr), work->count * sizeof(*work->range));
	}
	return 0;
}

/* [role] Checks the ranges against the region, and closes them to peers. */
static int refresh_begin(struct refresh *refresh)
{
	struct mr *mr = refresh->mr->mr;
	const struct mr *outermost = mr;
	int err;

	if (!mr || !mr_complete(&refresh->mr->fid)) /* registration has failed or is under way */
		return REFUSE(MR, -FI_EOPBADSTATE,
			      "fi_mr_refresh: registration is not complete. Read its FI_MR_COMPLETE event "
			      "first.");
	err = take_ranges(refresh);
	if (err)
		return err;
	while (outermost->base) /* all regions within it use its table */
		outermost = outermost->base;
	refresh->segment_count = mr->pages ? outermost->iov_count : 0;
	memcpy(refresh->segments, mr_segments(outermost), refresh->segment_count * sizeof(*refresh->segments));
	refresh->shift = mr->shift;
	refresh->writable = mr_rights_write(mr->access);
	refresh->work.next = mr->refreshes;
	mr->refreshes = &refresh->work;
	return 0;
}

/* Without the role: has the kernel supply the memory. For a DMA-buf that is the provider's mapping (S150). `fresh` is
 * NULL if the NIC keeps no table. */
static int supply(const struct refresh *refresh, struct mr_pages *fresh)
{
	const struct iovec *range = refresh->work.range;

	for (size_t i = 0; i < refresh->work.count; i++) {
		void *at = (void *)((uintptr_t)range[i].iov_base + refresh->shift);

		if (guard_populate(at, range[i].iov_len, refresh->writable)) {
			return REFUSE(MR, -FI_EINVAL,
				      "fi_mr_refresh: %zu B at %p are not backed by memory that could be %s "
				      "(S114). Map the memory first.",
				      range[i].iov_len, range[i].iov_base, refresh->writable ? "written" : "read");
		}
	}
	for (size_t i = 0; fresh && i < refresh->work.count; i++) {
		if (mr_pages_scan(fresh, (uintptr_t)range[i].iov_base, range[i].iov_len))
			return REFUSE(MR, -FI_EINVAL,
				      "fi_mr_refresh: the kernel does not tell which pages are in memory "
				      "(/proc/self/pagemap).");
	}
	return 0;
}

static void refresh_end(struct refresh *refresh, const struct mr_pages *fresh)
{
	struct mr *mr = refresh->mr->mr;
	struct mr_refresh **at = &mr->refreshes, *work = &refresh->work;

	while (*at != work)
		at = &(*at)->next;
	*at = work->next;
	for (size_t i = 0; fresh && i < work->count; i++) /* S113 */
		mr_pages_take(mr->pages, fresh, (uintptr_t)work->range[i].iov_base, work->range[i].iov_len);
}

static int refresh_run(struct refresh *refresh)
{
	struct driver *driver = nic_driver(refresh->mr->domain->nic);
	struct mr_pages *fresh = NULL;
	int err;

	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = refresh_begin(refresh);
	driver_leave(driver);
	if (err)
		return err;
	if (refresh->segment_count)
		err = open_pages(refresh->segments, refresh->segment_count, &fresh);
	if (!err)
		err = supply(refresh, fresh);
	driver_take(driver);
	refresh_end(refresh, err ? NULL : fresh);
	driver_leave(driver);
	mr_pages_close(fresh);
	return err;
}

/* Any number of ranges: fi_mr(3) sets no limit. */
static int copy_ranges(struct refresh *refresh, const struct fi_mr_attr *given)
{
	struct mr_refresh *work = &refresh->work;

	if (!given->mr_iov || !given->iov_count)
		return 0;
	if (given->iov_count > SIZE_MAX / sizeof(*work->range))
		return REFUSE(MR, -FI_EINVAL, "fi_mr_refresh: %zu ranges are more than memory can hold.", given->iov_count);
	work->range = malloc(given->iov_count * sizeof(*work->range));
	if (!work->range)
		return REFUSE(MR, -FI_ENOMEM, "fi_mr_refresh: no memory for %zu ranges.", given->iov_count);
	work->count = given->iov_count;
	memcpy(work->range, given->mr_iov, work->count * sizeof(*work->range));
	return 0;
}

static void free_ranges(struct refresh *refresh)
{
	if (refresh->work.range != refresh->whole)
		free(refresh->work.range);
}

int mr_refresh(struct emu_mr *mr, const struct fi_mr_modify *modify)
{
	struct refresh refresh = { .mr = mr };
	int rules = mr->domain->rules, state, err;

	if (!domain_usable(mr->domain))
		return refuse_inherited("fi_mr_refresh");
	if (!modify)
		return REFUSE(MR, -FI_EINVAL, "fi_control, FI_REFRESH: arg is NULL.");
	if (modify->flags)
		return REFUSE_FLAGS(MR, "fi_mr_refresh", modify->flags); /* S5 */
	if ((rules & FI_MR_ALLOCATED) && !(rules & FI_MR_MMU_NOTIFY))
		return REFUSE(MR, -FI_ENOSYS,
			      "fi_mr_refresh: under FI_MR_ALLOCATED without FI_MR_MMU_NOTIFY there is nothing "
			      "to refresh (S110). Register again instead."); /* S110 */
	if (modify->attr.iov_count && !modify->attr.mr_iov)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_refresh: count is %zu and iov NULL.", modify->attr.iov_count);
	err = copy_ranges(&refresh, &modify->attr);
	if (err)
		return err;
	state = cancel_off(); /* a thread cancelled in the middle would leave its ranges closed for ever */
	err = refresh_run(&refresh);
	free_ranges(&refresh);
	cancel_back(state);
	return err;
}
