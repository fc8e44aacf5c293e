/* SPDX-License-Identifier: BSD-2-Clause */
/* getinfo.c - hints are honoured: what does not fit gives no info, what does is granted. */
#include "tests/fi/world.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/personality/fi_attr.h"

/* One hint: a field of fi_info itself, or of an attribute structure that it points to. */
struct hint {
	const char *name;
	size_t outer; /* offset in fi_info: the field, or the pointer */
	size_t inner; /* offset behind the pointer */
	size_t size;
	uint64_t value;
	bool direct;
};

/* clang-format off */
#define DIRECT(field, value) \
	{ #field, offsetof(struct fi_info, field), 0, sizeof(((struct fi_info *)0)->field), value, true }
#define IN(attr, type, field, value) \
	{ #attr "->" #field, offsetof(struct fi_info, attr), offsetof(struct type, field), \
	  sizeof(((struct type *)0)->field), value, false }
#define EP(field, value)	IN(ep_attr, fi_ep_attr, field, value)
#define TX(field, value)	IN(tx_attr, fi_tx_attr, field, value)
#define RX(field, value)	IN(rx_attr, fi_rx_attr, field, value)
#define DOMAIN(field, value)	IN(domain_attr, fi_domain_attr, field, value)

static const struct hint refused[] = {
	DIRECT(caps, FI_TAGGED | FI_MULTI_RECV),
	DIRECT(caps, FI_MSG | FI_RMA_EVENT), DIRECT(caps, FI_MSG | FI_RMA_PMEM), DIRECT(caps, FI_MSG | FI_MULTICAST),
	DIRECT(caps, FI_MSG | FI_SOURCE_ERR),
	DIRECT(caps, FI_MSG | 1ull << 62),
	DIRECT(caps, FI_MSG | FI_READ), DIRECT(caps, FI_REMOTE_WRITE),
	DIRECT(addr_format, FI_SOCKADDR_IB), DIRECT(addr_format, FI_ADDR_STR), DIRECT(addr_format, 99),
	EP(type, FI_EP_DGRAM), EP(type, EP_SOCK_DGRAM), EP(type, 77),
	EP(protocol, FI_PROTO_RXM), EP(protocol, FI_PROTO_SOCK_TCP), EP(protocol_version, 2),
	EP(max_msg_size, SIZE_MAX), EP(msg_prefix_size, 8),
	EP(tx_ctx_cnt, 129), EP(rx_ctx_cnt, 129), EP(auth_key_size, 8),
	TX(caps, FI_ATOMIC), TX(op_flags, FI_COMMIT_COMPLETE), TX(op_flags, FI_MATCH_COMPLETE),
	TX(op_flags, FI_REMOTE_CQ_DATA), TX(msg_order, 1ull << 50),
	TX(comp_order, 1ull << 8), TX(inject_size, 257), TX(size, 1025), TX(iov_limit, 9), TX(rma_iov_limit, 9),
	RX(op_flags, FI_MULTI_RECV), RX(msg_order, 1ull << 51), RX(comp_order, 1ull << 8),
	RX(total_buffered_recv, SIZE_MAX), RX(size, 1025), RX(iov_limit, 9),
	DOMAIN(threading, 99), DOMAIN(control_progress, 9), DOMAIN(data_progress, 3),
	DOMAIN(resource_mgmt, 3), DOMAIN(av_type, 3), DOMAIN(mr_key_size, 9), DOMAIN(cq_data_size, 9),
	DOMAIN(cq_cnt, 65537), DOMAIN(ep_cnt, 65537), DOMAIN(cntr_cnt, 65537), DOMAIN(mr_cnt, (1 << 21) + 1),
	DOMAIN(mr_iov_limit, 9), DOMAIN(max_ep_tx_ctx, 129), DOMAIN(max_ep_rx_ctx, 129), DOMAIN(max_ep_stx_ctx, 2),
	DOMAIN(max_ep_srx_ctx, 2), DOMAIN(auth_key_size, 8), DOMAIN(max_err_data, 385),
	DOMAIN(tclass, 0x80), DOMAIN(tclass, FI_TC_NETWORK_CTRL + 1), TX(tclass, FI_TC_DSCP + 64), TX(tclass, 1u << 31),
};

/* The answer has what the hints ask for, or more. */
static const struct hint granted[] = {
	DIRECT(caps, FI_MSG), DIRECT(caps, FI_TAGGED), DIRECT(caps, FI_TAGGED | FI_SEND), DIRECT(caps, FI_MSG | FI_TAGGED),
	DIRECT(caps, FI_MSG | FI_MULTI_RECV), DIRECT(caps, FI_TAGGED | FI_SOURCE | FI_SOURCE_ERR),
	DIRECT(caps, FI_RMA), DIRECT(caps, FI_MSG | FI_SEND), DIRECT(caps, FI_RMA | FI_READ),
	DIRECT(caps, FI_ATOMIC), DIRECT(caps, FI_ATOMIC | FI_REMOTE_WRITE), DIRECT(caps, FI_ATOMIC | FI_RMA_EVENT),
	DIRECT(caps, FI_MSG | FI_RMA | FI_DIRECTED_RECV | FI_SOURCE | FI_FENCE),
	DIRECT(caps, FI_MSG | FI_NAMED_RX_CTX), DIRECT(caps, FI_MSG | FI_TRIGGER), DIRECT(caps, FI_MSG | FI_SHARED_AV),
	DOMAIN(caps, FI_SHARED_AV), EP(tx_ctx_cnt, 128), EP(rx_ctx_cnt, 128),
	DIRECT(caps, FI_MSG | FI_LOCAL_COMM), DIRECT(caps, FI_MSG | FI_REMOTE_COMM),
	EP(type, FI_EP_RDM), EP(type, FI_EP_MSG), EP(mem_tag_format, 0xff), EP(protocol_version, 1),
	EP(max_msg_size, INT64_MAX), EP(max_order_raw_size, SIZE_MAX),
	EP(max_order_war_size, 4096), EP(max_order_waw_size, SIZE_MAX), EP(tx_ctx_cnt, 1), EP(rx_ctx_cnt, 1),
	EP(tx_ctx_cnt, FI_SHARED_CONTEXT), EP(rx_ctx_cnt, FI_SHARED_CONTEXT),
	TX(caps, FI_MSG | FI_SEND), TX(op_flags, FI_COMPLETION), TX(op_flags, FI_INJECT | FI_DELIVERY_COMPLETE),
	TX(op_flags, FI_TRANSMIT_COMPLETE), TX(op_flags, FI_INJECT_COMPLETE), TX(msg_order, 0x1ff),
	TX(msg_order, FI_ORDER_RMA_WAW), TX(msg_order, FI_ORDER_ATOMIC_RAR), RX(msg_order, FI_ORDER_ATOMIC_WAW),
	TX(inject_size, 256), TX(inject_size, 8), TX(size, 1024), TX(size, 3),
	TX(iov_limit, 8), TX(rma_iov_limit, 8),
	RX(caps, FI_MSG | FI_RECV), RX(op_flags, FI_COMPLETION), RX(msg_order, FI_ORDER_SAS), RX(size, 1024),
	RX(iov_limit, 8), RX(total_buffered_recv, 1 << 20),
	DOMAIN(threading, FI_THREAD_SAFE), DOMAIN(threading, FI_THREAD_DOMAIN),
	DOMAIN(control_progress, FI_PROGRESS_AUTO),
	DOMAIN(data_progress, FI_PROGRESS_AUTO), DOMAIN(data_progress, FI_PROGRESS_MANUAL),
	DOMAIN(control_progress, FI_PROGRESS_MANUAL), DOMAIN(resource_mgmt, FI_RM_ENABLED), DOMAIN(av_type, FI_AV_MAP),
	DOMAIN(av_type, FI_AV_TABLE), DOMAIN(mr_key_size, 8), DOMAIN(cq_data_size, 8), DOMAIN(cq_cnt, 65536),
	DOMAIN(mr_iov_limit, 8), DOMAIN(mr_cnt, 1 << 21), DOMAIN(max_err_data, 320), DOMAIN(caps, FI_LOCAL_COMM),
	DOMAIN(tclass, FI_TC_BEST_EFFORT), DOMAIN(tclass, FI_TC_DSCP), TX(tclass, FI_TC_DSCP + 63), TX(tclass, FI_TC_NETWORK_CTRL),
};
/* clang-format on */

static void *place(struct fi_info *info, const struct hint *hint)
{
	char *at = (char *)info + hint->outer;

	return hint->direct ? at : *(char **)at + hint->inner;
}

static int ask(const struct hint *hint, struct fi_info **info)
{
	struct want want = { .caps = FI_MSG | FI_RMA };
	struct fi_info *hints = world_hints(&want);

	memcpy(place(hints, hint), &hint->value, hint->size); /* little-endian, as all machines here */
	return world_getinfo(&want, hints, info);
}

Test(fi_getinfo, what_does_not_fit_gives_no_info)
{
	world_need_emu();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct fi_info *info = NULL;
		int err = ask(&refused[i], &info);

		cr_expect(err == -FI_ENODATA, "%s %#llx: %d, expected no info", refused[i].name,
			  (unsigned long long)refused[i].value, err);
		if (!err)
			fi_freeinfo(info);
	}
}

