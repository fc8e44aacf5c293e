/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_getinfo() of the provider: what is asked of libfabric's, and how its answer looks; both personalities. */
#include <kfabric.h>
#include <kfi_cxi_ext.h>
#include <kfi_errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/provider/fi_kernel.h"
#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_provider.h"
#include "tests/kfi/kpair.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#define VERSION KFI_VERSION(1, 7)

static struct kfi_info *hints_of(uint64_t caps)
{
	struct kfi_info *hints = kfi_allocinfo();

	cr_assert(hints);
	hints->caps = caps;
	hints->ep_attr->type = KFI_EP_RDM;
	return hints;
}

static void use(const char *personality)
{
	setenv("FI_EMU_PERSONALITY", personality, 1);
	RC(0, kemu_register());
}

Test(kfi_translate, capabilities_by_their_meaning)
{
	uint64_t fi;

	cr_expect(kemu_fi_caps(KFI_MSG | KFI_TAGGED_RMA, &fi));
	cr_expect_eq(fi, FI_MSG | EMU_FI_TAGGED_RMA);
	cr_expect_eq(kemu_kfi_caps(FI_MSG | EMU_FI_TAGGED_RMA | EMU_FI_REGION_EVENTS | FI_HMEM | FI_COLLECTIVE),
		     KFI_MSG | KFI_TAGGED_RMA, "libfabric's own are left out");
	cr_expect_not(kemu_fi_caps(KFI_TAGGED_MULTI_RECV, &fi), "FI_MATCH_COMPLETE has its bit");
	cr_expect_not(kemu_fi_caps(1ULL << 60, &fi));
}

Test(kfi_translate, each_capability_goes_both_ways)
{
	static const uint64_t caps[] = {
		KFI_MSG,         KFI_RMA,       KFI_TAGGED,    KFI_ATOMIC,   KFI_MULTICAST,    KFI_TAGGED_RMA,
		KFI_READ,        KFI_WRITE,     KFI_RECV,      KFI_SEND,     KFI_REMOTE_READ,  KFI_REMOTE_WRITE,
		KFI_MULTI_RECV,  KFI_TRIGGER,   KFI_FENCE,     KFI_RMA_PMEM, KFI_SOURCE_ERR,   KFI_LOCAL_COMM,
		KFI_REMOTE_COMM, KFI_SHARED_AV, KFI_RMA_EVENT, KFI_SOURCE,   KFI_NAMED_RX_CTX, KFI_DIRECTED_RECV,
	};
	uint64_t fi;

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		cr_expect(kemu_fi_caps(caps[i], &fi), "%#llx", (unsigned long long)caps[i]);
		cr_expect_eq(kemu_kfi_caps(fi), caps[i], "%#llx", (unsigned long long)caps[i]);
	}
}

Test(kfi_translate, each_mr_mode_goes_both_ways)
{
	static const int modes[][2] = {
		{ KFI_MR_LOCAL, FI_MR_LOCAL },         { KFI_MR_RAW, FI_MR_RAW },
		{ KFI_MR_VIRT_ADDR, FI_MR_VIRT_ADDR }, { KFI_MR_PROV_KEY, FI_MR_PROV_KEY },
		{ KFI_MR_RMA_EVENT, FI_MR_RMA_EVENT }, { KFI_MR_ENDPOINT, FI_MR_ENDPOINT },
	};
	int fi;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		cr_expect(kemu_fi_mr_mode(modes[i][0], &fi));
		cr_expect_eq(fi, modes[i][1]);
		cr_expect_eq(kemu_kfi_mr_mode(modes[i][1]), modes[i][0]);
	}
	cr_expect_not(kemu_fi_mr_mode(1 << 7, &fi));
	cr_expect_eq(kemu_kfi_mr_mode(FI_MR_ALLOCATED | FI_MR_MMU_NOTIFY), 0, "kfabric does not have them");
}

