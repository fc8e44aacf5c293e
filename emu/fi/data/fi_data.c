/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_data.c - the checks that the data transfer calls share, and the peers' keys that they name. */
#include "emu/fi/data/fi_data.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>

#include "emu/fi/data/fi_data_impl.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/mr/fi_mr_cache.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/nic/regions/key_map.h"

/* The family of calls that these capabilities are for. */
static const char *data_call_name(uint64_t caps)
{
	static const struct {
		uint64_t caps;
		const char *name;
	} calls[] = {
		{ FI_MSG | FI_SEND, "fi_send" },     { FI_MSG | FI_RECV, "fi_recv" }, { FI_TAGGED | FI_SEND, "fi_tsend" },
		{ FI_TAGGED | FI_RECV, "fi_trecv" }, { FI_RMA | FI_READ, "fi_read" }, { FI_RMA | FI_WRITE, "fi_write" },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].caps == caps)
			return calls[i].name;
	return "fi_atomic";
}

int data_refuse_ep(const struct emu_ep *ep, uint64_t caps)
{
	const char *call = data_call_name(caps);
	char names[256];

	if (!domain_usable(ep->domain))
		return refuse_inherited(call);
	if (!ep->dev && !ep->rx_dev)
		return REFUSE(EP_DATA, -FI_EOPBADSTATE, "%s: the endpoint is not enabled. Bind what it needs and call %s first.",
			      call, ep->type == FI_EP_MSG ? "fi_connect or fi_accept" : "fi_enable");
	return REFUSE(EP_DATA, -FI_EOPNOTSUPP, "%s: the endpoint was opened without %s. Ask for it in hints->caps.", call,
		      fi_tostr_r(names, sizeof(names), &(uint64_t){ caps & ~ep->caps }, FI_TYPE_CAPS));
}

int data_refuse_dest(const char *call)
{
	return REFUSE(EP_DATA, -FI_EINVAL, "%s: the destination is FI_ADDR_UNSPEC. Pass the fi_addr_t that fi_av_insert gave.",
		      call);
}

const char *data_right_name(uint32_t right)
{
	switch (right) {
	case MR_SEND:
		return "FI_SEND";
	case MR_RECV:
		return "FI_RECV";
	case MR_READ:
		return "FI_READ";
	default:
		return "FI_WRITE";
	}
}

const char *data_calls_by(uint32_t right)
{
	switch (right) {
	case MR_SEND:
		return "fi_send or fi_tsend";
	case MR_RECV:
		return "fi_recv or fi_trecv";
	case MR_READ:
		return "fi_read or fetching atomic";
	default:
		return "fi_write or atomic";
	}
}

__attribute__((cold)) static int data_refuse(uint32_t right, const char *what)
{
	return REFUSE(EP_DATA, -FI_EINVAL, "%s: %s.", data_calls_by(right), what);
}

/* For a descriptor that good_desc() does not know: 0, or an errno after a line of log. FI_MR_LOCAL demands a descriptor (S72).
 * Without FI_MR_LOCAL a cache, if any, registers the buffer (S188). A descriptor that is given must be valid (S75). */
__attribute__((noinline, cold)) static int check_desc(const struct emu_domain *domain, const struct iovec *iov, const void *desc,
						      uint32_t right)
{
	int err = -FI_EINVAL;

	if (!desc && reach_is_device(domain, iov)) /* data_reach() judges it */
		return 0;
	if (desc)
		err = mr_table_local_ok(pd_regions(domain->pd), desc, iov->iov_base, iov->iov_len, right & domain->desc_rights);
	else if (!(domain->rules & FI_MR_LOCAL))
		return mr_cache_register(domain, iov, right & (MR_RECV | MR_READ));
	return err ? desc_refuse(domain, data_calls_by(right), data_right_name(right), iov, desc, right & domain->desc_rights) : 0;
}

/* The common case: the descriptor is known to be good. The buffer is not empty. */
static inline bool good_desc(const struct emu_domain *domain, const struct iovec *iov, const void *desc, uint32_t right)
{
	if (!desc)
		return !domain->needs_descs;
	return mr_table_local_sure(pd_regions(domain->pd), desc, iov->iov_base, iov->iov_len, right & domain->desc_rights);
}

__attribute__((cold)) static ssize_t too_long(uint32_t right, size_t most)
{
	return REFUSE(EP_DATA, -FI_EMSGSIZE, "%s: the buffers together are longer than max_msg_size, %zu B.", data_calls_by(right),
		      most);
}

__attribute__((cold)) static ssize_t too_long_to_inject(uint32_t right, size_t bytes, size_t most)
{
	return REFUSE(EP_DATA, -FI_EMSGSIZE, "%s: %zu B to inject, and inject_size is %zu. Post it without FI_INJECT.",
		      data_calls_by(right), bytes, most);
}

