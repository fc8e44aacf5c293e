/* SPDX-License-Identifier: BSD-2-Clause */
/* newer.c - programs built with newer or older headers: calls that these do not have, and structures of another length. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/verbs/start/vb_abi.h"
#include "tests/verbs/world.h"

enum { BYTES = 8192, ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);

static struct verbs verbs;

static void begin(void)
{
	verbs_open(&verbs);
}

static void end(void)
{
	verbs_close(&verbs);
}

TestSuite(verbs_newer, .init = begin, .fini = end, .timeout = 60);

static struct ibv_mr *reg(struct vb_mr_init_attr attr)
{
	errno = 0;
	return ibv_reg_mr_ex(verbs.pd, (struct ibv_mr_init_attr *)&attr);
}

static void registered(struct vb_mr_init_attr attr)
{
	struct ibv_mr *mr = reg(attr);

	cr_assert_not_null(mr);
	cr_assert_eq(mr->length, attr.length);
	cr_assert_eq(mr->addr, attr.comp_mask & VB_MR_INIT_ADDR ? attr.addr : (void *)(uintptr_t)attr.fd_offset);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

static void refused(struct vb_mr_init_attr attr, int err)
{
	cr_assert_null(reg(attr));
	cr_assert_eq(errno, err, "errno is %d", errno);
}

Test(verbs_newer, regions_by_address)
{
	static char bytes[BYTES];
	struct vb_mr_init_attr attr = { .length = BYTES, .access = ACCESS, .comp_mask = VB_MR_INIT_ADDR, .addr = bytes };

	registered(attr);
	attr.comp_mask |= VB_MR_INIT_IOVA;
	attr.iova = 0x1000;
	registered(attr);
	attr.iova = UINT64_MAX - 1;
	refused(attr, EINVAL);
	attr.access |= IBV_ACCESS_ZERO_BASED; /* then it has no other address */
	registered(attr);
	attr.comp_mask = VB_MR_INIT_ADDR | VB_MR_INIT_FD_OFFSET;
	refused(attr, EINVAL);
	attr.comp_mask = 0;
	refused(attr, EINVAL);
	attr.comp_mask = VB_MR_INIT_ADDR | 1 << 4;
	refused(attr, EOPNOTSUPP);
}

Test(verbs_newer, regions_by_descriptor)
{
	int fd = memfd_create("region", 0);
	struct vb_mr_init_attr attr = { .length = BYTES, .access = ACCESS, .comp_mask = VB_MR_INIT_FD, .fd = fd };

	cr_assert_eq(ftruncate(fd, BYTES), 0);
	registered(attr);
	attr.comp_mask |= VB_MR_INIT_FD_OFFSET;
	attr.fd_offset = 4096;
	refused(attr, EINVAL);
	attr.length = 4096;
	registered(attr);
	attr.comp_mask |= VB_MR_INIT_IOVA;
	attr.iova = 0x4000;
	registered(attr);
	attr.iova = 0x4001;
	refused(attr, EINVAL);
	attr.comp_mask = VB_MR_INIT_FD | VB_MR_INIT_ADDR;
	refused(attr, EINVAL);
	attr.comp_mask = VB_MR_INIT_FD;
	attr.fd = -1;
	refused(attr, EBADF);
	close(fd);
}

Test(verbs_newer, speed_of_the_port)
{
	uint64_t speed = 7;

	cr_assert_eq(ibv_query_port_speed(verbs.context, 2, &speed), EINVAL);
	cr_assert_eq(ibv_query_port_speed(verbs.context, 0, &speed), EINVAL);
	cr_assert_eq(speed, 7);
	cr_assert_eq(ibv_query_port_speed(verbs.context, 1, &speed), 0);
	cr_assert_eq(speed, 1000, "100 Gbit/s, by 100 Mbit/s");
}

/* --- structures: as many bytes as both know, and zeros behind them --- */

enum { FILL = 0x55, MORE = 8 };

static void filled(const char *bytes, size_t known, size_t size)
{
	for (size_t i = known; i < size; i++)
		cr_assert_eq(bytes[i], 0);
	cr_assert_eq(bytes[size], FILL, "nothing behind it is touched");
}

Test(verbs_newer, lengths_of_an_entry_of_the_gid_table)
{
	struct ibv_gid_entry entry;
	char bytes[2 * sizeof(entry) + MORE];

	cr_assert_eq(_ibv_query_gid_ex(verbs.context, 1, 0, &entry, 0, sizeof(entry)), 0);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(_ibv_query_gid_ex(verbs.context, 1, 0, (void *)bytes, 0, sizeof(entry) + MORE), 0);
	cr_assert_eq(memcmp(bytes, &entry, sizeof(entry)), 0);
	filled(bytes, sizeof(entry), sizeof(entry) + MORE);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(_ibv_query_gid_ex(verbs.context, 1, 0, (void *)bytes, 0, sizeof(entry.gid)), 0);
	cr_assert_eq(memcmp(bytes, &entry.gid, sizeof(entry.gid)), 0);
	filled(bytes, sizeof(entry.gid), sizeof(entry.gid));
}

/* Each entry where the program looks for it. */
Test(verbs_newer, length_of_the_gid_table)
{
	struct ibv_gid_entry entries[32];
	char bytes[32 * (sizeof(entries[0]) + MORE) + 1];
	ssize_t count = ibv_query_gid_table(verbs.context, entries, 32, 0);

	cr_assert_geq(count, 1);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(_ibv_query_gid_table(verbs.context, (void *)bytes, (size_t)count, 0, sizeof(entries[0]) + MORE), count);
	for (ssize_t i = 0; i < count; i++)
		cr_assert_eq(memcmp(bytes + (size_t)i * (sizeof(entries[0]) + MORE), &entries[i], sizeof(entries[0])), 0);
	filled(bytes, (size_t)count * (sizeof(entries[0]) + MORE), (size_t)count * (sizeof(entries[0]) + MORE));
	cr_assert_eq(ibv_query_gid_table(verbs.context, entries, (size_t)count - 1, 0), -EINVAL);
}

Test(verbs_newer, lengths_of_what_the_port_is)
{
	struct verbs_context *table = verbs_get_ctx(verbs.context);
	struct ibv_port_attr attr;
	char bytes[2 * sizeof(attr)];

	cr_assert_eq(table->query_port(verbs.context, 1, &attr, sizeof(attr)), 0);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(table->query_port(verbs.context, 1, (void *)bytes, sizeof(attr) + MORE), 0);
	cr_assert_eq(memcmp(bytes, &attr, sizeof(attr)), 0);
	filled(bytes, sizeof(attr) + MORE - 1, sizeof(attr) + MORE);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(table->query_port(verbs.context, 1, (void *)bytes, 8), 0);
	cr_assert_eq(memcmp(bytes, &attr, 8), 0);
	filled(bytes, 8, 8);
}
