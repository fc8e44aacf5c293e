/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_domain_open.c - the domain object: its life, and its tables of functions. */
#include "emu/fi/coll/fi_coll.h"
#include "emu/fi/domain/fi_domain.h"

#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/data/fi_data.h"
#include "emu/fi/domain/fi_auth.h"
#include "emu/fi/av/fi_av.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/personality/fi_mr_mode.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/mr/fi_mr_cache.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/fi/queues/fi_eq.h"
#include "emu/fi/queues/fi_wait.h"
#include "emu/net/thread/net.h"

/* Binds an event queue, and nothing else. Without FI_REG_MR it gets the domain's control events, of which there are none. */
static int domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct emu_domain *domain = (struct emu_domain *)fid;
	struct emu_eq *eq = (struct emu_eq *)bfid, *none = NULL;

	if (!bfid || bfid->fclass != FI_CLASS_EQ)
		return REFUSE(DOMAIN, -FI_EINVAL, "fi_domain_bind: a domain is bound to an event queue, and to nothing else.");
	if (flags & ~COMPAT_REG_MR)
		return REFUSE_FLAGS(DOMAIN, "fi_domain_bind", flags & ~COMPAT_REG_MR);
	if (!domain_usable(domain))
		return refuse_inherited("fi_domain_bind");
	if (emu_eq_fabric(eq) != domain->fabric || !atomic_compare_exchange_strong(&domain->eq, &none, eq))
		return REFUSE(DOMAIN, -FI_EINVAL,
			      "fi_domain_bind: the domain has an event queue already, or this one is of "
			      "another fabric object.");
	emu_eq_get(eq);
	atomic_store(&domain->reg_async, flags & COMPAT_REG_MR);
	return 0;
}

/* The open objects of a domain, as a list in words. */
struct census {
	char text[400];
	int length;
	unsigned others; /* objects that are not in the list */
};

static void census_add(struct census *census, unsigned count, const char *what)
{
	census->others -= count;
	if (count)
		census->length += snprintf(census->text + census->length, sizeof(census->text) - (size_t)census->length, "%s%u %s",
					   census->length ? ", " : "", count, what);
}

static void census_regions(struct census *census, struct mr_table *regions)
{
	const struct mr *mr = mr_any(regions);

	census_add(census, (unsigned)mr_count(regions), "regions");
	if (mr)
		census->length += snprintf(census->text + census->length, sizeof(census->text) - (size_t)census->length,
					   " (such as %llu B at %p with key %#llx)", (unsigned long long)mr->length,
					   mr_segments(mr)->iov_base, (unsigned long long)mr->key);
}

static int domain_busy(struct emu_domain *domain)
{
	struct census census = { .others = atomic_load(&domain->users) };

	if (domain_usable(domain) && driver_enter(nic_driver(domain->nic))) {
		census_regions(&census, pd_regions(domain->pd));
		driver_leave(nic_driver(domain->nic));
	}
	census_add(&census, atomic_load(&domain->eps), "endpoints");
	census_add(&census, atomic_load(&domain->cqs), "completion queues");
	census_add(&census, atomic_load(&domain->cntrs), "counters");
	census_add(&census, atomic_load(&domain->tx_contexts) + atomic_load(&domain->rx_contexts), "contexts");
	census_add(&census, census.others, "address vectors or poll sets");
	return REFUSE(DOMAIN, -FI_EBUSY, "fi_close: open in the domain are %s. Close them first (S182).", census.text);
}

/* -FI_EBUSY while anything of the domain is open, regions included (S182). */
static int domain_close(struct fid *fid)
{
	struct emu_domain *domain = (struct emu_domain *)fid;
	char name[sizeof(domain->opened.name)];
	bool usable = domain_usable(domain);
	int err = 0;

	if (atomic_load(&domain->users))
		return domain_busy(domain);
	memcpy(name, domain->opened.name, sizeof(name));
	registry_remove(&domain->opened); /* first: others find its regions by that list */
	if (usable) {
		err = -FI_EAGAIN;
		if (driver_enter(nic_driver(domain->nic))) {
			err = pd_close(domain->pd);
			driver_leave(nic_driver(domain->nic));
		}
	}
	if (err) {
		registry_add(&domain->opened, &domain->fid.fid, name);
		return err == -FI_EAGAIN
			       ? err
			       : REFUSE(DOMAIN, err,
					"fi_close: keys of peers are mapped in the domain. End each by fi_mr_unmap_key first "
					"(S58).");
	}
	mr_cache_stop(domain, domain->cache);
	if (atomic_load(&domain->eq))
		emu_eq_put(atomic_load(&domain->eq));
	atomic_fetch_sub(&domain->fabric->users, 1);
	free(domain);
	if (usable)
		net_end();
	return 0;
}

