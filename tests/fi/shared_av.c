/* SPDX-License-Identifier: BSD-2-Clause */
/* shared_av.c - address vectors by name, of several processes (FI_SHARED_AV, fi_av(3)). */
#include "tests/fi/world.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[40];

static void setup(void)
{
	snprintf(name, sizeof(name), "test-%d", getpid());
}

TestSuite(fi_shared_av, .init = setup);

static struct fid_av *open_named(struct world *w, uint64_t flags)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .name = name, .flags = flags };
	struct fid_av *av;

	RC(0, fi_av_open(w->domain, &attr, &av, NULL));
	return av;
}

static struct sockaddr_in address(int n)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((in_port_t)(1000 + n)),
		.sin_addr.s_addr = htonl(0x0a000001),
	};
}

static fi_addr_t insert(struct fid_av *av, int n)
{
	struct sockaddr_in addr = address(n);
	fi_addr_t fi_addr = FI_ADDR_NOTAVAIL;

	RC(1, fi_av_insert(av, &addr, 1, &fi_addr, 0, NULL));
	return fi_addr;
}

static void check(struct fid_av *av, fi_addr_t fi_addr, int n)
{
	struct sockaddr_in want = address(n), got = { 0 };
	size_t length = sizeof(got);

	RC(0, fi_av_lookup(av, fi_addr, &got, &length));
	cr_assert(got.sin_port == want.sin_port && got.sin_addr.s_addr == want.sin_addr.s_addr);
}

/* One sees the other's insertions and removals, under the same fi_addr_t; both may do them. */
Test(fi_shared_av, one_vector)
{
	struct fi_av_attr read_only = { .type = FI_AV_TABLE, .name = name, .flags = FI_READ };
	struct sockaddr_in addr = address(9);
	struct fid_av *one, *two, *reader;
	fi_addr_t at[3], none;
	struct world w;
	size_t length;

	world_open(&w, &(struct want){ 0 });
	RC(-FI_ENOENT, fi_av_open(w.domain, &read_only, &reader, NULL));
	one = open_named(&w, 0);
	at[0] = insert(one, 0);
	two = open_named(&w, 0);
	reader = open_named(&w, FI_READ);
	check(two, at[0], 0);
	at[1] = insert(two, 1);
	at[2] = insert(one, 2);
	cr_assert(at[0] != at[1] && at[1] != at[2] && at[0] != at[2]);
	for (int i = 0; i < 3; i++) {
		check(one, at[i], i);
		check(two, at[i], i);
		check(reader, at[i], i);
	}
	RC(0, fi_av_remove(two, &at[0], 1, 0));
	length = sizeof(addr);
	RC(-FI_EINVAL, fi_av_lookup(one, at[0], &addr, &length));
	RC(-FI_EINVAL, fi_av_remove(one, &at[0], 1, 0));
	addr = address(9);
	RC(0, fi_av_insert(reader, &addr, 1, &none, 0, NULL));
	cr_assert_eq(none, FI_ADDR_NOTAVAIL);
	RC(-FI_EACCES, fi_av_remove(reader, &at[1], 1, 0));
	RC(0, fi_close(&one->fid));
	RC(0, fi_close(&reader->fid));
	check(two, at[1], 1);
	RC(0, fi_close(&two->fid));
	RC(-FI_ENOENT, fi_av_open(w.domain, &read_only, &reader, NULL)); /* it went with the last */
	world_close(&w);
}

/* A receive context's address stands for the entry, in every process, whatever its own number of context bits. */
Test(fi_shared_av, removed_by_a_receive_context)
{
	enum { BITS = 4 };
	struct fi_av_attr with_contexts = { .type = FI_AV_TABLE, .name = name, .rx_ctx_bits = BITS };
	struct sockaddr_in addr;
	struct fid_av *one, *two;
	size_t length = sizeof(addr);
	fi_addr_t at, context;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_av_open(w.domain, &with_contexts, &one, NULL));
	two = open_named(&w, 0);
	for (int i = 0; i < 1 << BITS; i++) {
		at = insert(one, i);
		check(two, at, i);
		context = fi_rx_addr(at, i, BITS);
		RC(0, fi_av_remove(one, &context, 1, 0));
		RC(-FI_EINVAL, fi_av_remove(one, &context, 1, 0));
		RC(-FI_EINVAL, fi_av_lookup(one, at, &addr, &length));
		RC(-FI_EINVAL, fi_av_lookup(two, at, &addr, &length));
	}
	RC(0, fi_close(&one->fid));
	RC(0, fi_close(&two->fid));
	world_close(&w);
}

