/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_tag_format.h - FI_TAG_MPI and FI_TAG_CCL (fi_endpoint(3)): what tags and ignore masks may be. Endpoints of these formats alone
 * have the calls that look. Any thread. */
#ifndef EMU_FI_TAG_FORMAT_H
#define EMU_FI_TAG_FORMAT_H

#include <stdint.h>

struct emu_domain;
struct emu_ep;
struct fi_info;

/* The format that an endpoint of this info has to keep to, or 0: any tag will do. */
uint64_t tag_format(const struct emu_domain *domain, const struct fi_info *info);
/* Gives an endpoint that has its tables, and has ep->tag_format, the calls that look. */
void tag_format_tables(struct emu_ep *ep);
/* For deferred work: 0, or -FI_EINVAL after a line of log. */
int tag_check_send(const struct emu_ep *ep, uint64_t tag);
int tag_check_recv(const struct emu_ep *ep, uint64_t tag, uint64_t ignore);

#endif
