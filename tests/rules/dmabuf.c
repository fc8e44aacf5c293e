/* SPDX-License-Identifier: BSD-2-Clause */
/* dmabuf.c - regions over a descriptor. A memfd stands for the DMA-buf. */
#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/newest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_LEN = 4 * PAGE };

static const struct peer_want wish = { .caps = FI_MSG | FI_RMA | FI_HMEM };
#define WISH_MODE(bits) ((struct peer_want){ .caps = FI_MSG | FI_RMA | FI_HMEM, .mr_mode = (bits) })

/* Ends the test where FI_HMEM, or an API version with FI_MR_DMABUF, is not to be had. */
static void need(uint32_t api)
{
	struct fi_info *info = NULL;
	int rc;

	if (FI_VERSION_LT(peer_api(), api)) {
		NOT_APPLICABLE("the API version has it not yet");
		return;
	}
	rc = peer_getinfo(&wish, &info);
	fi_freeinfo(info);
	CHECK(!rc || !peer_is_emu(), "fi_getinfo with FI_HMEM returned %d", rc);
	if (rc)
		NOT_APPLICABLE("FI_HMEM is not granted");
}

static int make_file(void)
{
	int fd = memfd_create("emu_dmabuf", 0);

	CHECK(fd >= 0 && !ftruncate(fd, FILE_LEN), "memfd: %s", strerror(errno));
	return fd;
}

static struct newest_attr attr_of(struct peer *p, const struct newest_dmabuf *dmabuf)
{
	return (struct newest_attr){
		.mr_iov = dmabuf, .iov_count = 1, .access = ALL_LOCAL | ALL_REMOTE, .requested_key = region_fresh_key(p)
	};
}

static int reg(struct peer *p, const struct newest_dmabuf *dmabuf, struct fid_mr **mr)
{
	struct newest_attr attr = attr_of(p, dmabuf);

	return newest_reg(p->domain, &attr, NEWEST_MR_DMABUF, mr);
}

static void expect(struct peer *p, int want, const struct newest_dmabuf *dmabuf)
{
	struct fid_mr *mr = NULL;
	int rc = reg(p, dmabuf, &mr);

	CHECK(rc == want || (!peer_is_emu() && rc < 0 && want < 0), "fd %d offset %llu len %zu base %p: %d (%s), expected %d",
	      dmabuf->fd, (unsigned long long)dmabuf->offset, dmabuf->len, dmabuf->base_addr, rc, fi_strerror(-rc), want);
	if (!rc)
		CHECK_RC(0, fi_close(&mr->fid));
}

/* How many mappings of such files this process has. */
static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4608];
	int count = 0;

	CHECK(maps, "/proc/self/maps: %s", strerror(errno));
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "emu_dmabuf") != NULL;
	fclose(maps);
	return count;
}

PEER_TEST(dmabuf, S145_only_with_hmem)
{
	struct newest_dmabuf dmabuf = { .fd = make_file(), .len = PAGE };
	struct fid_mr *mr = NULL;

	CHECK_RC(-FI_EBADFLAGS, reg(p, &dmabuf, &mr));
	close(dmabuf.fd);
}

/* The flag belongs to 1.20; before, the same bits are no flag. */
LONE_TEST(dmabuf, S145_only_from_1_20_on)
{
	struct peer_want want = WISH_MODE(0);
	struct newest_dmabuf dmabuf = { .len = PAGE };
	struct fid_mr *mr = NULL;
	struct peer p;

	need(FI_VERSION(1, 9));
	want.api = FI_VERSION(1, 17);
	if (FI_VERSION_LT(peer_api(), want.api))
		want.api = peer_api();
	peer_open(&p, &want);
	dmabuf.fd = make_file();
	CHECK_RC(-FI_EBADFLAGS, reg(&p, &dmabuf, &mr));
	peer_close(&p);
	close(dmabuf.fd);
}

