/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_bits.h - kfabric's bits in libfabric's numbers, and back. Most have the same value, which kemu_bits.c asserts; these differ:
 * the modes of registration, KFI_TAGGED_RMA and KFI_TAGGED_MULTI_RECV. Pure. */
#ifndef EMU_KFI_BITS_H
#define EMU_KFI_BITS_H

#include <stdbool.h>
#include <stdint.h>

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
