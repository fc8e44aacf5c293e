/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_ep.c - endpoints and contexts: their life, their options, and their tables. */
#include "emu/kfi/ep/kemu_ep.h"

#include <kfi_errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

static struct kemu_ep *kemu_ep_of(struct kfid *fid)
{
	return kemu_ep(container_of(fid, struct kfid_ep, fid));
}

/* --- options --- */

/* libfabric's number of an option; -1: there is no such option. */
static int option_to_fi(int level, int name)
{
	if (level != KFI_OPT_ENDPOINT)
		return -1;
	return name == KFI_OPT_MIN_MULTI_RECV ? FI_OPT_MIN_MULTI_RECV : name == KFI_OPT_CM_DATA_SIZE ? FI_OPT_CM_DATA_SIZE : -1;
}

static int kemu_ep_getopt(kfid_t fid, int level, int name, void *value, size_t *length)
{
	int option = option_to_fi(level, name);

	if (option < 0 || !kemu_ep_of(fid)->fi)
		return -KFI_ENOPROTOOPT;
	return fi_getopt(&kemu_ep_of(fid)->fi->fid, FI_OPT_ENDPOINT, option, value, length);
}

static int kemu_ep_setopt(kfid_t fid, int level, int name, const void *value, size_t length)
{
	int option = option_to_fi(level, name);

	if (option < 0 || !kemu_ep_of(fid)->fi)
		return -KFI_ENOPROTOOPT;
	return fi_setopt(&kemu_ep_of(fid)->fi->fid, FI_OPT_ENDPOINT, option, value, length);
}

/* --- kfi_cancel() --- */

/* The context by which libfabric knows an operation: another one if the operation is in a window. */
static void *known_context(const struct kemu_ep *ep, void *context)
{
	void *known = ep->rx_cq ? kemu_cq_lent(ep->rx_cq, context) : context;

	if (known == context && ep->tx_cq && ep->tx_cq != ep->rx_cq)
		known = kemu_cq_lent(ep->tx_cq, context);
	return known;
}

static ssize_t kemu_cancel(kfid_t fid, void *context)
{
	struct kemu_ep *ep = kemu_ep_of(fid);

	return fi_cancel(&ep->fi->fid, known_context(ep, context));
}

static struct kfi_ops_ep ep_ops = {
	.size = sizeof(struct kfi_ops_ep),
	.cancel = kemu_cancel,
	.getopt = kemu_ep_getopt,
	.setopt = kemu_ep_setopt,
	.tx_ctx = kemu_tx_context,
	.rx_ctx = kemu_rx_context,
};

/* --- control --- */

static int kemu_ep_enable(struct kemu_ep *ep)
{
	int err;

	if (!ep->fi)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_enable: a shared transmit context is not enabled.");
	err = ep->scalable ? kemu_context_enable(ep) : fi_enable(ep->fi);
	if (!err)
		atomic_store(&ep->enabled, true);
	return err;
}

static int kemu_ep_flags(struct kemu_ep *ep, int command, uint64_t *flags)
{
	uint64_t fi;
	int err;

	if (!flags || !ep->fi)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_control: arg is NULL, or the object has no flags of operations.");
	if (!kemu_fi_flags(*flags, &fi))
		return KEMU_REFUSE_FLAGS("kfi_control", *flags & ~fi, "");
	err = fi_control(&ep->fi->fid, command == KFI_GETOPSFLAG ? FI_GETOPSFLAG : FI_SETOPSFLAG, &fi);
	if (!err && command == KFI_GETOPSFLAG && ep->domain->fabric->personality->flags_alone)
		fi &= ~(uint64_t)(FI_TRANSMIT | FI_RECV);
	if (!err && command == KFI_GETOPSFLAG)
		kemu_fi_flags(fi, flags);
	return err;
}

static int kemu_ep_control(struct kfid *fid, int command, void *arg)
{
	struct kemu_ep *ep = kemu_ep_of(fid);

	EMU_KERNEL_SLEEPS("kfi_control");
	switch (command) {
	case KFI_ENABLE:
		return kemu_ep_enable(ep);
	case KFI_GETOPSFLAG:
	case KFI_SETOPSFLAG:
		return kemu_ep_flags(ep, command, arg);
	case KFI_ALIAS:
		return kemu_ep_alias(ep, arg);
	default:
		return kemu_no_control(fid, command, arg);
	}
}

/* --- life --- */

static void end_ep(struct kemu_ep *ep)
{
	struct kemu_domain *domain = ep->domain;

	for (unsigned int i = 0; i < ep->use_count; i++)
		atomic_fetch_sub(ep->uses[i], 1);
	if (ep->claim >= 0)
		close(ep->claim);
	if (ep->scalable)
		atomic_fetch_sub(&ep->scalable->contexts, 1);
	atomic_fetch_sub(&domain->object.users, 1);
	if (!atomic_load(&ep->regions)) {
		free(ep);
		return;
	}
	pthread_mutex_lock(&domain->lock);
	ep->next = domain->closed;
	domain->closed = ep;
	pthread_mutex_unlock(&domain->lock);
}

