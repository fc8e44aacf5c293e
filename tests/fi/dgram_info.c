/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram_info.c - FI_EP_DGRAM as fi_getinfo(3) and fi_endpoint(3) show it: what is offered, what is refused, what may be
 * opened. */
#include "tests/fi/world.h"

#include <stdlib.h>
#include <string.h>

enum { MTU = 1388 };

static struct fi_info *dgram_hints(uint64_t caps)
{
	return world_hints(&(struct want){ .caps = caps, .type = FI_EP_DGRAM, .mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED });
}

static int ask(uint32_t api, struct fi_info *hints, struct fi_info **info)
{
	int err = fi_getinfo(api, NULL, NULL, 0, hints, info);

	fi_freeinfo(hints);
	return err;
}

/* fi_endpoint(3): "Message boundaries are maintained, but the maximum message size may be limited to the fabric MTU." */
static void check_attributes(const struct fi_info *info, bool strict)
{
	cr_expect(info->ep_attr->type == FI_EP_DGRAM && info->ep_attr->max_msg_size == MTU);
	cr_expect(info->ep_attr->protocol != FI_PROTO_UDP && info->ep_attr->protocol_version == 1);
	cr_expect(!info->ep_attr->msg_prefix_size && !info->ep_attr->mem_tag_format);
	cr_expect(!info->ep_attr->max_order_raw_size && !info->ep_attr->max_order_war_size && !info->ep_attr->max_order_waw_size);
	cr_expect(info->ep_attr->tx_ctx_cnt == 1 && info->ep_attr->rx_ctx_cnt == 1);
	cr_expect(info->domain_attr->max_ep_tx_ctx == 1 && info->domain_attr->max_ep_rx_ctx == 1);
	cr_expect(!info->tx_attr->msg_order && !info->rx_attr->msg_order && !info->tx_attr->comp_order);
	cr_expect(!info->tx_attr->rma_iov_limit && !info->rx_attr->total_buffered_recv);
	cr_expect(info->tx_attr->inject_size == 256 && info->tx_attr->iov_limit == 8 && info->rx_attr->iov_limit == 8);
	cr_expect(!(info->mode & FI_MSG_PREFIX));
	cr_expect_eq(info->domain_attr->mr_mode, strict ? FI_MR_LOCAL | FI_MR_ALLOCATED : 0);
}

Test(fi_dgram_info, in_every_version_and_personality)
{
	static const uint32_t apis[] = {
		FI_VERSION(1, 8),  FI_VERSION(1, 11), FI_VERSION(1, 17), FI_VERSION(1, 20),
		FI_VERSION(1, 22), FI_VERSION(2, 0),  FI_VERSION(2, 1),
	};
	static const char *const personalities[] = { "strict", "lax" };
	struct fi_info *info;

	world_need_emu();
	for (int p = 0; p < 2; p++) {
		setenv("FI_EMU_PERSONALITY", personalities[p], 1);
		for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]) && world_has(apis[i]); i++) {
			RC(0, ask(apis[i], dgram_hints(0), &info));
			check_attributes(info, p == 0);
			fi_freeinfo(info);
		}
	}
}

