/* SPDX-License-Identifier: BSD-2-Clause */
/* collective.c - fi_collective(3) and fi_av_set(3): what is offered, sets, groups, the calls, and what is refused. */
#include <rdma/fi_collective.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/fi/world.h"

enum { MEMBERS = 5, COUNT = 6, GUARD_S = 60 };

/* Endpoints of one domain, each with queues of its own. */
struct team {
	struct world w;
	struct fid_ep *ep[MEMBERS];
	struct fid_cq *cq[MEMBERS];
	struct fid_eq *eq[MEMBERS];
	fi_addr_t addr[MEMBERS];
	struct fid_av_set *set;
	struct fid_mc *mc[MEMBERS];
};

static void team_open(struct team *team, const struct want *want)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_set_attr set_attr = { .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL };

	memset(team, 0, sizeof(*team));
	world_open(&team->w, want);
	for (int i = 0; i < MEMBERS; i++) {
		struct sockaddr_storage name;
		size_t length = sizeof(name);

		RC(0, fi_cq_open(team->w.domain, &cq_attr, &team->cq[i], NULL));
		RC(0, fi_eq_open(team->w.fabric, &eq_attr, &team->eq[i], NULL));
		RC(0, fi_endpoint(team->w.domain, team->w.info, &team->ep[i], NULL));
		RC(0, fi_ep_bind(team->ep[i], &team->w.av->fid, 0));
		RC(0, fi_ep_bind(team->ep[i], &team->cq[i]->fid, FI_TRANSMIT | FI_RECV | want->bind));
		RC(0, fi_ep_bind(team->ep[i], &team->eq[i]->fid, 0));
		RC(0, fi_enable(team->ep[i]));
		RC(0, fi_getname(&team->ep[i]->fid, &name, &length));
		RC(1, fi_av_insert(team->w.av, &name, 1, &team->addr[i], 0, NULL));
	}
	RC(0, fi_av_set(team->w.av, &set_attr, &team->set, NULL));
	for (int i = 0; i < MEMBERS; i++)
		RC(0, fi_av_set_insert(team->set, team->addr[i]));
}

static void team_close(struct team *team)
{
	for (int i = 0; i < MEMBERS; i++) {
		if (team->mc[i])
			RC(0, fi_close(&team->mc[i]->fid));
		RC(0, fi_close(&team->ep[i]->fid));
		RC(0, fi_close(&team->cq[i]->fid));
		RC(0, fi_close(&team->eq[i]->fid));
	}
	if (team->set)
		RC(0, fi_close(&team->set->fid));
	world_close(&team->w);
}

/* The next event of a member's queue, which ends the wait of all: each read drives the NIC. */
static void joined(struct team *team, int i)
{
	struct fi_eq_entry entry;
	uint32_t event;

	RC(sizeof(entry), fi_eq_sread(team->eq[i], &event, &entry, sizeof(entry), GUARD_S * 1000, 0));
	cr_assert(event == FI_JOIN_COMPLETE && entry.fid == &team->mc[i]->fid && entry.context == &team->mc[i]);
}

static void team_join(struct team *team)
{
	fi_addr_t address;

	RC(0, fi_av_set_addr(team->set, &address));
	for (int i = 0; i < MEMBERS; i++)
		RC(0, fi_join_collective(team->ep[i], address, team->set, 0, &team->mc[i], &team->mc[i]));
	for (int i = 0; i < MEMBERS; i++)
		joined(team, i);
}

static ssize_t next(struct team *team, int i, struct fi_cq_tagged_entry *entry)
{
	time_t end = time(NULL) + GUARD_S;
	ssize_t got;

	do {
		got = fi_cq_read(team->cq[i], entry, 1);
	} while (got == -FI_EAGAIN && time(NULL) < end);
	return got;
}

static void done(struct team *team, void *context)
{
	for (int i = 0; i < MEMBERS; i++) {
		struct fi_cq_tagged_entry entry;

		RC(1, next(team, i, &entry));
		cr_assert(entry.op_context == context && entry.flags == FI_COLLECTIVE, "%#llx", (unsigned long long)entry.flags);
	}
}