Test(fi_getinfo, what_fits_is_granted)
{
	world_need_emu();
	for (size_t i = 0; i < sizeof(granted) / sizeof(granted[0]); i++) {
		const struct hint *hint = &granted[i];
		struct fi_info *info = NULL;
		uint64_t got = 0;
		int err = ask(hint, &info);

		cr_assert(!err, "%s %#llx: %s", hint->name, (unsigned long long)hint->value, fi_strerror(-err));
		memcpy(&got, place(info, hint), hint->size);
		if (!strstr(hint->name, "caps"))
			cr_expect(got >= hint->value, "%s: asked %#llx, got %#llx", hint->name, (unsigned long long)hint->value,
				  (unsigned long long)got);
		else
			cr_expect(!(hint->value & ~got), "%s: asked %#llx, got %#llx", hint->name, (unsigned long long)hint->value,
				  (unsigned long long)got);
		fi_freeinfo(info);
	}
}

/* A traffic class that the program names for its domain is not lost, nor one for its endpoints; without one there is none. */
Test(fi_getinfo, traffic_classes_are_granted_as_asked)
{
	struct want want = { .caps = FI_MSG };
	struct fi_info *hints = world_hints(&want), *info;

	world_need_emu();
	hints->domain_attr->tclass = FI_TC_BULK_DATA;
	hints->tx_attr->tclass = fi_tc_dscp_set(46);
	RC(0, world_getinfo(&want, hints, &info));
	cr_expect_eq(info->domain_attr->tclass, FI_TC_BULK_DATA);
	cr_expect_eq(fi_tc_dscp_get(info->tx_attr->tclass), 46);
	fi_freeinfo(info);
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_expect(info->domain_attr->tclass == FI_TC_UNSPEC && info->tx_attr->tclass == FI_TC_UNSPEC);
	fi_freeinfo(info);
}