/* fi_getinfo(3): each that is asked for is granted, and by none of these is another type of endpoint meant. */
Test(fi_dgram_info, capabilities)
{
	static const uint64_t granted[] = {
		FI_MSG,
		FI_MSG | FI_SEND,
		FI_MSG | FI_RECV,
		FI_MSG | FI_MULTI_RECV,
		FI_MSG | FI_SOURCE,
		FI_MSG | FI_SOURCE | FI_SOURCE_ERR,
		FI_MSG | FI_DIRECTED_RECV,
		FI_MSG | FI_TRIGGER,
		FI_MSG | FI_FENCE,
		FI_MSG | FI_SHARED_AV,
		FI_MSG | FI_HMEM,
		FI_MSG | FI_LOCAL_COMM,
		FI_MSG | FI_REMOTE_COMM,
	};
	static const uint64_t refused[] = {
		FI_TAGGED,
		FI_RMA,
		FI_ATOMIC,
		FI_MSG | FI_TAGGED,
		FI_MSG | FI_RMA,
		FI_MSG | FI_READ,
		FI_MSG | FI_RMA_EVENT,
		FI_MSG | FI_RMA_PMEM,
		FI_MSG | FI_NAMED_RX_CTX,
		FI_MSG | FI_MULTICAST,
		FI_MSG | FI_COLLECTIVE,
		FI_MSG | VARIABLE_MSG,
		FI_MSG | FI_SOURCE_ERR,
	};
	struct fi_info *info;

	world_need_emu();
	for (size_t i = 0; i < sizeof(granted) / sizeof(granted[0]); i++) {
		RC(0, ask(FI_VERSION(1, 17), dgram_hints(granted[i]), &info));
		cr_expect(!(granted[i] & ~info->caps), "caps %#llx", (unsigned long long)granted[i]);
		cr_expect(!(info->caps & (FI_TAGGED | FI_RMA | FI_ATOMIC | FI_READ | FI_REMOTE_WRITE)));
		fi_freeinfo(info);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		int err = ask(FI_VERSION(1, 17), dgram_hints(refused[i]), &info);

		cr_expect_eq(err, -FI_ENODATA, "caps %#llx: %d", (unsigned long long)refused[i], err);
	}
	RC(0, ask(FI_VERSION(1, 17), dgram_hints(0), &info));
	cr_expect((info->caps & (FI_MSG | FI_SEND | FI_RECV | FI_SOURCE)) == (FI_MSG | FI_SEND | FI_RECV | FI_SOURCE));
	fi_freeinfo(info);
}

/* One hint that asks for more than there is, and one that does not. */
static void one_hint(struct fi_info *hints, int which, bool fits)
{
	switch (which) {
	case 0:
		hints->ep_attr->max_msg_size = fits ? MTU : MTU + 1;
		break;
	case 1:
		hints->tx_attr->msg_order = fits ? 0 : FI_ORDER_SAS;
		break;
	case 2:
		hints->rx_attr->msg_order = fits ? 0 : FI_ORDER_SAS;
		break;
	case 3:
		hints->rx_attr->total_buffered_recv = fits ? 0 : 1;
		break;
	case 4:
		hints->ep_attr->tx_ctx_cnt = fits ? FI_SHARED_CONTEXT : 2;
		break;
	case 5:
		hints->ep_attr->rx_ctx_cnt = fits ? FI_SHARED_CONTEXT : 2;
		break;
	case 6:
		hints->ep_attr->max_order_waw_size = fits ? 0 : 1;
		break;
	case 7:
		hints->ep_attr->max_order_raw_size = fits ? 0 : SIZE_MAX;
		break;
	/* fi_cq(3) of FI_DELIVERY_COMPLETE: "This completion mode applies only to reliable endpoints." */
	case 8:
		hints->tx_attr->op_flags = fits ? FI_TRANSMIT_COMPLETE : FI_DELIVERY_COMPLETE;
		break;
	case 9:
		hints->tx_attr->op_flags = fits ? FI_INJECT_COMPLETE | FI_COMPLETION : FI_COMMIT_COMPLETE;
		break;
	case 10:
		hints->ep_attr->msg_prefix_size = fits ? 0 : 8;
		break;
	case 11:
		hints->tx_attr->inject_size = fits ? 256 : 257;
		break;
	case 12:
		hints->domain_attr->max_ep_tx_ctx = fits ? 1 : 2;
		break;
	case 13:
		hints->tx_attr->rma_iov_limit = fits ? 0 : 1;
		break;
	default:
		hints->ep_attr->protocol = fits ? FI_PROTO_UNSPEC : FI_PROTO_UDP;
	}
}