static int kemu_ep_close(struct kfid *fid)
{
	struct kemu_ep *ep = kemu_ep_of(fid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	err = KEMU_REFUSE_USED(ep->contexts, "contexts or endpoints that use it");
	if (err)
		return err;
	if (atomic_load(&ep->regions) && ep->domain->fabric->personality->bound_closes)
		return KEMU_REFUSE(-KFI_EBUSY, "kfi_close: regions bound to it: %u. Close those first (S187).",
				   atomic_load(&ep->regions));
	err = fi_close(ep->fi ? &ep->fi->fid : &ep->stx->fid);
	if (!err)
		end_ep(ep);
	return err;
}

static struct kfi_ops ep_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_ep_close,
	.bind = kemu_ep_bind,
	.control = kemu_ep_control,
	.ops_open = kemu_no_ops_open,
};

struct kemu_ep *kemu_ep_new(struct kemu_domain *domain, size_t class, void *context)
{
	struct kemu_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return NULL;
	ep->kfid = (struct kfid_ep){ .fid = { .fclass = class, .context = context, .ops = &ep_fid_ops },
				     .ops = &ep_ops,
				     .cm = &kemu_cm_ops,
				     .msg = &kemu_msg_ops,
				     .rma = &kemu_rma_ops,
				     .tagged = &kemu_tagged_ops,
				     .atomic = &kemu_atomic_ops };
	ep->domain = domain;
	ep->claim = -1;
	return ep;
}

static void kemu_ep_count(struct kemu_ep *ep)
{
	atomic_fetch_add(&ep->domain->object.users, 1);
	if (ep->scalable)
		atomic_fetch_add(&ep->scalable->contexts, 1);
}

int kemu_ep_opened(struct kemu_ep *ep, int err, struct kfid_ep **out)
{
	if (err) {
		free(ep);
		return err;
	}
	kemu_ep_count(ep);
	*out = &ep->kfid;
	return 0;
}

int kemu_ep_alias(struct kemu_ep *ep, const struct kfi_alias *alias)
{
	struct fid_ep *fi = NULL;
	struct kemu_ep *made;
	uint64_t flags;
	int err;

	if (!ep->domain->fabric->personality->endpoints)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_alias: this provider has no aliases.");
	if (!alias || !alias->fid || !ep->fi || !kemu_fi_flags(alias->flags, &flags))
		return KEMU_REFUSE(-KFI_EINVAL,
				   "kfi_alias: alias_fid is NULL, a flag is not known, or the object has no operations.");
	made = kemu_ep_new(ep->domain, ep->kfid.fid.fclass, ep->kfid.fid.context);
	if (!made)
		return -KFI_ENOMEM;
	err = fi_ep_alias(ep->fi, &fi, flags);
	if (err) {
		free(made);
		return err;
	}
	made->fi = fi;
	made->scalable = ep->scalable;
	made->caps = ep->caps;
	made->av = ep->av;
	made->tx_cq = ep->tx_cq;
	made->rx_cq = ep->rx_cq;
	made->tx_selective = ep->tx_selective;
	made->rx_selective = ep->rx_selective;
	made->translates = ep->translates;
	made->named = ep->named;
	made->index = ep->index;
	made->rx_bits = ep->rx_bits;
	atomic_store(&made->enabled, atomic_load(&ep->enabled));
	made->uses[made->use_count++] = &ep->contexts; /* it stays open as long as the alias */
	atomic_fetch_add(&ep->contexts, 1);
	kemu_ep_count(made);
	*alias->fid = &made->kfid.fid;
	return 0;
}

/* --- ordinary endpoints --- */

static int open_ordinary(struct kemu_ep *ep, const struct kfi_info *info)
{
	struct fi_info *fi = NULL;
	int err = kemu_info_to_fi(ep->domain->fabric->personality, "kfi_endpoint", info, &fi);

	if (err)
		return err;
	fi->handle = kemu_handle_to_fi(info->handle);
	ep->caps = info->caps;
	err = fi_endpoint(ep->domain->fi, fi, &ep->fi, ep);
	fi_freeinfo(fi);
	return err;
}

int kemu_ep_open(struct kfid_domain *kfid, struct kfi_info *info, struct kfid_ep **out, void *context)
{
	struct kemu_domain *domain = kemu_domain(&kfid->fid);
	struct kemu_ep *ep;

	EMU_KERNEL_SLEEPS("kfi_endpoint");
	if (!domain->fabric->personality->endpoints)
		return KEMU_REFUSE(-KFI_ENOSYS,
				   "kfi_endpoint: this provider has scalable endpoints alone: call kfi_scalable_ep().");
	if (!info || !out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_endpoint: info or ep is NULL.");
	ep = kemu_ep_new(domain, KFI_CLASS_EP, context);
	if (!ep)
		return -KFI_ENOMEM;
	return kemu_ep_opened(ep, open_ordinary(ep, info), out);
}