/* As a program that was linked with libfabric 2.5 finds them; one that was linked with an older one gets shorter attributes. */
static void *of_2_5(const char *name)
{
	return dlvsym(RTLD_DEFAULT, name, "FABRIC_1.9");
}

/* max_cntr_value and max_err_cntr_value (2.5): counters have 64 bits. */
Test(fi_getinfo, counters_count_to_the_end)
{
	enum { MAX_CNTR_VALUE = 208 }; /* in fi_domain_attr; the other is behind it */
	int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
		       struct fi_info **) = of_2_5("fi_getinfo");
	struct fi_info *(*dupinfo)(const struct fi_info *) = of_2_5("fi_dupinfo");
	void (*freeinfo)(struct fi_info *) = of_2_5("fi_freeinfo");

	world_need_emu();
	if (!getinfo)
		cr_skip_test("this libfabric does not know the attributes");
	for (uint64_t asked = 0; asked < 2; asked++) {
		struct fi_info *hints = dupinfo(NULL), *info;
		uint64_t *most = (uint64_t *)(void *)((char *)hints->domain_attr + MAX_CNTR_VALUE);

		hints->fabric_attr->prov_name = strdup("emu");
		most[0] = most[1] = asked ? INT32_MAX : 0;
		RC(0, getinfo(FI_VERSION(2, 5), NULL, NULL, 0, hints, &info));
		most = (uint64_t *)(void *)((char *)info->domain_attr + MAX_CNTR_VALUE);
		cr_expect(most[0] == UINT64_MAX && most[1] == UINT64_MAX);
		freeinfo(hints);
		freeinfo(info);
	}
}

