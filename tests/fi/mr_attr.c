/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_attr.c - fi_mr_attr as each API version has it: no memory follows what the program knows of it. */
#include "tests/fi/world.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DMABUF (1ull << 40) /* FI_MR_DMABUF, since 1.20 */

/* As of 2.0. */
struct attr {
	const void *iov;
	size_t iov_count;
	uint64_t access, offset, key;
	void *context;
	size_t auth_key_size;
	void *auth_key;
	uint32_t iface;
	uint64_t device;
	void *hmem_data;
	size_t page_size;
	void *base_mr;
	size_t sub_mr_cnt;
};

struct dmabuf {
	int fd;
	uint64_t offset;
	size_t len;
	void *base_addr;
};

static const struct {
	uint32_t api;
	size_t known;
} versions[] = {
	{ FI_VERSION(1, 0), offsetof(struct attr, auth_key_size) },
	{ FI_VERSION(1, 5), offsetof(struct attr, iface) },
	{ FI_VERSION(1, 8), offsetof(struct attr, iface) },
	{ FI_VERSION(1, 9), offsetof(struct attr, hmem_data) },
	{ FI_VERSION(1, 17), offsetof(struct attr, hmem_data) },
	{ FI_VERSION(1, 19), offsetof(struct attr, page_size) },
	{ FI_VERSION(1, 20), offsetof(struct attr, page_size) },
	{ FI_VERSION(1, 22), offsetof(struct attr, base_mr) },
	{ FI_VERSION(2, 0), sizeof(struct attr) },
	{ FI_VERSION(2, 1), sizeof(struct attr) },
};
enum { VERSIONS = sizeof(versions) / sizeof(versions[0]) };

static char *page; /* the last page before memory that is not there */
static size_t page_bytes;

static void setup(void)
{
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	page = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(page != MAP_FAILED && !munmap(page + page_bytes, page_bytes));
}

TestSuite(fi_mr_attr, .init = setup);

/* The first `known` bytes of it at the page's end. */
static const void *at_the_end(const void *bytes, size_t known)
{
	return memcpy(page + page_bytes - known, bytes, known);
}

static int reg(struct world *w, const struct attr *attr, size_t known, uint64_t flags)
{
	struct fid_mr *mr = (struct fid_mr *)1;
	int rc = fi_mr_regattr(w->domain, at_the_end(attr, known), flags, &mr);

	if (!rc)
		RC(0, fi_close(&mr->fid));
	else
		cr_assert(mr == (struct fid_mr *)1, "a refused registration wrote *mr");
	return rc;
}

/* With FI_HMEM where the version has it, so that every field counts. */
static void open_as(struct world *w, uint32_t api)
{
	uint64_t hmem = FI_VERSION_GE(api, FI_VERSION(1, 9)) ? FI_HMEM : 0;

	world_open(w, &(struct want){ .api = api, .caps = FI_MSG | FI_RMA | hmem });
}

Test(fi_mr_attr, nothing_newer_is_read)
{
	static char bytes[64];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct attr attr = { .iov = &iov, .iov_count = 1, .access = FI_SEND, .key = 5 };

	for (size_t i = 0; i < VERSIONS; i++) {
		struct world w;

		if (!world_has(versions[i].api))
			continue;
		open_as(&w, versions[i].api);
		RC(0, reg(&w, &attr, versions[i].known, 0));
		RC(-FI_EBADFLAGS, reg(&w, &attr, versions[i].known, FI_HMEM_DEVICE_ONLY));
		world_close(&w);
	}
}

/* Each field of FI_HMEM wrong, in the first version that has it and in the last that has not. */
Test(fi_mr_attr, each_field_counts_from_its_version_on)
{
	static char bytes[64];
	struct iovec iov = { bytes, sizeof(bytes) };
	const struct attr good = { .iov = &iov, .iov_count = 1, .access = FI_SEND, .key = 5 };
	struct attr iface = good, data = good, size = good, device = good;

	iface.iface = 1;
	data.hmem_data = bytes;
	size.page_size = 12345;
	device.device = UINT64_MAX;
	for (size_t i = 0; i < VERSIONS; i++) {
		uint32_t api = versions[i].api;
		struct world w;

		if (!world_has(api))
			continue;
		open_as(&w, api);
		RC(FI_VERSION_GE(api, FI_VERSION(1, 9)) ? -FI_ENOSYS : 0, reg(&w, &iface, sizeof(iface), 0));
		RC(FI_VERSION_GE(api, FI_VERSION(1, 19)) ? -FI_EINVAL : 0, reg(&w, &data, sizeof(data), 0));
		RC(FI_VERSION_GE(api, FI_VERSION(1, 22)) ? -FI_EINVAL : 0, reg(&w, &size, sizeof(size), 0));
		RC(0, reg(&w, &device, sizeof(device), 0));
		world_close(&w);
	}
}

