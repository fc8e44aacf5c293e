/* SPDX-License-Identifier: BSD-2-Clause */
/* test_av.c - address vector: indices, canonical addresses, stamps, finding. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/queues/av.h"

static struct av *av;

static void setup(void)
{
	cr_assert_eq(av_open(&av, 0), 0);
}

static void teardown(void)
{
	cr_assert_eq(av_close(av), 0);
}

TestSuite(av, .init = setup, .fini = teardown);

static struct sockaddr_storage v4(uint32_t host, uint16_t port)
{
	struct sockaddr_storage s;
	struct sockaddr_in *in = (struct sockaddr_in *)&s;

	memset(&s, 0, sizeof(s));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(host);
	in->sin_port = htons(port);
	return s;
}

static struct sockaddr_storage v6(const char *host, uint16_t port, uint32_t scope)
{
	struct sockaddr_storage s;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&s;

	memset(&s, 0, sizeof(s));
	in6->sin6_family = AF_INET6;
	cr_assert_eq(inet_pton(AF_INET6, host, &in6->sin6_addr), 1);
	in6->sin6_port = htons(port);
	in6->sin6_scope_id = scope;
	return s;
}

static uint64_t must_insert(struct sockaddr_storage addr)
{
	uint64_t index;

	cr_assert_eq(av_insert(av, &addr, 0, &index), 0);
	return index;
}

Test(av, indices_are_dense)
{
	for (uint64_t i = 0; i < 1000; i++)
		cr_assert_eq(must_insert(v4(0x7f000001, (uint16_t)i)), i);
	for (uint64_t i = 0; i < 1000; i++) {
		struct sockaddr_storage addr, wanted = v4(0x7f000001, (uint16_t)i);
		uint64_t stamp;

		cr_assert_eq(av_lookup(av, i, &addr, &stamp), 0);
		cr_assert(address_same(&addr, &wanted));
		cr_assert_eq(av_find(av, &wanted, 0), i);
	}
}

Test(av, what_is_not_there)
{
	struct sockaddr_storage addr = v4(1, 1);
	uint64_t stamp, index = must_insert(v4(2, 2));

	cr_assert_eq(av_find(av, &addr, 0), AV_NONE);
	cr_assert_eq(av_lookup(av, 1, &addr, &stamp), -EINVAL);
	cr_assert_eq(av_lookup(av, AV_NONE, &addr, &stamp), -EINVAL);
	cr_assert_eq(av_remove(av, 1), -EINVAL);
	cr_assert_eq(av_remove(av, AV_NONE), -EINVAL);
	cr_assert_eq(av_remove(av, index), 0);
	cr_assert_eq(av_remove(av, index), -EINVAL);
	cr_assert_eq(av_lookup(av, index, &addr, &stamp), -EINVAL);
	addr.ss_family = AF_UNIX;
	cr_assert_eq(av_insert(av, &addr, 0, &index), -EINVAL);
	cr_assert_eq(av_find(av, &addr, 0), AV_NONE);
}

/* Only family, port, address and scope count. */
Test(av, canonical_form)
{
	struct sockaddr_storage dirty, clean, out;
	static const char link_local[] = "fe80::1";

	memset(&dirty, 0xff, sizeof(dirty));
	((struct sockaddr_in *)&dirty)->sin_family = AF_INET;
	((struct sockaddr_in *)&dirty)->sin_port = htons(5);
	((struct sockaddr_in *)&dirty)->sin_addr.s_addr = htonl(9);
	clean = v4(9, 5);
	cr_assert(address_canonical((struct sockaddr *)&dirty, &out));
	cr_assert_eq(memcmp(&out, &clean, sizeof(out)), 0);
	cr_assert(address_same(&dirty, &clean));
	must_insert(dirty);
	cr_assert_eq(av_find(av, &clean, 0), 0);

	clean = v6(link_local, 7, 3);
	dirty = clean;
	((struct sockaddr_in6 *)&dirty)->sin6_flowinfo = 77;
	must_insert(dirty);
	cr_assert_eq(av_find(av, &clean, 0), 1);
	out = v6(link_local, 7, 4);
	cr_assert_eq(av_find(av, &out, 0), AV_NONE, "another scope");
	cr_assert_not(address_same(&out, &clean));
	out.ss_family = AF_UNIX;
	cr_assert_not(address_canonical((struct sockaddr *)&out, &clean));
	cr_assert_not(address_same(&out, &out));
}

