/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_iomap.c - memory that the peer writes to directly: riomap(), riounmap() and riowrite(). */
#include <stdlib.h>
#include <string.h>

#include "emu/cm/rsocket/rs.h"
#include "emu/verbs/cm/vb_cm.h"

/* --- the peer's --- */

static struct rs_target *target_find(const struct rsocket *rs, uint64_t offset)
{
	for (uint32_t i = 0; i < rs->to.iomaps; i++) {
		struct rs_target *target = &rs->targets[i];

		if (target->length && offset >= target->offset && offset - target->offset < target->length)
			return target;
	}
	return NULL;
}

bool rs_iomap_told(struct rsocket *rs, const struct rs_control *control)
{
	struct rs_target *target = target_find(rs, control->offset);
	uint32_t i = 0;

	if (control->kind == RS_UNMAP) {
		if (!target || target->offset != control->offset)
			return false;
		target->length = 0;
		return true;
	}
	while (i < rs->to.iomaps && rs->targets[i].length)
		i++;
	if (target || i == rs->to.iomaps || !control->length)
		return false;
	rs->targets[i] = (struct rs_target){
		.offset = control->offset, .at = control->at, .length = control->length, .key = control->key
	};
	return true;
}

/* --- own --- */

static bool say_need_not_wait(const struct rsocket *rs)
{
	return rs_can_say(rs) || rs->leave_heard || (rs->state != RS_UP && rs->state != RS_ACCEPTED);
}

/* Says it when the peer has a receive for it. */
static int tell_peer(struct rsocket *rs, struct rs_control *control)
{
	int err = rs_await(rs, say_need_not_wait, true, -1);

	if (!err)
		err = rs_send_error(rs);
	if (!err)
		rs_say(rs, control);
	return err;
}

/* The place of `length` bytes in the peer's view: `wish`, or behind all others if that is -1. EINVAL: it is taken. */
static int find_offset(const struct rsocket *rs, size_t length, off_t wish, uint64_t *offset)
{
	uint64_t end = 0;

	if (wish < -1 || length > INT64_MAX - (uint64_t)(wish < 0 ? 0 : wish))
		return EINVAL;
	*offset = (uint64_t)wish;
	for (const struct rs_iomap *map = rs->iomaps; map; map = map->next) {
		if (!map->told)
			continue;
		if (wish >= 0 && *offset < map->offset + map->length && map->offset < *offset + length)
			return EINVAL;
		if (map->offset + map->length > end)
			end = map->offset + map->length;
	}
	if (wish < 0)
		*offset = end;
	return wish < 0 && length > INT64_MAX - end ? EINVAL : 0;
}

static uint32_t iomaps_told(const struct rsocket *rs)
{
	uint32_t count = 0;

	for (const struct rs_iomap *map = rs->iomaps; map; map = map->next)
		count += map->told;
	return count;
}

static int iomap_check(const struct rsocket *rs, const void *at, size_t length, int prot, int flags)
{
	if (!at || !length || prot & ~PROT_WRITE || flags)
		return vb_refuse(EINVAL, "riomap",
				 "buf is NULL, len or flags are wrong, or prot is 0x%x: it is PROT_NONE or PROT_WRITE.",
				 (unsigned int)prot);
	if (rs->state != RS_UP && rs->state != RS_ACCEPTED)
		return vb_refuse(ENOTCONN, "riomap", "the rsocket is not connected.");
	if (prot & PROT_WRITE && iomaps_told(rs) >= rs->options.iomaps)
		return vb_refuse(ENOMEM, "riomap", "there are %u mappings. Set RDMA_IOMAPSIZE before the rsocket connects.",
				 rs->options.iomaps);
	return 0;
}

static void iomap_free(struct rs_iomap *map)
{
	ibv_dereg_mr(map->mr);
	free(map);
}

