/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_refresh.c - fi_mr_refresh(). Under FI_MR_MMU_NOTIFY the region is closed to peers while the kernel supplies the
 * pages of the ranges, and the NIC's table of known pages takes them up (S115). Without it, and without FI_MR_ALLOCATED,
 * the NIC goes by the page tables at each access anyway: the ranges are checked, and the region stays open (S118). */
#include "emu/fi/fi_mr_refresh.h"

#include <rdma/fi_errno.h>
#include <stdatomic.h>

#include "emu/fi/fi_prov.h"
#include "emu/net/mr_watch.h"
#include "emu/nic/guard.h"
#include "emu/nic/mr_pages.h"

/* A table that hears of changes, where that can be had: said once a process. */
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
	EMU_WARN(MR, "registration under FI_MR_MMU_NOTIFY: %s; a region has at most %d pages\n",
		 err == -FI_ENOSYS ? "/proc/self/pagemap cannot be read" : fi_strerror(-err), LIMIT_REGION_PAGES);
	return err;
}

/* What one call is about. */
struct refresh {
	struct emu_mr *mr;
	struct iovec segments[LIMIT_IOV];	/* the region's */
	size_t segment_count;
	const struct iovec *ranges;
	size_t count;
	bool writable;
};

/* Begins: with the role, what is asked is held against the region, and peers are shut out. */
static int begin(struct refresh *refresh)
{
	struct mr *mr = refresh->mr->mr;

	if (!mr_complete(refresh->mr))	/* then there is no region, or it is not done yet */
		return -FI_EOPBADSTATE;
	refresh->segment_count = mr->iov_count;
	for (size_t i = 0; i < mr->iov_count; i++)
		refresh->segments[i] = mr_segments(mr)[i];
	refresh->writable = mr->access & (MR_RECV | MR_READ | MR_REMOTE_WRITE);
	for (size_t i = 0; i < refresh->count; i++) {
		if (!mr_covers(mr, (uintptr_t)refresh->ranges[i].iov_base, refresh->ranges[i].iov_len)) {
			EMU_WARN(MR, "fi_mr_refresh: range %zu is not inside the region (S114)\n", i);
			return -FI_EINVAL;
		}
	}
	if (!refresh->count) {	/* S112 */
		refresh->ranges = refresh->segments;
		refresh->count = refresh->segment_count;
	}
	if (mr->pages)
		mr->pages->refreshing++;
	mr->refreshes++;
	return 0;
}

/* Without the role: the kernel's work. `fresh` is NULL where the NIC keeps no table. */
static int supply(const struct refresh *refresh, struct mr_pages *fresh)
{
	for (size_t i = 0; i < refresh->count; i++) {
		void  *addr = refresh->ranges[i].iov_base;
		size_t length = refresh->ranges[i].iov_len;

		if (guard_populate(addr, length, refresh->writable)) {
			EMU_WARN(MR, "fi_mr_refresh: %zu B at %p are not backed by memory that could be %s (S114)\n",
				 length, addr, refresh->writable ? "written" : "read");
			return -FI_EINVAL;
		}
	}
	for (size_t i = 0; fresh && i < refresh->count; i++) {
		if (mr_pages_scan(fresh, (uintptr_t)refresh->ranges[i].iov_base, refresh->ranges[i].iov_len))
			return -FI_EINVAL;
	}
	return 0;
}

static void end(const struct refresh *refresh, const struct mr_pages *fresh)
{
	struct mr *mr = refresh->mr->mr;

	mr->refreshes--;
	if (!mr->pages)
		return;
	mr->pages->refreshing--;
	for (size_t i = 0; fresh && i < refresh->count; i++)	/* S113 */
		mr_pages_take(mr->pages, fresh, (uintptr_t)refresh->ranges[i].iov_base, refresh->ranges[i].iov_len);
}

static int run(struct refresh *refresh, bool notify)
{
	struct driver *driver = nic_driver(refresh->mr->domain->nic);
	struct mr_pages *fresh = NULL;
	int err;

	if (!driver_enter(driver))
		return -FI_EAGAIN;
	err = begin(refresh);
	driver_leave(driver);
	if (err)
		return err;
	if (notify)
		err = open_pages(refresh->segments, refresh->segment_count, &fresh);
	if (!err)
		err = supply(refresh, fresh);
	driver_enter(driver);
	end(refresh, err ? NULL : fresh);
	driver_leave(driver);
	mr_pages_close(fresh);
	return err;
}

int mr_refresh(struct emu_mr *mr, const struct fi_mr_modify *modify)
{
	struct refresh refresh = { .mr = mr };
	int rules = mr->domain->rules;

	if (!domain_usable(mr->domain))
		return -FI_ENODEV;
	if (!modify)
		return -FI_EINVAL;
	if (modify->flags)
		return -FI_EBADFLAGS;	/* S5 */
	if ((rules & FI_MR_ALLOCATED) && !(rules & FI_MR_MMU_NOTIFY))
		return -FI_ENOSYS;	/* S110 */
	if (modify->attr.iov_count && !modify->attr.mr_iov)
		return -FI_EINVAL;
	if (modify->attr.iov_count > mr->domain->attr->mr_iov_limit)
		return -FI_EINVAL;
	if (modify->attr.mr_iov) {
		refresh.ranges = modify->attr.mr_iov;
		refresh.count = modify->attr.iov_count;
	}
	return run(&refresh, rules & FI_MR_MMU_NOTIFY);
}
