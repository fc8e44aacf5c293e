/* SPDX-License-Identifier: BSD-2-Clause */
/* auth_keys.c - authorization keys in negotiation, and bad ones given to domains, endpoints and regions. */
#include "tests/fi/world.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/fi/provider/fi_compat.h"

enum { KEY_MAX = 64, PAGE = 4096 };

static uint8_t bytes[PAGE];

static uint8_t *copy(size_t size)
{
	uint8_t *key = malloc(size);

	cr_assert_not_null(key);
	memset(key, 0x5a, size);
	return key;
}

/* The key asked for comes back, as the info's own copy. */
Test(fi_auth_keys, hints_are_granted)
{
	world_need_emu();
	for (size_t size = 1; size <= KEY_MAX + 1; size++) {
		struct want want = { .api = 0 };
		struct fi_info *hints = world_hints(&want), *info;
		int err;

		hints->domain_attr->auth_key = copy(size);
		hints->domain_attr->auth_key_size = size;
		hints->ep_attr->auth_key = copy(size);
		hints->ep_attr->auth_key_size = size;
		hints->ep_attr->auth_key[0] = 1;
		err = world_getinfo(&want, hints, &info);
		cr_assert_eq(err, size <= KEY_MAX ? 0 : -FI_ENODATA, "%zu B: %d", size, err);
		if (err)
			continue;
		memset(bytes, 0x5a, size);
		cr_assert_eq(info->domain_attr->auth_key_size, size);
		cr_assert(!memcmp(info->domain_attr->auth_key, bytes, size));
		bytes[0] = 1;
		cr_assert_eq(info->ep_attr->auth_key_size, size);
		cr_assert(!memcmp(info->ep_attr->auth_key, bytes, size));
		fi_freeinfo(info);
	}
}

/* S156: hints of an old program are not looked at, and it gets none. */
Test(fi_auth_keys, old_hints_are_ignored)
{
	struct want want = { .api = FI_VERSION(1, 4), .mr_mode = 2 };
	struct fi_info *hints, *info;

	world_need_emu();
	hints = world_hints(&want);
	hints->domain_attr->auth_key_size = 77;
	hints->ep_attr->auth_key_size = 78;
	RC(0, world_getinfo(&want, hints, &info));
	cr_assert_eq(info->domain_attr->auth_key_size, 0);
	cr_assert_null(info->domain_attr->auth_key);
	cr_assert_eq(info->ep_attr->auth_key_size, 0);
	cr_assert_null(info->ep_attr->auth_key);
	fi_freeinfo(info);
}

static const struct {
	size_t size;
	bool null;
} bad[] = { { 65, false }, { PAGE, false }, { SIZE_MAX - 1, false }, { 8, true } };

/* The info is the program's: what it may have changed is checked again. */
Test(fi_auth_keys, bad_keys_open_nothing)
{
	struct want want = { .api = 0 };
	struct fid_domain *domain = NULL;
	struct fid_ep *ep = NULL;
	struct world world;

	world_need_emu();
	world_open(&world, &want);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t *key = bad[i].null ? NULL : bytes;

		world.info->domain_attr->auth_key = key;
		world.info->domain_attr->auth_key_size = bad[i].size;
		RC(-FI_EINVAL, fi_domain(world.fabric, world.info, &domain, NULL));
		world.info->domain_attr->auth_key = NULL;
		world.info->domain_attr->auth_key_size = 0;
		world.info->ep_attr->auth_key = key;
		world.info->ep_attr->auth_key_size = bad[i].size;
		RC(-FI_EINVAL, fi_endpoint(world.domain, world.info, &ep, NULL));
		world.info->ep_attr->auth_key = NULL;
		world.info->ep_attr->auth_key_size = 0;
	}
	cr_assert_null(domain);
	cr_assert_null(ep);
	world_close(&world);
}

/* A key that ends where memory ends is read to its end and no further. */
Test(fi_auth_keys, keys_before_memory_that_is_not_there)
{
	uint8_t *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov = { bytes, 64 };
	struct want want = { .api = 0 };
	struct world world;

	cr_assert(map != MAP_FAILED && !mprotect(map + PAGE, PAGE, PROT_NONE));
	world_open(&world, &want);
	for (size_t size = 1; size <= KEY_MAX; size++) {
		struct fi_mr_attr attr = { .mr_iov = &iov,
					   .iov_count = 1,
					   .access = FI_SEND,
					   .requested_key = 77,
					   .auth_key = map + PAGE - size,
					   .auth_key_size = size };
		struct fid_mr *mr;

		RC(0, fi_mr_regattr(world.domain, &attr, 0, &mr));
		RC(0, fi_close(&mr->fid));
	}
	world_close(&world);
	munmap(map, 2 * PAGE);
}

