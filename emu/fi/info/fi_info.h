/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_info.h - fi_getinfo(): its answers, and what programs asked for. Any thread. */
#ifndef EMU_FI_INFO_H
#define EMU_FI_INFO_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_compat.h"

struct fi_info;
struct local_addr;

/* --- fi_getinfo of the provider. Any thread, no serialization asked; name resolution may block. --- */

/* 0 and *list; -FI_ENODATA after one warn-level line with the reason why nothing fits; -FI_EBADFLAGS, -FI_EINVAL,
 * -FI_ENOMEM. */
int emu_getinfo(uint32_t api, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		struct fi_info **list);

/* --- Programs that do not come to this provider, told to reports: fi_getinfo found nothing, or libfabric did not ask. A
 * program may ask for more than it needs and then for less: readers of reports forgive what a process asked in vain that
 * opened a NIC. Any thread. --- */

/* libfabric has loaded the provider: the calling thread is in the program's first call. After settings_define(). */
void asked_loaded(void);
/* fi_getinfo of this provider is called. */
void asked_now(void);
/* It finds nothing. */
void asked_in_vain(const char *why);
/* At the provider's end, before report_end(): was it ever asked? */
void asked_end(void);

/* --- hints against a personality: the answer of fi_getinfo without addresses, or why nothing fits. --- */

/* Returns an info of fi_allocinfo() with all but addresses, names and prov_name set, for endpoints of this type; or NULL with
 * one sentence in `why` (empty: out of memory). `hints` may be NULL. `layered`: a layered provider of libfabric asks, to build
 * upon this one. */
struct fi_info *negotiate(const struct settings *settings, uint32_t api, const struct fi_info *hints, const struct attr_type *type,
			  bool layered, char *why, size_t size);

/* --- fi_nic(3): the NIC of an info. Any thread.
 *
 * Owner: the info: fi_freeinfo() closes it, fi_dupinfo() duplicates it, by its table of calls or by libfabric's own ones,
 * which take it apart by free(). --- */

/* The NIC that an address of this machine belongs to; NULL: no memory. */
struct fid_nic *nic_make(const struct local_addr *local);

#endif
