/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_tag_format.h - FI_TAG_MPI and FI_TAG_CCL (fi_endpoint(3)): what tags and ignore masks may be. Endpoints of these formats alone
 * have the calls that look. Any thread. */
#ifndef EMU_FI_TAG_FORMAT_H
#define EMU_FI_TAG_FORMAT_H

#include <stdint.h>

struct emu_domain;
struct emu_ep;
struct fi_info;

/* For deferred work: 0, or -FI_EINVAL after a line of log. */
int tag_check_send(const struct emu_ep *ep, uint64_t tag);
int tag_check_recv(const struct emu_ep *ep, uint64_t tag, uint64_t ignore);

#endif