/* fi_getinfo(3): primary capabilities only as asked; no modifier means all; LOCAL_COMM and REMOTE_COMM for nothing. */
Test(fi_getinfo, capabilities_are_completed_not_added)
{
	static const struct {
		uint64_t asked, has, lacks;
	} rows[] = {
		{ FI_MSG, FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM, FI_RMA | FI_READ | FI_REMOTE_WRITE },
		{ FI_MSG | FI_SEND, FI_SEND, FI_RECV },
		{ FI_RMA, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, FI_MSG | FI_SEND },
		{ FI_RMA | FI_REMOTE_READ, FI_REMOTE_READ, FI_READ | FI_WRITE | FI_REMOTE_WRITE },
		{ FI_MSG | FI_LOCAL_COMM, FI_LOCAL_COMM, FI_REMOTE_COMM },
		{ FI_MSG, 0, FI_SOURCE | FI_DIRECTED_RECV },
		{ FI_TAGGED, FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM, FI_MSG | FI_RMA | FI_READ },
		{ FI_TAGGED | FI_RECV, FI_RECV, FI_SEND },
		{ FI_ATOMIC, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, FI_RMA | FI_MSG | FI_SEND },
		{ FI_ATOMIC | FI_WRITE, FI_WRITE, FI_READ | FI_REMOTE_WRITE },
		{ 0, FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE | FI_DIRECTED_RECV | FI_FENCE, FI_HMEM },
	};

	world_need_emu();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct want want = { .caps = rows[i].asked };
		struct fi_info *info;

		RC(0, world_getinfo(&want, world_hints(&want), &info));
		cr_expect((info->caps & rows[i].has) == rows[i].has && !(info->caps & rows[i].lacks), "row %zu: %#llx", i,
			  (unsigned long long)info->caps);
		fi_freeinfo(info);
	}
}

Test(fi_getinfo, the_programs_limits_are_kept)
{
	struct want want = { .caps = FI_MSG | FI_RMA };
	struct fi_info *hints, *info;

	world_need_emu();
	hints = world_hints(&want);
	hints->tx_attr->inject_size = 64;
	hints->tx_attr->iov_limit = 2;
	hints->tx_attr->size = 16;
	RC(0, world_getinfo(&want, hints, &info));
	cr_expect(info->tx_attr->inject_size == 64 && info->tx_attr->iov_limit == 2 && info->tx_attr->size == 16);
	cr_expect(info->ep_attr->type == FI_EP_RDM && !strcmp(info->fabric_attr->prov_name, "emu"));
	cr_expect(info->mode == 0 && info->fabric_attr->api_version == FI_VERSION(1, 17));
	fi_freeinfo(info);
}

Test(fi_getinfo, manual_progress_takes_automatic_away)
{
	struct want want = { .caps = FI_MSG };
	struct fi_info *hints, *info;

	world_need_emu();
	setenv("FI_EMU_PROGRESS", "manual", 1);
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	cr_expect(info->domain_attr->data_progress == FI_PROGRESS_MANUAL);
	fi_freeinfo(info);
	hints = world_hints(&want);
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	RC(-FI_ENODATA, world_getinfo(&want, hints, &info));
}

Test(fi_getinfo, a_setting_that_is_none_gives_no_info)
{
	static const char *const names[] = {
		"FI_EMU_PERSONALITY", "FI_EMU_PROGRESS",    "FI_EMU_DIGEST",     "FI_EMU_RETRY_MS",
		"FI_EMU_RETRY_CNT",   "FI_EMU_RNR_RETRY",   "FI_EMU_TIMEOUT_MS", "FI_EMU_UNEXPECTED_BYTES",
		"FI_EMU_LOCAL",       "FI_EMU_PINNED",      "FI_EMU_MR_CACHE",   "FI_EMU_DGRAM_LOSS",
		"FI_EMU_DGRAM_SEED",  "FI_EMU_SECRET_FILE", "FI_EMU_PORTS",      "FI_EMU_ADVERTISE",
	};
	struct want want = { .caps = FI_MSG };
	struct fi_info *info;

	world_need_emu();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		setenv(names[i], "nonsense", 1);
		RC(-FI_ENODATA, world_getinfo(&want, world_hints(&want), &info));
		unsetenv(names[i]);
	}
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	fi_freeinfo(info);
}

