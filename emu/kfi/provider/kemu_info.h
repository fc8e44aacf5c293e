/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_info.h - kfi_getinfo(); infos, attributes and bits in both directions. */
#ifndef EMU_KFI_INFO_H
#define EMU_KFI_INFO_H

#include <kfabric.h>
#include <rdma/fabric.h>
#include <stdbool.h>
#include <stdint.h>

struct fi_info;
struct kemu_personality;

/* --- kfi_getinfo(), and infos in both directions. Any thread; may sleep. --- */

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

/* --- kemu_attr.c: attributes of kfabric in libfabric's, and back, one structure each; names and addresses are kemu_info.c's.
 * To libfabric: false where a number or bit has no meaning there, and *why says which member. Any thread. --- */

bool kemu_caps_to_fi(const struct kemu_personality *personality, uint64_t kfi, uint64_t *fi, const char **why);
bool kemu_tx_attr_to_fi(const struct kemu_personality *personality, const struct kfi_tx_attr *kfi, struct fi_tx_attr *fi,
			const char **why);
bool kemu_rx_attr_to_fi(const struct kemu_personality *personality, const struct kfi_rx_attr *kfi, struct fi_rx_attr *fi,
			const char **why);
/* The keys of these two are allocated: `why` stays NULL where there was no memory. */
bool kemu_ep_attr_to_fi(const struct kemu_personality *personality, const struct kfi_ep_attr *kfi, struct fi_ep_attr *fi,
			const char **why);
bool kemu_domain_attr_to_fi(const struct kemu_personality *personality, const struct kfi_domain_attr *kfi,
			    struct fi_domain_attr *fi, const char **why);

uint64_t kemu_caps_from_fi(const struct kemu_personality *personality, uint64_t fi);
void kemu_tx_attr_from_fi(const struct kemu_personality *personality, const struct fi_tx_attr *fi, struct kfi_tx_attr *kfi);
void kemu_rx_attr_from_fi(const struct kemu_personality *personality, const struct fi_rx_attr *fi, struct kfi_rx_attr *kfi);
/* False: no memory for the key. */
bool kemu_ep_attr_from_fi(const struct kemu_personality *personality, const struct fi_ep_attr *fi, struct kfi_ep_attr *kfi);
bool kemu_domain_attr_from_fi(const struct kemu_personality *personality, const struct fi_domain_attr *fi,
			      struct kfi_domain_attr *kfi);

/* --- kemu_bits.c: kfabric's bits in libfabric's numbers, and back. Most have the same value, which it asserts; these differ: the
 * modes of registration, KFI_TAGGED_RMA and KFI_TAGGED_MULTI_RECV. Pure. --- */

/* Capabilities. False: one of them has no meaning at libfabric's provider. */
bool kemu_fi_caps(uint64_t kfi, uint64_t *fi);
uint64_t kemu_kfi_caps(uint64_t fi);
/* mr_mode */
bool kemu_fi_mr_mode(int kfi, int *fi);
int kemu_kfi_mr_mode(int fi);
/* Flags of operations, of binds and of registration. False: a bit that kfabric does not have there. */
bool kemu_fi_flags(uint64_t kfi, uint64_t *fi);
/* Does kfabric have the bit as a flag of those, or as a capability, and libfabric by the same name? */
bool kemu_is_flag(uint64_t bit);
bool kemu_is_cap(uint64_t bit);
/* Flags of completions, as kfabric's clients compare them: exactly. */
uint64_t kemu_kfi_cq_flags(uint64_t fi);

#endif
