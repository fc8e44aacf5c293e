/* SPDX-License-Identifier: BSD-2-Clause */
/* flock.c - members of groups, and what they do together. */
#include "tests/sim/harness/flock.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/atomics/atomic_ops.h"
#include "emu/nic/memory/guard.h"

static void bird_open(struct flock *flock, int i)
{
	struct bird *bird = &flock->bird[i];
	struct ep_attr attr = { .caps = EP_SEND | EP_RECV | EP_TRECV | EP_TSEND | EP_COLLECTIVE };
	struct sockaddr_in *at = (struct sockaddr_in *)&attr.at;

	bird->node = node_open(flock->world, NULL);
	cr_assert(!av_open(&bird->av, 0) && !cq_open(&bird->cq, 0, NULL, NULL) && !cntr_open(&bird->cntr, NULL, NULL));
	cr_assert(!pd_open(bird->node->nic, &bird->pd));
	attr.pd = bird->pd;
	attr.av = bird->av;
	attr.tx_cq = attr.rx_cq = bird->cq;
	attr.cntr[EP_CNTR_WRITE] = bird->cntr;
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(0x0a000001u + (uint32_t)bird->node->id);
	node_enter(bird->node);
	cr_assert(!ep_open(bird->node->nic, &attr, &bird->ep));
	node_leave(bird->node);
}

void flock_open(struct flock *flock, uint64_t seed, int size)
{
	*flock = (struct flock){ .world = world_open(world_seed(seed)), .size = size };
	cr_assert(!guard_install());
	for (int i = 0; i < size; i++)
		bird_open(flock, i);
	for (int i = 0; i < size; i++) {
		for (int k = 0; k < size; k++) {
			struct sockaddr_storage name;

			ep_name(flock->bird[k].ep, &name);
			cr_assert(!av_insert(flock->bird[i].av, &name, 0, &flock->bird[i].index[k]));
		}
	}
}

void flock_close(struct flock *flock)
{
	for (int i = 0; i < flock->size; i++) {
		struct bird *bird = &flock->bird[i];

		node_enter(bird->node);
		if (bird->ep) {
			ep_close(bird->ep);
			cr_assert(!pd_close(bird->pd));
		}
		node_leave(bird->node);
	}
	world_close(flock->world);
	for (int i = 0; i < flock->size; i++)
		cr_assert(!cq_close(flock->bird[i].cq) && !cntr_close(flock->bird[i].cntr) && !av_close(flock->bird[i].av));
}

void seat_joined(void *owner, const struct refusal *why)
{
	struct seat *seat = owner;

	cr_assert(!seat->told);
	seat->told = true;
	seat->good = !why;
	if (why)
		seat->why = *why;
}

/* `members`: in that order. */
int flock_join(struct flock *flock, int member, const int *members, int count, struct seat *seat)
{
	uint64_t index[MEMBERS];
	struct coll_join join = { .members = index, .count = (uint32_t)count, .joined = seat_joined, .owner = seat };
	int rc;

	*seat = (struct seat){ 0 };
	for (int i = 0; i < count; i++)
		index[i] = flock->bird[member].index[members[i]];
	node_enter(flock->bird[member].node);
	rc = coll_join(flock->bird[member].ep, &join, &seat->group);
	node_leave(flock->bird[member].node);
	return rc;
}

bool seats_told(void *arg)
{
	struct wait *wait = arg;

	for (int i = 0; i < wait->count; i++)
		if (!wait->seat[i].told)
			return false;
	return true;
}