/* The bounds of those that are numbers: each is one, and what is beyond is none. */
Test(fi_getinfo, settings_end_where_they_say)
{
	static const struct {
		const char *name, *value;
		int err;
	} cases[] = {
		{ "FI_EMU_TIMEOUT_MS", "999", -FI_ENODATA },
		{ "FI_EMU_TIMEOUT_MS", "1000", 0 },
		{ "FI_EMU_TIMEOUT_MS", "3600000", 0 },
		{ "FI_EMU_TIMEOUT_MS", "3600001", -FI_ENODATA },
		{ "FI_EMU_RETRY_CNT", "0", -FI_ENODATA },
		{ "FI_EMU_RETRY_CNT", "1", 0 },
		{ "FI_EMU_PORTS", "1-65535", 0 },
		{ "FI_EMU_PORTS", "7-7", 0 },
		{ "FI_EMU_PORTS", "0-7", -FI_ENODATA },
		{ "FI_EMU_PORTS", "8-7", -FI_ENODATA },
		{ "FI_EMU_PORTS", "7-65536", -FI_ENODATA },
		{ "FI_EMU_PORTS", "7", -FI_ENODATA },
		{ "FI_EMU_PORTS", "7-8-9", -FI_ENODATA },
		{ "FI_EMU_PORTS", "", -FI_ENODATA },
		{ "FI_EMU_PORTS", "-7", -FI_ENODATA },
		{ "FI_EMU_ADVERTISE", "192.0.2.7", 0 },
		{ "FI_EMU_ADVERTISE", "2001:db8::7", 0 },
		{ "FI_EMU_ADVERTISE", "192.0.2.7:80", -FI_ENODATA },
		{ "FI_EMU_ADVERTISE", "0.0.0.0", -FI_ENODATA },
		{ "FI_EMU_ADVERTISE", "224.0.0.1", -FI_ENODATA },
		{ "FI_EMU_ADVERTISE", "::", -FI_ENODATA },
		{ "FI_EMU_ADVERTISE", "ff02::1", -FI_ENODATA },
		{ "FI_EMU_ADVERTISE", "fe80::1", -FI_ENODATA },
		{ "FI_EMU_RNR_RETRY", "-1", -FI_ENODATA },
		{ "FI_EMU_RNR_RETRY", "0", 0 },
		{ "FI_EMU_RNR_RETRY", "7", 0 },
		{ "FI_EMU_RNR_RETRY", "8", -FI_ENODATA },
		{ "FI_EMU_RETRY_MS", "0", -FI_ENODATA },
		{ "FI_EMU_RETRY_MS", "1", 0 },
	};
	struct want want = { .caps = FI_MSG };

	world_need_emu();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fi_info *info = NULL;
		int err;

		setenv(cases[i].name, cases[i].value, 1);
		err = world_getinfo(&want, world_hints(&want), &info);
		cr_expect_eq(err, cases[i].err, "%s=%s: %d", cases[i].name, cases[i].value, err);
		if (!err)
			fi_freeinfo(info);
		unsetenv(cases[i].name);
	}
}

Test(fi_getinfo, without_hints_all_is_told)
{
	struct fi_info *info, *one;
	bool seen = false;

	world_need_emu();
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info));
	for (one = info; one; one = one->next)
		seen = seen || !strcmp(one->fabric_attr->prov_name, "emu");
	cr_expect(seen);
	fi_freeinfo(info);
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &info));
	fi_freeinfo(info);
}

static void named(uint64_t bits, enum fi_type type, const char *field)
{
	char text[256];

	for (int i = 0; i < 64; i++) {
		uint64_t bit = 1ull << i;

		cr_expect(!(bits & bit) || strncmp(fi_tostr_r(text, sizeof(text), &bit, type), "FI_", 3) == 0,
			  "%s %#llx has no name in this libfabric", field, (unsigned long long)bit);
	}
}

/* No bit is told that the running libfabric has no name for: fi_info would not show it. But for those of fi_getinfo(3) that
 * libfabric 2.1 itself forgot to name. */
Test(fi_getinfo, every_bit_has_a_name)
{
	struct want want = { .api = fi_version(), .mr_mode = 0xffc };
	struct fi_info *info;

	world_need_emu();
	for (int asked = 0; asked < 2; asked++) {
		want.caps = asked ? FI_MSG | FI_RMA | FI_SOURCE | FI_SOURCE_ERR | FI_HMEM : 0;
		RC(0, world_getinfo(&want, world_hints(&want), &info));
		named((info->caps | info->tx_attr->caps | info->rx_attr->caps | info->domain_attr->caps) & ~ATTR_CAPS_2_0,
		      FI_TYPE_CAPS, "caps");
		named(info->tx_attr->msg_order | info->rx_attr->msg_order, FI_TYPE_MSG_ORDER, "msg_order");
		named(info->mode, FI_TYPE_MODE, "mode");
		fi_freeinfo(info);
	}
}