/* struct fi_domain_attr of 1.20, whatever headers this was built with. */
struct domain_attr_1_20 {
	uint8_t older[192];
	size_t max_ep_auth_key;
};

static size_t *max_keys(const struct fi_info *info)
{
	return &((struct domain_attr_1_20 *)(void *)info->domain_attr)->max_ep_auth_key;
}

/* What is asked of max_ep_auth_key with this key size, and how fi_getinfo ends. */
static int ask_max(size_t size, size_t asked, struct fi_info **info)
{
	struct want want = { .api = FI_VERSION(1, 20) };
	struct fi_info *hints = world_hints(&want);

	hints->domain_attr->auth_key_size = size;
	if (size && size != COMPAT_AV_AUTH_KEY)
		hints->domain_attr->auth_key = copy(size);
	*max_keys(hints) = asked;
	return world_getinfo(&want, hints, info);
}

/* fi_domain(3): an endpoint has one key, or those of its address vector. */
Test(fi_auth_keys, keys_of_an_endpoint)
{
	static const struct {
		size_t size, most;
	} rows[] = { { 0, 1 }, { 8, 1 }, { COMPAT_AV_AUTH_KEY, KEY_MAX } };
	struct fi_info *info;

	world_need_emu();
	if (!world_has(FI_VERSION(1, 20)))
		cr_skip("the field came with 1.20");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t asked = 0; asked <= rows[i].most; asked++) {
			RC(0, ask_max(rows[i].size, asked, &info));
			cr_assert_eq(*max_keys(info), rows[i].most);
			fi_freeinfo(info);
		}
		if (COMPAT_HEADERS < FI_VERSION(1, 20))
			continue; /* libfabric does not look for the field in an old program's hints */
		RC(-FI_ENODATA, ask_max(rows[i].size, rows[i].most + 1, &info));
		RC(-FI_ENODATA, ask_max(rows[i].size, SIZE_MAX, &info));
	}
}

/* Programs from before 1.20 know no such field. */
Test(fi_auth_keys, old_programs_are_told_no_number)
{
	struct want want = { .api = FI_VERSION(1, 19) };
	struct fi_info *info;

	world_need_emu();
	if (!world_has(FI_VERSION(1, 20)))
		cr_skip("the field came with 1.20");
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_assert_eq(*max_keys(info), 0);
	fi_freeinfo(info);
}

#define INSERT_KEY(...) (av_ops(&world)->insert_auth_key(world.av, __VA_ARGS__))
#define LOOKUP_KEY(...) (av_ops(&world)->lookup_auth_key(world.av, __VA_ARGS__))

static const struct av_ops_1_20 {
	size_t size;
	void *older[7];
	int (*insert_auth_key)(struct fid_av *av, const void *key, size_t size, fi_addr_t *fi_addr, uint64_t flags);
	int (*lookup_auth_key)(struct fid_av *av, fi_addr_t fi_addr, void *key, size_t *size);
	int (*set_user_id)(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags);
} * av_ops(const struct world *world)
{
	return (const struct av_ops_1_20 *)(const void *)world->av->ops;
}

/* A domain, an endpoint and an AV of FI_AV_AUTH_KEY. */
static void open_keyed_with(struct world *world, uint64_t caps)
{
	struct want want = { .api = FI_VERSION(1, 20), .caps = caps };
	struct fi_info *hints;

	world_need_emu();
	if (!world_has(FI_VERSION(1, 20)))
		cr_skip("FI_AV_AUTH_KEY came with 1.20");
	memset(world, 0, sizeof(*world));
	hints = world_hints(&want);
	hints->domain_attr->auth_key_size = COMPAT_AV_AUTH_KEY;
	RC(0, world_getinfo(&want, hints, &world->info));
	cr_assert_eq(world->info->domain_attr->auth_key_size, COMPAT_AV_AUTH_KEY);
	cr_assert_null(world->info->domain_attr->auth_key);
	RC(0, fi_fabric(world->info->fabric_attr, &world->fabric, NULL));
	RC(0, fi_domain(world->fabric, world->info, &world->domain, NULL));
	RC(0, fi_av_open(world->domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &world->av, NULL));
}