/* S138: a program that has not asked for FI_HMEM has not got it, and iface is not read. */
Test(fi_mr_attr, hmem_is_for_who_asks)
{
	static char bytes[64];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct attr attr = { .iov = &iov, .iov_count = 1, .access = FI_SEND, .key = 5, .iface = 1 };
	struct world w;

	world_open(&w, &(struct want){ 0 });
	cr_expect(!(w.info->caps & FI_HMEM));
	RC(0, reg(&w, &attr, sizeof(attr), 0));
	world_close(&w);
}

/* The structure of a descriptor ends with base_addr. */
Test(fi_mr_attr, a_descriptor_structure_at_the_end)
{
	struct dmabuf given = { .fd = memfd_create("emu_dmabuf", 0), .len = 64 };
	struct attr attr = { .iov_count = 1, .access = FI_SEND, .key = 5 };
	struct fid_mr *mr;
	struct world w;

	if (!world_has(FI_VERSION(1, 20)))
		cr_skip_test("the running libfabric has no FI_MR_DMABUF");
	cr_assert(given.fd >= 0 && !ftruncate(given.fd, 4096));
	open_as(&w, FI_VERSION(1, 20));
	attr.iov = at_the_end(&given, sizeof(given));
	RC(0, fi_mr_regattr(w.domain, (const struct fi_mr_attr *)(const void *)&attr, DMABUF, &mr));
	RC(0, fi_close(&mr->fid));
	attr.offset = 8;
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, (const struct fi_mr_attr *)(const void *)&attr, DMABUF, &mr));
	attr.offset = 0;
	attr.access = 1ull << 50;
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, (const struct fi_mr_attr *)(const void *)&attr, DMABUF, &mr));
	attr.access = FI_SEND;
	RC(-FI_EINVAL, fi_mr_regattr(w.domain, (const struct fi_mr_attr *)(const void *)&attr, DMABUF, NULL));
	RC(-FI_EBADFLAGS, fi_mr_regattr(w.domain, (const struct fi_mr_attr *)(const void *)&attr, DMABUF | 1, &mr));
	world_close(&w);
	close(given.fd);
}

/* S35: where no peer reaches memory, keys are ignored, as ofi_rxd needs, which has one for all of its own; elsewhere they count. */
Test(fi_mr_attr, local_regions_share_a_key)
{
	enum { KEY = 3 };
	static const uint64_t caps[] = { FI_MSG, FI_MSG | FI_RMA | FI_READ | FI_WRITE, FI_MSG | FI_RMA };
	static uint8_t near[2][64];
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 3; i++) {
		struct fid_mr *local[2];
		struct world w;

		world_open(&w, &(struct want){ .caps = caps[i], .mr_mode = FI_MR_LOCAL | FI_MR_PROV_KEY * (i < 2) });
		cr_assert_not(w.info->domain_attr->mr_mode & FI_MR_PROV_KEY);
		RC(0, fi_mr_reg(w.domain, near[0], sizeof(near[0]), FI_SEND, 0, KEY, 0, &local[0], NULL));
		RC(i < 2 ? 0 : -FI_ENOKEY, fi_mr_reg(w.domain, near[1], sizeof(near[1]), FI_RECV, 0, KEY, 0, &local[1], NULL));
		if (i == 2)
			RC(0, fi_mr_reg(w.domain, near[1], sizeof(near[1]), FI_RECV, 0, KEY + 1, 0, &local[1], NULL));
		cr_expect(fi_mr_key(local[0]) != fi_mr_key(local[1]));
		RC(0, fi_recv(w.ep, near[1], sizeof(near[1]), fi_mr_desc(local[1]), FI_ADDR_UNSPEC, NULL));
		RC(0, fi_send(w.ep, near[0], 8, fi_mr_desc(local[0]), w.self, NULL));
		for (int k = 0; k < 2; k++)
			RC(1, world_next(&w, &entry));
		for (int k = 0; k < 2; k++)
			RC(0, fi_close(&local[k]->fid));
		world_close(&w);
	}
}

/* Its offset is the program's: a directory has one, and is refused. */
Test(fi_mr_attr, a_descriptor_stays_where_it_is)
{
	struct dmabuf given = { .fd = open("/tmp", O_RDONLY | O_DIRECTORY), .len = 64 };
	struct attr attr = { .iov = &given, .iov_count = 1, .access = FI_SEND, .key = 5 };
	off_t before = lseek(given.fd, 0, SEEK_CUR);
	struct fid_mr *mr;
	struct world w;

	if (!world_has(FI_VERSION(1, 20)))
		cr_skip_test("the running libfabric has no FI_MR_DMABUF");
	open_as(&w, FI_VERSION(1, 20));
	cr_expect(fi_mr_regattr(w.domain, (const struct fi_mr_attr *)(const void *)&attr, DMABUF, &mr) < 0);
	cr_expect_eq(lseek(given.fd, 0, SEEK_CUR), before);
	world_close(&w);
	close(given.fd);
}