LONE_TEST(dmabuf, S3_S147_S149_what_is_refused)
{
	struct newest_dmabuf good = { .len = PAGE }, dmabuf;
	struct peer p;
	int pipes[2];

	need(FI_VERSION(1, 20));
	peer_open(&p, &wish);
	good.fd = make_file();
	CHECK(!pipe(pipes), "pipe: %s", strerror(errno));
	expect(&p, 0, &good);
	dmabuf = good;
	dmabuf.fd = -1;
	expect(&p, -EBADF, &dmabuf);
	dmabuf.fd = 1000000;
	expect(&p, -EBADF, &dmabuf);
	dmabuf.fd = memfd_create("emu_dmabuf", 0); /* no byte in it */
	expect(&p, -FI_EINVAL, &dmabuf);
	close(dmabuf.fd);
	dmabuf.fd = open("/dev/zero", O_RDWR); /* no end to it */
	dmabuf.len = SIZE_MAX;
	expect(&p, -FI_ENOMEM, &dmabuf);
	close(dmabuf.fd);
	dmabuf.fd = pipes[0];
	CHECK_REFUSED(reg(&p, &dmabuf, &(struct fid_mr *){ NULL }));
	dmabuf = good;
	dmabuf.len = 0;
	expect(&p, -FI_EINVAL, &dmabuf);
	dmabuf.len = FILE_LEN;
	expect(&p, 0, &dmabuf);
	dmabuf.len = FILE_LEN + 1;
	expect(&p, -FI_EINVAL, &dmabuf);
	dmabuf.len = SIZE_MAX;
	expect(&p, -FI_EINVAL, &dmabuf);
	dmabuf = good;
	dmabuf.offset = FILE_LEN - PAGE;
	expect(&p, 0, &dmabuf);
	dmabuf.offset++;
	expect(&p, -FI_EINVAL, &dmabuf);
	dmabuf.offset = FILE_LEN + 1;
	expect(&p, -FI_EINVAL, &dmabuf);
	dmabuf.offset = UINT64_MAX;
	expect(&p, -FI_EINVAL, &dmabuf);
	dmabuf = good;
	dmabuf.base_addr = (void *)(uintptr_t)(64 * PAGE);
	expect(&p, 0, &dmabuf);
	dmabuf.base_addr = (void *)(uintptr_t)(64 * PAGE + 8);
	expect(&p, -FI_EINVAL, &dmabuf);
	dmabuf.base_addr = (void *)(UINTPTR_MAX & ~(uintptr_t)(PAGE - 1));
	dmabuf.offset = PAGE;
	expect(&p, -FI_EINVAL, &dmabuf);
	peer_close(&p);
	close(good.fd);
	close(pipes[0]);
	close(pipes[1]);
}

/* The provider unmaps its mapping when the region is closed and when registration fails. */
LONE_TEST(dmabuf, S148_S175_nothing_stays_mapped)
{
	struct newest_dmabuf dmabuf = { .len = PAGE };
	struct newest_attr attr;
	struct fid_mr *mr = NULL, *twin = NULL;
	struct peer p;

	need(FI_VERSION(1, 20));
	if (!peer_is_emu())
		NOT_APPLICABLE("what a provider maps is its own affair");
	peer_open(&p, &wish);
	dmabuf.fd = make_file();
	attr = attr_of(&p, &dmabuf);
	CHECK_RC(0, newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &mr));
	CHECK(mappings() == 1, "%d mappings", mappings());
	CHECK_RC(-FI_ENOKEY, newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &twin));
	attr.access = 1ull << 40;
	CHECK_REFUSED(newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &twin));
	CHECK(mappings() == 1, "%d mappings after a registration that failed", mappings());
	CHECK_RC(0, fi_close(&mr->fid));
	CHECK(mappings() == 0, "%d mappings after fi_close", mappings());
	peer_close(&p);
	close(dmabuf.fd);
}