static void nic_is(const struct fid_nic *nic, const struct fid_nic *as)
{
	cr_assert(nic != as && nic->device_attr != as->device_attr && nic->link_attr != as->link_attr);
	cr_expect_eq(nic->fid.fclass, FI_CLASS_NIC);
	cr_expect_str_eq(nic->device_attr->name, as->device_attr->name);
	cr_expect_str_eq(nic->device_attr->device_id, as->device_attr->device_id);
	cr_expect_str_eq(nic->device_attr->device_version, as->device_attr->device_version);
	cr_expect_str_eq(nic->device_attr->vendor_id, as->device_attr->vendor_id);
	cr_expect_str_eq(nic->device_attr->driver, as->device_attr->driver);
	cr_expect_str_eq(nic->device_attr->firmware, as->device_attr->firmware);
	cr_expect_eq(nic->bus_attr->bus_type, as->bus_attr->bus_type);
	cr_expect_str_eq(nic->link_attr->address, as->link_attr->address);
	cr_expect(nic->link_attr->mtu == as->link_attr->mtu && nic->link_attr->speed == as->link_attr->speed);
	cr_expect_eq(nic->link_attr->state, as->link_attr->state);
	cr_expect_str_eq(nic->link_attr->network_type, as->link_attr->network_type);
}

/* Each info has a NIC that is its own, as plug-ins read it: of the info's interface and address; a copy lives on by itself. */
Test(fi_getinfo, each_info_has_a_nic)
{
	struct want want = { .caps = FI_MSG | FI_RMA };
	char host[INET6_ADDRSTRLEN], text[8192];
	struct fi_info *info, *copy;

	world_need_emu();
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	for (const struct fi_info *one = info; one; one = one->next) {
		const struct sockaddr_storage *from = one->src_addr;
		const void *addr = from->ss_family == AF_INET ? (const void *)&((const struct sockaddr_in *)from)->sin_addr
							      : (const void *)&((const struct sockaddr_in6 *)from)->sin6_addr;

		cr_assert(one->nic);
		cr_expect_str_eq(one->nic->device_attr->name, one->domain_attr->name);
		cr_expect_str_eq(one->nic->device_attr->driver, "emu");
		cr_expect_str_eq(one->nic->link_attr->address, inet_ntop(from->ss_family, addr, host, sizeof(host)));
		cr_expect_eq(one->nic->link_attr->state, FI_LINK_UP);
		cr_expect_gt(one->nic->link_attr->mtu, 0);
		cr_expect_eq(one->nic->bus_attr->bus_type, FI_BUS_UNKNOWN);
	}
	copy = fi_dupinfo(info);
	cr_assert(copy && copy->nic);
	nic_is(copy->nic, info->nic);
	fi_freeinfo(info);
	info = fi_dupinfo(copy);
	cr_assert(info && info->nic);
	nic_is(info->nic, copy->nic);
	fi_tostr_r(text, sizeof(text), info, FI_TYPE_INFO);
	cr_expect(strstr(text, "vendor_id: emu\n") && strstr(text, "state: FI_LINK_UP\n"), "%s", text);
	fi_freeinfo(copy);
	RC(-FI_ENOSYS, fi_control(&info->nic->fid, FI_GETWAIT, &copy));
	fi_freeinfo(info);
}

/* What has no room is cut off, and ends with its terminator all the same. */
Test(fi_getinfo, a_nic_in_words)
{
	struct want want = { .caps = FI_MSG };
	char text[64];
	struct fi_info *info;

	world_need_emu();
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	for (size_t size = 1; size < sizeof(text); size++) {
		memset(text, 'x', sizeof(text));
		text[0] = 0;
		RC(0, info->nic->fid.ops->tostr(&info->nic->fid, text, size));
		cr_expect_eq(strnlen(text, size), size - 1);
		cr_expect_eq(text[size], 'x');
	}
	fi_freeinfo(info);
}
