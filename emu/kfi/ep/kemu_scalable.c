/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_scalable.c - scalable endpoints, their contexts and addresses; shared contexts. */
#include <kfi_cm.h>
#include <kfi_errno.h>
#include <rdma/fi_cm.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/fi/provider/fi_kernel.h"
#include "emu/kfi/ep/kemu_ep.h"
#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_personality.h"
#include "emu/kfi/provider/kemu_refuse.h"

static const struct kemu_personality *personality_of_ep(const struct kemu_ep *ep)
{
	return ep->domain->fabric->personality;
}

int kemu_context_enable(struct kemu_ep *context)
{
	const struct kemu_ep *sep = context->scalable;

	if (sep->av && personality_of_ep(sep)->own_index) {
		context->translates = true;
		context->named = context->caps & KFI_NAMED_RX_CTX;
		context->rx_bits = sep->av->rx_bits;
	}
	context->saturates = personality_of_ep(sep)->saturates;
	return fi_enable(context->fi);
}

/* --- scalable endpoints --- */

/* The address is the endpoint's own from here on, as with HPE's provider (kcxi_domain_if_alloc()). */
static int claim_address(struct kemu_ep *sep, const struct kfi_info *info)
{
	const struct kfi_ep_attr *attr = info->ep_attr;
	uint16_t shift = attr ? kemu_addr_shift(attr->auth_key, attr->auth_key_size) : 0;
	struct kcxi_addr cxi;
	struct sockaddr_in in;
	int err;

	memcpy(&cxi, info->src_addr, sizeof(cxi)); /* kemu_info_to_fi() has looked at its length */
	sep->shift = shift;
	sep->claim = kemu_addr_claim(&cxi, shift);
	if (sep->claim == -KFI_EADDRINUSE && cxi.pid == KEMU_PID_ANY)
		return KEMU_REFUSE(-KFI_EADDRINUSE, "kfi_scalable_ep: none of the %d pids of the interface is free.", KEMU_PIDS);
	if (sep->claim == -KFI_EADDRINUSE)
		return KEMU_REFUSE(-KFI_EADDRINUSE, "kfi_scalable_ep: another endpoint has pid %u of the interface.",
				   (unsigned int)cxi.pid);
	if (sep->claim < 0)
		return KEMU_REFUSE(sep->claim, "kfi_scalable_ep: its address cannot be claimed: %s.", strerror(-sep->claim));
	err = kemu_addr_to_socket(&cxi, &in);
	in.sin_port = htons((uint16_t)(ntohs(in.sin_port) + shift));
	if (!err)
		err = fi_setname(&sep->fi->fid, &in, sizeof(in));
	return err ? err : fi_setopt(&sep->fi->fid, FI_OPT_ENDPOINT, EMU_FI_OPT_PORT_SHIFT, &shift, sizeof(shift));
}

static int open_scalable(struct kemu_ep *sep, const struct kfi_info *info)
{
	const struct kemu_personality *personality = personality_of_ep(sep);
	struct fi_info *fi = NULL;
	int err = kemu_info_to_fi(personality, "kfi_scalable_ep", info, &fi);

	if (err)
		return err;
	sep->caps = info->caps;
	err = fi_scalable_ep(sep->domain->fi, fi, &sep->fi, sep);
	fi_freeinfo(fi);
	if (err || !personality->cxi_addresses || !info->src_addr)
		return err;
	err = claim_address(sep, info);
	if (err) {
		fi_close(&sep->fi->fid);
		if (sep->claim >= 0)
			close(sep->claim);
	}
	return err;
}

