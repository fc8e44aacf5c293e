/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_work.h - deferred work of a domain (fi_trigger(3)): operations, and changes of counters, that wait for a counter. Any
 * thread. */
#ifndef EMU_FI_WORK_H
#define EMU_FI_WORK_H

#include <rdma/fi_trigger.h>

struct emu_domain;

/* FI_QUEUE_WORK. 0, or what the call of such an operation would say; -FI_EINVAL, -FI_EDOMAIN, -FI_ENOSYS; -FI_EAGAIN. */
int work_queue(struct emu_domain *domain, const struct fi_deferred_work *work);
/* FI_CANCEL_WORK. 0; -FI_ENOENT: it is not there any more. */
int work_cancel(struct emu_domain *domain, const struct fi_deferred_work *work);
/* FI_FLUSH_WORK: all, or what waits for one counter. 0, -FI_EINVAL. */
int work_flush(struct emu_domain *domain, struct fid_cntr *cntr);

#endif