const int everybody[MEMBERS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

void flock_join_all(struct flock *flock, struct seat *seat)
{
	struct wait wait = { seat, flock->size };

	for (int i = 0; i < flock->size; i++)
		cr_assert(!flock_join(flock, i, everybody, flock->size, &seat[i]));
	WORLD_CHECK(flock->world, world_run(flock->world, seats_told, &wait, FLOCK_S * SIM_SECOND), "a join hangs");
	for (int i = 0; i < flock->size; i++)
		WORLD_CHECK(flock->world, seat[i].good, "member %d has not joined", i);
}

void seat_leave(struct flock *flock, int member, struct seat *seat)
{
	node_enter(flock->bird[member].node);
	coll_leave(seat->group);
	node_leave(flock->bird[member].node);
}

void flock_leave_all(struct flock *flock, struct seat *seat)
{
	for (int i = 0; i < flock->size; i++)
		seat_leave(flock, i, &seat[i]);
}

/* A value that no sum or product of sixteen makes inexact in any datatype that has a few bits. */
static void put_number(uint8_t type, void *at, unsigned int value)
{
	struct atomic_what what = { ATOMIC_PLAIN, ATOMIC_SUM, type };
	uint8_t one[ATOMIC_ELEMENT_MAX] = { 0 };

	switch (type) {
	case ATOMIC_FLOAT:
	case ATOMIC_FLOAT_COMPLEX:
		memcpy(one, &(float){ 1 }, sizeof(float));
		break;
	case ATOMIC_DOUBLE:
	case ATOMIC_DOUBLE_COMPLEX:
		memcpy(one, &(double){ 1 }, sizeof(double));
		break;
	case ATOMIC_LONG_DOUBLE:
	case ATOMIC_LONG_DOUBLE_COMPLEX:
		memcpy(one, &(long double){ 1 }, 10);
		break;
	case ATOMIC_FLOAT16:
		one[1] = 0x3c;
		break;
	case ATOMIC_BFLOAT16:
		one[1] = 0x3f;
		one[0] = 0x80;
		break;
	case ATOMIC_FLOAT8_E4M3:
		one[0] = 0x38;
		break;
	case ATOMIC_FLOAT8_E5M2:
		one[0] = 0x3c;
		break;
	default:
		one[0] = 1;
	}
	memset(at, 0, atomic_size(type));
	while (value--)
		atomic_apply(what, at, one, NULL);
}

static unsigned int number_of(const struct act *act, int member, size_t part, size_t element)
{
	unsigned int mixed = (unsigned int)(member * 7 + (int)part * 5 + (int)element * 3);

	return act->post.op == ATOMIC_PROD ? 1 + mixed % 2 * (member < 3) : mixed % 4;
}

static bool reduces(enum coll_kind kind)
{
	return kind == COLL_ALLREDUCE || kind == COLL_REDUCE || kind == COLL_REDUCE_SCATTER;
}

void act_open(struct act *act, struct flock *flock, const struct coll_post *post)
{
	static const enum coll_kind many_in[] = { COLL_ALLTOALL, COLL_REDUCE_SCATTER, COLL_SCATTER };
	static const enum coll_kind many_out[] = { COLL_ALLTOALL, COLL_ALLGATHER, COLL_GATHER };

	*act = (struct act){ .flock = flock, .post = *post, .parts_in = 1, .parts_out = 1 };
	act->element = post->kind == COLL_BARRIER ? 0 : atomic_size(post->type);
	for (int i = 0; i < 3; i++) {
		if (post->kind == many_in[i])
			act->parts_in = (size_t)flock->size;
		if (post->kind == many_out[i])
			act->parts_out = (size_t)flock->size;
	}
	for (int i = 0; i < flock->size; i++) {
		size_t bytes = post->count * act->element;

		act->in[i] = malloc(act->parts_in * bytes + 1);
		act->out[i] = malloc(act->parts_out * bytes + 1);
		memset(act->out[i], 0xaa, act->parts_out * bytes + 1);
		for (size_t part = 0; part < act->parts_in; part++)
			for (size_t at = 0; at < post->count && act->element; at++)
				put_number(post->type, act->in[i] + (part * post->count + at) * act->element,
					   number_of(act, i, part, at));
		if (post->kind == COLL_BROADCAST && (uint32_t)i != post->root)
			memset(act->in[i], 0xaa, bytes);
	}
}

void act_close(struct act *act)
{
	for (int i = 0; i < act->flock->size; i++) {
		free(act->in[i]);
		free(act->out[i]);
	}
}

int act_begin(struct act *act, int member, struct seat *seat)
{
	struct coll_post post = act->post;
	int rc;

	post.flags = POST_COMPLETE;
	post.buf = act->in[member];
	post.result = post.kind == COLL_BROADCAST ? act->in[member] : act->out[member];
	post.context = act;
	node_enter(act->flock->bird[member].node);
	rc = coll_begin(seat->group, &post);
	node_leave(act->flock->bird[member].node);
	return rc;
}

void flock_read(struct flock *flock)
{
	for (int i = 0; i < flock->size; i++) {
		struct completion c;
		struct cq_error error;
		ssize_t got;

		if (flock->bird[i].node->dead || !flock->bird[i].ep)
			continue;
		while ((got = cq_take(flock->bird[i].cq, &c, 1)) == 1) {
			struct act *act = c.context;

			cr_assert_eq(act->done[i], 0);
			act->done[i] = 1;
		}
		while (cq_take_error(flock->bird[i].cq, &error) == 1) {
			struct act *act = error.c.context;

			cr_assert_eq(act->done[i], 0);
			act->done[i] = -1;
			act->cause[i] = error.prov_errno;
			cr_assert(strstr(error.text, "collective of"), "%s", error.text);
		}
	}
}

bool act_done(void *arg)
{
	struct act *act = arg;

	flock_read(act->flock);
	for (int i = 0; i < act->flock->size; i++)
		if (!act->done[i] && act->flock->bird[i].ep && !act->flock->bird[i].node->dead)
			return false;
	return true;
}

/* One element of the result at `member`. */
static void expect(const struct act *act, int member, size_t part, size_t at, void *value)
{
	const struct coll_post *post = &act->post;
	const struct atomic_what what = { ATOMIC_PLAIN, post->op, post->type };
	struct atomic_float_mode mode;
	size_t in_part = post->kind == COLL_REDUCE_SCATTER ? (size_t)member : 0;
	uint8_t other[ATOMIC_ELEMENT_MAX];

	if (reduces(post->kind)) {
		put_number(post->type, value, number_of(act, 0, in_part, at));
		atomic_float_begin(&mode);
		for (int i = 1; i < act->flock->size; i++) {
			put_number(post->type, other, number_of(act, i, in_part, at));
			atomic_apply(what, value, other, NULL);
		}
		atomic_float_end(&mode);
		return;
	}
	switch (post->kind) {
	case COLL_BROADCAST:
		put_number(post->type, value, number_of(act, (int)post->root, 0, at));
		break;
	case COLL_SCATTER:
		put_number(post->type, value, number_of(act, (int)post->root, (size_t)member, at));
		break;
	case COLL_ALLTOALL:
		put_number(post->type, value, number_of(act, (int)part, (size_t)member, at));
		break;
	default: /* gathered */
		put_number(post->type, value, number_of(act, (int)part, 0, at));
		break;
	}
}

void act_check(const struct act *act)
{
	const struct coll_post *post = &act->post;
	bool at_root = post->kind == COLL_REDUCE || post->kind == COLL_GATHER;

	for (int i = 0; i < act->flock->size; i++) {
		const uint8_t *out = post->kind == COLL_BROADCAST ? act->in[i] : act->out[i];

		WORLD_CHECK(act->flock->world, act->done[i] == 1, "kind %d of %d: member %d failed: %d", post->kind,
			    act->flock->size, i, act->cause[i]);
		if (post->kind == COLL_BARRIER || (at_root && (uint32_t)i != post->root))
			continue;
		for (size_t part = 0; part < act->parts_out; part++) {
			for (size_t at = 0; at < post->count; at++) {
				uint8_t value[ATOMIC_ELEMENT_MAX] = { 0 };

				expect(act, i, part, at, value);
				WORLD_CHECK(act->flock->world,
					    !memcmp(value, out + (part * post->count + at) * act->element, act->element),
					    "kind %d of %d, root %u, type %d, op %d: member %d, part %zu, element %zu of %zu",
					    post->kind, act->flock->size, post->root, post->type, post->op, i, part, at,
					    post->count);
			}
		}
	}
}

void act_run(struct flock *flock, struct seat *seat, const struct coll_post *post)
{
	struct act act;

	act_open(&act, flock, post);
	for (int i = 0; i < flock->size; i++)
		cr_assert_eq(act_begin(&act, i, &seat[i]), 0);
	WORLD_CHECK(flock->world, world_run(flock->world, act_done, &act, FLOCK_S * SIM_SECOND), "kind %d of %d hangs", post->kind,
		    flock->size);
	act_check(&act);
	act_close(&act);
}

struct coll_post act_plain(enum coll_kind kind, size_t count)
{
	return (struct coll_post){ .kind = kind, .count = count, .type = ATOMIC_INT32, .op = ATOMIC_SUM };
}