static void open_keyed(struct world *world)
{
	open_keyed_with(world, 0);
}

static void close_keyed(struct world *world)
{
	RC(0, fi_close(&world->av->fid));
	RC(0, fi_close(&world->domain->fid));
	RC(0, fi_close(&world->fabric->fid));
	fi_freeinfo(world->info);
}

/* fi_av(3): keys go in, are told and go; a wrong argument changes nothing. */
Test(fi_auth_keys, keys_in_address_vectors)
{
	uint8_t key[KEY_MAX] = { 9, 8, 7 }, got[KEY_MAX] = { 0 };
	fi_addr_t at = 5, again, most[KEY_MAX];
	struct world world;
	size_t size = 0;

	open_keyed(&world);
	RC(-FI_EBADFLAGS, INSERT_KEY(key, 8, &at, 1));
	RC(-FI_EINVAL, INSERT_KEY(key, 0, &at, 0));
	RC(-FI_EINVAL, INSERT_KEY(key, KEY_MAX + 1, &at, 0));
	RC(-FI_EINVAL, INSERT_KEY(key, SIZE_MAX, &at, 0));
	RC(-FI_EINVAL, INSERT_KEY(NULL, 8, &at, 0));
	RC(-FI_EINVAL, INSERT_KEY(key, 8, NULL, 0));
	cr_assert_eq(at, 5);
	RC(0, INSERT_KEY(key, 3, &at, 0));
	RC(0, INSERT_KEY(key, 3, &again, 0));
	cr_assert_eq(at, again);
	RC(-FI_EINVAL, LOOKUP_KEY(at, got, NULL));
	RC(-FI_EINVAL, LOOKUP_KEY(at ^ 1, got, &size));
	RC(-FI_EINVAL, LOOKUP_KEY(0, got, &size));
	RC(-FI_EINVAL, LOOKUP_KEY(at | KEY_MAX, got, &size)); /* one past the last */
	RC(0, LOOKUP_KEY(at, NULL, &size));
	cr_assert_eq(size, 3);
	size = 2;
	RC(0, LOOKUP_KEY(at, got, &size));
	cr_assert(size == 3 && got[1] == 8 && got[2] == 0);
	RC(-FI_EINVAL, fi_av_remove(world.av, &at, 1, 0));
	RC(0, fi_av_remove(world.av, &at, 1, COMPAT_AUTH_KEY));
	RC(-FI_EINVAL, fi_av_remove(world.av, &at, 1, COMPAT_AUTH_KEY));
	for (uint8_t i = 0; i < KEY_MAX; i++)
		RC(0, INSERT_KEY(&i, 1, &most[i], 0));
	RC(-FI_ENOMEM, INSERT_KEY(key, 3, &at, 0));
	close_keyed(&world);
}

/* Addresses are told their key by what *fi_addr is; the endpoint that has a key keeps it. */
Test(fi_auth_keys, addresses_with_keys)
{
	uint8_t got[KEY_MAX], name[64];
	size_t size = sizeof(got), length = sizeof(name);
	fi_addr_t key, late, addr, stray = 77;
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct world world;

	open_keyed(&world);
	RC(0, INSERT_KEY("key", 3, &key, 0));
	RC(0, fi_endpoint(world.domain, world.info, &ep, NULL));
	RC(0, fi_cq_open(world.domain, &attr, &cq, NULL));
	RC(0, fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_ep_bind(ep, &world.av->fid, 0));
	RC(0, fi_enable(ep));
	RC(0, fi_getname(&ep->fid, name, &length));
	RC(-FI_EINVAL, fi_av_insert(world.av, name, 1, NULL, COMPAT_AUTH_KEY, NULL));
	RC(0, fi_av_insert(world.av, name, 1, &stray, COMPAT_AUTH_KEY, NULL));
	cr_assert_eq(stray, FI_ADDR_NOTAVAIL);
	addr = key;
	RC(1, fi_av_insert(world.av, name, 1, &addr, COMPAT_AUTH_KEY, NULL));
	RC(0, LOOKUP_KEY(addr, got, &size));
	cr_assert(size == 3 && !memcmp(got, "key", 3));
	RC(-FI_EBUSY, fi_av_remove(world.av, &key, 1, COMPAT_AUTH_KEY));
	RC(0, INSERT_KEY("late", 4, &late, 0)); /* the endpoint was enabled without it */
	RC(0, fi_av_remove(world.av, &late, 1, COMPAT_AUTH_KEY));
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&cq->fid));
	RC(0, fi_av_remove(world.av, &key, 1, COMPAT_AUTH_KEY));
	close_keyed(&world);
}

