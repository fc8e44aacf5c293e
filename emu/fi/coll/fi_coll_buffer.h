/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_coll_buffer.h - the local buffers of collectives, and the regions that they must lie in (S184 to S187). Any thread. */
#ifndef EMU_FI_COLL_BUFFER_H
#define EMU_FI_COLL_BUFFER_H

#include <stdint.h>
#include <sys/uio.h>

struct emu_domain;

/* `right`: MR_SEND or MR_RECV. 0; -FI_EINVAL, or -FI_EFAULT from a registration cache, after a line of log. *desc becomes NULL
 * where it names nothing. */
int coll_check_buffer(const struct emu_domain *domain, const char *call, const struct iovec *buffer, void **desc, uint32_t right);

#endif
