/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_reach.h - local buffers in memory of devices, after data_check_local(): the NIC reaches the bytes at other addresses. */
#ifndef EMU_FI_REACH_H
#define EMU_FI_REACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/nic/base/likely.h"

/* Is it memory of a device, or an address that no allocation of one has any more? */
bool reach_is_device(const struct emu_domain *domain, const struct iovec *iov);

/* data_reach() where there are devices. */
int reach_devices(const struct emu_ep *ep, const struct iovec **iov, size_t count, void *const *desc, uint32_t right,
		  uint64_t flags, struct iovec *room) __attribute__((cold));

/* Turns a call's buffers into those that the device moves: *iov stays, or becomes `room`, which has LIMIT_IOV elements and may be
 * *iov itself. The other arguments are those of data_check_local(). 0; or, after a line of log, -FI_EINVAL: FI_MR_HMEM demands a
 * descriptor (S134, S137); -FI_EFAULT: freed memory. */
static inline int data_reach(const struct emu_ep *ep, const struct iovec **iov, size_t count, void *const *desc, uint32_t right,
			     uint64_t flags, struct iovec *room)
{
	return unlikely(domain_hmem(ep->domain)) ? reach_devices(ep, iov, count, desc, right, flags, room) : 0;
}

#endif
