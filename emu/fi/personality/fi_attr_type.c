/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_attr_type.c - the types of endpoints, as data. */
#include "emu/fi/personality/fi_attr.h"

const struct attr_type attr_types[ATTR_TYPES] = {
	{ .type = FI_EP_RDM, .protocol = ATTR_PROTOCOL, .levels = ATTR_LEVELS, .reliable = true, .contexts = LIMIT_CONTEXTS },
	/* No FI_SOURCE: there is one peer alone, and the program knows it. */
	{ .type = FI_EP_MSG,
	  .protocol = ATTR_PROTOCOL,
	  .levels = ATTR_LEVELS,
	  .reliable = true,
	  .contexts = 1,
	  .caps_not = FI_DIRECTED_RECV | COMPAT_TAGGED_DIRECTED_RECV | COMPAT_EXACT_DIRECTED_RECV | FI_SOURCE | FI_SOURCE_ERR |
		      FI_COLLECTIVE },
	/* Messages alone, and no peer confirms that they have arrived (fi_cq(3)). */
	{ .type = FI_EP_DGRAM,
	  .protocol = ATTR_PROTOCOL_DGRAM,
	  .levels = FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE,
	  .contexts = 1,
	  .caps_not = FI_TAGGED | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT |
		      FI_RMA_PMEM | FI_NAMED_RX_CTX | FI_COLLECTIVE | COMPAT_TAGGED_DIRECTED_RECV | COMPAT_TAGGED_MULTI_RECV |
		      ATTR_CAPS_KERNEL },
};

const struct attr_type *attr_type(enum fi_ep_type type)
{
	for (int i = 0; i < ATTR_TYPES; i++)
		if (attr_types[i].type == type)
			return &attr_types[i];
	return NULL;
}

uint64_t attr_type_caps(const struct attr_table *attr, const struct attr_type *type, uint32_t api)
{
	uint64_t caps = attr->caps & ~type->caps_not;

	return FI_VERSION_GE(api, FI_VERSION(2, 0)) ? caps : caps & ~ATTR_CAPS_2_0;
}

size_t attr_type_message(const struct attr_table *attr, const struct attr_type *type)
{
	return type->reliable ? attr->max_msg_size : LIMIT_DGRAM;
}

uint64_t attr_type_order(const struct attr_table *attr, const struct attr_type *type)
{
	return type->reliable ? attr->msg_order : 0;
}

uint64_t caps_complete(uint64_t caps)
{
	if ((caps & (FI_MSG | FI_TAGGED)) && !(caps & MSG_MODIFIERS))
		caps |= MSG_MODIFIERS;
	if ((caps & (FI_RMA | FI_ATOMIC)) && !(caps & RMA_MODIFIERS))
		caps |= RMA_MODIFIERS;
	if (!(caps & (FI_LOCAL_COMM | FI_REMOTE_COMM)))
		caps |= FI_LOCAL_COMM | FI_REMOTE_COMM;
	return caps | FI_FENCE; /* costs nothing, so it is always granted */
}
