/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_fabric.c - fabrics: their life, and their calls. */
#include "emu/kfi/objects/kemu_open.h"

#include <kfi_cxi_ext.h>
#include <kfi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/ep/kemu_ep.h"
#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/objects/kemu_queue_parts.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_personality.h"
#include "emu/kfi/provider/kemu_refuse.h"

/* The fabrics that are open, the first one first. */
static struct kemu_fabric *fabrics;
static pthread_mutex_t fabrics_lock = PTHREAD_MUTEX_INITIALIZER;

unsigned int kemu_fabrics_open(void)
{
	unsigned int count = 0;

	pthread_mutex_lock(&fabrics_lock);
	for (const struct kemu_fabric *fabric = fabrics; fabric; fabric = fabric->next)
		count++;
	pthread_mutex_unlock(&fabrics_lock);
	return count;
}

char *kemu_fabric_name(const struct kfid_fabric *kfid)
{
	char *name = NULL;

	pthread_mutex_lock(&fabrics_lock);
	for (const struct kemu_fabric *fabric = fabrics; fabric && !name; fabric = fabric->next)
		if (&fabric->kfid == kfid)
			name = strdup(fabric->name);
	pthread_mutex_unlock(&fabrics_lock);
	return name;
}

struct kfid_fabric *kemu_fabric_named(const char *name)
{
	struct kemu_fabric *fabric;

	pthread_mutex_lock(&fabrics_lock);
	for (fabric = fabrics; fabric && strcmp(fabric->name, name) != 0;)
		fabric = fabric->next;
	pthread_mutex_unlock(&fabrics_lock);
	return fabric ? &fabric->kfid : NULL;
}

static void enter_fabric(struct kemu_fabric *fabric)
{
	struct kemu_fabric **link = &fabrics;

	pthread_mutex_lock(&fabrics_lock);
	while (*link)
		link = &(*link)->next;
	*link = fabric;
	pthread_mutex_unlock(&fabrics_lock);
}

static void leave_fabric(struct kemu_fabric *fabric)
{
	struct kemu_fabric **link = &fabrics;

	pthread_mutex_lock(&fabrics_lock);
	while (*link != fabric)
		link = &(*link)->next;
	*link = fabric->next;
	pthread_mutex_unlock(&fabrics_lock);
}

static int kemu_fabric_close(struct kfid *fid)
{
	struct kemu_fabric *fabric = container_of(fid, struct kemu_fabric, kfid.fid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	if (atomic_load(&fabric->object.users))
		return KEMU_REFUSE(-KFI_EBUSY,
				   "kfi_close: open objects of the fabric: %u (domains, event queues, passive endpoints, wait "
				   "sets). Close them first.",
				   atomic_load(&fabric->object.users));
	err = fi_close(&fabric->fi->fid);
	if (err)
		return err;
	leave_fabric(fabric);
	kemu_softirq_close(fabric->softirq);
	free(fabric->name);
	free(fabric);
	return 0;
}

/* The emulated NIC reserves nothing: either way it gives what is asked for. */
static int enable_dynamic_rsrc_alloc(struct kfid *fid, bool enable)
{
	(void)fid, (void)enable;
	return 0;
}

static struct kfi_cxi_fabric_ops cxi_fabric_ops = { .enable_dynamic_rsrc_alloc = enable_dynamic_rsrc_alloc };

static int kemu_fabric_ops_open(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	if (!name || !ops || flags || strcmp(name, KFI_CXI_FAB_OPS_1) != 0)
		return kemu_no_ops_open(fid, name, flags, ops, context);
	*ops = &cxi_fabric_ops;
	return 0;
}

static struct kfi_ops fabric_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_fabric_close,
	.bind = kemu_no_bind,
	.control = kemu_no_control,
	.ops_open = kemu_fabric_ops_open,
};

static struct kfi_ops_fabric fabric_ops = {
	.size = sizeof(struct kfi_ops_fabric),
	.domain = kemu_domain_open,
	.passive_ep = kemu_pep_open,
	.eq_open = kemu_eq_open,
	.wait_open = kemu_wait_open,
};

static int open_fabric(struct kemu_fabric *fabric, const struct kfi_fabric_attr *attr)
{
	char name[KFI_PATH_MAX];
	struct fi_fabric_attr fi = { .name = name,
				     .prov_name = (char *)(uintptr_t)kemu_fi_provider,
				     .api_version = kemu_fi_version() };
	int err = kemu_fabric_name_to_fi(fabric->personality, attr->name, name, sizeof(name));

	if (err)
		return KEMU_REFUSE(err, "kfi_fabric: there is no fabric `%s`. Pass the fabric_attr of an info of kfi_getinfo().",
				   attr->name);
	err = kemu_softirq_open(&fabric->softirq);
	if (err)
		return err;
	err = fi_fabric(&fi, &fabric->fi, fabric);
	if (err)
		kemu_softirq_close(fabric->softirq);
	return err;
}

int kemu_fabric_open(struct kfi_fabric_attr *attr, struct kfid_fabric **out, void *context)
{
	struct kemu_fabric *fabric;
	int err;

	EMU_KERNEL_SLEEPS("kfi_fabric");
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -KFI_ENOMEM;
	fabric->kfid = (struct kfid_fabric){ .fid = { .fclass = KFI_CLASS_FABRIC, .context = context, .ops = &fabric_fid_ops },
					     .ops = &fabric_ops };
	fabric->personality = kemu_personality();
	fabric->name = strdup(attr->name);
	err = !fabric->name ? -KFI_ENOMEM : fabric->personality ? open_fabric(fabric, attr) : -KFI_EINVAL;
	if (err) {
		free(fabric->name);
		free(fabric);
		return err;
	}
	enter_fabric(fabric);
	*out = &fabric->kfid;
	return 0;
}