/* S160: what was taken of the address vector for a region goes with the region that is refused. */
Test(fi_auth_keys, refused_regions_leave_nothing)
{
	enum { WARM = 100, TIMES = 2000, BYTES_EACH = 16 };
	struct compat_mr_auth_key key = { .src_addr = FI_ADDR_UNSPEC };
	struct iovec iov = { bytes, 8 };
	struct compat_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = 1, .auth_key_size = sizeof(key), .auth_key = (uint8_t *)&key
	};
	struct fid_mr *mr = NULL;
	size_t before = 0, after;
	struct world world;
	fi_addr_t at;

	open_keyed(&world);
	RC(0, INSERT_KEY("key", 3, &at, 0));
	key.av = world.av;
	for (int i = 0; i < WARM + TIMES; i++) {
		if (i == WARM)
			before = mallinfo2().uordblks;
		RC(-FI_EINVAL, fi_mr_regattr(world.domain, (const struct fi_mr_attr *)(const void *)&attr, 0, &mr));
	}
	after = mallinfo2().uordblks;
	cr_expect(!mr && after < before + TIMES * BYTES_EACH, "%zu B more", after - before);
	attr.access = FI_REMOTE_READ;
	RC(0, fi_mr_regattr(world.domain, (const struct fi_mr_attr *)(const void *)&attr, 0, &mr));
	RC(0, fi_close(&mr->fid));
	close_keyed(&world);
}

/* Keys are for address vectors of domains with FI_AV_AUTH_KEY. */
Test(fi_auth_keys, other_address_vectors_have_no_keys)
{
	struct want want = { .api = 0 };
	fi_addr_t at = 5;
	size_t size = 8;
	struct world world;

	world_open(&world, &want);
	RC(-FI_EINVAL, INSERT_KEY("key", 3, &at, 0));
	RC(-FI_EINVAL, LOOKUP_KEY(0, bytes, &size));
	RC(-FI_EINVAL, LOOKUP_KEY(at, bytes, &size));
	cr_assert(at == 5 && size == 8);
	RC(-FI_EBADFLAGS, fi_av_insert(world.av, bytes, 1, &at, COMPAT_AUTH_KEY, NULL));
	RC(-FI_EBADFLAGS, fi_av_remove(world.av, &at, 1, COMPAT_AUTH_KEY));
	world_close(&world);
}

/* FI_AV_USER_ID is a capability that is not granted; without it there are no identifiers of the program's own. */
Test(fi_auth_keys, no_user_ids)
{
	struct want want = { .caps = FI_MSG | FI_AV_USER_ID };
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .flags = FI_AV_USER_ID };
	struct fid_av *av = NULL;
	struct world world;
	struct fi_info *info;

	world_need_emu();
	RC(-FI_ENODATA, world_getinfo(&want, world_hints(&want), &info));
	want.caps = 0;
	world_open(&world, &want);
	RC(-FI_EBADFLAGS, fi_av_open(world.domain, &attr, &av, NULL));
	cr_assert_null(av);
	RC(-FI_ENOSYS, av_ops(&world)->set_user_id(world.av, world.self, 7, 0));
	world_close(&world);
}

/* An endpoint that can address itself with either of two keys. */
struct twofold {
	struct world world;
	struct fid_ep *ep;
	struct fid_cq *cq;
	fi_addr_t key[2], self[2];
};