int kemu_scalable_open(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **out, void *context)
{
	struct kemu_ep *sep;

	EMU_KERNEL_SLEEPS("kfi_scalable_ep");
	if (!info || !out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_scalable_ep: info or sep is NULL.");
	sep = kemu_ep_new(kemu_domain(&domain->fid), KFI_CLASS_SEP, context);
	if (!sep)
		return -KFI_ENOMEM;
	return kemu_ep_opened(sep, open_scalable(sep, info), out);
}

/* --- contexts --- */

static int bad_attr(const char *call, const char *why)
{
	return KEMU_REFUSE(-KFI_EINVAL, "%s: attr: %s is not what the provider offers.", call, why);
}

static struct kemu_ep *new_context(struct kemu_ep *sep, size_t class, unsigned int index, uint64_t caps, void *context)
{
	struct kemu_ep *made = kemu_ep_new(sep->domain, class, context);

	if (!made)
		return NULL;
	made->scalable = sep;
	made->caps = caps ? caps : sep->caps;
	made->index = index;
	return made;
}

static int refuse_context(const struct kemu_ep *sep, const void *out, const char *call)
{
	if (sep->kfid.fid.fclass != KFI_CLASS_SEP || !out)
		return KEMU_REFUSE(-KFI_EINVAL, "%s: the endpoint is not a scalable one, or there is no place for the context.",
				   call);
	return 0;
}

int kemu_tx_context(struct kfid_ep *kfid, int index, struct kfi_tx_attr *attr, struct kfid_ep **out, void *context)
{
	struct kemu_ep *sep = kemu_ep(kfid), *tx;
	struct fi_tx_attr fi = { 0 };
	const char *why;
	int err = refuse_context(sep, out, "kfi_tx_context");

	EMU_KERNEL_SLEEPS("kfi_tx_context");
	if (err)
		return err;
	if (attr && !kemu_tx_attr_to_fi(personality_of_ep(sep), attr, &fi, &why))
		return bad_attr("kfi_tx_context", why);
	tx = new_context(sep, KFI_CLASS_TX_CTX, (unsigned int)index, fi.caps ? attr->caps : 0, context);
	if (!tx)
		return -KFI_ENOMEM;
	err = fi_tx_context(sep->fi, index, attr ? &fi : NULL, &tx->fi, tx);
	return kemu_ep_opened(tx, err, out);
}

int kemu_rx_context(struct kfid_ep *kfid, int index, struct kfi_rx_attr *attr, struct kfid_ep **out, void *context)
{
	struct kemu_ep *sep = kemu_ep(kfid), *rx;
	struct fi_rx_attr fi = { 0 };
	const char *why;
	int err = refuse_context(sep, out, "kfi_rx_context");

	EMU_KERNEL_SLEEPS("kfi_rx_context");
	if (err)
		return err;
	if (attr && !kemu_rx_attr_to_fi(personality_of_ep(sep), attr, &fi, &why))
		return bad_attr("kfi_rx_context", why);
	rx = new_context(sep, KFI_CLASS_RX_CTX, (unsigned int)index, fi.caps ? attr->caps : 0, context);
	if (!rx)
		return -KFI_ENOMEM;
	err = fi_rx_context(sep->fi, index, attr ? &fi : NULL, &rx->fi, rx);
	return kemu_ep_opened(rx, err, out);
}

/* --- shared contexts --- */

static int no_shared(const char *call)
{
	return KEMU_REFUSE(-KFI_ENOSYS, "%s: this provider has no shared contexts.", call);
}

int kemu_stx_open(struct kfid_domain *domain, struct kfi_tx_attr *attr, struct kfid_stx **out, void *context)
{
	struct kemu_ep *stx;
	struct kfid_ep *kfid;
	struct fi_tx_attr fi = { 0 };
	const char *why;
	int err;

	EMU_KERNEL_SLEEPS("kfi_stx_context");
	if (!kemu_domain(&domain->fid)->fabric->personality->counters)
		return no_shared("kfi_stx_context");
	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_stx_context: stx is NULL.");
	if (attr && !kemu_tx_attr_to_fi(kemu_domain(&domain->fid)->fabric->personality, attr, &fi, &why))
		return bad_attr("kfi_stx_context", why);
	stx = kemu_ep_new(kemu_domain(&domain->fid), KFI_CLASS_STX_CTX, context);
	if (!stx)
		return -KFI_ENOMEM;
	err = fi_stx_context(stx->domain->fi, attr ? &fi : NULL, &stx->stx, stx);
	err = kemu_ep_opened(stx, err, &kfid);
	if (!err)
		*out = (struct kfid_stx *)kfid; /* whose beginning it is */
	return err;
}

_Static_assert(offsetof(struct kfid_ep, ops) == offsetof(struct kfid_stx, ops), "an endpoint begins as a shared context does");

int kemu_srx_open(struct kfid_domain *domain, struct kfi_rx_attr *attr, struct kfid_ep **out, void *context)
{
	struct kemu_ep *srx;
	struct fi_rx_attr fi = { 0 };
	const char *why;
	int err;

	EMU_KERNEL_SLEEPS("kfi_srx_context");
	if (!kemu_domain(&domain->fid)->fabric->personality->counters)
		return no_shared("kfi_srx_context");
	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_srx_context: rx_ep is NULL.");
	if (attr && !kemu_rx_attr_to_fi(kemu_domain(&domain->fid)->fabric->personality, attr, &fi, &why))
		return bad_attr("kfi_srx_context", why);
	srx = kemu_ep_new(kemu_domain(&domain->fid), KFI_CLASS_SRX_CTX, context);
	if (!srx)
		return -KFI_ENOMEM;
	err = fi_srx_context(srx->domain->fi, attr ? &fi : NULL, &srx->fi, srx);
	return kemu_ep_opened(srx, err, out);
}