Test(fi_dgram_info, hints)
{
	struct fi_info *hints, *info;

	world_need_emu();
	for (int which = 0; which <= 14; which++) {
		hints = dgram_hints(FI_MSG);
		one_hint(hints, which, true);
		cr_assert_eq(ask(FI_VERSION(1, 17), hints, &info), 0, "hint %d", which);
		fi_freeinfo(info);
		hints = dgram_hints(FI_MSG);
		one_hint(hints, which, false);
		cr_assert_eq(ask(FI_VERSION(1, 17), hints, &info), -FI_ENODATA, "hint %d", which);
	}
}

/* Both families, and by name. */
Test(fi_dgram_info, addresses)
{
	struct fi_info *hints = dgram_hints(FI_MSG), *info;

	world_need_emu();
	RC(0, fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", "4711", FI_SOURCE, hints, &info));
	cr_assert(info->addr_format == FI_SOCKADDR_IN && info->src_addr && !info->dest_addr);
	fi_freeinfo(info);
	RC(0, fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", "4711", 0, hints, &info));
	cr_assert(info->src_addr && info->dest_addr && info->ep_attr->type == FI_EP_DGRAM);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* The info is the program's by now: fi_endpoint(3) checks it again. */
Test(fi_dgram_info, what_cannot_be_opened)
{
	struct want want = { .caps = FI_MSG, .type = FI_EP_DGRAM };
	struct fid_pep *pep;
	struct world world;
	struct fid_ep *ep;

	world_open(&world, &want);
	world.info->caps = FI_MSG | FI_TAGGED;
	RC(-FI_EINVAL, fi_endpoint(world.domain, world.info, &ep, NULL));
	world.info->caps = FI_MSG | FI_RMA;
	RC(-FI_EINVAL, fi_endpoint(world.domain, world.info, &ep, NULL));
	world.info->caps = FI_MSG;
	world.info->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	RC(-FI_EINVAL, fi_endpoint(world.domain, world.info, &ep, NULL));
	world.info->tx_attr->op_flags = 0;
	world.info->tx_attr->msg_order = FI_ORDER_SAS;
	RC(-FI_EINVAL, fi_endpoint(world.domain, world.info, &ep, NULL));
	world.info->tx_attr->msg_order = 0;
	world.info->ep_attr->tx_ctx_cnt = 2;
	RC(-FI_EINVAL, fi_endpoint(world.domain, world.info, &ep, NULL));
	RC(-FI_EINVAL, fi_scalable_ep(world.domain, world.info, &ep, NULL));
	world.info->ep_attr->tx_ctx_cnt = 1;
	RC(-FI_EINVAL, fi_passive_ep(world.fabric, world.info, &pep, NULL));
	world.info->ep_attr->type = EP_SOCK_DGRAM;
	RC(-FI_EINVAL, fi_endpoint(world.domain, world.info, &ep, NULL));
	world.info->ep_attr->type = FI_EP_DGRAM;
	RC(0, fi_endpoint(world.domain, world.info, &ep, NULL));
	RC(-FI_ENOAV, fi_enable(ep));
	RC(0, fi_ep_bind(ep, &world.av->fid, 0));
	RC(-FI_ENOCQ, fi_enable(ep));
	RC(0, fi_close(&ep->fid));
	world_close(&world);
}

/* FI_EMU_DGRAM_LOSS: a decimal fraction, in every locale. */
Test(fi_dgram_info, rates)
{
	static const struct {
		const char *text;
		bool good;
	} rates[] = {
		{ "0", true },    { "1", true },     { "0.25", true },  { "1.000", true }, { "0.0000000001", true },
		{ "0.", false },  { "1.1", false },  { "2", false },    { "-0.1", false }, { ".5", false },
		{ "0,5", false }, { "0.5x", false }, { "1e-3", false }, { "", false },
	};
	struct fi_info *info;

	world_need_emu();
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		int err;

		setenv("FI_EMU_DGRAM_LOSS", rates[i].text, 1);
		err = ask(FI_VERSION(1, 17), dgram_hints(FI_MSG), &info);
		cr_expect_eq(err, rates[i].good ? 0 : -FI_ENODATA, "\"%s\": %d", rates[i].text, err);
		if (!err)
			fi_freeinfo(info);
	}
}
