/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av_set.c - address vector sets: opened, changed, joined with each other. */
#include "emu/fi/av/fi_av.h"

#include <rdma/fi_errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/nic/base/futex_lock.h"
#include "emu/nic/queues/av.h"

/* A program says by these what a set is for; any set is good for all of it. */
#define SET_FLAGS                                                                                                  \
	(FI_UNIVERSE | FI_BARRIER_SET | FI_BROADCAST_SET | FI_ALLTOALL_SET | FI_ALLREDUCE_SET | FI_ALLGATHER_SET | \
	 FI_REDUCE_SCATTER_SET | FI_REDUCE_SET | FI_SCATTER_SET | FI_GATHER_SET)

static struct emu_av_set *emu_av_set(const struct fid_av_set *fid)
{
	return (struct emu_av_set *)(uintptr_t)fid;
}

/* `count` if it is not among them. */
static size_t find(const uint64_t *members, size_t count, uint64_t member)
{
	size_t at = 0;

	while (at < count && members[at] != member)
		at++;
	return at;
}

static int too_many(const char *call)
{
	return REFUSE(AV, -FI_ENOMEM, "%s: a set has at most %d members.", call, LIMIT_MEMBERS);
}

static bool is_in_av(const struct emu_av_set *set, uint64_t member)
{
	struct sockaddr_storage at;
	uint64_t stamp;

	return av_lookup(set->av->av, member, &at, &stamp) == 0;
}

/* 0; or -errno after a line of log: the set is another process's, or the two are of different address vectors. */
static int check_pair(const char *call, const struct fid_av_set *to, const struct fid_av_set *from)
{
	if (!to || !from || from->fid.fclass != FI_CLASS_AV_SET)
		return REFUSE(AV, -FI_EINVAL, "%s: dst or src is no address vector set.", call);
	if (emu_av_set(to)->av != emu_av_set(from)->av)
		return REFUSE(AV, -FI_EINVAL, "%s: dst and src are of different address vectors.", call);
	return domain_usable(emu_av_set(to)->av->domain) ? 0 : refuse_inherited(call);
}

static int set_union(struct fid_av_set *fid, const struct fid_av_set *other)
{
	struct emu_av_set *to = emu_av_set(fid);
	uint64_t members[LIMIT_MEMBERS];
	int err = check_pair("fi_av_set_union", fid, other);
	size_t count, before;

	if (err)
		return err;
	count = av_set_members(emu_av_set(other), members);
	futex_lock(&to->lock);
	before = to->count;
	for (size_t i = 0; i < count && !err; i++) {
		if (find(to->member, before, members[i]) < before)
			continue;
		if (to->count < LIMIT_MEMBERS)
			to->member[to->count++] = members[i];
		else
			err = -FI_ENOMEM;
	}
	if (err)
		to->count = before;
	futex_unlock(&to->lock);
	return err ? too_many("fi_av_set_union") : 0;
}

/* Keeps the members that `from` has, or has not. */
static void keep(struct emu_av_set *to, struct emu_av_set *from, bool has)
{
	uint64_t members[LIMIT_MEMBERS];
	size_t kept = 0, count = av_set_members(from, members);

	futex_lock(&to->lock);
	for (size_t i = 0; i < to->count; i++) {
		bool in = find(members, count, to->member[i]) < count;

		if (in == has)
			to->member[kept++] = to->member[i];
	}
	to->count = kept;
	futex_unlock(&to->lock);
}

static int set_intersect(struct fid_av_set *fid, const struct fid_av_set *other)
{
	int err = check_pair("fi_av_set_intersect", fid, other);

	if (!err)
		keep(emu_av_set(fid), emu_av_set(other), true);
	return err;
}

static int set_diff(struct fid_av_set *fid, const struct fid_av_set *other)
{
	int err = check_pair("fi_av_set_diff", fid, other);

	if (!err)
		keep(emu_av_set(fid), emu_av_set(other), false);
	return err;
}

/* 0, -FI_EINVAL: it is there already, -FI_ENOMEM. */
static int member_append(struct emu_av_set *set, uint64_t member)
{
	int err = 0;

	futex_lock(&set->lock);
	if (find(set->member, set->count, member) < set->count)
		err = -FI_EINVAL;
	else if (set->count == LIMIT_MEMBERS)
		err = -FI_ENOMEM;
	else
		set->member[set->count++] = member;
	futex_unlock(&set->lock);
	return err;
}

static int set_insert(struct fid_av_set *fid, fi_addr_t member)
{
	struct emu_av_set *set = emu_av_set(fid);
	int err;

	if (!domain_usable(set->av->domain))
		return refuse_inherited("fi_av_set_insert");
	if (!is_in_av(set, member))
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_set_insert: fi_addr_t %#llx is not in the address vector. Use what fi_av_insert gave.",
			      (unsigned long long)member);
	err = member_append(set, member);
	if (err == -FI_EINVAL)
		return REFUSE(AV, err, "fi_av_set_insert: fi_addr_t %#llx is in the set already.", (unsigned long long)member);
	return err ? too_many("fi_av_set_insert") : 0;
}