/* Of huge pages a part is mapped by whole ones, and unmapped likewise. */
LONE_TEST(dmabuf, S147_S148_S175_a_part_of_huge_pages)
{
	enum { HUGE = 2 << 20 };
	struct newest_dmabuf dmabuf = { .offset = PAGE, .len = PAGE + 1 };
	struct newest_attr attr;
	struct fid_mr *mr = NULL;
	struct peer p;
	void *probe;

	need(FI_VERSION(1, 20));
	if (!peer_is_emu())
		NOT_APPLICABLE("what a provider maps is its own affair");
	dmabuf.fd = memfd_create("emu_dmabuf", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
	if (dmabuf.fd < 0 || ftruncate(dmabuf.fd, HUGE))
		NOT_APPLICABLE("the kernel has no huge pages of 2 MiB");
	probe = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf.fd, 0);
	if (probe == MAP_FAILED)
		NOT_APPLICABLE("no huge page is free (/proc/sys/vm/nr_hugepages)");
	munmap(probe, HUGE);
	peer_open(&p, &wish);
	attr = attr_of(&p, &dmabuf);
	CHECK_RC(0, newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &mr));
	CHECK(mappings() == 1, "%d mappings", mappings());
	CHECK_RC(0, fi_close(&mr->fid));
	CHECK(mappings() == 0, "%d mappings after fi_close", mappings());
	peer_close(&p);
	close(dmabuf.fd);
}

/* The flag needs the structure, so it is for one of the three calls; base_mr does not go with it. */
LONE_TEST(dmabuf, S8_S127_S147_the_call)
{
	struct newest_dmabuf dmabuf = { .len = PAGE };
	static char bytes[PAGE];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct fid_mr *mr = NULL, *base = NULL;
	struct newest_attr attr;
	struct peer p;

	need(FI_VERSION(1, 20));
	peer_open(&p, &wish);
	dmabuf.fd = make_file();
	attr = attr_of(&p, &dmabuf);
	CHECK_RC(-FI_EBADFLAGS, fi_mr_reg(p.domain, bytes, PAGE, ALL_LOCAL, 0, attr.requested_key, NEWEST_MR_DMABUF, &mr, NULL));
	CHECK_RC(-FI_EBADFLAGS, fi_mr_regv(p.domain, &iov, 1, ALL_LOCAL, 0, attr.requested_key, NEWEST_MR_DMABUF, &mr, NULL));
	attr.mr_iov = NULL;
	CHECK_REFUSED(newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &mr));
	attr.mr_iov = &dmabuf;
	attr.iov_count = 0;
	CHECK_REFUSED(newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &mr));
	attr.iov_count = 2;
	CHECK_REFUSED(newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &mr));
	attr.iov_count = 1;
	if (FI_VERSION_GE(peer_api(), FI_VERSION(2, 0))) {
		CHECK_RC(0, reg(&p, &dmabuf, &base));
		attr.base_mr = base;
		CHECK_RC(-FI_EINVAL, newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &mr));
		attr.base_mr = NULL;
		CHECK_RC(0, fi_close(&base->fid));
	}
	CHECK_RC(0, newest_reg(p.domain, &attr, NEWEST_MR_DMABUF, &mr));
	CHECK_RC(0, fi_close(&mr->fid));
	peer_close(&p);
	close(dmabuf.fd);
}

/* ---- peers reach the bytes ---- */

struct shape {
	uint64_t offset;
	size_t len;
	bool mapped; /* in the target, at base_addr */
	bool within; /* reached by a region within it */
};

struct told {
	uint64_t key, base;
};

static struct {
	int fd;
	void *at;
	struct fid_mr *mr, *sub;
} held;

