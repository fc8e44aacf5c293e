/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts of scalable endpoints: what is bound to them, their flags, and which of a peer's they reach. */
#include "tests/kfi/kpair.h"

#include <kfi_cm.h>
#include <kfi_cxi_ext.h>
#include <string.h>

static const struct kpair_wish kcxi = { .personality = "kcxi" };

/* --- completion queues --- */

/* HPE's provider (kcxi_tx_ctx_bind(), kcxi_rx_ctx_bind()), and so its clients: no flag, or both, mean the side of the context. */
static void bind_by(const struct kpair_wish *wish)
{
	static const uint64_t flags[] = { 0, KFI_TRANSMIT | KFI_RECV };
	struct kfid_ep *sep, *tx, *rx, *wrong;
	struct kpair pair;

	kpair_open(&pair, wish);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		RC(0, kfi_scalable_ep(pair.a.domain, pair.a.info, &sep, NULL));
		RC(0, kfi_scalable_ep_bind(sep, &pair.a.av->fid, 0));
		RC(0, kfi_tx_context(sep, 0, NULL, &tx, NULL));
		RC(0, kfi_rx_context(sep, 0, NULL, &rx, NULL));
		RC(0, kfi_ep_bind(tx, &pair.a.cq->fid, flags[i]));
		RC(-KFI_EINVAL, kfi_ep_bind(tx, &pair.a.cq->fid, 0)); /* it has one */
		RC(0, kfi_enable(tx));
		RC(0, kfi_ep_bind(rx, &pair.a.cq->fid, flags[i] | KFI_SELECTIVE_COMPLETION));
		RC(-KFI_EBUSY, kfi_close(&pair.a.cq->fid));
		RC(0, kfi_enable(rx));
		RC(0, kfi_close(&rx->fid));
		RC(0, kfi_close(&tx->fid));
		RC(0, kfi_close(&sep->fid));
	}
	RC(0, kfi_scalable_ep(pair.a.domain, pair.a.info, &sep, NULL));
	RC(0, kfi_scalable_ep_bind(sep, &pair.a.av->fid, 0));
	RC(0, kfi_tx_context(sep, 0, NULL, &wrong, NULL));
	RC(0, kfi_ep_bind(wrong, &pair.a.cq->fid, KFI_RECV)); /* a side that it does not have */
	RC(-KFI_ENOCQ, kfi_enable(wrong));
	RC(0, kfi_close(&wrong->fid));
	RC(0, kfi_close(&sep->fid));
	kpair_close(&pair);
}

Test(kfi_contexts, no_flag_binds_a_queue_to_the_side_of_the_context)
{
	static const struct kpair_wish kfi = { 0 };

	bind_by(&kfi);
}

Test(kfi_contexts, no_flag_binds_a_queue_to_the_side_of_the_context_of_kcxi)
{
	bind_by(&kcxi);
}

/* An endpoint has two sides, and the flags must say which. */
Test(kfi_contexts, an_endpoint_says_which_side)
{
	static const struct kpair_wish kfi = { 0 };
	struct kfid_ep *ep;
	struct kpair pair;

	kpair_open(&pair, &kfi);
	RC(0, kfi_endpoint(pair.a.domain, pair.a.info, &ep, NULL));
	RC(-KFI_EINVAL, kfi_ep_bind(ep, &pair.a.cq->fid, 0));
	RC(0, kfi_close(&ep->fid));
	kpair_close(&pair);
}
