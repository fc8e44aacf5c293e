/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_domain.c - the functions of a domain that its objects call, and the start of the process's NIC. */
#include "emu/fi/domain/fi_domain.h"

#include <rdma/fi_errno.h>

#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/personality/fi_mr_mode.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_watched.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/process/start/nic_start.h"

/* The kernel reads it, as a program may give any value. */
bool domain_of_hook(const void *context)
{
	struct fid fid;

	return context && kernel_copy(&fid, context, sizeof(fid)) == KERNEL_COPIED && fid.fclass == FI_CLASS_DOMAIN;
}

int domain_get(struct emu_domain *domain, atomic_uint *kind, size_t limit, const char *what)
{
	if (!domain_usable(domain))
		return refuse_inherited(what);
	if (atomic_fetch_add(kind, 1) >= limit) {
		atomic_fetch_sub(kind, 1);
		return REFUSE(DOMAIN, -FI_ENOMEM, "%s: %zu are open in this domain, the limit. Close some first.", what, limit);
	}
	atomic_fetch_add(&domain->users, 1);
	return 0;
}

void domain_put(struct emu_domain *domain, atomic_uint *kind)
{
	atomic_fetch_sub(kind, 1);
	atomic_fetch_sub(&domain->users, 1);
}

struct emu_eq *domain_reg_eq(struct emu_domain *domain)
{
	return atomic_load(&domain->reg_async) ? atomic_load(&domain->eq) : NULL;
}

const struct emu_hmem_ops *domain_find_hmem(struct emu_domain *domain)
{
	if (domain->caps & FI_HMEM && !domain_hmem(domain))
		atomic_store_explicit(&domain->hmem, hmem_find(), memory_order_relaxed);
	return domain_hmem(domain);
}

bool domain_is_as(const struct fid *fid, const void *arg)
{
	const struct emu_domain *domain = (const struct emu_domain *)fid;
	const struct fi_info *info = arg;
	uint64_t differ = domain->caps ^ info->caps;

	if (domain->rules != mr_mode_rules(info->fabric_attr->api_version, info->domain_attr->mr_mode, info->mode))
		return false;
	return !(differ & FI_HMEM) && !(differ & info->caps & (FI_RMA_EVENT | FI_RMA_PMEM | FI_COLLECTIVE));
}

static bool tell_rules(const struct fid *fid, const void *arg)
{
	**(int *const *)arg = ((const struct emu_domain *)fid)->rules;
	return true;
}

bool domain_rules(const void *fid, int *rules)
{
	return fid && registry_find(FI_CLASS_DOMAIN, NULL, fid, tell_rules, &rules);
}

int close_end_check(const struct emu_domain *domain, const struct binding_end *end, const char *what)
{
	struct driver *driver = nic_driver(domain->nic);
	bool bound;

	if (!driver_enter(driver))
		return -FI_EAGAIN; /* from a signal handler inside the device: close_end() could not have the role either */
	bound = end->first;
	driver_leave(driver);
	if (!bound || !domain->close->end_waits)
		return 0;
	return REFUSE(DOMAIN, -FI_EBUSY, "fi_close: regions are bound to the %s (FI_EMU_MR_CLOSE=%s). Close them first.", what,
		      domain->close->name);
}

void close_end(const struct emu_domain *domain, struct binding_end *end)
{
	bool more;

	do {
		driver_take(nic_driver(domain->nic)); /* close_end_check() has returned 0 */
		more = binding_drop_slice(end);
		driver_leave(nic_driver(domain->nic));
	} while (more);
}

/* --- the process's NIC, as the settings and the personality want it --- */

int nic_start_by(const struct settings *settings, struct nic **nic)
{
	const struct nic_start start = {
		.personality = settings->attr->name,
		.watch = settings->process.check.on ? &check_watch : NULL,
		.receives_first = settings->attr->receives_first,
		.multi_buf = settings->attr->multi_buf,
		.fetch_reads = settings->fetch_reads,
	};

	return nic_start(&settings->process, &start, nic);
}

int emu_nic_start(struct nic **nic)
{
	struct settings settings;
	int err = settings_read(&settings);

	return err ? err : nic_start_by(&settings, nic);
}
