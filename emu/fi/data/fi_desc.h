/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_desc.h - what is wrong with the descriptor of a local buffer, in words. Any thread; only for refused calls. */
#ifndef EMU_FI_DESC_H
#define EMU_FI_DESC_H

#include <stdint.h>
#include <sys/uio.h>

struct emu_domain;

/* -FI_EINVAL, for S72 to S75 and S23 to S26 alike; the sentence tells them apart. `desc` NULL: there is none. `access`: the
 * rights that the region must have, which `right` names. */
int desc_refuse(const struct emu_domain *domain, const char *call, const char *right, const struct iovec *buffer, const void *desc,
		uint32_t access) __attribute__((cold));

#endif
