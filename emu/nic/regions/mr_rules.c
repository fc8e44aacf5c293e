/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_rules.c - the order of a region's life. mr.c judges accesses to it. */
#include "emu/nic/regions/mr_rules.h"

#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/regions/mr_window.h"
#include "emu/nic/role/driver.h"

enum mr_rule mr_may_hold(const struct iovec *iov, size_t count, size_t most, bool may_be_empty)
{
	size_t total = 0;

	if (!count || !iov)
		return MR_RULE_NO_SEGMENT;
	if (count > most)
		return MR_RULE_MANY_SEGMENTS;
	for (size_t i = 0; i < count; i++) {
		size_t length = iov[i].iov_len;

		if (!length && !may_be_empty)
			return MR_RULE_EMPTY;
		if (length && length - 1 > SIZE_MAX - (uintptr_t)iov[i].iov_base)
			return MR_RULE_WRAPS;
		if (length > SIZE_MAX - total)
			return MR_RULE_TOO_LONG;
		total += length;
	}
	return MR_RULE_NONE;
}

enum mr_rule mr_may_grant(uint32_t access)
{
	return access & MR_COLLECTIVE && !(access & (MR_SEND | MR_RECV)) ? MR_RULE_COLLECTIVE_ALONE : MR_RULE_NONE;
}

bool mr_rights_write(uint32_t access)
{
	return access & (MR_RECV | MR_READ | MR_REMOTE_WRITE | MR_REMOTE_ATOMIC);
}

bool mr_may_lie_within(const struct mr *base, const struct iovec *iov, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!mr_covers(base, (uintptr_t)iov[i].iov_base, iov[i].iov_len))
			return false;
	return true;
}

enum mr_rule mr_may_bind(const struct mr *mr, const struct binding_end *end, bool events_asked)
{
	role_assert();
	if (end->cntr && events_asked && !mr->events)
		return MR_RULE_NO_EVENTS;
	if (!end->cntr && !mr->by_endpoint)
		return MR_RULE_NOT_BY_ENDPOINT;
	if (mr->gated && mr->enabled)
		return MR_RULE_ENABLED;
	return binding_exists(mr, end) ? MR_RULE_BOUND : MR_RULE_NONE;
}

enum mr_rule mr_may_enable(const struct mr *mr)
{
	role_assert();
	if (mr->enabled)
		return MR_RULE_ENABLED;
	return mr->by_endpoint && !binding_to_endpoint(mr) ? MR_RULE_UNBOUND : MR_RULE_NONE;
}

enum mr_rule mr_may_close(const struct mr *mr, bool bindings_hold)
{
	role_assert();
	if (mr->subs)
		return MR_RULE_HAS_REGIONS;
	if (mr->refreshes)
		return MR_RULE_REFRESHES;
	return mr->bindings && bindings_hold ? MR_RULE_HAS_BINDINGS : MR_RULE_NONE;
}

/* A region that was bound to as a window has no windows of its own: nothing names it. */
enum mr_rule mr_may_bind_window(const struct mr_window *window, const struct mr *mr, const struct mr_bind *bind)
{
	role_assert();
	if (!window)
		return MR_RULE_NO_WINDOW; /* V165 */
	if (window->of_one_ep && window->mr)
		return MR_RULE_WINDOW_BOUND; /* V167 */
	if (!bind->length)
		return window->of_one_ep ? MR_RULE_WINDOW_EMPTY : MR_RULE_NONE; /* V162, V176 */
	if (!mr || mr->invalidated)
		return MR_RULE_NO_REGION;
	if (!mr->windows)
		return MR_RULE_NO_WINDOWS; /* V163 */
	if (mr_rights_write(bind->access) && !(mr->access & MR_RECV))
		return MR_RULE_WINDOW_WRITES; /* V164 */
	return mr_covers(mr, bind->addr, bind->length) ? MR_RULE_NONE : MR_RULE_WINDOW_OUTSIDE;
}
