/* SPDX-License-Identifier: BSD-2-Clause */
/* query.c - what the device, its port, and its tables of GIDs and P_Keys are. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/verbs/world.h"

static struct verbs verbs;

static void setup(void)
{
	verbs_open(&verbs);
}

static void teardown(void)
{
	verbs_close(&verbs);
}

TestSuite(verbs_query, .init = setup, .fini = teardown, .timeout = 60);

Test(verbs_query, the_device_offers_what_programs_need)
{
	struct ibv_device_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	cr_assert_eq(ibv_query_device(verbs.context, &attr), 0);
	cr_assert_eq(attr.phys_port_cnt, 1);
	cr_assert_eq(attr.node_guid, ibv_get_device_guid(verbs.list[0]));
	cr_assert_geq(attr.max_qp_wr, 4096);
	cr_assert_geq(attr.max_srq_wr, 4095);
	cr_assert_geq(attr.max_sge, 4);
	cr_assert_eq(attr.max_mr_size, UINT64_MAX);
	cr_assert_eq(attr.atomic_cap, IBV_ATOMIC_HCA);
	cr_assert_eq(attr.max_ee, 0);
	cr_assert_neq(attr.vendor_id, 0);
	cr_assert_eq(attr.max_pkeys, 1);
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

Test(verbs_query, firmware_has_one_version)
{
	struct ibv_device_attr attr;
	char text[64];

	cr_assert_eq(ibv_query_device(verbs.context, &attr), 0);
	cr_assert_gt(ibv_read_sysfs_file(verbs.context->device->ibdev_path, "fw_ver", text, sizeof(text)), 0);
	cr_assert_str_eq(text, attr.fw_ver);
}

Test(verbs_query, the_long_form_begins_as_the_short_one)
{
	struct ibv_query_device_ex_input input = { .comp_mask = 0 };
	struct ibv_device_attr_ex attr;
	struct ibv_device_attr brief;

	memset(&attr, 0xff, sizeof(attr));
	cr_assert_eq(ibv_query_device_ex(verbs.context, &input, &attr), 0);
	cr_assert_eq(ibv_query_device(verbs.context, &brief), 0);
	cr_assert_arr_eq((uint8_t *)&attr.orig_attr, (uint8_t *)&brief, sizeof(brief));
	cr_assert(attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT);
	cr_assert(attr.odp_caps.per_transport_caps.uc_odp_caps & IBV_ODP_SUPPORT_WRITE);
	cr_assert(!(attr.odp_caps.per_transport_caps.uc_odp_caps & IBV_ODP_SUPPORT_READ));
	cr_assert_eq(attr.xrc_odp_caps, attr.odp_caps.per_transport_caps.rc_odp_caps);
	cr_assert_eq(attr.phys_port_cnt_ex, 1);
	cr_assert_eq(ibv_query_device_ex(verbs.context, NULL, &attr), 0);
	input.comp_mask = 1;
	cr_assert_eq(ibv_query_device_ex(verbs.context, &input, &attr), EINVAL);
}

/* A program that is older, or newer, than this library. */
Test(verbs_query, the_long_form_fills_what_the_program_knows)
{
	struct verbs_context *table = verbs_get_ctx(verbs.context);
	char attr[sizeof(struct ibv_device_attr_ex) + 8];

	memset(attr, 0x55, sizeof(attr));
	cr_assert_eq(table->query_device_ex(verbs.context, NULL, (void *)attr, sizeof(struct ibv_device_attr)), 0);
	cr_assert_eq(attr[sizeof(struct ibv_device_attr)], 0x55);
	cr_assert_eq(table->query_device_ex(verbs.context, NULL, (void *)attr, sizeof(attr)), 0);
	cr_assert_eq(attr[sizeof(attr) - 1], 0);
	cr_assert_eq(table->query_device_ex(verbs.context, NULL, (void *)attr, 8), EINVAL);
}

