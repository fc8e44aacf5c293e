/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_data_impl.h - the parts of a call on its way to the device. Any thread; nothing blocks. */
#ifndef EMU_FI_DATA_IMPL_H
#define EMU_FI_DATA_IMPL_H

#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/ops/op.h"

struct emu_domain;
struct emu_ep;
struct fi_info;

/* --- the two posts that messages come down to, tagged and untagged (fi_msg.c, fi_tagged.c). --- */

/* `group` is FI_MSG or FI_TAGGED. `post` has the buffers, the context, and the call's destination or source, data, tag and ignored
 * bits; its rest is zero and is filled in. `desc` has the buffers' descriptors. `flags` are in force: the endpoint's defaults, or
 * those of the *msg call, checked against those that it knows. Any thread. 0; or a negative errno, and nothing was posted. */
ssize_t message_send(struct emu_ep *ep, uint64_t group, struct post *post, void *const *desc, uint64_t flags);
ssize_t message_recv(struct emu_ep *ep, uint64_t group, struct recv_post *post, void *const *desc, uint64_t flags);

/* --- local buffers in memory of devices, after data_check_local(): the NIC reaches the bytes at other addresses. --- */

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

/* --- a program's keys for remote memory, turned into those of the peer. Any thread; nothing blocks. --- */

/* Replaces handles by the peers' keys. 0; -FI_ENOKEY after a line of log. */
int rkey_map(struct emu_domain *domain, struct remote *remote, size_t count);

/* Keys are as the program gave them: 0, or as above. */
static inline int rkey_keys(struct emu_domain *domain, struct remote *remote, size_t count)
{
	return domain->rules & FI_MR_RAW ? rkey_map(domain, remote, count) : 0;
}

/* --- FI_TAG_MPI and FI_TAG_CCL (fi_endpoint(3)): what tags and ignore masks may be. Endpoints of these formats alone have the
 * calls that look. Any thread. --- */

/* For deferred work: 0, or -FI_EINVAL after a line of log. */
int tag_check_send(const struct emu_ep *ep, uint64_t tag);
int tag_check_recv(const struct emu_ep *ep, uint64_t tag, uint64_t ignore);

#endif
