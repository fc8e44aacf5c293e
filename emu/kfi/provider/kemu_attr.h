/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_attr.h - attributes of kfabric in libfabric's, and back, one structure each; names and addresses are kemu_info.c's.
 * To libfabric: false where a number or bit has no meaning there, and *why says which member. Any thread. */
#ifndef EMU_KFI_ATTR_H
#define EMU_KFI_ATTR_H

#include <kfabric.h>
#include <rdma/fabric.h>
#include <stdbool.h>

struct kemu_personality;

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

#endif
