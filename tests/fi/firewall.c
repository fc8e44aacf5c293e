/* SPDX-License-Identifier: BSD-2-Clause */
/* firewall.c - peers behind a firewall (FI_FIREWALL_ADDR): they connect, and are not dialled. */
#include "tests/fi/world.h"

#include <string.h>
#include <sys/socket.h>

#include <rdma/fi_tagged.h>

#include "emu/fi/provider/fi_compat.h"

static struct world inside, outside;
static char text[16], room[16];

/* Each knows the other, the one outside by the flag; the indices. */
static fi_addr_t to_inside, to_outside;

static fi_addr_t know(struct world *w, const struct world *peer, uint64_t flags)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	fi_addr_t addr;

	RC(0, fi_getname(&peer->ep->fid, &name, &length));
	RC(1, fi_av_insert(w->av, &name, 1, &addr, flags, NULL));
	return addr;
}

static void open_both(void)
{
	struct want want = { .caps = FI_MSG | FI_TAGGED | FI_RMA };

	world_open(&inside, &want);
	world_open(&outside, &want);
	to_inside = know(&outside, &inside, COMPAT_FIREWALL_ADDR);
	to_outside = know(&inside, &outside, 0);
}

static int failed(struct fi_cq_err_entry *error)
{
	struct fi_cq_tagged_entry entry;
	union {
		struct fi_cq_err_entry entry;
		char newer[sizeof(struct fi_cq_err_entry) + 64];
	} room_for = { .entry = { 0 } };

	RC(-FI_EAVAIL, world_next(&outside, &entry));
	RC(1, fi_cq_readerr(outside.cq, &room_for.entry, 0));
	*error = room_for.entry;
	return error->err;
}

static void refused(struct fi_cq_err_entry *error)
{
	cr_expect_eq(failed(error), COMPAT_EFIREWALLADDR, "%d", error->err);
}

static void done(struct world *w, const void *context)
{
	struct fi_cq_tagged_entry entry;

	RC(1, world_next(w, &entry));
	cr_assert_eq(entry.op_context, context);
}

/* fi_av(3) of 2.2: without a connection that is there, -FI_EFIREWALLADDR. */
Test(fi_firewall, without_a_connection_ops_fail)
{
	struct fi_cq_err_entry error;

	open_both();
	RC(0, fi_send(outside.ep, text, 8, NULL, to_inside, text));
	refused(&error);
	cr_expect_eq(error.op_context, text);
	RC(0, fi_write(outside.ep, text, 8, NULL, to_inside, 0, 1, room));
	refused(&error);
	cr_expect_eq(error.op_context, room);
	RC(0, fi_tinject(outside.ep, text, 8, to_inside, 1));
	refused(&error);
	world_close(&outside);
	world_close(&inside);
}

Test(fi_firewall, once_the_peer_has_connected_it_is_reached)
{
	struct fi_cq_err_entry error;

	open_both();
	RC(0, fi_send(outside.ep, text, 8, NULL, to_inside, text));
	refused(&error);
	RC(0, fi_recv(outside.ep, room, 8, NULL, FI_ADDR_UNSPEC, room));
	RC(0, fi_inject(inside.ep, text, 8, to_outside));
	done(&outside, room);
	RC(0, fi_recv(inside.ep, room, 8, NULL, FI_ADDR_UNSPEC, room));
	RC(0, fi_send(outside.ep, text, 8, NULL, to_inside, text));
	done(&outside, text);
	done(&inside, room);
	RC(0, fi_close(&inside.ep->fid));
	inside.ep = NULL;
	RC(0, fi_send(outside.ep, text, 8, NULL, to_inside, text));
	if (failed(&error) != FI_ECONNREFUSED) /* begun on the connection that ends */
		cr_expect_eq(error.err, COMPAT_EFIREWALLADDR, "%d", error.err);
	RC(0, fi_send(outside.ep, text, 8, NULL, to_inside, text));
	refused(&error);
	world_close(&outside);
	world_close(&inside);
}

/* The flag stands until the address is removed, and no longer. */
Test(fi_firewall, an_address_that_is_inserted_anew_is_dialled)
{
	struct fi_cq_err_entry error;

	open_both();
	cr_assert_eq(know(&outside, &inside, 0), to_inside);
	RC(0, fi_send(outside.ep, text, 8, NULL, to_inside, text));
	refused(&error);
	RC(0, fi_av_remove(outside.av, &to_inside, 1, 0));
	RC(0, fi_av_remove(outside.av, &to_inside, 1, 0));
	to_inside = know(&outside, &inside, 0);
	RC(0, fi_recv(inside.ep, room, 8, NULL, FI_ADDR_UNSPEC, room));
	RC(0, fi_send(outside.ep, text, 8, NULL, to_inside, text));
	done(&outside, text);
	done(&inside, room);
	world_close(&outside);
	world_close(&inside);
}

/* Behind a firewall an endpoint is for its peers, if they say so. The option is asked for as a bool or as an int. */
Test(fi_firewall, an_endpoint_is_not_behind_one_by_itself)
{
	struct {
		int answer;
		char after;
	} told = { -1, 'x' };
	size_t length = sizeof(bool);
	bool behind = true;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG });
	RC(0, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_FIREWALL_ADDR, &behind, &length));
	cr_expect(!behind && length == sizeof(bool));
	length = sizeof(told);
	RC(0, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_FIREWALL_ADDR, &told, &length));
	cr_expect(!told.answer && told.after == 'x' && length == sizeof(int));
	length = 0;
	RC(-FI_ETOOSMALL, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_FIREWALL_ADDR, &behind, &length));
	cr_expect_eq(length, sizeof(bool));
	RC(-FI_EINVAL, fi_getopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_FIREWALL_ADDR, &behind, NULL));
	RC(-FI_ENOPROTOOPT, fi_setopt(&w.ep->fid, FI_OPT_ENDPOINT, COMPAT_OPT_FIREWALL_ADDR, &behind, sizeof(behind)));
	world_close(&w);
}
