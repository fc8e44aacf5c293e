/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_bits.c - kfabric's bits in libfabric's numbers, and their names. */
#include "emu/kfi/provider/kemu_info.h"

#include <kfi_domain.h>
#include <kfi_tagged.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>

#include "emu/fi/provider/fi_kernel.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/fi/provider/fi_words.h"

#define SAME(name) _Static_assert((uint64_t)KFI_##name == (uint64_t)FI_##name, "KFI_" #name)

SAME(MSG);
SAME(RMA);
SAME(TAGGED);
SAME(ATOMIC);
SAME(MULTICAST);
SAME(READ);
SAME(WRITE);
SAME(RECV);
SAME(SEND);
SAME(TRANSMIT);
SAME(REMOTE_READ);
SAME(REMOTE_WRITE);
SAME(MULTI_RECV);
SAME(REMOTE_CQ_DATA);
SAME(MORE);
SAME(PEEK);
SAME(TRIGGER);
SAME(FENCE);
SAME(COMPLETION);
SAME(EVENT);
SAME(INJECT);
SAME(INJECT_COMPLETE);
SAME(TRANSMIT_COMPLETE);
SAME(DELIVERY_COMPLETE);
SAME(AFFINITY);
SAME(COMMIT_COMPLETE);
SAME(RMA_PMEM);
SAME(SOURCE_ERR);
SAME(LOCAL_COMM);
SAME(REMOTE_COMM);
SAME(SHARED_AV);
SAME(NUMERICHOST);
SAME(RMA_EVENT);
SAME(SOURCE);
SAME(NAMED_RX_CTX);
SAME(DIRECTED_RECV);
SAME(SELECTIVE_COMPLETION);
SAME(SYMMETRIC);
SAME(SYNC_ERR);
SAME(CLAIM);
SAME(DISCARD);

/* Capabilities that are the same in both. */
#define CAPS                                                                                                             \
	(KFI_MSG | KFI_RMA | KFI_TAGGED | KFI_ATOMIC | KFI_MULTICAST | KFI_READ | KFI_WRITE | KFI_RECV | KFI_SEND |      \
	 KFI_REMOTE_READ | KFI_REMOTE_WRITE | KFI_MULTI_RECV | KFI_TRIGGER | KFI_FENCE | KFI_RMA_PMEM | KFI_SOURCE_ERR | \
	 KFI_LOCAL_COMM | KFI_REMOTE_COMM | KFI_SHARED_AV | KFI_RMA_EVENT | KFI_SOURCE | KFI_NAMED_RX_CTX | KFI_DIRECTED_RECV)

/* Flags that are the same in both. Some bits have two names, of different calls. */
#define FLAGS                                                                                                                    \
	(KFI_READ | KFI_WRITE | KFI_RECV | KFI_SEND | KFI_REMOTE_READ | KFI_REMOTE_WRITE | KFI_MULTI_RECV | KFI_REMOTE_CQ_DATA | \
	 KFI_TAGGED | KFI_MORE | KFI_PEEK | KFI_TRIGGER | KFI_FENCE | KFI_COMPLETION | KFI_INJECT | KFI_INJECT_COMPLETE |        \
	 KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE | KFI_AFFINITY | KFI_COMMIT_COMPLETE | KFI_RMA_PMEM | KFI_RMA_EVENT |     \
	 KFI_SELECTIVE_COMPLETION | KFI_DISCARD)

/* Flags by which a completion tells of its operation. */
#define CQ_FLAGS                                                                                                      \
	(KFI_SEND | KFI_RECV | KFI_RMA | KFI_ATOMIC | KFI_MSG | KFI_TAGGED | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | \
	 KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA | KFI_MULTI_RECV)

static const struct mr_mode_pair {
	int kfi, fi;
} mr_modes[] = {
	{ KFI_MR_LOCAL, FI_MR_LOCAL },         { KFI_MR_RAW, FI_MR_RAW },
	{ KFI_MR_VIRT_ADDR, FI_MR_VIRT_ADDR }, { KFI_MR_PROV_KEY, FI_MR_PROV_KEY },
	{ KFI_MR_RMA_EVENT, FI_MR_RMA_EVENT }, { KFI_MR_ENDPOINT, FI_MR_ENDPOINT },
};