static void step_reg(const void *arg, void *reply)
{
	const struct shape *shape = arg;
	struct newest_dmabuf dmabuf = { .offset = shape->offset, .len = shape->len };
	struct told *told = reply;

	held.fd = make_file();
	held.at = NULL;
	if (shape->mapped) {
		held.at = mmap(NULL, FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, held.fd, 0);
		CHECK(held.at != MAP_FAILED, "mmap: %s", strerror(errno));
	}
	dmabuf.fd = held.fd;
	dmabuf.base_addr = held.at;
	CHECK_RC(0, reg(&target_peer, &dmabuf, &held.mr));
	mr_ready(&target_peer, held.mr, 0);
	if (shape->within) {
		struct iovec iov = { (void *)((uintptr_t)held.at + shape->offset), shape->len };
		struct newest_attr attr = { .mr_iov = &iov,
					    .iov_count = 1,
					    .access = ALL_REMOTE,
					    .base_mr = held.mr,
					    .requested_key = region_fresh_key(&target_peer) };

		CHECK_RC(0, newest_reg(target_peer.domain, &attr, 0, &held.sub));
		mr_ready(&target_peer, held.sub, 0);
	}
	told->key = fi_mr_key(held.sub ? held.sub : held.mr);
	told->base = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)held.at + shape->offset : 0;
}

/* The same where registration is asynchronous: the key comes with the event. */
static void step_reg_later(const void *arg, void *reply)
{
	struct deadline guard = deadline_start();
	struct told *told = reply;
	struct fi_eq_entry entry;
	uint32_t event = 0;
	ssize_t rc;

	step_reg(arg, reply);
	while ((rc = fi_eq_read(target_peer.eq, &event, &entry, sizeof(entry), 0)) == -FI_EAGAIN)
		deadline_check(&guard, "the event of a registration");
	CHECK(rc == sizeof(entry) && event == FI_MR_COMPLETE, "event %u, %zd", event, rc);
	told->key = fi_mr_key(held.mr);
}

static void step_read_file(const void *arg, void *reply)
{
	(void)arg;
	CHECK(pread(held.fd, reply, FILE_LEN, 0) == FILE_LEN, "pread: %s", strerror(errno));
}

static void step_shrink(const void *arg, void *reply)
{
	(void)reply;
	CHECK(!ftruncate(held.fd, *(const off_t *)arg), "ftruncate: %s", strerror(errno));
}

static void step_close(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	if (held.sub)
		CHECK_RC(0, fi_close(&held.sub->fid));
	held.sub = NULL;
	CHECK_RC(0, fi_close(&held.mr->fid));
	if (held.at)
		munmap(held.at, FILE_LEN);
	close(held.fd);
}

static const struct shape shapes[] = {
	{ 0, FILE_LEN, false, false }, { 64, PAGE, false, false },           { PAGE + 64, PAGE + 100, false, false },
	{ 64, 2 * PAGE, true, false }, { 3 * PAGE + 4000, 96, true, false }, { 0, 10, true, false },
};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

/* The bytes that the file must hold after one write of all of the region and one of its last bytes. */
static void reach(struct pair *p, const struct shape *shape)
{
	static uint8_t file[FILE_LEN], image[FILE_LEN];
	uint8_t *local = p->local.iov[0].iov_base;
	struct told told;
	struct outcome out;

	memset(image, 0, sizeof(image));
	target_do(&p->target, step_reg, shape, sizeof(*shape), &told, sizeof(told));
	pattern_fill(local, shape->len, 41);
	memcpy(image + shape->offset, local, shape->len);
	out = pair_try(p, RMA_WRITE, told.base, told.key, shape->len);
	CHECK(!out.rc && !out.err, "a good write failed: %s", out.text);
	local[0] ^= 0xff;
	image[shape->offset + shape->len - 1] = local[0];
	out = pair_try(p, RMA_WRITE, told.base + shape->len - 1, told.key, 1);
	CHECK(!out.rc && !out.err, "a good write failed: %s", out.text);
	deny(p, RMA_WRITE, told.base + shape->len, told.key, 1, "S65");
	deny(p, RMA_WRITE, told.base + 1, told.key, shape->len, "S65");
	deny(p, RMA_READ, told.base - 1, told.key, 1, "S65");
	target_do(&p->target, step_read_file, NULL, 0, file, FILE_LEN);
	CHECK(!memcmp(file, image, FILE_LEN), "the descriptor's bytes are not those written");
	memset(local, 0, shape->len);
	out = pair_try(p, RMA_READ, told.base, told.key, shape->len);
	CHECK(!out.rc && !out.err && !memcmp(local, image + shape->offset, shape->len), "read back other bytes");
	target_do(&p->target, step_close, NULL, 0, NULL, 0);
	out = pair_try(p, RMA_READ, told.base, told.key, 1);
	CHECK(out.err, "a closed region was read");
}

