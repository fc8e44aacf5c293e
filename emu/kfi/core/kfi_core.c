/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_core.c - the registered providers, what they offer to clients, and the references that hold them and their objects; words for
 * error numbers. */
#include <kfi_errno.h>
#include <kfi_prov.h>
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/kernel.h>

struct registration {
	struct registration *next;
	struct kfi_provider *provider;
};

/* In the order of registration, under the lock. No provider is called under the lock, as it may register another. */
static struct registration *first;
static DEFINE_MUTEX(lock);

uint32_t kfi_version(void)
{
	return KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION);
}
EXPORT_SYMBOL(kfi_version);

void kfi_ref_provider(struct kfi_provider *provider)
{
	atomic_inc(&provider->ref_cnt);
}
EXPORT_SYMBOL(kfi_ref_provider);

void kfi_deref_provider(struct kfi_provider *provider)
{
	if (atomic_dec_and_test(&provider->ref_cnt))
		complete(&provider->comp);
}
EXPORT_SYMBOL(kfi_deref_provider);

void kfi_init_id(struct kfid *fid)
{
	init_completion(&fid->comp);
	atomic_set(&fid->ref_cnt, 1);
}
EXPORT_SYMBOL(kfi_init_id);

void kfi_ref_id(struct kfid *fid)
{
	atomic_inc(&fid->ref_cnt);
}
EXPORT_SYMBOL(kfi_ref_id);

void kfi_deref_id(struct kfid *fid)
{
	if (atomic_dec_and_test(&fid->ref_cnt))
		complete(&fid->comp);
}
EXPORT_SYMBOL(kfi_deref_id);

void kfi_close_id(struct kfid *fid)
{
	kfi_deref_id(fid);
	wait_for_completion(&fid->comp);
}
EXPORT_SYMBOL(kfi_close_id);

/* The link to the provider of that name, or the NULL at the end. Under the lock. */
static struct registration **find_name(const char *name)
{
	struct registration **link = &first;

	while (*link && strcmp((*link)->provider->name, name) != 0)
		link = &(*link)->next;
	return link;
}

int kfi_provider_register(struct kfi_provider *provider)
{
	struct registration *registration, **link;

	if (!provider || !provider->name || !provider->kgetinfo || !provider->kfabric)
		return -KFI_EINVAL;
	if (KFI_MAJOR(provider->kfi_version) != KFI_MAJOR_VERSION || KFI_MINOR(provider->kfi_version) > KFI_MINOR_VERSION)
		return -KFI_ENOSYS;
	registration = kzalloc(sizeof(*registration), GFP_KERNEL);
	if (!registration)
		return -KFI_ENOMEM;
	registration->provider = provider;
	mutex_lock(&lock);
	link = find_name(provider->name);
	if (*link) {
		mutex_unlock(&lock);
		kfree(registration);
		return -KFI_EALREADY;
	}
	init_completion(&provider->comp);
	atomic_set(&provider->ref_cnt, 1);
	*link = registration;
	mutex_unlock(&lock);
	return 0;
}
EXPORT_SYMBOL(kfi_provider_register);

int kfi_provider_deregister(struct kfi_provider *provider)
{
	struct registration *registration, **link;

	if (!provider || !provider->name)
		return -KFI_EINVAL;
	mutex_lock(&lock);
	link = find_name(provider->name);
	registration = *link;
	if (!registration || registration->provider != provider) {
		mutex_unlock(&lock);
		return -KFI_ENOENT;
	}
	*link = registration->next;
	mutex_unlock(&lock);
	kfree(registration);
	kfi_deref_provider(provider);
	wait_for_completion(&provider->comp);
	if (provider->cleanup)
		provider->cleanup();
	return 0;
}
EXPORT_SYMBOL(kfi_provider_deregister);

/* The providers at this moment, or the one of that name, each with a reference. The count, or an error; the caller frees *list. */
static int take_providers(const char *name, struct kfi_provider ***list)
{
	size_t count = 0;
	int taken = 0;

	mutex_lock(&lock);
	for (struct registration *at = first; at; at = at->next)
		count++;
	*list = kcalloc(count, sizeof(**list), GFP_KERNEL);
	if (!*list)
		taken = -KFI_ENOMEM;
	for (struct registration *at = first; at && taken >= 0; at = at->next) {
		if (name && strcmp(at->provider->name, name) != 0)
			continue;
		kfi_ref_provider(at->provider);
		(*list)[taken++] = at->provider;
	}
	mutex_unlock(&lock);
	return taken;
}

