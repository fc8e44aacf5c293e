/* SPDX-License-Identifier: BSD-2-Clause */
/* flush.h - making bytes durable, as the device sees it. That sleeps, so the outside does it: emu/net on its worker
 * thread, tests/sim when it likes.
 *
 * Owner:  a flush is the device's; from begin() to nic_flushed() the outside's. Its memory may be unmapped meanwhile. */
#ifndef EMU_NIC_FLUSH_H
#define EMU_NIC_FLUSH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/limits.h"

struct nic;

struct flush {
	struct flush *next;          /* for its present owner */
	struct iovec run[LIMIT_IOV]; /* of shared file mappings; at any alignment */
	uint8_t count;
	atomic_bool unwanted; /* no answer waits for it any more: it may be left undone. Set by the device, a hint */
	int result;           /* set by the outside: 0, or -errno if any of the bytes may not be durable */
};

struct flush_ops {
	/* Called with the driver role; neither blocks nor calls back. nic_flushed() follows once, later. */
	void (*begin)(void *arg, struct flush *flush);
};

/* Any thread, without the role. After nic_close() it must not come any more. */
void nic_flushed(struct nic *nic, struct flush *flush);

#endif