/* Lustre's kfilnd compares these, each as a whole. */
Test(kfi_translate, flags_of_completions)
{
	cr_expect_eq(kemu_kfi_cq_flags(FI_MSG | FI_RECV | FI_MULTI_RECV), KFI_MSG | KFI_RECV | KFI_MULTI_RECV);
	cr_expect_eq(kemu_kfi_cq_flags(FI_MSG | FI_SEND | FI_COMPLETION | FI_TRANSMIT_COMPLETE), KFI_MSG | KFI_SEND);
	cr_expect_eq(kemu_kfi_cq_flags(FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA), KFI_TAGGED | KFI_RECV | KFI_REMOTE_CQ_DATA);
	cr_expect_eq(kemu_kfi_cq_flags(FI_RMA | FI_REMOTE_WRITE), KFI_RMA | KFI_REMOTE_WRITE);
	cr_expect_eq(kemu_kfi_cq_flags(FI_RMA | FI_WRITE), KFI_RMA | KFI_WRITE);
	cr_expect_eq(kemu_kfi_cq_flags(FI_TAGGED | FI_RMA | FI_READ), KFI_TAGGED | KFI_RMA | KFI_READ | KFI_SEND);
	cr_expect_eq(kemu_kfi_cq_flags(FI_TAGGED | FI_RMA | FI_WRITE), KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_SEND);
	cr_expect_eq(kemu_kfi_cq_flags(FI_TAGGED | FI_RMA | FI_RECV | FI_REMOTE_READ), KFI_TAGGED | KFI_RMA | KFI_READ | KFI_RECV);
	cr_expect_eq(kemu_kfi_cq_flags(FI_TAGGED | FI_RMA | FI_RECV | FI_REMOTE_WRITE),
		     KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_RECV);
}

Test(kfi_translate, flags_of_calls)
{
	uint64_t fi;

	cr_expect(kemu_fi_flags(KFI_TAGGED | KFI_MORE | KFI_COMPLETION, &fi));
	cr_expect_eq(fi, FI_TAGGED | FI_MORE | FI_COMPLETION);
	cr_expect_not(kemu_fi_flags(KFI_TAGGED_RMA, &fi));
	cr_expect_not(kemu_fi_flags(1ULL << 40, &fi));
}

Test(kfi_translate, an_answer_of_kfi)
{
	struct kfi_info *hints = hints_of(KFI_MSG | KFI_RMA), *info = NULL;

	use("kfi");
	hints->domain_attr->mr_mode = KFI_MR_ENDPOINT | KFI_MR_PROV_KEY;
	RC(0, kfi_getinfo(VERSION, "127.0.0.1", "4711", KFI_SOURCE, hints, &info));
	cr_expect_str_eq(info->fabric_attr->prov_name, "emu");
	cr_expect_eq(info->fabric_attr->api_version, VERSION);
	cr_expect_eq(info->domain_attr->mr_mode, KFI_MR_ENDPOINT | KFI_MR_PROV_KEY);
	cr_expect_eq(info->domain_attr->mr_iov_limit, 256);
	cr_expect_eq(info->tx_attr->iov_limit, 256);
	cr_expect_eq(info->rx_attr->iov_limit, 256);
	cr_expect_eq(info->addr_format, KFI_SOCKADDR_IN);
	cr_expect_eq(ntohs(((struct sockaddr_in *)info->src_addr)->sin_port), 4711);
	cr_expect_eq(info->tx_attr->msg_order & ~(uint64_t)KFI_ORDER_STRICT, 0, "orders that kfabric does not have");
	cr_expect_eq(info->caps & (KFI_MSG | KFI_RMA | KFI_TAGGED), KFI_MSG | KFI_RMA);
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
	RC(0, kemu_unregister());
}

Test(kfi_translate, without_hints_all_of_mr_mode_is_offered)
{
	struct kfi_info *hints = hints_of(KFI_MSG | KFI_RMA), *info = NULL;

	use("kfi");
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, NULL, &info));
	cr_expect(info->domain_attr->mr_mode & KFI_MR_ENDPOINT);
	cr_expect(info->domain_attr->mr_mode & KFI_MR_VIRT_ADDR);
	kfi_freeinfo(info);
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	cr_expect_eq(info->domain_attr->mr_mode, 0, "hints with a domain_attr say what is offered");
	kfi_freeinfo(info);
	kfree(hints->domain_attr->name);
	kfree(hints->domain_attr);
	hints->domain_attr = NULL;
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	cr_expect(info->domain_attr->mr_mode & KFI_MR_PROV_KEY);
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
	RC(0, kemu_unregister());
}

/* kfi_mr(3): the mode bit is the page's guide; kfabric's headers have a bit of mr_mode besides. */
Test(kfi_translate, KFI_LOCAL_MR_offers_local_registration)
{
	struct kfi_info *hints = hints_of(KFI_MSG), *info = NULL;

	use("kfi");
	hints->mode = KFI_LOCAL_MR;
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	cr_expect_eq(info->domain_attr->mr_mode, KFI_MR_LOCAL);
	cr_expect(info->mode & KFI_LOCAL_MR);
	cr_expect(info->domain_attr->mode & KFI_LOCAL_MR);
	kfi_freeinfo(info);
	hints->mode = 0;
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	cr_expect_eq(info->domain_attr->mr_mode, 0);
	cr_expect_eq(info->mode & KFI_LOCAL_MR, 0);
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
	RC(0, kemu_unregister());
}