static int domain_control(struct fid *fid, int command, void *arg)
{
	struct emu_domain *domain = (struct emu_domain *)fid;

	switch (command) {
	case FI_MAP_RAW_MR:
		return domain_map_raw(domain, arg);
	case FI_QUEUE_WORK:
		return deferred_work_queue(domain, arg);
	case FI_CANCEL_WORK:
		return deferred_work_cancel(domain, arg);
	case FI_FLUSH_WORK:
		return deferred_work_flush(domain, arg);
	case FI_UNMAP_KEY:
		return arg ? domain_unmap_key(domain, *(const uint64_t *)arg)
			   : REFUSE(MR, -FI_EINVAL, "fi_control, FI_UNMAP_KEY: arg is NULL. It points to the key.");
	default:
		return refuse_command("a domain", command);
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

static struct compat_ops_domain domain_ops = {
	.base = {
		.size = sizeof(struct compat_ops_domain),
		.av_open = emu_av_open,
		.cq_open = emu_cq_open,
		.endpoint = emu_ep_open,
		.scalable_ep = emu_scalable_open,
		.cntr_open = emu_cntr_open,
		.poll_open = emu_poll_open,
		.stx_ctx = emu_stx_open,
		.srx_ctx = emu_srx_open,
		.query_atomic = emu_query_atomic,
		.query_collective = emu_query_collective,
		.endpoint2 = emu_ep_open2,
	},
	.COMPAT_XPU(xpu_ctx) = stub_xpu_ctx,
};

static struct fi_ops_mr domain_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = emu_mr_reg,
	.regv = emu_mr_regv,
	.regattr = emu_mr_regattr,
};

/* A domain that is being made has no key yet: it takes one of any size. */
static int take_auth(struct emu_domain *domain, const struct fi_domain_attr *attr)
{
	int err;

	if (!auth_known(domain->api))
		return 0;
	if (auth_by_av(domain->api, attr->auth_key_size) && !attr->auth_key) {
		domain->av_auth = true;
		return 0;
	}
	err = auth_take(domain, "fi_domain", attr->auth_key, attr->auth_key_size, &domain->auth);
	if (!err)
		domain->auth_key_size = attr->auth_key_size;
	return err;
}

static int check_info(const struct emu_fabric *fabric, const struct fi_info *info, int *rules)
{
	if (!info || !info->domain_attr)
		return REFUSE(DOMAIN, -FI_EINVAL, "fi_domain: info or info->domain_attr is NULL.");
	*rules = mr_mode_rules(fabric->fid.api_version, info->domain_attr->mr_mode, info->mode);
	if (*rules < 0)
		return REFUSE(DOMAIN, -FI_EINVAL,
			      "fi_domain: mr_mode %#x is not one that fi_getinfo gives. Set it in hints, and "
			      "pass the info that comes back.",
			      (unsigned)info->domain_attr->mr_mode);
	return 0;
}

int emu_domain_open(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **out, void *context)
{
	struct emu_fabric *fabric = emu_fabric(fid);
	struct settings settings;
	struct emu_domain *domain;
	int rules, err;

	if (!out)
		return REFUSE(DOMAIN, -FI_EINVAL, "fi_domain: domain is NULL.");
	err = check_info(fabric, info, &rules);
	if (!err)
		err = settings_read(&settings);
	if (err)
		return err;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain->api = fabric->fid.api_version;
	domain->rules = rules;
	domain->hooked = domain_of_hook(context);
	domain->desc_rights = rules & FI_MR_LOCAL ? MR_ACCESS_ALL : 0;
	domain->looks_at_descs = rules & (FI_MR_LOCAL | FI_MR_HMEM) || !FI_VERSION_LT(domain->api, FI_VERSION(1, 22));
	domain->attr = settings.attr;
	domain->caps = info->caps ? info->caps : settings.attr->caps & ~ATTR_CAPS_ASKED;
	/* Peers reach no memory of a program that asked for no such capability, so FI_MR_PROV_KEY was cleared (S69). */
	domain->draws_local_keys = FI_VERSION_GE(domain->api, FI_VERSION(2, 6)) || !caps_rma_target(domain->caps);
	domain_find_hmem(domain); /* before the NIC starts, so that its fault handler stands over that of the devices */
	err = take_auth(domain, info->domain_attr);
	if (!err)
		err = nic_start_by(&settings, &domain->nic);
	domain->claim = atomic_load(&net_claim);
	domain->rc_order = settings.process.order == ORDER_RC;
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
		if (domain->nic)
			net_end();
		free(domain);
		return err;
	}
	domain->fabric = fabric;
	domain->close = settings.close;
	domain->addr_format = info->addr_format;
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops.base;
	domain->fid.mr = &domain_mr_ops;
	registry_add(&domain->opened, &domain->fid.fid, info->domain_attr->name);
	atomic_fetch_add(&fabric->users, 1);
	*out = &domain->fid;
	return 0;
}
