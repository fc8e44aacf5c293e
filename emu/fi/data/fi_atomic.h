/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_atomic.h - the table of remote atomics, and fi_query_atomic(). Any thread; nothing blocks. */
#ifndef EMU_FI_ATOMIC_H
#define EMU_FI_ATOMIC_H

#include <rdma/fi_atomic.h>

/* One of the three buffers of a call. */
struct atomic_buffer {
	const struct fi_ioc *ioc;
	void *const *desc;
	size_t count;
	uint32_t right; /* as in struct local_side */
};

struct atomic_call {
	struct fid_ep *ep;
	uint8_t kind; /* enum atomic_kind */
	const struct fi_msg_atomic *msg;
	struct atomic_buffer compare, result;
	uint64_t flags; /* in force: the endpoint's defaults, or those of the *msg call */
};

/* The one post: 0; or a negative errno, and nothing was posted. */
ssize_t emu_atomic_post(const struct atomic_call *call);

/* fi_atomic(3): 0 and *attr; -FI_EOPNOTSUPP: there is no such operation; -FI_EINVAL, -FI_EBADFLAGS. */
int emu_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags);

#endif