Test(verbs_query, the_port_is_an_active_one_on_ethernet)
{
	struct ibv_port_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	cr_assert_eq(ibv_query_port(verbs.context, 1, &attr), 0);
	cr_assert_eq(attr.state, IBV_PORT_ACTIVE);
	cr_assert_eq(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	cr_assert_eq(attr.active_mtu, IBV_MTU_1024);
	cr_assert_eq(attr.lid, 0);
	cr_assert_eq(attr.pkey_tbl_len, 1);
	cr_assert_gt(attr.gid_tbl_len, 1);
	cr_assert_eq(attr.max_msg_sz, 1u << 31);
	cr_assert(attr.flags & IBV_QPF_GRH_REQUIRED);
}

Test(verbs_query, there_is_one_port)
{
	struct ibv_port_attr attr;

	said_begin();
	cr_assert_eq(ibv_query_port(verbs.context, 0, &attr), EINVAL);
	cr_assert_eq(ibv_query_port(verbs.context, 2, &attr), EINVAL);
	cr_assert(said_has("ibv_query_port: port 2"));
}

/* Through the symbol, which programs called that were built before 2018: what lies behind the old structure stays. */
#undef ibv_query_port
Test(verbs_query, an_old_program_asks_for_the_port)
{
	struct ibv_port_attr attr;

	memset(&attr, 0x55, sizeof(attr));
	cr_assert_eq(ibv_query_port(verbs.context, 1, (struct _compat_ibv_port_attr *)&attr), 0);
	cr_assert_eq(attr.state, IBV_PORT_ACTIVE);
	cr_assert_eq(attr.port_cap_flags2, 0x5555);
}

Test(verbs_query, loopback_has_a_gid)
{
	static const uint8_t loopback[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
	struct ibv_gid_entry entries[64];
	ssize_t count = ibv_query_gid_table(verbs.context, entries, 64, 0);
	union ibv_gid gid;
	ssize_t at = 0;

	cr_assert_geq(count, 1);
	while (memcmp(entries[at].gid.raw, loopback, 16) && at < count - 1)
		at++;
	cr_assert(at == count - 1 || (at == count - 2 && !memcmp(entries[count - 1].gid.raw, &in6addr_loopback, 16)),
		  "it is the last one, or ::1 is");
	cr_assert_eq(entries[0].gid_index, 0);
	for (ssize_t i = 0; i < count; i++) {
		cr_assert_eq(entries[i].port_num, 1);
		cr_assert_eq(entries[i].gid_type, IBV_GID_TYPE_ROCE_V2);
		cr_assert_neq(entries[i].ndev_ifindex, 0);
		cr_assert_eq(ibv_query_gid(verbs.context, 1, (int)entries[i].gid_index, &gid), 0);
		cr_assert_eq(memcmp(&gid, &entries[i].gid, sizeof(gid)), 0);
	}
}

Test(verbs_query, a_gid_by_its_index)
{
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	union ibv_gid gid, none = { .raw = { 0 } };

	cr_assert_eq(ibv_query_gid_ex(verbs.context, 1, 0, &entry, 0), 0);
	cr_assert_eq(ibv_query_gid(verbs.context, 1, 0, &gid), 0);
	cr_assert_eq(memcmp(&gid, &entry.gid, sizeof(gid)), 0);
	cr_assert_eq(___ibv_query_port(verbs.context, 1, &port), 0);
	cr_assert_eq(ibv_query_gid(verbs.context, 1, port.gid_tbl_len - 1, &gid), 0, "the table may be longer than it is full");
	cr_assert_eq(memcmp(&gid, &none, sizeof(gid)), 0);
	cr_assert_eq(ibv_query_gid_ex(verbs.context, 1, (uint32_t)port.gid_tbl_len - 1, &entry, 0), ENODATA);
	errno = 0;
	cr_assert_eq(ibv_query_gid(verbs.context, 1, port.gid_tbl_len, &gid), -1);
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(ibv_query_gid(verbs.context, 1, -1, &gid), -1);
	cr_assert_eq(ibv_query_gid(verbs.context, 2, 0, &gid), -1);
	cr_assert_eq(ibv_query_gid_ex(verbs.context, 1, 0, &entry, 1), EINVAL);
}

Test(verbs_query, a_table_of_gids_that_is_too_short)
{
	struct ibv_gid_entry entries[64];

	cr_assert_eq(ibv_query_gid_table(verbs.context, entries, 0, 0), -EINVAL);
	cr_assert_eq(ibv_query_gid_table(verbs.context, entries, 64, 1), -EINVAL);
}

Test(verbs_query, the_default_pkey_is_the_only_one)
{
	__be16 pkey = 0;

	cr_assert_eq(ibv_query_pkey(verbs.context, 1, 0, &pkey), 0);
	cr_assert_eq(ntohs(pkey), 0xffff);
	cr_assert_eq(ibv_get_pkey_index(verbs.context, 1, pkey), 0);
	cr_assert_eq(ibv_get_pkey_index(verbs.context, 1, htons(0x8001)), -1);
	errno = 0;
	cr_assert_eq(ibv_query_pkey(verbs.context, 1, 1, &pkey), -1);
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(ibv_query_pkey(verbs.context, 3, 0, &pkey), -1);
}

Test(verbs_query, the_clock_of_completions_runs)
{
	struct ibv_values_ex one = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, wrong = { .comp_mask = 1u << 20 };

	cr_assert_eq(ibv_query_rt_values_ex(verbs.context, &one), 0);
	cr_assert(one.raw_clock.tv_sec || one.raw_clock.tv_nsec);
	cr_assert_eq(ibv_query_rt_values_ex(verbs.context, &wrong), EINVAL);
}