Test(fi_collective, offered)
{
	struct fi_collective_attr attr = { .op = FI_SUM, .datatype = FI_INT32 };
	struct fi_info *info;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	cr_assert(!(w.info->caps & FI_COLLECTIVE)); /* nobody has asked */
	for (int coll = FI_BARRIER; coll <= FI_GATHER; coll++) {
		attr.datatype = coll == FI_BARRIER ? FI_VOID : FI_INT32;
		RC(0, fi_query_collective(w.domain, (enum fi_collective_op)coll, &attr, 0));
		cr_assert(attr.datatype_attr.size == (coll == FI_BARRIER ? 0 : 4) && attr.max_members >= 1024);
	}
	attr.datatype = FI_VOID;
	RC(-FI_EOPNOTSUPP, fi_query_collective(w.domain, FI_BROADCAST, &attr, 0));
	attr.datatype = (enum fi_datatype)260;
	RC(-FI_EOPNOTSUPP, fi_query_collective(w.domain, FI_BROADCAST, &attr, 0));
	attr.datatype = FI_DOUBLE;
	attr.op = FI_BOR;
	RC(-FI_EOPNOTSUPP, fi_query_collective(w.domain, FI_REDUCE, &attr, 0));
	RC(0, fi_query_collective(w.domain, FI_GATHER, &attr, 0));
	attr.op = FI_ATOMIC_WRITE;
	RC(-FI_EOPNOTSUPP, fi_query_collective(w.domain, FI_ALLREDUCE, &attr, 0));
	attr.op = (enum fi_op)(256 + FI_SUM);
	RC(-FI_EOPNOTSUPP, fi_query_collective(w.domain, FI_ALLREDUCE, &attr, 0));
	attr.op = FI_SUM;
	RC(-FI_EOPNOTSUPP, fi_query_collective(w.domain, (enum fi_collective_op)9, &attr, 0));
	RC(-FI_EBADFLAGS, fi_query_collective(w.domain, FI_ALLREDUCE, &attr, 1));
	RC(-FI_EINVAL, fi_query_collective(w.domain, FI_ALLREDUCE, NULL, 0));
	attr.mode = 1;
	RC(-FI_EINVAL, fi_query_collective(w.domain, FI_ALLREDUCE, &attr, 0));
	world_close(&w);
	RC(-FI_ENODATA, world_getinfo(&(struct want){ .caps = FI_MSG | FI_COLLECTIVE, .type = FI_EP_MSG },
				      world_hints(&(struct want){ .caps = FI_MSG | FI_COLLECTIVE, .type = FI_EP_MSG }), &info));
}