/* It keeps its index, and is there until it was removed as often as inserted. */
Test(av, same_address_again)
{
	struct sockaddr_storage addr = v4(1, 1), found;
	uint64_t stamp, generation;

	must_insert(v4(0, 0));
	cr_assert_eq(must_insert(addr), 1);
	generation = av_generation(av);
	cr_assert_eq(must_insert(addr), 1);
	cr_assert_eq(must_insert(v4(2, 2)), 2);
	cr_assert_eq(av_remove(av, 1), 0);
	cr_assert_eq(av_find(av, &addr, 0), 1);
	cr_assert_eq(av_lookup(av, 1, &found, &stamp), 0);
	cr_assert_eq(av_generation(av), generation + 1, "another address came, and none went");
	cr_assert_eq(av_remove(av, 1), 0);
	cr_assert_eq(av_find(av, &addr, 0), AV_NONE);
	cr_assert_eq(av_remove(av, 1), -EINVAL);
	cr_assert_eq(must_insert(v4(3, 3)), 1, "a removed index may come again");
	cr_assert_eq(must_insert(addr), 3);
}

Test(av, stamps_change_with_the_address)
{
	struct sockaddr_storage addr;
	uint64_t index = must_insert(v4(1, 1)), first, again, second;

	cr_assert_eq(av_lookup(av, index, &addr, &first), 0);
	must_insert(v4(2, 2));
	cr_assert_eq(av_lookup(av, index, &addr, &again), 0);
	cr_assert_eq(first, again);
	cr_assert_eq(av_remove(av, index), 0);
	cr_assert_eq(must_insert(v4(3, 3)), index);
	cr_assert_eq(av_lookup(av, index, &addr, &second), 0);
	cr_assert_neq(first, second);
}

Test(av, generation_changes)
{
	uint64_t index, before = av_generation(av), after;

	index = must_insert(v4(1, 1));
	after = av_generation(av);
	cr_assert_neq(before, after);
	cr_assert_eq(av_remove(av, index), 0);
	cr_assert_neq(av_generation(av), after);
	after = av_generation(av);
	cr_assert(av_remove(av, index));
	cr_assert_eq(av_generation(av), after, "nothing was removed");
}

Test(av, busy_while_bound)
{
	struct av *other;

	cr_assert_eq(av_open(&other, 0), 0);
	av_get(other);
	cr_assert_eq(av_close(other), -EBUSY);
	av_put(other);
	cr_assert_eq(av_close(other), 0);
}

/* One address may be there with several authorizations, and without. */
Test(av, found_by_what_is_shown)
{
	struct sockaddr_storage addr = v4(1, 1);
	uint64_t index, bare;

	for (uint64_t auth = 5; auth < 8; auth++) {
		cr_assert_eq(av_insert(av, &addr, auth, &index), 0);
		cr_assert_eq(av_insert(av, &addr, auth, &index), 0);
	}
	cr_assert_eq(av_find(av, &addr, 5), 0);
	cr_assert_eq(av_find(av, &addr, 6), 1);
	cr_assert_eq(av_find(av, &addr, 8), AV_NONE);
	cr_assert_eq(av_find(av, &addr, 0), AV_NONE, "not one that has an authorization");
	cr_assert_eq(av_insert(av, &addr, 0, &bare), 0);
	cr_assert_eq(av_find(av, &addr, 8), bare, "that without any is for all others");
	cr_assert_eq(av_find(av, &addr, 7), 2);
	cr_assert_eq(av_shown(av, 2), 7);
	cr_assert_eq(av_shown(av, bare), 0);
	cr_assert_eq(av_shown(av, bare + 1), 0);
}

