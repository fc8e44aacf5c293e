/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_domain.c - the domain object. The first one starts the NIC, which then runs until the process ends. */
#include "emu/fi/fi_domain.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/fi_auth.h"
#include "emu/fi/fi_atomic.h"
#include "emu/fi/fi_av.h"
#include "emu/fi/fi_cntr.h"
#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_cq.h"
#include "emu/fi/fi_ep.h"
#include "emu/fi/fi_eq.h"
#include "emu/fi/fi_fault.h"
#include "emu/fi/fi_mr.h"
#include "emu/fi/fi_mr_cache.h"
#include "emu/fi/fi_mr_mode.h"
#include "emu/fi/fi_mr_pin.h"
#include "emu/fi/fi_mr_raw.h"
#include "emu/fi/fi_poll.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_scalable.h"
#include "emu/fi/fi_secret.h"
#include "emu/fi/fi_settings.h"
#include "emu/fi/fi_shared.h"
#include "emu/fi/fi_stubs.h"
#include "emu/fi/fi_work.h"
#include "emu/net/net.h"
#include "emu/nic/guard.h"

int domain_get(struct emu_domain *domain, atomic_uint *kind, size_t limit, const char *what)
{
	if (!domain_usable(domain))
		return -FI_ENODEV;
	if (atomic_fetch_add(kind, 1) >= limit) {
		atomic_fetch_sub(kind, 1);
		EMU_WARN(DOMAIN, "%zu %s are open in this domain: the limit\n", limit, what);
		return -FI_ENOMEM;
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

/* An event queue alone: without FI_REG_MR it is where the domain's control events go, of which there are none. */
static int domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct emu_domain *domain = (struct emu_domain *)fid;
	struct emu_eq *eq = (struct emu_eq *)bfid, *none = NULL;

	if (!bfid || bfid->fclass != FI_CLASS_EQ)
		return -FI_EINVAL;
	if (flags & ~COMPAT_REG_MR)
		return -FI_EBADFLAGS;
	if (!domain_usable(domain))
		return -FI_ENODEV;
	if (emu_eq_fabric(eq) != domain->fabric || !atomic_compare_exchange_strong(&domain->eq, &none, eq))
		return -FI_EINVAL;
	emu_eq_get(eq);
	atomic_store(&domain->reg_async, flags & COMPAT_REG_MR);
	return 0;
}

/* -FI_EBUSY while anything of the domain is open, regions included (S182). */
static int domain_close(struct fid *fid)
{
	struct emu_domain *domain = (struct emu_domain *)fid;
	int err = 0;

	if (atomic_load(&domain->users))
		return -FI_EBUSY;
	if (domain_usable(domain)) {
		if (!driver_enter(nic_driver(domain->nic)))
			return -FI_EAGAIN;
		err = pd_close(domain->pd);
		driver_leave(nic_driver(domain->nic));
	}
	if (err)
		return err;
	mr_cache_stop(domain, domain->cache);
	if (atomic_load(&domain->eq))
		emu_eq_put(atomic_load(&domain->eq));
	opened_remove(&domain->opened);
	atomic_fetch_sub(&domain->fabric->users, 1);
	free(domain);
	return 0;
}

static int domain_control(struct fid *fid, int command, void *arg)
{
	struct emu_domain *domain = (struct emu_domain *)fid;

	switch (command) {
	case FI_MAP_RAW_MR:
		return domain_map_raw(domain, arg);
	case FI_QUEUE_WORK:
		return work_queue(domain, arg);
	case FI_CANCEL_WORK:
		return work_cancel(domain, arg);
	case FI_FLUSH_WORK:
		return work_flush(domain, arg);
	case FI_UNMAP_KEY:
		return arg ? domain_unmap_key(domain, *(const uint64_t *)arg) : -FI_EINVAL;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = domain_close,
	.bind = domain_bind,
	.control = domain_control,
	.ops_open = mr_cache_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = emu_av_open,
	.cq_open = emu_cq_open,
	.endpoint = emu_ep_open,
	.scalable_ep = emu_scalable_open,
	.cntr_open = emu_cntr_open,
	.poll_open = emu_poll_open,
	.stx_ctx = emu_stx_open,
	.srx_ctx = emu_srx_open,
	.query_atomic = emu_query_atomic,
	.query_collective = stub_query_collective,
	.endpoint2 = emu_ep_open2,
};

static struct fi_ops_mr domain_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = emu_mr_reg,
	.regv = emu_mr_regv,
	.regattr = emu_mr_regattr,
};

/* What the device and its outside have to say goes to libfabric's log. */
static void log_line(enum nic_log level, const char *text)
{
	static const enum fi_log_level levels[] = {
		[NIC_LOG_WARN] = FI_LOG_WARN, [NIC_LOG_INFO] = FI_LOG_INFO, [NIC_LOG_DEBUG] = FI_LOG_DEBUG,
	};

	FI_LOG(&emu_provider, levels[level], FI_LOG_EP_DATA, "%s\n", text);
}

static int start_nic(const struct settings *settings, struct nic **nic)
{
	struct fault_plan plan;
	struct net_config config = {
		.nic = {
			.digest = settings->digest,
			.retry_budget_ns = settings->retry_budget_ns,
			.refused_dials = settings->refused_dials,
			.unexpected_bytes = settings->unexpected_bytes,
			.fetch_reads = settings->fetch_reads,
			.dgram_loss = settings->dgram_loss,
			.dgram_seed = settings->dgram_seed,
		},
		.manual = settings->manual, /* one NIC a process: a domain that asks for less progress gets more */
		.silence_ns = settings->silence_ns,
		.local = settings->local,
		.log = log_line,
	};
	int err = settings->fault ? fault_read(settings->fault, &plan) : 0;
	struct secret_bytes secret;

	if (err)
		return err;
	config.nic.fault = settings->fault ? &plan : NULL;
	config.slow_ns = settings->fault ? fault_thread(&plan) : 0;
	err = guard_install();
	if (err)
		EMU_WARN(DOMAIN, "no handler for faults in program memory: %s\n", fi_strerror(-err));
	if (settings->secret_file) {
		err = secret_read(settings->secret_file, &secret);
		if (err)
			return err;
		config.nic.secret = secret.bytes;
		config.nic.secret_length = secret.length;
	}
	err = net_start(nic, &config);
	if (settings->secret_file)
		secret_forget(&secret);
	if (err)
		EMU_WARN(DOMAIN, "the NIC cannot be started: %s\n", fi_strerror(-err));
	return err;
}

int emu_nic_start(struct nic **nic)
{
	struct settings settings;
	int err = settings_read(&settings);

	return err ? err : start_nic(&settings, nic);
}

/* A domain that is being made has no key yet: it takes any. */
static int take_auth(struct emu_domain *domain, const struct fi_domain_attr *attr)
{
	int err;

	if (!auth_known(domain->api))
		return 0;
	if (auth_by_av(domain->api, attr->auth_key_size) && !attr->auth_key) {
		domain->av_auth = true;
		return 0;
	}
	err = auth_take(domain, "domain", attr->auth_key, attr->auth_key_size, &domain->auth);
	if (!err)
		domain->auth_key_size = attr->auth_key_size;
	return err;
}

static int check_info(const struct emu_fabric *fabric, const struct fi_info *info, int *rules)
{
	if (!info || !info->domain_attr)
		return -FI_EINVAL;
	*rules = mr_mode_rules(fabric->fid.api_version, info->domain_attr->mr_mode, info->mode);
	if (*rules < 0) {
		EMU_WARN(DOMAIN, "mr_mode %#x is not one that fi_getinfo gives\n",
			 (unsigned)info->domain_attr->mr_mode);
		return -FI_EINVAL;
	}
	return 0;
}

int emu_domain_open(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **out, void *context)
{
	struct emu_fabric *fabric = emu_fabric(fid);
	struct settings settings;
	struct emu_domain *domain;
	int rules, err;

	err = out ? check_info(fabric, info, &rules) : -FI_EINVAL;
	if (!err)
		err = settings_read(&settings);
	if (err)
		return err;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain->api = fabric->fid.api_version;
	domain->rules = rules;
	domain->desc_rights = rules & FI_MR_LOCAL ? MR_ACCESS_ALL : 0;
	domain->looks_at_descs = rules & FI_MR_LOCAL || !FI_VERSION_LT(domain->api, FI_VERSION(1, 22));
	err = take_auth(domain, info->domain_attr);
	if (!err)
		err = start_nic(&settings, &domain->nic);
	domain->pinned = settings.pinned && mr_pin_rules(rules);
	if (!err && domain->pinned)
		err = mr_pin_start();
	if (!err && settings.mr_cache)
		err = mr_cache_start(domain, &domain->cache);
	domain->needs_descs = rules & FI_MR_LOCAL || domain->cache;
	if (!err)
		err = pd_open(domain->nic, &domain->pd);
	if (err) {
		mr_cache_stop(domain, domain->cache);
		free(domain);
		return err;
	}
	domain->fabric = fabric;
	domain->attr = settings.attr;
	domain->caps = info->caps ? info->caps : settings.attr->caps & ~ATTR_CAPS_ASKED;
	domain->close = settings.close;
	domain->addr_format = info->addr_format;
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &domain_mr_ops;
	opened_add(&domain->opened, &domain->fid.fid, info->domain_attr->name);
	atomic_fetch_add(&fabric->users, 1);
	*out = &domain->fid;
	return 0;
}