Test(kfi_translate, what_nobody_offers)
{
	struct kfi_info *hints = hints_of(KFI_TAGGED_MULTI_RECV), *info = NULL;

	use("kfi");
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->caps = KFI_MSG;
	hints->domain_attr->mr_mode = 1 << 9;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->domain_attr->mr_mode = 0;
	hints->domain_attr->mr_iov_limit = 257;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->domain_attr->mr_iov_limit = 256;
	hints->addr_format = KFI_ADDR_CXI;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->addr_format = KFI_FORMAT_UNSPEC;
	hints->ep_attr->protocol = KFI_PROTO_CXI;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->ep_attr->protocol = 0;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 1ULL << 40, hints, &info));
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
	RC(0, kemu_unregister());
}

Test(kfi_translate, another_personality_is_refused)
{
	setenv("FI_EMU_PERSONALITY", "strict", 1);
	RC(-KFI_EINVAL, kemu_register());
}

/* The values of prov/cxi: kcxi_prov.h, kcxi_fabric.c, kcxi_domain.c. */
Test(kfi_translate, an_answer_of_kcxi)
{
	struct kfi_info *info = NULL;
	struct kcxi_addr addr;

	use("kcxi");
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, NULL, &info));
	cr_expect_str_eq(info->fabric_attr->prov_name, "kcxi");
	cr_expect_str_eq(info->fabric_attr->name, "cxi/0");
	cr_expect_str_eq(info->domain_attr->name, "cxi0");
	cr_expect_eq(info->ep_attr->type, KFI_EP_RDM);
	cr_expect_eq(info->ep_attr->protocol, KFI_PROTO_CXI);
	cr_expect_eq(info->ep_attr->rx_ctx_cnt, 128);
	cr_expect_eq(info->domain_attr->resource_mgmt, KFI_RM_DISABLED);
	cr_expect_eq(info->rx_attr->total_buffered_recv, 0);
	cr_expect_eq(info->addr_format, KFI_ADDR_CXI);
	cr_expect_eq(info->src_addrlen, sizeof(addr));
	memcpy(&addr, info->src_addr, sizeof(addr));
	cr_expect_eq(addr.pid, KEMU_PID_ANY);
	cr_expect_neq(addr.nic, 0);
	cr_expect_eq(info->domain_attr->mr_mode, KFI_MR_ENDPOINT);
	cr_expect_eq(info->domain_attr->mr_key_size, 7);
	cr_expect_eq(info->domain_attr->mr_cnt, 2048);
	cr_expect_eq(info->domain_attr->mr_iov_limit, 256);
	cr_expect_eq(info->domain_attr->cq_data_size, 0);
	cr_expect_eq(info->domain_attr->cntr_cnt, 0);
	cr_expect_eq(info->tx_attr->inject_size, 0);
	cr_expect_eq(info->tx_attr->msg_order, KFI_ORDER_NONE);
	cr_expect(info->caps & KFI_TAGGED_RMA);
	cr_expect_eq(info->caps & (KFI_ATOMIC | KFI_TRIGGER | KFI_FENCE), 0);
	kfi_freeinfo(info);
	RC(0, kemu_unregister());
}

Test(kfi_translate, what_kcxi_does_not_offer)
{
	struct kfi_info *hints = hints_of(KFI_ATOMIC), *info = NULL;

	use("kcxi");
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->caps = KFI_MSG;
	hints->domain_attr->mr_mode = KFI_MR_VIRT_ADDR;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->domain_attr->mr_mode = 0;
	hints->ep_attr->type = KFI_EP_MSG;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->ep_attr->type = KFI_EP_RDM;
	hints->tx_attr->msg_order = KFI_ORDER_SAS;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->tx_attr->msg_order = 0;
	hints->tx_attr->inject_size = 8;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->tx_attr->inject_size = 0;
	hints->domain_attr->cq_data_size = 8;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->domain_attr->cq_data_size = 0;
	hints->domain_attr->resource_mgmt = KFI_RM_ENABLED;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->domain_attr->resource_mgmt = KFI_RM_DISABLED;
	hints->rx_attr->total_buffered_recv = 1;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->rx_attr->total_buffered_recv = 0;
	hints->addr_format = KFI_SOCKADDR_IN;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	hints->addr_format = KFI_ADDR_CXI;
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
	RC(0, kemu_unregister());
}