static void open_twofold(struct twofold *two, uint64_t caps)
{
	static const char *const keys[] = { "key a", "key b" };
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct world world;
	uint8_t name[64];
	size_t length = sizeof(name);

	open_keyed_with(&two->world, caps);
	world = two->world;
	for (int i = 0; i < 2; i++)
		RC(0, INSERT_KEY(keys[i], 5, &two->key[i], 0));
	RC(0, fi_endpoint(world.domain, world.info, &two->ep, NULL));
	RC(0, fi_cq_open(world.domain, &attr, &two->cq, NULL));
	RC(0, fi_ep_bind(two->ep, &two->cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_ep_bind(two->ep, &world.av->fid, 0));
	RC(0, fi_enable(two->ep));
	RC(0, fi_getname(&two->ep->fid, name, &length));
	for (int i = 0; i < 2; i++) {
		two->self[i] = two->key[i];
		RC(1, fi_av_insert(world.av, name, 1, &two->self[i], COMPAT_AUTH_KEY, NULL));
	}
}

static void close_twofold(struct twofold *two)
{
	RC(0, fi_close(&two->ep->fid));
	RC(0, fi_close(&two->cq->fid));
	close_keyed(&two->world);
}

static char arrived[8];

/* A receive for one address, or, with the flag, for one key. */
static ssize_t post_for(struct twofold *two, fi_addr_t source, uint64_t flags, void *context)
{
	struct iovec iov = { arrived, sizeof(arrived) };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = source, .context = context };

	return fi_recvmsg(two->ep, &msg, flags);
}

static void send_with(struct twofold *two, int key)
{
	RC(0, fi_inject(two->ep, "abc", 4, two->self[key]));
}

/* The next receive to end is the one of that context, and its message comes from the address with that key. */
static void expect_from(struct twofold *two, int key, const void *context)
{
	struct fi_cq_entry entry;
	fi_addr_t source;
	ssize_t rc;

	while ((rc = fi_cq_readfrom(two->cq, &entry, 1, &source)) == -FI_EAGAIN)
		;
	RC(1, rc);
	cr_assert_eq(entry.op_context, context, "another receive took it");
	cr_assert_eq(source, two->self[key], "it came from %#llx", (unsigned long long)source);
}

/* fi_msg(3): FI_AUTH_KEY makes a receive one for a key; fi_av(3): an address with a key is an address of its own. */
Test(fi_auth_keys, receives_for_a_key)
{
	struct twofold two;
	int any, a, b, key_b;

	open_twofold(&two, FI_MSG | FI_DIRECTED_RECV | FI_SOURCE);
	RC(0, post_for(&two, two.key[1], COMPAT_AUTH_KEY, &key_b));
	RC(0, post_for(&two, two.self[0], 0, &a));
	RC(0, post_for(&two, two.self[1], 0, &b));
	RC(0, post_for(&two, FI_ADDR_UNSPEC, COMPAT_AUTH_KEY, &any));
	send_with(&two, 0);
	expect_from(&two, 0, &a);
	send_with(&two, 1);
	expect_from(&two, 1, &key_b);
	send_with(&two, 1);
	expect_from(&two, 1, &b);
	send_with(&two, 0);
	expect_from(&two, 0, &any);
	send_with(&two, 0); /* before there is a receive for it */
	send_with(&two, 1);
	RC(0, post_for(&two, two.key[1], COMPAT_AUTH_KEY, &key_b));
	expect_from(&two, 1, &key_b);
	RC(0, post_for(&two, two.self[0], 0, &a));
	expect_from(&two, 0, &a);
	RC(-FI_EINVAL, post_for(&two, two.key[1] ^ 2, COMPAT_AUTH_KEY, &any));
	RC(-FI_EINVAL, post_for(&two, two.self[0], COMPAT_AUTH_KEY, &any));
	close_twofold(&two);
}

/* The flag is for endpoints with FI_DIRECTED_RECV of domains with FI_AV_AUTH_KEY. */
Test(fi_auth_keys, receives_that_cannot_be_for_a_key)
{
	struct iovec iov = { arrived, sizeof(arrived) };
	struct want want = { .caps = FI_MSG | FI_DIRECTED_RECV };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct twofold two;
	struct world world;

	open_twofold(&two, FI_MSG);
	RC(-FI_EBADFLAGS, post_for(&two, two.key[0], COMPAT_AUTH_KEY, &two));
	close_twofold(&two);
	world_open(&world, &want);
	RC(-FI_EBADFLAGS, fi_recvmsg(world.ep, &msg, COMPAT_AUTH_KEY));
	world_close(&world);
}
