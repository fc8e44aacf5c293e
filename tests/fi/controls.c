/* SPDX-License-Identifier: BSD-2-Clause */
/* controls.c - the calls that go through fi_control and fi_bind: every command, every flag, and structures, lists and keys
 * that end where memory ends. */
#include "tests/fi/world.h"

#include <string.h>
#include <sys/mman.h>

#include "emu/fi/provider/fi_compat.h"

enum { PAGE = 4096, COMMANDS = 64, RAW_SIZE = 32 };

static char block[4 * PAGE] __attribute__((aligned(PAGE)));
static char *end; /* of the last page before memory that is not there */

static void setup(void)
{
	char *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(map != MAP_FAILED && !mprotect(map + PAGE, PAGE, PROT_NONE));
	end = map + PAGE;
	memset(block, 1, sizeof(block));
}

TestSuite(fi_controls, .init = setup);

static void *at_the_end(const void *bytes, size_t size)
{
	return memcpy(end - size, bytes, size);
}

static struct fid_mr *registered(struct world *w)
{
	struct fid_mr *mr;

	RC(0, fi_mr_reg(w->domain, block, sizeof(block), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	return mr;
}

/* A command that an object has no use for is -FI_ENOSYS, and its argument is not read. */
Test(fi_controls, commands_one_by_one)
{
	static const int of_region[] = { FI_ENABLE, FI_GET_RAW_MR, FI_REFRESH }, of_domain[] = {
		FI_MAP_RAW_MR, FI_UNMAP_KEY, FI_QUEUE_WORK, FI_CANCEL_WORK, FI_FLUSH_WORK,
	};
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .mr_mode = FI_MR_MMU_NOTIFY | FI_MR_RAW });
	mr = registered(&w);
	for (int command = -1; command < COMMANDS; command++) {
		bool known = false;

		for (size_t i = 0; i < sizeof(of_region) / sizeof(of_region[0]); i++)
			known |= command == of_region[i];
		if (!known)
			RC(-FI_ENOSYS, mr->fid.ops->control(&mr->fid, command, end));
		known = false;
		for (size_t i = 0; i < sizeof(of_domain) / sizeof(of_domain[0]); i++)
			known |= command == of_domain[i];
		if (!known)
			RC(-FI_ENOSYS, w.domain->fid.ops->control(&w.domain->fid, command, end));
		RC(-FI_ENOSYS, w.av->fid.ops->control(&w.av->fid, command, end));
	}
	RC(-FI_ENOSYS, fi_control(&mr->fid, INT32_MAX, end));
	RC(-FI_EOPBADSTATE, fi_control(&mr->fid, FI_ENABLE, end)); /* its argument is not looked at either */
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S99, S105: each flag by itself, and the region is as it was. */
Test(fi_controls, flags_of_fi_mr_bind_one_by_one)
{
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_RMA | FI_RMA_EVENT, .mr_mode = FI_MR_ENDPOINT });
	mr = registered(&w);
	for (int bit = 0; bit < 64; bit++) {
		RC(-FI_EBADFLAGS, fi_mr_bind(mr, &w.ep->fid, 1ull << bit));
		RC(-FI_EBADFLAGS, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_WRITE ^ 1ull << bit));
	}
	RC(-FI_EBADFLAGS, fi_mr_bind(mr, &w.ep->fid, UINT64_MAX));
	RC(-FI_EBADFLAGS, fi_mr_bind(mr, &w.cntr->fid, UINT64_MAX));
	RC(-FI_EINVAL, fi_mr_enable(mr)); /* nothing is bound */
	RC(0, fi_mr_bind(mr, &w.ep->fid, 0));
	RC(0, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_WRITE));
	RC(0, fi_mr_enable(mr));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S11: lists are read to their last entry and no further. */
Test(fi_controls, lists_at_the_end_of_memory)
{
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .mr_mode = FI_MR_MMU_NOTIFY });
	for (size_t count = 1; count <= 8; count++) {
		struct iovec iov[8];

		for (size_t i = 0; i < count; i++)
			iov[i] = (struct iovec){ block + i, 16 }; /* which overlap */
		RC(0, fi_mr_regv(w.domain, at_the_end(iov, count * sizeof(iov[0])), count, FI_REMOTE_READ, 0, 7, 0, &mr, NULL));
		RC(0, fi_mr_refresh(mr, at_the_end(iov, count * sizeof(iov[0])), count, 0));
		RC(0, fi_close(&mr->fid));
	}
	world_close(&w);
}