/* As kfilnd asks: the own address by node and service. */
Test(kfi_translate, nodes_and_services_of_kcxi)
{
	static const struct {
		const char *node, *service;
		uint32_t nic; /* 0: that of the first interface */
		unsigned int pid;
	} asked[] = {
		{ "127.0.0.1", "7", 0x7f000001, 7 },
		{ "127.0.0.1", NULL, 0x7f000001, KEMU_PID_ANY },
		{ "7f000001", "300", 0x7f000001, 44 },
		{ "cxi0", "0", 0, 0 },
		{ "emu0", "255", 0, 255 },
	};
	struct kemu_interface interface;

	use("kcxi");
	RC(0, kemu_interface_at(0, &interface));
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct kfi_info *hints = hints_of(KFI_MSG), *info = NULL;
		struct kcxi_addr addr;

		RC(0, kfi_getinfo(VERSION, asked[i].node, asked[i].service, KFI_SOURCE, hints, &info));
		memcpy(&addr, info->src_addr, sizeof(addr));
		cr_expect_eq(addr.nic, asked[i].nic ? asked[i].nic : interface.nic, "%zu", i);
		cr_expect_eq(addr.pid, asked[i].pid, "%zu: pid %u", i, (unsigned int)addr.pid);
		kfi_freeinfo(info);
		RC(0, kfi_getinfo(VERSION, asked[i].node, asked[i].service, 0, hints, &info));
		memcpy(&addr, info->dest_addr, sizeof(addr));
		cr_expect_eq(addr.pid, asked[i].service ? asked[i].pid : 0, "%zu: a peer's pid is 0 without a service", i);
		kfi_freeinfo(info);
		kfi_freeinfo(hints);
	}
	RC(0, kemu_unregister());
}

Test(kfi_translate, bad_nodes_and_services_of_kcxi)
{
	static const char *const bad[][2] = {
		{ "cxi99", "1" },     { "cxi", "1" },           { "nobody", "1" },
		{ "127.0.0.1", "x" }, { "127.0.0.1", "70000" }, { "127.0.0.1", "-1" },
	};
	struct kfi_info *info = NULL;

	use("kcxi");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		RC(-KFI_ENODATA, kfi_getinfo(VERSION, bad[i][0], bad[i][1], KFI_SOURCE, NULL, &info));
	RC(0, kemu_unregister());
}

/* HPE's provider (kcxi_getinfo()): KFI_SOURCE without a node means each interface. */
static void without_a_node(const char *personality, const char *service)
{
	struct kfi_info *hints = hints_of(KFI_MSG), *info = NULL, *all = NULL;

	use(personality);
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &all));
	RC(0, kfi_getinfo(VERSION, NULL, service, KFI_SOURCE, hints, &info));
	for (const struct kfi_info *at = info, *same = all; at || same; at = at->next, same = same->next) {
		struct kcxi_addr one, other;

		cr_assert(at && same, "not the same interfaces");
		cr_expect_str_eq(at->domain_attr->name, same->domain_attr->name);
		cr_assert_eq(at->src_addrlen, same->src_addrlen);
		if (!service) {
			cr_expect_arr_eq(at->src_addr, same->src_addr, at->src_addrlen);
			continue;
		}
		memcpy(&one, at->src_addr, sizeof(one));
		memcpy(&other, same->src_addr, sizeof(other));
		cr_expect_eq(one.nic, other.nic);
		cr_expect_eq(one.pid, 9);
	}
	kfi_freeinfo(info);
	kfi_freeinfo(all);
	kfi_freeinfo(hints);
	RC(0, kemu_unregister());
}

Test(kfi_translate, a_source_without_a_node_is_each_interface)
{
	without_a_node("kfi", NULL);
	without_a_node("kcxi", NULL);
	without_a_node("kcxi", "9");
}