/* Enters the provider's name and the version of the client's API in each of its infos. */
static int name_infos(const struct kfi_provider *provider, uint32_t version, struct kfi_info *infos)
{
	struct kfi_fabric_attr *attr;

	for (struct kfi_info *at = infos; at; at = at->next) {
		if (!at->fabric_attr)
			at->fabric_attr = kzalloc(sizeof(*at->fabric_attr), GFP_KERNEL);
		attr = at->fabric_attr;
		if (attr && !attr->prov_name)
			attr->prov_name = kstrdup(provider->name, GFP_KERNEL);
		if (!attr || !attr->prov_name)
			return -KFI_ENOMEM;
		attr->prov_version = provider->version;
		attr->api_version = version;
	}
	return 0;
}

/* KFI_PROV_ATTR_ONLY: one info without anything but the name and the versions, and the provider is not asked. */
static int ask_provider(const struct kfi_provider *provider, uint32_t version, const char *node, const char *service,
			uint64_t flags, struct kfi_info *hints, struct kfi_info **infos)
{
	if (!(flags & KFI_PROV_ATTR_ONLY))
		return provider->kgetinfo(version, node, service, flags, hints, infos);
	*infos = kfi_allocinfo();
	return *infos ? 0 : -KFI_ENOMEM;
}

int kfi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
		struct kfi_info **info)
{
	const char *name = hints && hints->fabric_attr ? hints->fabric_attr->prov_name : NULL;
	struct kfi_info *all = NULL, **end = &all;
	struct kfi_provider **providers;
	int count, rc = 0;

	if (!info)
		return -KFI_EINVAL;
	if (KFI_VERSION_LT(kfi_version(), version))
		return -KFI_ENOSYS;
	count = take_providers(name, &providers);
	if (count < 0)
		return count;
	for (int i = 0; i < count; i++) {
		struct kfi_info *infos = NULL;

		/* A provider that fails is left out, and hides no other. */
		if (!rc && !ask_provider(providers[i], version, node, service, flags, hints, &infos)) {
			*end = infos;
			rc = name_infos(providers[i], version, infos);
			while (*end)
				end = &(*end)->next;
		}
		kfi_deref_provider(providers[i]);
	}
	kfree(providers);
	if (!rc && !all)
		rc = -KFI_ENODATA;
	if (rc)
		kfi_freeinfo(all);
	else
		*info = all;
	return rc;
}
EXPORT_SYMBOL(kfi_getinfo);

int kfi_fabric(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric, void *context)
{
	struct kfi_provider *provider = NULL;
	struct registration *registration;
	int rc;

	if (!attr || !attr->prov_name || !attr->name || !fabric)
		return -KFI_EINVAL;
	mutex_lock(&lock);
	registration = *find_name(attr->prov_name);
	if (registration) {
		provider = registration->provider;
		kfi_ref_provider(provider);
	}
	mutex_unlock(&lock);
	if (!provider)
		return -KFI_ENODEV;
	rc = provider->kfabric(attr, fabric, context);
	if (!rc)
		(*fabric)->api_version = attr->api_version;
	kfi_deref_provider(provider);
	return rc;
}
EXPORT_SYMBOL(kfi_fabric);

/* --- words for error numbers --- */

static const char *const kfi_texts[] = {
	[KFI_EOTHER - KFI_ERRNO_OFFSET] = "Error of no particular kind",
	[KFI_ETOOSMALL - KFI_ERRNO_OFFSET] = "Buffer too small",
	[KFI_EOPBADSTATE - KFI_ERRNO_OFFSET] = "Operation not possible in this state",
	[KFI_EAVAIL - KFI_ERRNO_OFFSET] = "An error entry waits to be read",
	[KFI_EBADFLAGS - KFI_ERRNO_OFFSET] = "Flags not supported",
	[KFI_ENOEQ - KFI_ERRNO_OFFSET] = "No event queue",
	[KFI_EDOMAIN - KFI_ERRNO_OFFSET] = "Wrong domain",
	[KFI_ENOCQ - KFI_ERRNO_OFFSET] = "No completion queue",
	[KFI_ECRC - KFI_ERRNO_OFFSET] = "Checksum error",
	[KFI_ETRUNC - KFI_ERRNO_OFFSET] = "Message truncated",
	[KFI_ENOKEY - KFI_ERRNO_OFFSET] = "Key not available",
	[KFI_ENOAV - KFI_ERRNO_OFFSET] = "No address vector",
	[KFI_EOVERRUN - KFI_ERRNO_OFFSET] = "Queue overrun",
};

const char *kfi_strerror(int errnum)
{
	const char *text = NULL;

	if (errnum < KFI_ERRNO_OFFSET)
		text = strerrordesc_np(errnum);
	else if (errnum - KFI_ERRNO_OFFSET < (int)ARRAY_SIZE(kfi_texts))
		text = kfi_texts[errnum - KFI_ERRNO_OFFSET];
	return text ? text : "Unknown error";
}
EXPORT_SYMBOL(kfi_strerror);