/* struct fi_mr_modify of 1.8 holds the attributes of then. */
Test(fi_controls, an_old_structure_of_fi_mr_refresh)
{
	struct {
		uint64_t flags;
		char attr[offsetof(struct compat_mr_attr, iface)];
	} modify = { .flags = 0 };
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .api = FI_VERSION(1, 8), .mr_mode = FI_MR_MMU_NOTIFY });
	mr = registered(&w);
	RC(0, fi_control(&mr->fid, FI_REFRESH, at_the_end(&modify, sizeof(modify))));
	modify.flags = 1;
	RC(-FI_EBADFLAGS, fi_control(&mr->fid, FI_REFRESH, at_the_end(&modify, sizeof(modify))));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S49, S54: raw keys, and the structures that tell of them, wherever they lie. */
Test(fi_controls, raw_keys_at_the_end_of_memory)
{
	uint8_t raw[RAW_SIZE];
	uint64_t base, mapped;
	size_t size = RAW_SIZE;
	struct fi_mr_raw_attr attr = { .base_addr = &base, .raw_key = (uint8_t *)end - RAW_SIZE, .key_size = &size };
	struct fi_mr_map_raw map = { .raw_key = raw, .key_size = RAW_SIZE, .key = &mapped };
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .mr_mode = FI_MR_RAW });
	mr = registered(&w);
	RC(0, fi_control(&mr->fid, FI_GET_RAW_MR, &attr));
	memcpy(raw, end - RAW_SIZE, RAW_SIZE);
	attr.raw_key = raw;
	RC(0, fi_control(&mr->fid, FI_GET_RAW_MR, at_the_end(&attr, sizeof(attr))));
	cr_assert_eq(size, RAW_SIZE);
	RC(0, fi_control(&w.domain->fid, FI_MAP_RAW_MR, at_the_end(&map, sizeof(map))));
	RC(0, fi_control(&w.domain->fid, FI_UNMAP_KEY, at_the_end(&mapped, sizeof(mapped))));
	map.raw_key = at_the_end(raw, RAW_SIZE);
	RC(0, fi_control(&w.domain->fid, FI_MAP_RAW_MR, &map));
	RC(0, fi_mr_unmap_key(w.domain, mapped));
	for (map.key_size = 0; map.key_size < RAW_SIZE; map.key_size++) {
		map.raw_key = at_the_end(raw, map.key_size);
		RC(map.key_size == 8 ? 0 : -FI_EINVAL, fi_control(&w.domain->fid, FI_MAP_RAW_MR, &map));
	}
	RC(0, fi_mr_unmap_key(w.domain, mapped)); /* the short one */
	for (size = 0; size < RAW_SIZE; size++) {
		size_t room = size;

		RC(-FI_ETOOSMALL, fi_mr_raw_attr(mr, &base, (uint8_t *)end - size, &room, 0));
		cr_assert_eq(room, RAW_SIZE);
	}
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S162: struct fi_mr_auth_key, right before missing memory. */
Test(fi_controls, an_authorization_key_at_the_end_of_memory)
{
	struct want want = { .api = FI_VERSION(1, 20) };
	struct iovec iov = { block, sizeof(block) };
	struct compat_mr_auth_key from = { .src_addr = FI_ADDR_UNSPEC };
	struct compat_mr_attr attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_READ, .auth_key_size = sizeof(from) };
	struct fi_mr_attr *given = (struct fi_mr_attr *)(void *)&attr;
	struct fi_info *hints, *info;
	struct fid_domain *domain;
	struct fid_fabric *fabric;
	struct fid_mr *mr;

	world_need_emu();
	if (!world_has(FI_VERSION(1, 20)))
		cr_skip("FI_AV_AUTH_KEY came with 1.20");
	hints = world_hints(&want);
	hints->domain_attr->auth_key_size = COMPAT_AV_AUTH_KEY;
	RC(0, world_getinfo(&want, hints, &info));
	RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	RC(0, fi_domain(fabric, info, &domain, NULL));
	RC(0, fi_av_open(domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &from.av, NULL));
	attr.auth_key = at_the_end(&from, sizeof(from));
	RC(0, fi_mr_regattr(domain, given, 0, &mr));
	RC(0, fi_close(&mr->fid));
	attr.auth_key_size = sizeof(from) - 1;
	attr.auth_key = at_the_end(&from, sizeof(from) - 1);
	RC(-FI_EINVAL, fi_mr_regattr(domain, given, 0, &mr));
	RC(0, fi_close(&from.av->fid));
	RC(0, fi_close(&domain->fid));
	RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
}
