/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep_control.c - fi_control() of endpoints: enabling, default flags, aliases.
 *
 * An alias is a copy of its endpoint with other default flags (fi_endpoint(3)). Its calls go to the same device endpoint;
 * whatever changes the endpoint itself goes to `whole`. The program serializes these calls with all others (fi_control). */
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/fi_data.h"
#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_ep.h"
#include "emu/fi/fi_negotiate.h"
#include "emu/fi/fi_stubs.h"

/* FI_TRANSMIT or FI_RECV, and not both: the side that a word of flags is about; else 0. */
static uint64_t flags_side(uint64_t word)
{
	uint64_t side = word & (FI_TRANSMIT | FI_RECV);

	return side == FI_TRANSMIT || side == FI_RECV ? side : 0;
}

static int set_flags(struct emu_ep *ep, uint64_t word)
{
	uint64_t side = flags_side(word), flags = word & ~side;
	bool tx = side == FI_TRANSMIT;

	if (!side)
		return -FI_EINVAL;
	if (flags & ~(tx ? data_tx_defaults(ep) : DATA_RX_DEFAULTS | caps_multi(ep->caps)) & ~data_trigger(ep))
		return -FI_EBADFLAGS;
	*(tx ? &ep->tx_flags : &ep->rx_flags) = flags;
	return 0;
}

static int get_flags(const struct emu_ep *ep, uint64_t *word)
{
	uint64_t side = flags_side(*word);

	if (!side)
		return -FI_EINVAL;
	*word = side | (side == FI_TRANSMIT ? ep->tx_flags : ep->rx_flags);
	return 0;
}

/* What does not differ between an endpoint and its aliases, of what may change. */
static void tell(const struct emu_ep *whole, struct emu_ep *alias)
{
	alias->dev = whole->dev;
	alias->open_caps = whole->open_caps;
	alias->tx_selective = whole->tx_selective;
	alias->rx_selective = whole->rx_selective;
}

void ep_tell_aliases(struct emu_ep *ep)
{
	for (struct emu_ep *alias = ep->aliases; alias; alias = alias->next_alias)
		tell(ep, alias);
}

static int alias_close(struct fid *fid)
{
	struct emu_ep *alias = (struct emu_ep *)fid, **at;

	for (at = &alias->whole->aliases; *at != alias; at = &(*at)->next_alias)
		;
	*at = alias->next_alias;
	free(alias);
	return 0;
}

static struct fi_ops alias_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = alias_close,
	.bind = emu_ep_bind,
	.control = emu_ep_control,
	.ops_open = stub_ops_open,
	.tostr = stub_tostr,
	.ops_set = stub_ops_set,
};

static int ep_alias(struct emu_ep *ep, const struct fi_alias *arg)
{
	struct emu_ep *alias;
	int err;

	if (!arg->fid)
		return -FI_EINVAL;
	alias = malloc(sizeof(*alias));
	if (!alias)
		return -FI_ENOMEM;
	*alias = *ep;
	alias->fid.fid.ops = &alias_fid_ops;
	alias->aliases = NULL;
	err = set_flags(alias, arg->flags);
	if (err) {
		free(alias);
		return err;
	}
	alias->next_alias = ep->whole->aliases;
	ep->whole->aliases = alias;
	*arg->fid = &alias->fid.fid;
	return 0;
}

int emu_ep_control(struct fid *fid, int command, void *arg)
{
	struct emu_ep *ep = (struct emu_ep *)fid;

	switch (command) {
	case FI_ENABLE:
		return emu_ep_enable(ep->whole);
	case FI_ALIAS:
		return arg ? ep_alias(ep, arg) : -FI_EINVAL;
	case FI_GETOPSFLAG:
		return arg ? get_flags(ep, arg) : -FI_EINVAL;
	case FI_SETOPSFLAG:
		return arg ? set_flags(ep, *(const uint64_t *)arg) : -FI_EINVAL;
	default:
		return -FI_ENOSYS;
	}
}
