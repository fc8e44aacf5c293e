/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_domain.c - domains: their life, their event queue, and their tables. */
#include "emu/kfi/objects/kemu_open.h"

#include <kfi_cxi_ext.h>
#include <kfi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/ep/kemu_ep.h"
#include "emu/kfi/mr/kemu_mr.h"
#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

/* The domains that are open, the first one first. */
static struct kemu_domain *domains;
static pthread_mutex_t domains_lock = PTHREAD_MUTEX_INITIALIZER;

char *kemu_domain_name(const struct kfid_domain *kfid, const struct kfid_fabric *fabric)
{
	char *name = NULL;

	pthread_mutex_lock(&domains_lock);
	for (const struct kemu_domain *domain = domains; domain && !name; domain = domain->next)
		if (&domain->kfid == kfid && (!fabric || &domain->fabric->kfid == fabric) && domain->name)
			name = strdup(domain->name);
	pthread_mutex_unlock(&domains_lock);
	return name;
}

struct kfid_domain *kemu_domain_named(const char *name, const struct kfid_fabric *fabric)
{
	struct kemu_domain *domain;

	pthread_mutex_lock(&domains_lock);
	for (domain = domains; domain; domain = domain->next)
		if (&domain->fabric->kfid == fabric && domain->name && !strcmp(domain->name, name))
			break;
	pthread_mutex_unlock(&domains_lock);
	return domain ? &domain->kfid : NULL;
}

static void enter_domain(struct kemu_domain *domain)
{
	struct kemu_domain **link = &domains;

	pthread_mutex_lock(&domains_lock);
	while (*link)
		link = &(*link)->next;
	*link = domain;
	pthread_mutex_unlock(&domains_lock);
}

static void leave_domain(struct kemu_domain *domain)
{
	struct kemu_domain **link = &domains;

	pthread_mutex_lock(&domains_lock);
	while (*link != domain)
		link = &(*link)->next;
	*link = domain->next;
	pthread_mutex_unlock(&domains_lock);
}

static void free_closed(struct kemu_domain *domain)
{
	while (domain->closed) {
		struct kemu_ep *ep = domain->closed;

		domain->closed = ep->next;
		free(ep);
	}
}

static int kemu_domain_close(struct kfid *fid)
{
	struct kemu_domain *domain = kemu_domain(fid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	if (atomic_load(&domain->object.users))
		return KEMU_REFUSE(-KFI_EBUSY,
				   "kfi_close: open objects of the domain: %u (endpoints, contexts, queues, counters, address "
				   "vectors, poll sets, regions). Close them first (S182).",
				   atomic_load(&domain->object.users));
	err = fi_close(&domain->fi->fid);
	if (err)
		return err;
	leave_domain(domain);
	free_closed(domain);
	pthread_mutex_destroy(&domain->lock);
	free(domain->name);
	kemu_object_end(&domain->object, domain);
	return 0;
}

/* With KFI_REG_MR the queue reports the ends of registrations, which emu/kfi/mr tells it. */
static int kemu_domain_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags)
{
	struct kemu_domain *domain = kemu_domain(fid);
	struct kemu_eq *eq = kemu_eq_of(bfid, domain->fabric);

	EMU_KERNEL_SLEEPS("kfi_domain_bind");
	if (!eq)
		return KEMU_REFUSE(-KFI_EINVAL,
				   "kfi_domain_bind: a domain is bound to an event queue of its fabric, and to nothing else.");
	if (flags & ~(uint64_t)KFI_REG_MR)
		return KEMU_REFUSE_FLAGS("kfi_domain_bind", flags & ~(uint64_t)KFI_REG_MR, "");
	if (domain->object.bound)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_domain_bind: the domain has an event queue already.");
	if (flags)
		domain->mr_eq = eq;
	kemu_object_bind(&domain->object, eq);
	return 0;
}

/* The device for which a client maps memory: there is one, and it needs nothing. */
struct device {
	const char *name;
};

static struct device emu_device = { "emu" };

static int get_device(struct kfid *fid, struct device **device)
{
	(void)fid;
	if (!device)
		return KEMU_REFUSE(-KFI_EINVAL, "get_device: device is NULL.");
	*device = &emu_device;
	return 0;
}

static struct kfi_cxi_domain_ops cxi_domain_ops = { .get_device = get_device };

static int kemu_domain_ops_open(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	if (!name || !ops || flags || strcmp(name, KFI_CXI_DOM_OPS_1) != 0)
		return kemu_no_ops_open(fid, name, flags, ops, context);
	*ops = &cxi_domain_ops;
	return 0;
}

static int kemu_domain_control(struct kfid *fid, int command, void *arg)
{
	EMU_KERNEL_SLEEPS("kfi_control");
	if (command == KFI_MAP_RAW_MR || command == KFI_UNMAP_KEY)
		return kemu_mr_domain_control(fid, command, arg);
	return kemu_no_control(fid, command, arg);
}

static struct kfi_ops domain_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_domain_close,
	.bind = kemu_domain_bind,
	.control = kemu_domain_control,
	.ops_open = kemu_domain_ops_open,
};

static struct kfi_ops_domain domain_ops = {
	.size = sizeof(struct kfi_ops_domain),
	.av_open = kemu_av_open,
	.cq_open = kemu_cq_open,
	.endpoint = kemu_ep_open,
	.scalable_ep = kemu_scalable_open,
	.cntr_open = kemu_cntr_open,
	.poll_open = kemu_poll_open,
	.stx_ctx = kemu_stx_open,
	.srx_ctx = kemu_srx_open,
	.query_atomic = kemu_query_atomic,
};

static int open_domain(struct kemu_domain *domain, const struct kfi_info *info)
{
	struct fi_info *fi = NULL;
	int err;

	if (!info || !info->domain_attr)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_domain: info or info->domain_attr is NULL.");
	err = kemu_info_to_fi(domain->fabric->personality, "kfi_domain", info, &fi);
	if (err)
		return err;
	domain->mr_mode = kemu_kfi_mr_mode(fi->domain_attr->mr_mode);
	domain->caps = info->caps;
	domain->name = info->domain_attr->name ? strdup(info->domain_attr->name) : NULL;
	err = info->domain_attr->name && !domain->name ? -KFI_ENOMEM : fi_domain(domain->fabric->fi, fi, &domain->fi, domain);
	fi_freeinfo(fi);
	return err;
}

int kemu_domain_open(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_domain **out, void *context)
{
	struct kemu_domain *domain;
	int err;

	EMU_KERNEL_SLEEPS("kfi_domain");
	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_domain: domain is NULL.");
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -KFI_ENOMEM;
	domain->fabric = kemu_fabric(fabric);
	domain->kfid = (struct kfid_domain){ .fid = { .fclass = KFI_CLASS_DOMAIN, .context = context, .ops = &domain_fid_ops },
					     .ops = &domain_ops,
					     .mr = &kemu_mr_ops };
	err = open_domain(domain, info);
	if (err)
		free(domain->name);
	err = kemu_object_opened(&domain->object, &domain->fabric->object.users, domain, err);
	if (err)
		return err;
	pthread_mutex_init(&domain->lock, NULL);
	enter_domain(domain);
	*out = &domain->kfid;
	return 0;
}