static void each_mode(void (*body)(struct pair *p))
{
	static const uint64_t modes[] = { 0, FI_MR_VIRT_ADDR, FI_MR_LOCAL | FI_MR_BASIC_BITS, FI_MR_ALLOCATED, FI_MR_MMU_NOTIFY };
	static struct pair p;

	target_start(&p.target);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct peer_want want = WISH_MODE(modes[i]);

		pair_open(&p, &want, 0);
		check_label("[mr_mode %#llx]", (unsigned long long)modes[i]);
		body(&p);
		pair_close(&p);
	}
	target_stop(&p.target);
}

static void reach_all(struct pair *p)
{
	for (size_t i = 0; i < SHAPES; i++)
		reach(p, &shapes[i]);
}

static void reach_within(struct pair *p)
{
	reach(p, &(struct shape){ PAGE + 64, PAGE + 100, true, true });
	reach(p, &(struct shape){ PAGE + 64, PAGE + 100, false, true });
}

/* A region within one of a descriptor: its bytes lie where the base's do. */
LONE_TEST(dmabuf, S62_S121_a_region_within)
{
	need(FI_VERSION(2, 0));
	each_mode(reach_within);
}

/* Asynchronously as well: the provider's own mapping is what is populated. */
static void step_bind(const void *arg, void *reply)
{
	(void)arg;
	*(int *)reply = fi_domain_bind(target_peer.domain, &target_peer.eq->fid, PEER_REG_MR);
}

static void reach_later(struct pair *p)
{
	struct shape shape = { 64, PAGE, false, false };
	struct told told;
	struct op op;
	int rc;

	target_do(&p->target, step_bind, NULL, 0, &rc, sizeof(rc));
	if (rc)
		NOT_IN_THIS_MODE("the provider has no asynchronous registration");
	target_do(&p->target, step_reg_later, &shape, sizeof(shape), &told, sizeof(told));
	CHECK_RC(0, pair_post(p, RMA_WRITE, p->local.iov[0].iov_base, PAGE, told.base, told.key, &op));
	peer_wait(&p->peer, &op);
	CHECK(!op.err, "a good write failed: %s", p->peer.text);
	target_do(&p->target, step_close, NULL, 0, NULL, 0);
}

LONE_TEST(dmabuf, S147_S168_asynchronously)
{
	need(FI_VERSION(1, 20));
	each_mode(reach_later);
}

LONE_TEST(dmabuf, S62_S146_S147_S148_S150_peers_reach_the_bytes)
{
	need(FI_VERSION(1, 20));
	each_mode(reach_all);
}

/* All of the region, and its first byte; the program's own mapping, if it had one, has gone. */
static void step_refresh(const void *arg, void *reply)
{
	struct iovec first = { (char *)held.at + ((const struct shape *)arg)->offset, 1 };
	int *rc = reply;

	if (held.at)
		munmap(held.at, FILE_LEN);
	held.at = NULL;
	rc[0] = fi_mr_refresh(held.mr, NULL, 0, 0);
	rc[1] = fi_mr_refresh(held.mr, &first, 1, 0);
}

static void refresh(struct pair *p)
{
	struct told told;
	int rc[2];

	for (int mapped = 0; mapped < 2; mapped++) {
		struct shape shape = { 64, PAGE, mapped, false };

		target_do(&p->target, step_reg, &shape, sizeof(shape), &told, sizeof(told));
		target_do(&p->target, step_refresh, &shape, sizeof(shape), rc, sizeof(rc));
		CHECK((rc[0] == 0 && rc[1] == 0) || rc[0] == -FI_ENOSYS, "fi_mr_refresh: %d and %d", rc[0], rc[1]);
		CHECK(!pair_try(p, RMA_WRITE, told.base, told.key, PAGE).err, "a good write failed: %s", p->peer.text);
		target_do(&p->target, step_close, NULL, 0, NULL, 0);
	}
}

