/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep_control.c - fi_control() of endpoints: enabling, default flags, aliases.
 *
 * An alias is a copy of its endpoint with other default flags (fi_endpoint(3)). Its calls go to the same device endpoint;
 * calls that change the endpoint itself go to `primary`. The program serializes these calls with all others (fi_control). */
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/ep/fi_ep_calls.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"

/* The side that a word of flags is about: FI_TRANSMIT or FI_RECV; 0 if it names both or none. */
static uint64_t flags_side(uint64_t word)
{
	uint64_t side = word & (FI_TRANSMIT | FI_RECV);

	return side == FI_TRANSMIT || side == FI_RECV ? side : 0;
}

static int set_flags(struct emu_ep *ep, uint64_t word)
{
	uint64_t side = flags_side(word), flags = word & ~side, unknown;
	bool tx = side == FI_TRANSMIT;

	if (!side)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_control, FI_SETOPSFLAG or FI_ALIAS: flags %#llx name neither "
			      "FI_TRANSMIT nor FI_RECV, or both. They say which side is meant.",
			      (unsigned long long)word);
	unknown = flags & ~(tx ? data_tx_defaults(ep) : DATA_RX_DEFAULTS | caps_multi(ep->caps)) &
		  ~(data_trigger(ep) & ~DATA_WATCHED);
	if (unknown)
		return REFUSE_FLAGS(EP_CTRL, "fi_control, FI_SETOPSFLAG or FI_ALIAS", unknown);
	*(tx ? &ep->tx_flags : &ep->rx_flags) = flags | (ep->caps & DATA_WATCHED);
	return 0;
}

static int get_flags(const struct emu_ep *ep, uint64_t *word)
{
	uint64_t side = flags_side(*word);

	if (!side)
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_control, FI_GETOPSFLAG: flags %#llx name neither FI_TRANSMIT nor "
			      "FI_RECV, or both. They say which side is meant.",
			      (unsigned long long)*word);
	*word = side | ((side == FI_TRANSMIT ? ep->tx_flags : ep->rx_flags) & ~DATA_WATCHED);
	return 0;
}

/* Copies all that may change and that an endpoint and its aliases have in common. */
static void ep_sync_alias(const struct emu_ep *primary, struct emu_ep *alias)
{
	alias->dev = primary->dev;
	alias->open_caps = primary->open_caps;
	alias->tx_selective = primary->tx_selective;
	alias->rx_selective = primary->rx_selective;
}

void ep_tell_aliases(struct emu_ep *ep)
{
	for (struct emu_ep *alias = ep->aliases; alias; alias = alias->next_alias)
		ep_sync_alias(ep, alias);
}

static int alias_close(struct fid *fid)
{
	struct emu_ep *alias = (struct emu_ep *)fid, **at;

	for (at = &alias->primary->aliases; *at != alias; at = &(*at)->next_alias)
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
	STUB_FID_OPS,
};

static int ep_alias(struct emu_ep *ep, const struct fi_alias *arg)
{
	struct emu_ep *alias;
	int err;

	if (!arg->fid)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_ep_alias: alias_ep is NULL.");
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
	alias->next_alias = ep->primary->aliases;
	ep->primary->aliases = alias;
	*arg->fid = &alias->fid.fid;
	return 0;
}

int emu_ep_control(struct fid *fid, int command, void *arg)
{
	struct emu_ep *ep = (struct emu_ep *)fid;

	if (!arg && (command == FI_ALIAS || command == FI_GETOPSFLAG || command == FI_SETOPSFLAG))
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_control: arg is NULL for command %d.", command);
	switch (command) {
	case FI_ENABLE:
		return emu_ep_enable(ep->primary);
	case FI_ALIAS:
		return ep_alias(ep, arg);
	case FI_GETOPSFLAG:
		return get_flags(ep, arg);
	case FI_SETOPSFLAG:
		return set_flags(ep, *(const uint64_t *)arg);
	default:
		return refuse_command("an endpoint", command);
	}
}
