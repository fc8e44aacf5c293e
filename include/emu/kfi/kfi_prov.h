/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_prov.h - what a provider of kfabric registers, and how it counts the users of its objects. Clients do not include it. */
#ifndef EMU_KFI_PROV_H
#define EMU_KFI_PROV_H

#include <kfabric.h>

/* The provider's own, from registration until deregistration has returned. comp and ref_cnt belong to the calls below. */
struct kfi_provider {
	uint32_t version;
	uint32_t kfi_version; /* the API that it was written for */
	struct kfi_context context;
	const char *name; /* by which kfi_fabric() finds it */
	int (*kgetinfo)(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
			struct kfi_info **info);
	int (*kfabric)(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric, void *context);
	void (*cleanup)(void); /* may be NULL */
	struct completion comp;
	atomic_t ref_cnt;
};

/* Offers a provider to clients. -KFI_EINVAL: it lacks its name, kgetinfo or kfabric; -KFI_ENOSYS: it was written for a later API or
 * another major version; -KFI_EALREADY: its name is taken. May sleep. */
int kfi_provider_register(struct kfi_provider *provider);

/* Takes a provider back: no call finds it from now on. Blocks until its last reference has gone, then calls its cleanup.
 * -KFI_ENOENT: it is not registered. */
int kfi_provider_deregister(struct kfi_provider *provider);

/* Counts an object or a call that needs the provider. Any context. */
void kfi_ref_provider(struct kfi_provider *provider);

/* Gives back what kfi_ref_provider() counted. The last one lets kfi_provider_deregister() go on. Any context. */
void kfi_deref_provider(struct kfi_provider *provider);

/* Begins the count of an object at 1, the reference of its opener. Not while another thread knows the object. */
void kfi_init_id(struct kfid *fid);

/* Counts an access to the object, or another object that needs it. The caller holds a reference, or the opener's is there. */
void kfi_ref_id(struct kfid *fid);

/* Gives back what kfi_ref_id() counted. The last one lets kfi_close_id() go on. Any context. */
void kfi_deref_id(struct kfid *fid);

/* Gives the opener's reference back, and blocks until no reference is left: the object can be freed then. */
void kfi_close_id(struct kfid *fid);

#endif
