/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_ep_bind.c - what is bound to endpoints and contexts. */
#include <kfi_errno.h>

#include "emu/kfi/ep/kemu_ep.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"

/* What is bound: libfabric's object, and the count of its users. */
struct bindable {
	struct fid *fi;
	atomic_uint *users;
	const struct kemu_domain *domain; /* NULL: it is of the fabric */
	const struct kemu_fabric *fabric;
};

static bool find_bindable(struct kfid *bfid, struct bindable *bound)
{
	struct kemu_cntr *cntr;
	struct kemu_ep *ep;
	struct kemu_av *av;
	struct kemu_cq *cq;
	struct kemu_eq *eq;

	switch (bfid ? bfid->fclass : KFI_CLASS_UNSPEC) {
	case KFI_CLASS_AV:
		av = container_of(bfid, struct kemu_av, kfid.fid);
		*bound = (struct bindable){ &av->fi->fid, &av->object.users, av->domain, av->domain->fabric };
		return true;
	case KFI_CLASS_CQ:
		cq = container_of(bfid, struct kemu_cq, kfid.fid);
		*bound = (struct bindable){ &cq->fi->fid, &cq->object.users, cq->domain, cq->domain->fabric };
		return true;
	case KFI_CLASS_CNTR:
		cntr = container_of(bfid, struct kemu_cntr, kfid.fid);
		*bound = (struct bindable){ &cntr->fi->fid, &cntr->object.users, cntr->domain, cntr->domain->fabric };
		return true;
	case KFI_CLASS_EQ:
		eq = container_of(bfid, struct kemu_eq, kfid.fid);
		*bound = (struct bindable){ &eq->fi->fid, &eq->object.users, NULL, eq->fabric };
		return true;
	case KFI_CLASS_STX_CTX:
	case KFI_CLASS_SRX_CTX:
		ep = kemu_ep(container_of(bfid, struct kfid_ep, fid));
		*bound = (struct bindable){ ep->fi ? &ep->fi->fid : &ep->stx->fid, &ep->contexts, ep->domain, ep->domain->fabric };
		return true;
	default:
		return false;
	}
}

/* Notes the bindings that data transfer looks at. */
static void note_binding(struct kemu_ep *ep, struct kfid *bfid, uint64_t flags)
{
	struct kemu_cq *cq;

	if (bfid->fclass == KFI_CLASS_AV)
		ep->av = container_of(bfid, struct kemu_av, kfid.fid);
	if (bfid->fclass == KFI_CLASS_SRX_CTX)
		ep->rx_cq = kemu_ep(container_of(bfid, struct kfid_ep, fid))->rx_cq;
	if (bfid->fclass != KFI_CLASS_CQ)
		return;
	cq = container_of(bfid, struct kemu_cq, kfid.fid);
	if (flags & KFI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = flags & KFI_SELECTIVE_COMPLETION;
	}
	if (flags & KFI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & KFI_SELECTIVE_COMPLETION;
	}
}

/* A context has one side, which a queue is bound to whether the flags name it or no side; a bit of the other side says nothing.
 * The other side alone gives it no queue. HPE's provider: kcxi_tx_ctx_bind(), kcxi_rx_ctx_bind(). */
static uint64_t queue_flags(const struct kemu_ep *ep, uint64_t flags)
{
	uint64_t both = KFI_TRANSMIT | KFI_RECV, side;

	if (ep->kfid.fid.fclass != KFI_CLASS_TX_CTX && ep->kfid.fid.fclass != KFI_CLASS_RX_CTX)
		return flags;
	side = ep->kfid.fid.fclass == KFI_CLASS_TX_CTX ? KFI_TRANSMIT : KFI_RECV;
	return (flags & both) && !(flags & side) ? flags : (flags & ~both) | side;
}

int kemu_ep_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags)
{
	struct kemu_ep *ep = kemu_ep(container_of(fid, struct kfid_ep, fid));
	struct bindable bound;
	uint64_t fi_flags;
	int err;

	EMU_KERNEL_SLEEPS("kfi_ep_bind");
	if (!ep->fi || !find_bindable(bfid, &bound))
		return KEMU_REFUSE(-KFI_EINVAL,
				   "kfi_ep_bind: an endpoint takes address vectors, queues, counters and shared contexts; a shared "
				   "transmit context takes nothing.");
	if (bound.fabric != ep->domain->fabric || (bound.domain && bound.domain != ep->domain))
		return KEMU_REFUSE(-KFI_EDOMAIN, "kfi_ep_bind: the object is of another domain.");
	if (bfid->fclass == KFI_CLASS_CQ)
		flags = queue_flags(ep, flags);
	if (!kemu_fi_flags(flags, &fi_flags))
		return KEMU_REFUSE_FLAGS("kfi_ep_bind", flags & ~fi_flags, "");
	if (ep->use_count == KEMU_USES_MAX)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_ep_bind: %d objects are bound already.", KEMU_USES_MAX);
	err = ep->kfid.fid.fclass == KFI_CLASS_SEP ? fi_scalable_ep_bind(ep->fi, bound.fi, fi_flags)
						   : fi_ep_bind(ep->fi, bound.fi, fi_flags);
	if (err)
		return err;
	note_binding(ep, bfid, flags);
	ep->uses[ep->use_count++] = bound.users;
	atomic_fetch_add(bound.users, 1);
	return 0;
}