/* Where the program gives no map_addr, it gets an array of what the insertions returned. */
Test(fi_shared_av, the_map_lists_insertions)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .name = name }, reader = { .name = name, .flags = FI_READ };
	struct fid_av *av, *other;
	const fi_addr_t *map;
	fi_addr_t at[3];
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_av_open(w.domain, &attr, &av, NULL));
	RC(0, fi_av_open(w.domain, &reader, &other, NULL));
	at[0] = insert(av, 0);
	at[1] = insert(av, 1);
	RC(0, fi_av_remove(av, &at[0], 1, 0));
	at[2] = insert(av, 2);
	map = reader.map_addr;
	cr_assert(map && !memcmp(map, at, sizeof(at)));
	check(other, map[1], 1);
	check(other, map[2], 2);
	RC(0, fi_close(&other->fid));
	RC(0, fi_close(&av->fid));
	world_close(&w);
}

/* Endpoints send by what another one has inserted. */
Test(fi_shared_av, endpoints_follow)
{
	struct fi_cq_tagged_entry entry;
	struct sockaddr_storage own;
	size_t length = sizeof(own);
	struct fid_av *mine, *other;
	static char in[8], out[8];
	struct fid_ep *ep;
	fi_addr_t self;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	mine = open_named(&w, 0);
	other = open_named(&w, 0);
	RC(0, fi_endpoint(w.domain, w.info, &ep, NULL));
	RC(0, fi_ep_bind(ep, &mine->fid, 0));
	RC(0, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_enable(ep));
	RC(0, fi_getname(&ep->fid, &own, &length));
	RC(1, fi_av_insert(other, &own, 1, &self, 0, NULL));
	RC(0, fi_recv(ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_send(ep, out, sizeof(out), NULL, self, NULL));
	RC(1, world_next(&w, &entry));
	RC(1, world_next(&w, &entry));
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&mine->fid));
	RC(0, fi_close(&other->fid));
	world_close(&w);
}

/* A process that dies leaves its addresses to those that are there, and nothing to later ones. */
Test(fi_shared_av, a_process_that_dies)
{
	struct fid_av *av;
	struct world w;
	int status;
	pid_t child = fork();

	cr_assert(child >= 0);
	if (!child) {
		world_open(&w, &(struct want){ 0 });
		av = open_named(&w, 0);
		insert(av, 5);
		_exit(0);
	}
	cr_assert(waitpid(child, &status, 0) == child && status == 0);
	world_open(&w, &(struct want){ 0 });
	av = open_named(&w, 0);
	cr_assert_eq(insert(av, 6), 0);
	check(av, 0, 6);
	RC(0, fi_close(&av->fid));
	world_close(&w);
}

Test(fi_shared_av, bad_names)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fid_av *av;
	char longest[101];
	struct world w;

	world_open(&w, &(struct want){ 0 });
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	attr.name = longest;
	RC(-FI_EINVAL, fi_av_open(w.domain, &attr, &av, NULL));
	attr.name = "../etc";
	RC(-FI_EINVAL, fi_av_open(w.domain, &attr, &av, NULL));
	attr.name = "";
	RC(-FI_EINVAL, fi_av_open(w.domain, &attr, &av, NULL));
	attr.name = NULL;
	attr.flags = FI_READ;
	RC(-FI_EINVAL, fi_av_open(w.domain, &attr, &av, NULL));
	world_close(&w);
}

/* A fork's child has the parent's vector open by the same lock: what it does leaves the file where it is. */
Test(fi_shared_av, not_of_a_forks_child)
{
	struct fid_av *one, *two;
	fi_addr_t at;
	struct world w;
	pid_t child;
	int status;

	world_open(&w, &(struct want){ 0 });
	one = open_named(&w, 0);
	at = insert(one, 1);
	child = fork();
	if (!child) {
		struct sockaddr_in addr = address(2);
		fi_addr_t fi_addr;
		int bad;

		bad = fi_av_insert(one, &addr, 1, &fi_addr, 0, NULL) != -FI_ENODEV;
		bad |= (fi_av_remove(one, &at, 1, 0) != -FI_ENODEV) << 1;
		bad |= (fi_close(&one->fid) != 0) << 2;
		_exit(bad);
	}
	cr_assert(child > 0 && waitpid(child, &status, 0) == child);
	cr_assert_eq(status, 0, "the child saw %#x", status);
	two = open_named(&w, FI_READ);
	check(two, at, 1);
	RC(0, fi_close(&two->fid));
	RC(0, fi_close(&one->fid));
	world_close(&w);
}