enum { MR_MODES = sizeof(mr_modes) / sizeof(mr_modes[0]) };

bool kemu_fi_caps(uint64_t kfi, uint64_t *fi)
{
	*fi = kfi & CAPS;
	if (kfi & KFI_TAGGED_RMA)
		*fi |= EMU_FI_TAGGED_RMA;
	return !(kfi & ~(CAPS | KFI_TAGGED_RMA));
}

uint64_t kemu_kfi_caps(uint64_t fi)
{
	return (fi & CAPS) | (fi & EMU_FI_TAGGED_RMA ? KFI_TAGGED_RMA : 0);
}

bool kemu_fi_mr_mode(int kfi, int *fi)
{
	*fi = 0;
	for (size_t i = 0; i < MR_MODES; i++) {
		if (kfi & mr_modes[i].kfi)
			*fi |= mr_modes[i].fi;
		kfi &= ~mr_modes[i].kfi;
	}
	return !kfi;
}

int kemu_kfi_mr_mode(int fi)
{
	int kfi = 0;

	for (size_t i = 0; i < MR_MODES; i++)
		if (fi & mr_modes[i].fi)
			kfi |= mr_modes[i].kfi;
	return kfi;
}

bool kemu_fi_flags(uint64_t kfi, uint64_t *fi)
{
	*fi = kfi & FLAGS;
	return !(kfi & ~FLAGS);
}

bool kemu_is_flag(uint64_t bit)
{
	return bit & FLAGS;
}

bool kemu_is_cap(uint64_t bit)
{
	return bit & CAPS;
}

/* A tagged RMA says at both ends what it does to the remote buffer, and which end it is. */
static uint64_t tagged_rma(uint64_t flags)
{
	uint64_t kfi = flags & ~(KFI_REMOTE_READ | KFI_REMOTE_WRITE);

	if (!(flags & KFI_RECV))
		return kfi | KFI_SEND;
	return kfi | (flags & KFI_REMOTE_READ ? KFI_READ : 0) | (flags & KFI_REMOTE_WRITE ? KFI_WRITE : 0);
}

uint64_t kemu_kfi_cq_flags(uint64_t fi)
{
	uint64_t kfi = fi & CQ_FLAGS;

	return (kfi & (KFI_TAGGED | KFI_RMA)) == (KFI_TAGGED | KFI_RMA) ? tagged_rma(kfi) : kfi;
}

/* --- names: by emu/fi's code where kfabric has the bit as libfabric has it --- */

static const char *kemu_bit_name(uint64_t bit, char text[FLAG_NAMES_MAX])
{
	if (bit == KFI_TAGGED_RMA)
		return "KFI_TAGGED_RMA";
	if (bit == KFI_TAGGED_MULTI_RECV)
		return "KFI_TAGGED_MULTI_RECV";
	if (kemu_is_flag(bit) || kemu_is_cap(bit)) {
		flag_names(bit, kemu_is_flag(bit) ? FI_TYPE_OP_FLAGS : FI_TYPE_CAPS, text);
		words_of_kernel(true); /* in this library, whose sentences are the kernel's alone */
		words_put(text, FLAG_NAMES_MAX);
	} else {
		snprintf(text, FLAG_NAMES_MAX, "bit %d", __builtin_ctzll(bit));
	}
	return text;
}

const char *kemu_flag_names(uint64_t flags, char text[KEMU_FLAG_NAMES_MAX])
{
	char name[FLAG_NAMES_MAX];
	size_t length = 0;

	*text = '\0';
	for (; flags && length < KEMU_FLAG_NAMES_MAX; flags &= flags - 1)
		length += (size_t)snprintf(text + length, KEMU_FLAG_NAMES_MAX - length, "%s%s", length ? ", " : "",
					   kemu_bit_name(flags & -flags, name));
	return text;
}