/* Checks one buffer, of at most `left` bytes. Returns its length, or an errno. */
static inline ssize_t check_buffer(const struct emu_ep *ep, const struct iovec *iov, const void *desc, uint32_t right,
				   uint64_t flags, size_t left)
{
	bool may_stay_empty = right == MR_RECV && !(flags & (FI_CLAIM | FI_MULTI_RECV));
	int err;

	if (!iov->iov_len)
		return 0;
	if (!iov->iov_base && !may_stay_empty)
		return data_refuse(right, "a buffer of some length at address 0");
	if (iov->iov_len > left)
		return too_long(right, right == MR_RECV ? ATTR_MAX_MSG_SIZE : ep->max_msg_size);
	if (flags & FI_INJECT || good_desc(ep->domain, iov, desc, right))
		return (ssize_t)iov->iov_len;
	err = check_desc(ep->domain, iov, desc, right);
	return err ? err : (ssize_t)iov->iov_len;
}

__attribute__((noinline)) static ssize_t check_vector(const struct emu_ep *ep, const struct iovec *iov, size_t count,
						      void *const *desc, uint32_t right, uint64_t flags)
{
	size_t most = right == MR_RECV ? ATTR_MAX_MSG_SIZE : ep->max_msg_size, left = most;

	if (count > (right == MR_RECV ? ep->rx_iov_limit : ep->tx_iov_limit))
		return data_refuse(right, "more buffers than iov_limit of the endpoint");
	if (count && !iov)
		return data_refuse(right, "the buffers are counted, and the array of buffers is NULL");
	for (size_t i = 0; i < count; i++) {
		ssize_t length = check_buffer(ep, &iov[i], desc ? desc[i] : NULL, right, flags, left);

		if (length < 0)
			return length;
		left -= (size_t)length;
	}
	return (ssize_t)(most - left);
}

ssize_t data_check_local(const struct emu_ep *ep, const struct iovec *iov, size_t count, void *const *desc, uint32_t right,
			 uint64_t flags)
{
	/* A receive may have more room than any message needs. */
	size_t most = right == MR_RECV ? ATTR_MAX_MSG_SIZE : ep->max_msg_size;
	ssize_t total;

	if (flags & FI_INJECT || !ep->domain->looks_at_descs)
		desc = NULL;
	if ((uintptr_t)desc & MR_DESC_MARK && count)
		return data_refuse(right, "desc is a descriptor, and this call takes an array of them (S72, S75). Pass the address "
					  "of the descriptor");
	if (count == 1 && iov)
		total = check_buffer(ep, iov, desc ? *desc : NULL, right, flags, most);
	else
		total = check_vector(ep, iov, count, desc, right, flags);
	if (flags & FI_INJECT && total > (ssize_t)ep->inject_size)
		return too_long_to_inject(right, (size_t)total, ep->inject_size);
	return total;
}

int data_find_trigger(const struct emu_ep *ep, unsigned int kind, uint64_t flags, void **context, struct trigger *when,
		      const struct trigger **out)
{
	static const struct trigger at_once; /* and watched */
	const struct fi_triggered_context *trigger = *context;
	const struct emu_cntr *cntr;

	if (flags & DATA_WORK) {
		const struct deferred_work_call *call = *context;

		*when = call->when;
		*context = call->context;
		*out = when;
		return 0;
	}
	if (flags & DATA_SILENT && ep->tx_flags & FI_TRIGGER) /* there is no context that could name a trigger */
		return REFUSE(EP_DATA, -FI_ENOSYS,
			      "inject: FI_TRIGGER is the endpoint's default, and such a call has no context "
			      "to say what it waits for.");
	if (flags & DATA_SILENT || !(flags & FI_TRIGGER)) {
		if (!(ep->caps & DATA_WATCHED))
			return 0;
		*out = &at_once;
		return nic_fault_full(ep->domain->nic, kind);
	}
	if (!trigger)
		return REFUSE(EP_DATA, -FI_EINVAL, "FI_TRIGGER: the context is NULL. It points to a struct fi_triggered_context.");
	if (trigger->event_type != FI_TRIGGER_THRESHOLD)
		return REFUSE(EP_DATA, -FI_ENOSYS, "FI_TRIGGER: event_type %d is not offered, FI_TRIGGER_THRESHOLD is.",
			      (int)trigger->event_type);
	cntr = (const struct emu_cntr *)trigger->trigger.threshold.cntr;
	if (!cntr || cntr->fid.fid.fclass != FI_CLASS_CNTR)
		return REFUSE(EP_DATA, -FI_EINVAL, "FI_TRIGGER: the triggered context names no counter.");
	if (cntr->domain != ep->domain)
		return REFUSE(EP_DATA, -FI_EDOMAIN, "FI_TRIGGER: the counter is of another domain than the endpoint.");
	*when = (struct trigger){ .cntr = cntr->cntr, .threshold = trigger->trigger.threshold.threshold };
	*out = when;
	return 0;
}

/* --- from a program's remote ranges to the device's. Under FI_MR_RAW a key is a handle of fi_mr_map_raw; a key
that is not mapped is refused here (S48, S53, S57) --- */

int rkey_map(struct emu_domain *domain, struct remote *remote, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct raw_key key;

		if (!key_map_find(pd_mappings(domain->pd), remote[i].key, &key))
			return REFUSE(EP_DATA, -FI_ENOKEY,
				      "key %#llx is not mapped: under FI_MR_RAW peers' keys come from "
				      "fi_mr_map_raw, until fi_mr_unmap_key (S53, S57).",
				      (unsigned long long)remote[i].key);
		remote[i].key = key.key;
		remote[i].key_tail = key.tail;
	}
	return 0;
}