/* Its pages are those of the provider's mapping. */
LONE_TEST(dmabuf, S109_S148_S150_refreshed_without_a_mapping)
{
	need(FI_VERSION(1, 20));
	each_mode(refresh);
}

/* The descriptor's bytes go away: S18, and the target lives. */
static void shrink(struct pair *p)
{
	struct shape shape = { 0, FILE_LEN, false, false };
	off_t less = PAGE;
	struct told told;
	struct outcome out;

	target_do(&p->target, step_reg, &shape, sizeof(shape), &told, sizeof(told));
	target_do(&p->target, step_shrink, &less, sizeof(less), NULL, 0);
	out = pair_try(p, RMA_WRITE, told.base + 2 * PAGE, told.key, 64);
	CHECK(out.err, "a write to bytes that are gone succeeded");
	CHECK(!peer_is_emu() || out.err == FI_EFAULT, "err %d: %s", out.err, out.text);
	out = pair_try(p, RMA_WRITE, told.base, told.key, 64);
	CHECK(!out.rc && !out.err, "a write to bytes that are left failed: %s", out.text);
	live(p);
	target_do(&p->target, step_close, NULL, 0, NULL, 0);
}

LONE_TEST(dmabuf, S18_S147_bytes_that_go_away)
{
	need(FI_VERSION(1, 20));
	each_mode(shrink);
}

/* Locally the descriptor stands for the program's own mapping at base_addr. */
LONE_TEST(dmabuf, S62_S72_local_use)
{
	struct peer_want want = WISH_MODE(FI_MR_LOCAL);
	struct newest_dmabuf dmabuf = { .offset = 64, .len = PAGE };
	struct remote *remote;
	struct pair p = { 0 };
	struct fid_mr *mr = NULL;
	struct outcome out;
	uint8_t *at;

	need(FI_VERSION(1, 20));
	target_start(&p.target);
	pair_open(&p, &want, 0);
	remote = remote_reg(&p, 256, ALL_REMOTE);
	dmabuf.fd = make_file();
	at = mmap(NULL, FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf.fd, 0);
	dmabuf.base_addr = at;
	CHECK_RC(0, reg(&p.peer, &dmabuf, &mr));
	if (peer_has(&p.peer, FI_MR_LOCAL)) {
		void *desc = p.desc;
		struct op op;

		p.desc = fi_mr_desc(mr);
		pattern_fill(at + 64, 256, 7);
		CHECK_RC(0, pair_post(&p, RMA_WRITE, at + 64, 256, remote_addr(remote, 0), remote->key, &op));
		peer_wait(&p.peer, &op);
		CHECK(!op.err, "a write from the region failed: %s", p.peer.text);
		CHECK_REFUSED(pair_post(&p, RMA_WRITE, at + 63, 64, remote_addr(remote, 0), remote->key, &op));
		CHECK_RC(0, pair_post(&p, RMA_READ, at + 1024, 256, remote_addr(remote, 0), remote->key, &op));
		peer_wait(&p.peer, &op);
		CHECK(!op.err && !memcmp(at + 64, at + 1024, 256), "a read into the region failed: %s", p.peer.text);
		memcpy(remote->image + REGION_GUARD, at + 64, 256);
		p.desc = desc;
	}
	out = pair_try(&p, RMA_READ, remote_addr(remote, 0), remote->key, 16);
	CHECK(!out.rc && !out.err, "a read failed: %s", out.text);
	CHECK_RC(0, fi_close(&mr->fid));
	munmap(at, FILE_LEN);
	close(dmabuf.fd);
	pair_close(&p);
	target_stop(&p.target);
}
