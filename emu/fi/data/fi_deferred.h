/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_deferred.h - deferred work of a domain (fi_trigger(3)): operations, and changes of counters, that wait for a counter. Any
 * thread. */
#ifndef EMU_FI_DEFERRED_H
#define EMU_FI_DEFERRED_H

#include <rdma/fi_trigger.h>

struct emu_domain;

/* FI_QUEUE_WORK. 0, or the error that the call of the operation would return; -FI_EINVAL, -FI_EDOMAIN, -FI_ENOSYS; -FI_EAGAIN. */
int deferred_work_queue(struct emu_domain *domain, const struct fi_deferred_work *work);
/* FI_CANCEL_WORK. 0; -FI_ENOENT: it is not there any more. */
int deferred_work_cancel(struct emu_domain *domain, const struct fi_deferred_work *work);
/* FI_FLUSH_WORK: all work, or the work that waits for one counter. 0, -FI_EINVAL. */
int deferred_work_flush(struct emu_domain *domain, struct fid_cntr *cntr);

#endif
