/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_domain.h - the domain object: a protection domain of the process's NIC and the rules it was opened with.
 * Everything but the counts is constant after open. Any thread. */
#ifndef EMU_FI_DOMAIN_H
#define EMU_FI_DOMAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/fi_domain.h>

#include "emu/fi/fi_attr.h"
#include "emu/fi/fi_fabric.h"
#include "emu/fi/fi_opened.h"
#include "emu/nic/nic.h"

struct emu_domain {
	struct fid_domain fid;
	struct opened opened;
	struct emu_fabric *fabric;
	struct nic *nic;
	struct pd  *pd;
	const struct attr_table *attr;
	uint32_t api;		/* version that the program was written to */
	int      rules;		/* FI_MR_LOCAL, VIRT_ADDR, ALLOCATED, PROV_KEY in force */
	uint32_t addr_format;
	atomic_uint users;	/* all objects of the domain */
	atomic_uint eps, cqs, cntrs;
};

static inline struct emu_domain *emu_domain(struct fid_domain *fid)
{
	return (struct emu_domain *)fid;
}

int emu_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context);

/* False in a fork's child: the NIC is its parent's, and no call may touch it. */
bool domain_usable(const struct emu_domain *domain);

/* Counts one more object of a kind that has a limit, and the domain's use by it. 0; -FI_ENOMEM at the limit, logged;
 * -FI_ENODEV if the domain is not usable. */
int  domain_get(struct emu_domain *domain, atomic_uint *kind, size_t limit, const char *what);
void domain_put(struct emu_domain *domain, atomic_uint *kind);

#endif