/* The highest bits name a receive context, a port above the address; all else goes by the rest. */
Test(av, receive_contexts)
{
	struct sockaddr_storage four = v4(1, 5000), six = v6("2001:db8::1", 6000, 0), got, want;
	uint64_t index, other, stamp, third = 3ull << 62;
	struct av *named;

	cr_assert_eq(av_open(&named, 2), 0);
	cr_assert_eq(av_insert(named, &four, 9, &index), 0);
	cr_assert_eq(av_insert(named, &six, 0, &other), 0);
	cr_assert_eq(av_lookup(named, index, &got, &stamp), 0);
	cr_assert(address_same(&got, &four));
	cr_assert_eq(av_lookup(named, index | third, &got, &stamp), 0);
	want = v4(1, 5003);
	cr_assert(address_same(&got, &want));
	cr_assert_eq(av_lookup(named, other | third, &got, &stamp), 0);
	want = v6("2001:db8::1", 6003, 0);
	cr_assert(address_same(&got, &want));
	cr_assert_eq(av_shown(named, index | third), 9);
	cr_assert_eq(av_lookup(named, AV_NONE, &got, &stamp), -EINVAL);
	cr_assert_eq(av_find(named, &want, 0), AV_NONE, "contexts have no name of their own");
	cr_assert_eq(av_close(named), 0);
}

/* Removed by the name of a context, whichever: the entry goes, and its index is given out again without the context. */
Test(av, removed_by_a_receive_context)
{
	enum { BITS = 4 };
	struct sockaddr_storage addr = v4(1, 5000), got;
	uint64_t index, again, stamp;
	struct av *named;

	cr_assert_eq(av_open(&named, BITS), 0);
	for (uint64_t context = 0; context < 1 << BITS; context++) {
		cr_assert_eq(av_insert(named, &addr, 0, &index), 0);
		cr_assert_eq(index, 0);
		cr_assert_eq(av_remove(named, context << (64 - BITS)), 0);
		cr_assert_eq(av_lookup(named, index, &got, &stamp), -EINVAL);
		cr_assert_eq(av_remove(named, context << (64 - BITS)), -EINVAL);
	}
	cr_assert_eq(av_insert(named, &addr, 0, &index), 0);
	cr_assert_eq(av_insert(named, &addr, 0, &again), 0);
	cr_assert_eq(av_remove(named, index | 1ull << 63), 0);
	cr_assert_eq(av_lookup(named, index, &got, &stamp), 0, "inserted twice, removed once");
	cr_assert_eq(av_close(named), 0);
}

/* One hash for an address, another with another secret, host, port or scope: peers cannot choose addresses that collide. */
Test(av, addresses_are_hashed_by_all_that_tells_them_apart)
{
	const uint64_t secret[2] = { 11, 12 }, other[2] = { 11, 13 };
	struct sockaddr_storage at = v6("2001:db8::1", 4711, 3), same = at;
	struct sockaddr_storage port = v6("2001:db8::1", 4712, 3), host = v6("2001:db8::2", 4711, 3);
	struct sockaddr_storage scope = v6("2001:db8::1", 4711, 4), four = v4(0x7f000001, 4711), five = v4(0x7f000002, 4711);
	uint64_t hash = address_hash(secret, &at);

	cr_assert_eq(address_hash(secret, &same), hash);
	cr_assert_neq(address_hash(other, &at), hash);
	cr_assert_neq(address_hash(secret, &port), hash);
	cr_assert_neq(address_hash(secret, &host), hash);
	cr_assert_neq(address_hash(secret, &scope), hash);
	cr_assert_neq(address_hash(secret, &four), address_hash(secret, &five));
}