Test(fi_collective, sets)
{
	struct fi_av_set_attr attr = { .count = 3, .start_addr = 1, .end_addr = 5, .stride = 2 };
	struct fid_av_set *odd, *all, *none;
	fi_addr_t address, other;
	struct team t;

	team_open(&t, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	RC(0, fi_av_set(t.w.av, &attr, &odd, NULL));
	attr = (struct fi_av_set_attr){ .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL, .flags = FI_UNIVERSE };
	RC(0, fi_av_set(t.w.av, &attr, &all, NULL));
	attr.flags = FI_BARRIER_SET | FI_GATHER_SET;
	RC(0, fi_av_set(t.w.av, &attr, &none, NULL));
	RC(0, fi_av_set_addr(all, &address));
	RC(0, fi_av_set_addr(odd, &other));
	cr_assert_neq(address, other);
	RC(-FI_EINVAL, fi_av_set_addr(odd, NULL));
	/* 1, 3, 5 are in both */
	RC(-FI_EINVAL, fi_av_set_insert(odd, 3));
	RC(0, fi_av_set_diff(all, odd));
	RC(-FI_EINVAL, fi_av_set_remove(all, 3));
	RC(0, fi_av_set_remove(all, 2));
	RC(0, fi_av_set_union(none, odd));
	RC(0, fi_av_set_union(none, all));
	RC(0, fi_av_set_intersect(none, odd));
	RC(-FI_EINVAL, fi_av_set_remove(none, 0));
	for (fi_addr_t i = 1; i < 6; i += 2)
		RC(0, fi_av_set_remove(none, i));
	RC(0, fi_av_set_diff(odd, odd));
	RC(0, fi_av_set_insert(odd, 3));
	RC(-FI_EINVAL, fi_av_set_insert(odd, 77));
	RC(-FI_EINVAL, fi_av_set_insert(odd, FI_ADDR_NOTAVAIL));
	RC(-FI_EINVAL, odd->ops->set_union(odd, NULL));
	RC(-FI_EBUSY, fi_close(&t.w.av->fid));
	RC(0, fi_close(&odd->fid));
	RC(0, fi_close(&all->fid));
	RC(0, fi_close(&none->fid));
	attr.flags = 1;
	RC(-FI_EBADFLAGS, fi_av_set(t.w.av, &attr, &none, NULL));
	attr = (struct fi_av_set_attr){ .count = 2, .start_addr = 1, .end_addr = 5, .stride = 2 };
	RC(-FI_EINVAL, fi_av_set(t.w.av, &attr, &none, NULL));
	attr = (struct fi_av_set_attr){ .start_addr = 1, .end_addr = 5 };
	RC(-FI_EINVAL, fi_av_set(t.w.av, &attr, &none, NULL));
	attr = (struct fi_av_set_attr){ .start_addr = 5, .end_addr = 1, .stride = 1 };
	RC(-FI_EINVAL, fi_av_set(t.w.av, &attr, &none, NULL));
	attr = (struct fi_av_set_attr){ .start_addr = 0, .end_addr = FI_ADDR_NOTAVAIL - 1, .stride = UINT64_MAX };
	RC(0, fi_av_set(t.w.av, &attr, &none, NULL));
	RC(0, fi_close(&none->fid));
	RC(-FI_EINVAL, fi_av_set(t.w.av, NULL, &none, NULL));
	RC(-FI_EINVAL, fi_av_set(t.w.av, &attr, NULL, NULL));
	team_close(&t);
}

/* Each call once, with 32-bit sums. */
Test(fi_collective, calls)
{
	int32_t in[MEMBERS][MEMBERS * COUNT], out[MEMBERS][MEMBERS * COUNT];
	struct team t;
	fi_addr_t g;

	team_open(&t, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	team_join(&t);
#define EACH(call, check)                                                                                \
	do {                                                                                             \
		for (int i = 0; i < MEMBERS; i++)                                                        \
			for (int k = 0; k < MEMBERS * COUNT; k++)                                        \
				in[i][k] = 100 * i + k;                                                  \
		memset(out, 0xaa, sizeof(out));                                                          \
		for (int i = 0; i < MEMBERS; i++) {                                                      \
			g = fi_mc_addr(t.mc[i]);                                                         \
			RC(0, call);                                                                     \
		}                                                                                        \
		done(&t, in);                                                                            \
		for (int i = 0; i < MEMBERS; i++)                                                        \
			for (int k = 0; k < COUNT; k++)                                                  \
				cr_assert(check, #check ": member %d, element %d: %d", i, k, out[i][k]); \
	} while (0)
	EACH(fi_barrier(t.ep[i], g, in), true);
	EACH(fi_barrier2(t.ep[i], g, FI_COMPLETION, in), true);
	EACH(fi_broadcast(t.ep[i], in[i], COUNT, NULL, g, t.addr[2], FI_INT32, 0, in), in[i][k] == 200 + k);
	EACH(fi_allreduce(t.ep[i], in[i], COUNT, NULL, out[i], NULL, g, FI_INT32, FI_SUM, 0, in), out[i][k] == 1000 + 5 * k);
	EACH(fi_reduce(t.ep[i], in[i], COUNT, NULL, i == 3 ? out[i] : NULL, NULL, g, t.addr[3], FI_INT32, FI_MAX, 0, in),
	     i != 3 || out[i][k] == 400 + k);
	EACH(fi_reduce_scatter(t.ep[i], in[i], COUNT, NULL, out[i], NULL, g, FI_INT32, FI_SUM, 0, in),
	     out[i][k] == 1000 + 5 * (COUNT * i + k));
	EACH(fi_alltoall(t.ep[i], in[i], COUNT, NULL, out[i], NULL, g, FI_INT32, 0, in),
	     out[i][COUNT * 4 + k] == 400 + COUNT * i + k && out[i][k] == COUNT * i + k);
	EACH(fi_allgather(t.ep[i], in[i], COUNT, NULL, out[i], NULL, g, FI_INT32, 0, in), out[i][COUNT * 4 + k] == 400 + k);
	EACH(fi_scatter(t.ep[i], i == 1 ? in[i] : NULL, COUNT, NULL, out[i], NULL, g, t.addr[1], FI_INT32, 0, in),
	     out[i][k] == 100 + COUNT * i + k);
	EACH(fi_gather(t.ep[i], in[i], COUNT, NULL, i == 4 ? out[i] : NULL, NULL, g, t.addr[4], FI_INT32, 0, in),
	     i != 4 || out[i][COUNT * 3 + k] == 300 + k);
	team_close(&t);
}

Test(fi_collective, bad_joins)
{
	struct fi_av_set_attr empty = { .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *other;
	fi_addr_t address;
	struct fid_mc *mc;
	struct world plain;
	struct team t;

	team_open(&t, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	RC(0, fi_av_set_addr(t.set, &address));
	RC(-FI_EBADFLAGS, fi_join_collective(t.ep[0], address, t.set, FI_MULTI_RECV, &mc, NULL));
	RC(-FI_EINVAL, fi_join_collective(t.ep[0], address, t.set, FI_SEND, &mc, NULL));
	RC(-FI_EINVAL, fi_join_collective(t.ep[0], address, NULL, 0, &mc, NULL));
	RC(-FI_EINVAL, fi_join_collective(t.ep[0], address, (struct fid_av_set *)t.w.av, 0, &mc, NULL));
	RC(-FI_EINVAL, fi_join_collective(t.ep[0], address, t.set, 0, NULL, NULL));
	RC(-FI_EINVAL, fi_join_collective(t.ep[0], address + 1, t.set, 0, &mc, NULL));
	RC(-FI_EINVAL, fi_join_collective(t.ep[0], 0, t.set, 0, &mc, NULL));
	RC(-FI_ENOSYS, fi_join(t.ep[0], NULL, 0, &mc, NULL));
	RC(0, fi_av_set(t.w.av, &empty, &other, NULL));
	RC(0, fi_av_set_addr(other, &address));
	RC(-FI_EINVAL, fi_join_collective(t.ep[0], address, other, 0, &mc, NULL));
	RC(0, fi_av_set_insert(other, t.addr[1]));
	RC(-FI_EINVAL, fi_join_collective(t.ep[0], address, other, 0, &mc, NULL));
	RC(0, fi_close(&other->fid));
	world_open(&plain, &(struct want){ 0 });
	RC(-FI_EOPNOTSUPP, fi_join_collective(plain.ep, address, t.set, 0, &mc, NULL));
	RC(-FI_EOPNOTSUPP, fi_barrier(plain.ep, address, NULL));
	world_close(&plain);
	world_open_disabled(&plain, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	RC(-FI_EOPBADSTATE, fi_join_collective(plain.ep, address, t.set, 0, &mc, NULL));
	RC(-FI_EOPBADSTATE, fi_barrier(plain.ep, address, NULL));
	world_enable(&plain);
	RC(-FI_EINVAL, fi_join_collective(plain.ep, address, t.set, 0, &mc, NULL)); /* another address vector's */
	world_close(&plain);
	team_close(&t);
}

/* The join of a group fails of which one member has no FI_COLLECTIVE. */
Test(fi_collective, member_without)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL };
	struct fi_eq_err_entry error = { 0 };
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct fi_eq_entry entry;
	struct fid_av_set *set;
	fi_addr_t other, address;
	struct world plain;
	struct fid_mc *mc;
	struct team t;
	uint32_t event;

	team_open(&t, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	world_open(&plain, &(struct want){ .caps = FI_MSG });
	RC(0, fi_getname(&plain.ep->fid, &name, &length));
	RC(1, fi_av_insert(t.w.av, &name, 1, &other, 0, NULL));
	RC(0, fi_av_set(t.w.av, &attr, &set, NULL));
	RC(0, fi_av_set_insert(set, t.addr[0]));
	RC(0, fi_av_set_insert(set, other));
	RC(0, fi_av_set_addr(set, &address));
	RC(0, fi_join_collective(t.ep[0], address, set, 0, &mc, &t));
	RC(-FI_EAVAIL, fi_eq_sread(t.eq[0], &event, &entry, sizeof(entry), GUARD_S * 1000, 0));
	RC(sizeof(error), fi_eq_readerr(t.eq[0], &error, 0));
	cr_assert(error.fid == &mc->fid && error.context == &t && error.err == FI_EACCES);
	cr_assert(strstr(error.err_data, "FI_COLLECTIVE"), "%s", (const char *)error.err_data);
	RC(-FI_EOPBADSTATE, fi_barrier(t.ep[0], fi_mc_addr(mc), NULL));
	RC(0, fi_close(&mc->fid));
	RC(0, fi_close(&set->fid));
	world_close(&plain);
	team_close(&t);
}

Test(fi_collective, bad_calls)
{
	int32_t in[MEMBERS * COUNT] = { 0 }, out[MEMBERS * COUNT];
	fi_addr_t address, g;
	struct team t;

	team_open(&t, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	RC(0, fi_av_set_addr(t.set, &address));
	RC(0, fi_join_collective(t.ep[0], address, t.set, 0, &t.mc[0], &t.mc[0]));
	g = fi_mc_addr(t.mc[0]);
	RC(-FI_EOPBADSTATE, fi_barrier(t.ep[0], g, NULL)); /* not joined yet */
	for (int i = 1; i < MEMBERS; i++)
		RC(0, fi_join_collective(t.ep[i], address, t.set, 0, &t.mc[i], &t.mc[i]));
	for (int i = 0; i < MEMBERS; i++)
		joined(&t, i);
	RC(-FI_EINVAL, fi_barrier(t.ep[0], 0, NULL));
	RC(-FI_EINVAL, fi_barrier(t.ep[0], address, NULL));
	RC(-FI_EINVAL, fi_barrier(t.ep[0], fi_mc_addr(t.mc[1]), NULL));
	RC(-FI_EBADFLAGS, fi_barrier2(t.ep[0], g, FI_TRIGGER, NULL));
	RC(-FI_EINVAL, fi_broadcast(t.ep[0], NULL, COUNT, NULL, g, t.addr[0], FI_INT32, 0, NULL));
	RC(-FI_EINVAL, fi_broadcast(t.ep[0], in, COUNT, NULL, g, t.w.self, FI_INT32, 0, NULL)); /* a stranger */
	RC(-FI_EINVAL, fi_broadcast(t.ep[0], in, COUNT, NULL, g, FI_ADDR_UNSPEC, FI_INT32, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_broadcast(t.ep[0], in, COUNT, NULL, g, t.addr[0], FI_VOID, 0, NULL));
	RC(-FI_EMSGSIZE, fi_broadcast(t.ep[0], in, SIZE_MAX, NULL, g, t.addr[0], FI_INT32, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_allreduce(t.ep[0], in, COUNT, NULL, out, NULL, g, FI_INT32, FI_ATOMIC_READ, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_allreduce(t.ep[0], in, COUNT, NULL, out, NULL, g, FI_INT32, (enum fi_op) - 1, 0, NULL));
	RC(-FI_EOPNOTSUPP, fi_allreduce(t.ep[0], in, COUNT, NULL, out, NULL, g, FI_FLOAT, FI_BXOR, 0, NULL));
	RC(-FI_EINVAL, fi_allreduce(t.ep[0], in, COUNT, NULL, NULL, NULL, g, FI_INT32, FI_SUM, 0, NULL));
	RC(-FI_EINVAL, fi_alltoall(t.ep[0], in, COUNT, NULL, NULL, NULL, g, FI_INT32, 0, NULL));
	RC(-FI_EINVAL, fi_gather(t.ep[0], in, COUNT, NULL, NULL, NULL, g, t.addr[0], FI_INT32, 0, NULL));
	RC(-FI_ENOSYS, t.ep[0]->collective->msg(t.ep[0], NULL, NULL, NULL, 0, 0));
	/* None of them was a collective of the group. */
	for (int i = 0; i < MEMBERS; i++)
		RC(0, fi_barrier(t.ep[i], fi_mc_addr(t.mc[i]), in));
	done(&t, in);
	team_close(&t);
}

/* An endpoint in a group, and a group in the middle of a collective. */
Test(fi_collective, closed_in_the_wrong_order)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	int32_t data[COUNT] = { 0 };
	fi_addr_t g[MEMBERS];
	struct team t;

	team_open(&t, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	team_join(&t);
	RC(-FI_EBUSY, fi_close(&t.ep[0]->fid));
	RC(0, fi_close(&t.set->fid)); /* groups have copies */
	t.set = NULL;
	for (int i = 0; i < MEMBERS; i++)
		g[i] = fi_mc_addr(t.mc[i]);
	for (int i = 1; i < MEMBERS; i++)
		RC(0, fi_allreduce(t.ep[i], data, COUNT, NULL, data, NULL, g[i], FI_INT32, FI_SUM, 0, data));
	RC(0, fi_close(&t.mc[1]->fid));
	t.mc[1] = NULL;
	for (int i = 1; i < MEMBERS; i++) {
		RC(-FI_EAVAIL, next(&t, i, &entry));
		RC(1, fi_cq_readerr(t.cq[i], &error, 0));
		cr_assert(error.op_context == data && error.flags == FI_COLLECTIVE &&
				  error.err == (i == 1 ? FI_ECANCELED : ECONNABORTED),
			  "%d: %d", i, error.err);
	}
	RC(-FI_EINVAL, fi_barrier(t.ep[1], g[1], NULL));
	team_close(&t);
}

/* A fork's child has its parent's sets, and whatever lock a thread of the parent held: each call says that they are not its own. */
Test(fi_collective, sets_of_another_process)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *other;
	struct team t;
	int status;
	pid_t child;

	team_open(&t, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	RC(0, fi_av_set(t.w.av, &attr, &other, NULL));
	child = fork();
	cr_assert_geq(child, 0);
	if (!child) {
		bool refused = fi_av_set_insert(other, t.addr[1]) == -FI_ENODEV &&
			       fi_av_set_remove(t.set, t.addr[1]) == -FI_ENODEV && fi_av_set_union(other, t.set) == -FI_ENODEV &&
			       fi_av_set_intersect(t.set, other) == -FI_ENODEV && fi_av_set_diff(t.set, other) == -FI_ENODEV;

		_exit(refused ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
	RC(0, fi_av_set_insert(other, t.addr[1]));
	RC(0, fi_close(&other->fid));
	team_close(&t);
}

/* A part of the group is a group, agreed or joined by messages; the program's own messages meet none of its. */
Test(fi_collective, subgroups)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL };
	struct fi_cq_tagged_entry entry;
	struct fid_mc *sub[2], *agreed[2];
	struct fid_av_set *pair;
	char text[8] = { 0 };
	struct team t;

	team_open(&t, &(struct want){ .caps = FI_MSG | FI_COLLECTIVE });
	team_join(&t);
	RC(0, fi_av_set(t.w.av, &attr, &pair, NULL));
	RC(0, fi_av_set_insert(pair, t.addr[3]));
	RC(0, fi_av_set_insert(pair, t.addr[1]));
	RC(0, fi_recv(t.ep[1], text, sizeof(text), NULL, FI_ADDR_UNSPEC, text));
	for (int i = 0; i < 2; i++) {
		struct fi_eq_entry event;
		uint32_t what;

		RC(0, fi_join_collective(t.ep[1 + 2 * i], FI_ADDR_NOTAVAIL, pair, 0, &agreed[i], NULL));
		RC(sizeof(event), fi_eq_sread(t.eq[1 + 2 * i], &what, &event, sizeof(event), GUARD_S * 1000, 0));
		cr_assert(what == FI_JOIN_COMPLETE && event.fid == &agreed[i]->fid);
	}
	for (int i = 0; i < 2; i++)
		RC(0, fi_join_collective(t.ep[1 + 2 * i], fi_mc_addr(t.mc[1 + 2 * i]), pair, FI_SEND | FI_RECV, &sub[i], NULL));
	for (int i = 0; i < 2; i++) {
		struct fi_eq_entry event;
		uint32_t what;

		RC(sizeof(event), fi_eq_sread(t.eq[1 + 2 * i], &what, &event, sizeof(event), GUARD_S * 1000, 0));
		cr_assert(what == FI_JOIN_COMPLETE && event.fid == &sub[i]->fid);
	}
	for (int i = 0; i < 2; i++) {
		RC(0, fi_barrier(t.ep[1 + 2 * i], fi_mc_addr(sub[i]), sub));
		RC(0, fi_barrier(t.ep[1 + 2 * i], fi_mc_addr(agreed[i]), agreed));
	}
	for (int i = 0; i < 4; i++) {
		RC(1, next(&t, 1 + 2 * (i / 2), &entry));
		cr_assert(entry.op_context == sub || entry.op_context == agreed);
	}
	RC(0, fi_send(t.ep[3], "message", 8, NULL, t.addr[1], NULL));
	RC(1, next(&t, 1, &entry));
	cr_assert(entry.op_context == text && !strcmp(text, "message"));
	RC(0, fi_av_set_insert(pair, t.w.self));
	RC(-FI_EINVAL, fi_join_collective(t.ep[1], fi_mc_addr(t.mc[1]), pair, 0, &sub[0], NULL)); /* not within the group */
	RC(0, fi_close(&pair->fid));
	for (int i = 0; i < 2; i++) {
		RC(0, fi_close(&agreed[i]->fid));
		RC(0, fi_close(&sub[i]->fid));
	}
	team_close(&t);
}