/* HPE's provider asks for nothing besides: kcxi_rma_command() looks at no capability. */
Test(kfi_translate, KFI_TAGGED_RMA_is_enough_for_tagged_RMA)
{
	static const uint64_t asked[] = {
		KFI_TAGGED_RMA,
		KFI_TAGGED | KFI_TAGGED_RMA,
		KFI_TAGGED | KFI_TAGGED_RMA | KFI_SEND | KFI_RECV,
		KFI_MSG | KFI_TAGGED_RMA | KFI_READ | KFI_REMOTE_WRITE,
	};
	static const char *const personalities[] = { "kfi", "kcxi" };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(asked); i++) {
		struct kfi_info *hints = hints_of(asked[i / 2]), *info = NULL;
		uint64_t rma;

		use(personalities[i % 2]);
		RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
		cr_expect_eq(info->caps & asked[i / 2], asked[i / 2]);
		rma = info->caps & (KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE);
		cr_expect(rma, "caps %#llx: no access", (unsigned long long)info->caps);
		cr_expect(asked[i / 2] & KFI_READ ? rma == (KFI_READ | KFI_REMOTE_WRITE) : info->caps & KFI_SEND);
		kfi_freeinfo(info);
		kfi_freeinfo(hints);
		RC(0, kemu_unregister());
	}
}

/* kfi_fabric(3), kfi_domain(3) */
static void tells_of_open(const char *personality)
{
	struct kfi_info *hints = hints_of(KFI_MSG), *info = NULL, *again = NULL;
	struct kfid_fabric *fabric, *second;
	struct kfid_domain *domain;

	use(personality);
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info));
	cr_expect_null(info->fabric_attr->fabric);
	cr_expect_null(info->domain_attr->domain);
	RC(0, kfi_fabric(info->fabric_attr, &fabric, NULL));
	RC(0, kfi_fabric(info->fabric_attr, &second, NULL));
	RC(0, kfi_domain(second, info, &domain, NULL));

	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &again));
	cr_expect_eq(again->fabric_attr->fabric, fabric, "the first one that was opened");
	cr_expect_null(again->domain_attr->domain, "it has none");
	kfi_freeinfo(again);

	hints->fabric_attr->fabric = second;
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &again));
	for (const struct kfi_info *at = again; at; at = at->next) {
		cr_expect_str_eq(at->fabric_attr->name, info->fabric_attr->name);
		cr_expect_eq(at->fabric_attr->fabric, second);
		cr_expect_eq(at->domain_attr->domain, strcmp(at->domain_attr->name, info->domain_attr->name) ? NULL : domain);
	}
	kfi_freeinfo(again);

	hints->fabric_attr->fabric = NULL;
	hints->domain_attr->domain = domain;
	RC(0, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &again));
	for (const struct kfi_info *at = again; at; at = at->next) {
		cr_expect_str_eq(at->domain_attr->name, info->domain_attr->name);
		cr_expect_eq(at->fabric_attr->fabric, second);
		cr_expect_eq(at->domain_attr->domain, domain);
	}
	hints->fabric_attr->fabric = fabric;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info)); /* the domain is in the other one */

	RC(0, kfi_close(&domain->fid));
	RC(0, kfi_close(&second->fid));
	RC(0, kfi_close(&fabric->fid));
	hints->domain_attr->domain = NULL;
	RC(-KFI_ENODATA, kfi_getinfo(VERSION, NULL, NULL, 0, hints, &info)); /* it is closed */
	kfi_freeinfo(again);
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
	RC(0, kemu_unregister());
}

Test(kfi_translate, open_objects_are_told)
{
	tells_of_open("kfi");
	tells_of_open("kcxi");
}

Test(kfi_translate, addresses_and_ports)
{
	struct kcxi_addr addr = { .nic = 0xc0000201, .pid = 3 }, back;
	struct sockaddr_in in;

	RC(0, kemu_addr_to_socket(&addr, &in));
	cr_expect_eq(ntohs(in.sin_port), KEMU_PID_BASE + 3 * KEMU_CONTEXTS);
	cr_expect_eq(ntohl(in.sin_addr.s_addr), 0xc0000201);
	RC(0, kemu_addr_from_socket(&in, sizeof(in), &back));
	cr_expect_eq(back.nic, addr.nic);
	cr_expect_eq(back.pid, 3);
	in.sin_port = htons(KEMU_PID_BASE + 1);
	RC(-KFI_EINVAL, kemu_addr_from_socket(&in, sizeof(in), &back));
	in.sin_port = htons(80);
	RC(-KFI_EINVAL, kemu_addr_from_socket(&in, sizeof(in), &back));
	in.sin_port = htons(KEMU_PID_BASE + KEMU_PIDS * KEMU_PID_PORTS);
	RC(-KFI_EINVAL, kemu_addr_from_socket(&in, sizeof(in), &back));
	RC(-KFI_EINVAL, kemu_addr_from_socket(&in, sizeof(in) - 1, &back));
	addr.pid = KEMU_PIDS;
	RC(-KFI_EINVAL, kemu_addr_to_socket(&addr, &in));
}