/* Locked. */
static int iomap_add(struct rsocket *rs, void *at, size_t length, bool remote, off_t wish, uint64_t *offset)
{
	struct rs_control control = { .kind = RS_MAP };
	struct rs_iomap *map;
	int err = remote ? find_offset(rs, length, wish, offset) : 0;

	if (err)
		return vb_refuse(err, "riomap", "offset is no free place of len bytes, and not -1 either.");
	map = calloc(1, sizeof(*map));
	if (!map)
		return ENOMEM;
	*map = (struct rs_iomap){ .at = at, .length = length, .told = remote, .offset = remote ? *offset : 0 };
	map->mr = ibv_reg_mr(rs->id->pd, at, length, remote ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0);
	if (!map->mr) {
		err = errno;
		free(map);
		return err;
	}
	control.key = map->mr->rkey;
	control.offset = map->offset;
	control.at = (uintptr_t)at;
	control.length = length;
	err = remote ? tell_peer(rs, &control) : 0;
	if (err) {
		iomap_free(map);
		return err;
	}
	map->next = rs->iomaps;
	rs->iomaps = map;
	return 0;
}

off_t riomap(int fd, void *at, size_t length, int prot, int flags, off_t wish)
{
	struct rsocket *rs = rs_hold(fd);
	uint64_t offset = 0;
	int err;

	if (!rs)
		return -1;
	rs_look(rs);
	err = iomap_check(rs, at, length, prot, flags);
	if (!err)
		err = iomap_add(rs, at, length, prot & PROT_WRITE, wish, &offset);
	rs_leave(rs);
	if (!err)
		return (off_t)offset;
	errno = err;
	return -1;
}

int riounmap(int fd, void *at, size_t length)
{
	struct rsocket *rs = rs_hold(fd);
	struct rs_iomap **from, *map;
	int err = 0;

	if (!rs)
		return -1;
	for (from = &rs->iomaps; *from && ((*from)->at != at || (*from)->length != length); from = &(*from)->next)
		;
	map = *from;
	if (!map) {
		err = vb_refuse(EINVAL, "riounmap", "these are not buf and len of a riomap().");
	} else {
		struct rs_control control = { .kind = RS_UNMAP, .offset = map->offset };

		*from = map->next;
		if (map->told)
			(void)tell_peer(rs, &control); /* a peer that has gone needs not to know */
		iomap_free(map);
	}
	rs_leave(rs);
	return rs_result(err, 0);
}

void rs_iomaps_free(struct rsocket *rs)
{
	struct rs_iomap *map = rs->iomaps;

	while (map) {
		struct rs_iomap *next = map->next;

		iomap_free(map);
		map = next;
	}
	rs->iomaps = NULL;
}

/* --- written --- */

static bool write_need_not_wait(const struct rsocket *rs)
{
	return rs_can_write(rs) || rs->sends_end || rs->leave_heard ||
	       (rs->state != RS_UP && rs->state != RS_ACCEPTED && rs->state != RS_CONNECTING);
}

static void copy_plain(void *arg, void *to, uint32_t length)
{
	const uint8_t **from = arg;

	memcpy(to, *from, length);
	*from += length;
}

/* Locked: one part, and how long it is. */
static int write_part(struct rsocket *rs, const uint8_t **from, size_t left, uint64_t offset, uint32_t *part)
{
	const struct rs_target *target = target_find(rs, offset);
	struct rs_target here;

	if (!target)
		return vb_refuse(
			EINVAL, "riowrite",
			"the peer has mapped nothing at offset %llu, or what it has sent after riomap() was not received yet.",
			(unsigned long long)offset);
	here = (struct rs_target){ .at = target->at + (offset - target->offset), .key = target->key };
	*part = rs_post(rs, rs_least(left, rs_least(target->length - (offset - target->offset), UINT32_MAX)), &here, copy_plain,
			from);
	return 0;
}

size_t riowrite(int fd, const void *buf, size_t count, off_t offset, int flags)
{
	struct rsocket *rs = rs_hold(fd);
	const uint8_t *from = buf;
	size_t done = 0;
	int err;

	if (!rs)
		return (size_t)-1;
	err = rs_check_flags(flags, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_WAITALL, "riowrite");
	rs_look(rs);
	if (!err)
		err = rs_send_error(rs);
	while (!err && done < count) {
		uint32_t part = 0;

		err = rs_await(rs, write_need_not_wait, !rs->nonblocking && !(flags & MSG_DONTWAIT), -1);
		if (!err)
			err = rs_send_error(rs);
		if (!err)
			err = write_part(rs, &from, count - done, (uint64_t)offset + done, &part);
		done += part;
	}
	rs_leave(rs);
	vb_cm_doze(); /* the program's next look is at memory that the peer writes to, perhaps: no call of it serves the device */
	if (!err || done)
		return done;
	errno = err;
	return (size_t)-1;
}
