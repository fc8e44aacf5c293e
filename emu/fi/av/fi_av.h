/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av.h - the address vector object. Map and table are the same to us: an fi_addr_t is an index. Any thread;
 * insertion by name may block in name resolution. */
#ifndef EMU_FI_AV_H
#define EMU_FI_AV_H

#include <stdbool.h>

#include <rdma/fi_domain.h>

struct av;
struct av_auth;
struct av_shared;
struct emu_domain;
struct emu_eq;

struct emu_av {
	struct fid_av fid;
	struct emu_domain *domain;
	struct av *av;            /* the device's */
	struct av_auth *keys;     /* if the domain was opened with FI_AV_AUTH_KEY, else NULL */
	struct av_shared *shared; /* if it has a name, else NULL */
	struct emu_eq *eq;        /* bound, or NULL */
	bool events;              /* opened with FI_EVENT: insertions report to eq */
};

int emu_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);

#endif
