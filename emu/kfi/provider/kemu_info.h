/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_info.h - kfi_getinfo(), and infos in both directions. Any thread; may sleep. */
#ifndef EMU_KFI_INFO_H
#define EMU_KFI_INFO_H

#include <kfabric.h>

struct fi_info;
struct kemu_personality;

/* libfabric's provider below, and the API version that has kfabric's semantics. */
extern const char kemu_fi_provider[];
uint32_t kemu_fi_version(void);

/* kfi_getinfo() of the provider: fi_getinfo(3). */
int kemu_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
		 struct kfi_info **info);

/* An info of kfi_getinfo(), by which an object is opened; `call` names the caller in the sentence of a refusal. -KFI_EINVAL,
 * -KFI_ENOMEM. Freed by fi_freeinfo(). The handle is the caller's to fill. */
int kemu_info_to_fi(const struct kemu_personality *personality, const char *call, const struct kfi_info *kfi, struct fi_info **fi);
/* NULL without memory. Freed by kfi_freeinfo(). The handle is NULL. */
struct kfi_info *kemu_info_from_fi(const struct kemu_personality *personality, const struct fi_info *fi);

/* The name that libfabric's provider has for a fabric (kfi_fabric_attr.name), of `size` bytes. -KFI_ENODATA: there is none. */
int kemu_fabric_name_to_fi(const struct kemu_personality *personality, const char *kfi, char *fi, size_t size);

#endif