static int set_remove(struct fid_av_set *fid, fi_addr_t member)
{
	struct emu_av_set *set = emu_av_set(fid);
	size_t at;
	bool found;

	if (!domain_usable(set->av->domain))
		return refuse_inherited("fi_av_set_remove");
	futex_lock(&set->lock);
	at = find(set->member, set->count, member);
	found = at < set->count;
	if (found) {
		set->count--;
		memmove(&set->member[at], &set->member[at + 1], (set->count - at) * sizeof(set->member[0]));
	}
	futex_unlock(&set->lock);
	return found ? 0
		     : REFUSE(AV, -FI_EINVAL, "fi_av_set_remove: fi_addr_t %#llx is not in the set.", (unsigned long long)member);
}

static int set_address(struct fid_av_set *fid, fi_addr_t *address)
{
	if (!address)
		return REFUSE(AV, -FI_EINVAL, "fi_av_set_addr: coll_addr is NULL.");
	*address = emu_av_set(fid)->address;
	return 0;
}

static struct fi_ops_av_set set_ops = {
	.size = sizeof(struct fi_ops_av_set),
	.set_union = set_union,
	.intersect = set_intersect,
	.diff = set_diff,
	.insert = set_insert,
	.remove = set_remove,
	.addr = set_address,
};

static int av_set_close(struct fid *fid)
{
	struct emu_av_set *set = (struct emu_av_set *)fid;

	av_put(set->av->av);
	free(set);
	return 0;
}

static struct fi_ops set_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_set_close,
	.bind = stub_bind,
	.control = stub_control,
	STUB_FID_OPS,
};

/* The first members: those of [first, last] that are in the address vector. */
static int take_range(struct emu_av_set *set, uint64_t first, uint64_t last, uint64_t stride)
{
	uint64_t end = av_end(set->av->av);

	for (uint64_t at = first; at <= last && at < end; at += stride) {
		if (is_in_av(set, at) && member_append(set, at))
			return too_many("fi_av_set");
		if (stride > end)
			break;
	}
	return 0;
}

static int first_members(struct emu_av_set *set, const struct fi_av_set_attr *attr)
{
	if (attr->flags & FI_UNIVERSE)
		return take_range(set, 0, UINT64_MAX - 1, 1);
	if (attr->start_addr == FI_ADDR_NOTAVAIL && attr->end_addr == FI_ADDR_NOTAVAIL)
		return 0;
	if (attr->start_addr > attr->end_addr || attr->end_addr == FI_ADDR_NOTAVAIL || !attr->stride)
		return REFUSE(
			AV, -FI_EINVAL,
			"fi_av_set: start_addr %#llx, end_addr %#llx, stride %llu. Count upwards by 1 or more; for an empty set "
			"both addresses are FI_ADDR_NOTAVAIL.",
			(unsigned long long)attr->start_addr, (unsigned long long)attr->end_addr, (unsigned long long)attr->stride);
	if (attr->count && (attr->end_addr - attr->start_addr) / attr->stride >= attr->count)
		return REFUSE(AV, -FI_EINVAL, "fi_av_set: start_addr to end_addr are more addresses than count, %zu.", attr->count);
	return take_range(set, attr->start_addr, attr->end_addr, attr->stride);
}

int emu_av_set_open(struct fid_av *fid, struct fi_av_set_attr *attr, struct fid_av_set **out, void *context)
{
	static atomic_uint_fast64_t opened;
	struct emu_av *av = (struct emu_av *)fid;
	struct emu_av_set *set;
	int err;

	if (!attr || !out)
		return REFUSE(AV, -FI_EINVAL, "fi_av_set: attr or set is NULL.");
	if (!domain_usable(av->domain))
		return refuse_inherited("fi_av_set");
	if (attr->flags & ~SET_FLAGS)
		return REFUSE_FLAGS(AV, "fi_av_set", attr->flags & ~SET_FLAGS);
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->av = av;
	(void)av_generation(av->av); /* makes a shared one follow the changes of other processes */
	err = first_members(set, attr);
	if (err) {
		free(set);
		return err;
	}
	av_get(av->av);
	set->address = COLL_ADDRESS_SET | (atomic_fetch_add(&opened, 1) & (COLL_ADDRESS_SET - 1));
	set->fid.fid.fclass = FI_CLASS_AV_SET;
	set->fid.fid.context = context;
	set->fid.fid.ops = &set_fid_ops;
	set->fid.ops = &set_ops;
	*out = &set->fid;
	return 0;
}

size_t av_set_members(struct emu_av_set *set, uint64_t members[LIMIT_MEMBERS])
{
	size_t count;

	futex_lock(&set->lock);
	count = set->count;
	memcpy(members, set->member, count * sizeof(members[0]));
	futex_unlock(&set->lock);
	return count;
}
