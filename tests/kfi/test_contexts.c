/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts of scalable endpoints: what is bound to them, their flags, and which of a peer's they reach. */
#include "tests/kfi/kpair.h"

#include <kfi_cm.h>
#include <kfi_cxi_ext.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/kfi/provider/kemu_provider.h"

static const struct kpair_wish kcxi = { .personality = "kcxi" };

/* --- completion queues --- */

/* HPE's provider (kcxi_tx_ctx_bind(), kcxi_rx_ctx_bind()), and so its clients: no flag, or both, mean the side of the context. */
static void bind_by(const struct kpair_wish *wish)
{
	static const uint64_t flags[] = { 0, KFI_TRANSMIT | KFI_RECV };
	struct kfid_ep *sep, *tx, *rx, *wrong;
	struct kpair pair;

	kpair_open(&pair, wish);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		RC(0, kfi_scalable_ep(pair.a.domain, pair.a.info, &sep, NULL));
		RC(0, kfi_scalable_ep_bind(sep, &pair.a.av->fid, 0));
		RC(0, kfi_tx_context(sep, 0, NULL, &tx, NULL));
		RC(0, kfi_rx_context(sep, 0, NULL, &rx, NULL));
		RC(0, kfi_ep_bind(tx, &pair.a.cq->fid, flags[i]));
		RC(-KFI_EINVAL, kfi_ep_bind(tx, &pair.a.cq->fid, 0)); /* it has one */
		RC(0, kfi_enable(tx));
		RC(0, kfi_ep_bind(rx, &pair.a.cq->fid, flags[i] | KFI_SELECTIVE_COMPLETION));
		RC(-KFI_EBUSY, kfi_close(&pair.a.cq->fid));
		RC(0, kfi_enable(rx));
		RC(0, kfi_close(&rx->fid));
		RC(0, kfi_close(&tx->fid));
		RC(0, kfi_close(&sep->fid));
	}
	RC(0, kfi_scalable_ep(pair.a.domain, pair.a.info, &sep, NULL));
	RC(0, kfi_scalable_ep_bind(sep, &pair.a.av->fid, 0));
	RC(0, kfi_tx_context(sep, 0, NULL, &wrong, NULL));
	RC(0, kfi_ep_bind(wrong, &pair.a.cq->fid, KFI_RECV)); /* a side that it does not have */
	RC(-KFI_ENOCQ, kfi_enable(wrong));
	RC(0, kfi_close(&wrong->fid));
	RC(0, kfi_close(&sep->fid));
	kpair_close(&pair);
}

Test(kfi_contexts, no_flag_binds_a_queue_to_the_side_of_the_context)
{
	static const struct kpair_wish kfi = { 0 };

	bind_by(&kfi);
}

Test(kfi_contexts, no_flag_binds_a_queue_to_the_side_of_the_context_of_kcxi)
{
	bind_by(&kcxi);
}

/* An endpoint has two sides, and the flags must say which. */
Test(kfi_contexts, an_endpoint_says_which_side)
{
	static const struct kpair_wish kfi = { 0 };
	struct kfid_ep *ep;
	struct kpair pair;

	kpair_open(&pair, &kfi);
	RC(0, kfi_endpoint(pair.a.domain, pair.a.info, &ep, NULL));
	RC(-KFI_EINVAL, kfi_ep_bind(ep, &pair.a.cq->fid, 0));
	RC(0, kfi_close(&ep->fid));
	kpair_close(&pair);
}

/* --- flags: kcxi_tx_ctx_get_op_flags(), kcxi_rx_ctx_get_op_flags() --- */

Test(kfi_contexts, kcxi_tells_flags_without_their_side)
{
	uint64_t flags = KFI_TRANSMIT | KFI_COMPLETION;
	struct kpair pair;

	kpair_open(&pair, &kcxi);
	RC(0, kfi_control(&pair.a.tx->fid, KFI_SETOPSFLAG, &flags));
	flags = KFI_TRANSMIT;
	RC(0, kfi_control(&pair.a.tx->fid, KFI_GETOPSFLAG, &flags));
	cr_expect_eq(flags, KFI_COMPLETION, "%#llx", (unsigned long long)flags);
	flags = KFI_RECV;
	RC(0, kfi_control(&pair.a.rx->fid, KFI_SETOPSFLAG, &flags));
	flags = KFI_RECV;
	RC(0, kfi_control(&pair.a.rx->fid, KFI_GETOPSFLAG, &flags));
	cr_expect_eq(flags, 0, "%#llx", (unsigned long long)flags);
	flags = 0;
	RC(-KFI_EINVAL, kfi_control(&pair.a.rx->fid, KFI_GETOPSFLAG, &flags));
	kpair_close(&pair);
}

/* --- which context is reached: kcxi_sendmsg(), kcxi_rma_command() --- */

enum { RX_BITS = 7, LAST = 127 };

/* A scalable endpoint with one context of each side; its own queue. */
struct side {
	struct kfid_cq *cq;
	struct kfid_ep *sep, *tx, *rx;
};

static struct kfi_info *info_of(uint64_t caps, const char *service, const uint32_t *key)
{
	struct kfi_info *hints = kfi_allocinfo(), *info;

	hints->caps = KFI_MSG | KFI_TAGGED | KFI_RMA | caps;
	if (key) {
		hints->ep_attr->auth_key = kmemdup(key, sizeof(*key), GFP_KERNEL);
		hints->ep_attr->auth_key_size = sizeof(*key);
	}
	RC(0, kfi_getinfo(0, "127.0.0.1", service, KFI_SOURCE, hints, &info));
	kfi_freeinfo(hints);
	return info;
}

static void side_open(struct side *side, struct kfid_domain *domain, struct kfi_info *info, struct kfid_av *av, int index)
{
	struct kfi_cq_attr attr = { .format = KFI_CQ_FORMAT_TAGGED };

	RC(0, kfi_cq_open(domain, &attr, &side->cq, NULL, NULL));
	RC(0, kfi_scalable_ep(domain, info, &side->sep, NULL));
	RC(0, kfi_scalable_ep_bind(side->sep, &av->fid, 0));
	RC(0, kfi_enable(side->sep));
	RC(0, kfi_rx_context(side->sep, index, NULL, &side->rx, NULL));
	RC(0, kfi_ep_bind(side->rx, &side->cq->fid, 0));
	RC(0, kfi_enable(side->rx));
	RC(0, kfi_tx_context(side->sep, index, NULL, &side->tx, NULL));
	RC(0, kfi_ep_bind(side->tx, &side->cq->fid, 0));
	RC(0, kfi_enable(side->tx));
}

static void side_close(struct side *side)
{
	RC(0, kfi_close(&side->tx->fid));
	RC(0, kfi_close(&side->rx->fid));
	RC(0, kfi_close(&side->sep->fid));
	RC(0, kfi_close(&side->cq->fid));
}

struct world {
	struct kfi_info *info;
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	struct kfid_av *av;
};

static void world_open(struct world *world, uint64_t caps, int rx_bits)
{
	struct kfi_av_attr attr = { .rx_ctx_bits = rx_bits };

	setenv("FI_EMU_PERSONALITY", "kcxi", 1);
	RC(0, kemu_register());
	world->info = info_of(caps, NULL, NULL);
	RC(0, kfi_fabric(world->info->fabric_attr, &world->fabric, NULL));
	RC(0, kfi_domain(world->fabric, world->info, &world->domain, NULL));
	RC(0, kfi_av_open(world->domain, &attr, &world->av, NULL));
}

static void world_close(struct world *world)
{
	RC(0, kfi_close(&world->av->fid));
	RC(0, kfi_close(&world->domain->fid));
	RC(0, kfi_close(&world->fabric->fid));
	kfi_freeinfo(world->info);
	RC(0, kemu_unregister());
}

/* A message from one to the other arrives: `peer` reaches it. */
static void reaches(const struct side *from, const struct side *to, kfi_addr_t peer)
{
	const struct kend sender = { .cq = from->cq }, receiver = { .cq = to->cq };
	char out = 'x', in = 0;

	RC(0, kfi_recv(to->rx, &in, 1, NULL, KFI_ADDR_UNSPEC, &in));
	RC(0, kfi_send(from->tx, &out, 1, NULL, peer, &out));
	kend_done(&receiver, &in);
	if (from != to)
		kend_done(&sender, &out);
	cr_expect_eq(in, out);
}

Test(kfi_contexts, a_context_reaches_the_one_with_its_index)
{
	struct kfi_info *one, *other;
	struct side a, b, wrong;
	struct world world;
	kfi_addr_t peer;

	world_open(&world, 0, 0);
	one = info_of(0, "3", NULL);
	other = info_of(0, "4", NULL);
	cr_expect_eq(one->ep_attr->rx_ctx_cnt, LAST + 1);
	side_open(&a, world.domain, one, world.av, LAST);
	side_open(&b, world.domain, other, world.av, LAST);
	RC(0, kfi_rx_context(b.sep, 0, NULL, &wrong.rx, NULL));
	RC(0, kfi_ep_bind(wrong.rx, &b.cq->fid, 0));
	RC(0, kfi_enable(wrong.rx));
	RC(1, kfi_av_insertsvc(world.av, "127.0.0.1", "4", &peer, 0, NULL));
	reaches(&a, &b, peer);
	RC(0, kfi_close(&wrong.rx->fid));
	side_close(&b);
	side_close(&a);
	kfi_freeinfo(other);
	kfi_freeinfo(one);
	world_close(&world);
}

Test(kfi_contexts, a_named_context_is_reached)
{
	struct kcxi_addr addr;
	size_t length = sizeof(addr);
	struct kfi_info *one, *other;
	struct side a, b;
	struct world world;
	kfi_addr_t peer;

	world_open(&world, KFI_NAMED_RX_CTX, RX_BITS);
	one = info_of(KFI_NAMED_RX_CTX, "3", NULL);
	other = info_of(KFI_NAMED_RX_CTX, "4", NULL);
	side_open(&a, world.domain, one, world.av, 0);
	side_open(&b, world.domain, other, world.av, LAST);
	RC(1, kfi_av_insertsvc(world.av, "127.0.0.1", "4", &peer, 0, NULL));
	peer = kfi_rx_addr(peer, LAST, RX_BITS);
	reaches(&a, &b, peer);
	RC(0, kfi_av_lookup(world.av, peer, &addr, &length));
	cr_expect_eq(addr.pid, 4);
	side_close(&b);
	side_close(&a);
	kfi_freeinfo(other);
	kfi_freeinfo(one);
	world_close(&world);
}

/* --- addresses: kcxi_domain_if_alloc() --- */

Test(kfi_contexts, a_pid_has_one_endpoint)
{
	struct kfi_info *info, *any;
	struct side a, b;
	struct kfid_ep *second;
	struct world world;

	world_open(&world, 0, 0);
	info = info_of(0, "5", NULL);
	any = info_of(0, NULL, NULL);
	RC(0, kfi_scalable_ep(world.domain, info, &a.sep, NULL));
	RC(-KFI_EADDRINUSE, kfi_scalable_ep(world.domain, info, &second, NULL));
	RC(0, kfi_close(&a.sep->fid));
	side_open(&a, world.domain, info, world.av, 0);
	side_open(&b, world.domain, any, world.av, 0); /* finds another one */
	side_close(&b);
	side_close(&a);
	kfi_freeinfo(any);
	kfi_freeinfo(info);
	world_close(&world);
}

/* As HPE's test_auth_key.c opens them: a pid is one of its key. */
Test(kfi_contexts, endpoints_of_several_keys_have_the_same_pid)
{
	static const uint32_t keys[] = { 1, 2, 16 };
	struct kfi_info *info[3], *sender;
	struct kcxi_addr name;
	size_t length = sizeof(name);
	struct side side[3], from[3];
	struct world world;
	kfi_addr_t peer;

	world_open(&world, 0, 0);
	RC(1, kfi_av_insertsvc(world.av, "127.0.0.1", "6", &peer, 0, NULL));
	for (int i = 0; i < 3; i++) {
		info[i] = info_of(0, "6", &keys[i]);
		side_open(&side[i], world.domain, info[i], world.av, 0);
		sender = info_of(0, "7", &keys[i]);
		side_open(&from[i], world.domain, sender, world.av, 0);
		kfi_freeinfo(sender);
	}
	for (int i = 0; i < 3; i++) {
		reaches(&from[i], &side[i], peer);
		RC(0, kfi_getname(&side[i].sep->fid, &name, &length));
		cr_expect_eq(name.pid, 6);
		for (int j = 0; j < 3; j++)
			kend_silent(&(struct kend){ .cq = side[j].cq });
	}
	for (int i = 0; i < 3; i++) {
		side_close(&from[i]);
		side_close(&side[i]);
		kfi_freeinfo(info[i]);
	}
	world_close(&world);
}

/* --- what is not ready: kcxi_msg_tx_req_cb(), kcxi_cq_saturated() --- */

Test(kfi_contexts, a_message_without_a_receive_fails)
{
	struct kpair pair;
	char out = 'x', in = 0;

	kpair_open(&pair, &kcxi);
	cr_expect_eq(pair.a.info->domain_attr->resource_mgmt, KFI_RM_DISABLED);
	RC(0, kfi_send(pair.a.tx, &out, 1, NULL, pair.a.peer, &out));
	cr_expect_eq(kend_next(&pair.a).err, EREMOTEIO);
	RC(0, kfi_recv(pair.b.rx, &in, 1, NULL, KFI_ADDR_UNSPEC, &in));
	kend_silent(&pair.b);
	RC(0, kfi_send(pair.a.tx, &out, 1, NULL, pair.a.peer, &out));
	kend_done(&pair.b, &in);
	kend_done(&pair.a, &out);
	kpair_close(&pair);
}

Test(kfi_contexts, a_late_receive_gets_its_message)
{
	struct kpair pair;
	char out = 'x', in = 0;

	setenv("FI_EMU_RNR_RETRY", "7", 1);
	kpair_open(&pair, &kcxi);
	RC(0, kfi_tsend(pair.a.tx, &out, 1, NULL, pair.a.peer, 9, &out));
	kend_silent(&pair.a);
	RC(0, kfi_trecv(pair.b.rx, &in, 1, NULL, KFI_ADDR_UNSPEC, 9, 0, &in));
	kend_done(&pair.b, &in);
	kend_done(&pair.a, &out);
	kpair_close(&pair);
}

/* kcxi_wq_retry_msg(): each operation is tried again for itself, and holds none behind it. */
static void none_is_held(void)
{
	enum { MESSAGES = 4, READY = MESSAGES - 1 };
	struct kfi_rma_iov remote = { .key = 20, .len = 1 };
	char out = 'x', there = 0, in[MESSAGES] = "", here = 'w';
	struct kvec iov = { &here, 1 };
	struct kfi_msg_rma msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .rma_iov = &remote, .rma_iov_count = 1 };
	struct kpair_wish wish = { .personality = "kcxi", .caps = KFI_TAGGED_RMA };
	struct kfid_mr *mr;
	struct kpair pair;

	setenv("FI_EMU_RNR_RETRY", "7", 1);
	kpair_open(&pair, &wish);
	mr = kend_region(&pair.b, &there, 1, KPAIR_REMOTE);
	RC(0, kfi_trecv(pair.b.rx, &in[READY], 1, NULL, KFI_ADDR_UNSPEC, READY, 0, &in[READY]));
	for (uint64_t i = 0; i < MESSAGES; i++)
		RC(0, kfi_tsend(pair.a.tx, &out, 1, NULL, pair.a.peer, i, &in[i]));
	kend_done(&pair.b, &in[READY]);
	kend_done(&pair.a, &in[READY]);
	msg.addr = pair.a.peer;
	msg.context = &msg;
	RC(0, kfi_writemsg(pair.a.tx, &msg, KFI_TAGGED | KFI_COMPLETION));
	RC(0, kfi_write(pair.a.tx, &here, 1, NULL, pair.a.peer, 0, kfi_mr_key(mr), &here));
	kend_done(&pair.a, &here);
	for (int i = READY - 1; i >= 0; i--) { /* the last one first */
		kend_silent(&pair.a);
		RC(0, kfi_trecv(pair.b.rx, &in[i], 1, NULL, KFI_ADDR_UNSPEC, (uint64_t)i, 0, &in[i]));
		kend_done(&pair.b, &in[i]);
		kend_done(&pair.a, &in[i]);
		cr_expect_eq(in[i], 'x');
	}
	RC(0, kfi_trecv(pair.b.rx, &there, 1, NULL, KFI_ADDR_UNSPEC, remote.key, 0, &there));
	kend_done(&pair.b, &there);
	kend_done(&pair.a, &msg);
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}

Test(kfi_contexts, an_operation_without_a_receive_holds_no_other)
{
	none_is_held();
}

Test(kfi_contexts, an_operation_without_a_receive_holds_no_other_in_a_trace)
{
	char folder[] = "/tmp/emu-kfi-trace-XXXXXX", remove[64];

	cr_assert(mkdtemp(folder));
	setenv("FI_EMU_TRACE", folder, 1);
	none_is_held();
	snprintf(remove, sizeof(remove), "rm -r %s", folder);
	cr_assert_eq(system(remove), 0);
}

/* kcxi_cq_entry_alloc(), kcxi_cq_read_event(), kcxi_cq_readerr(): a queue that has lost an entry says so when it is empty. */
Test(kfi_contexts, a_queue_that_overruns_says_so)
{
	enum { KEPT = 4, MESSAGES = 6 };
	char path[] = "/tmp/emu-kfi-plan-XXXXXX", out = 'x', in[MESSAGES + 1];
	struct kfi_cq_err_entry error = { 0 };
	struct kfi_cq_tagged_entry entry;
	int plan = mkstemp(path);
	struct kpair pair;

	cr_assert(plan >= 0 && dprintf(plan, "[few]\nfault = queue\nentries = %d\n", KEPT) > 0);
	setenv("FI_EMU_FAULT", path, 1);
	kpair_open(&pair, &kcxi);
	for (int i = 0; i < MESSAGES; i++) {
		RC(0, kfi_recv(pair.b.rx, &in[i], 1, NULL, KFI_ADDR_UNSPEC, &in[i]));
		RC(0, kfi_send(pair.a.tx, &out, 1, NULL, pair.a.peer, &out));
		kend_done(&pair.a, &out);
	}
	for (int i = 0; i < KEPT; i++)
		kend_done(&pair.b, &in[i]);
	RC(-KFI_EOVERRUN, kfi_cq_read(pair.b.cq, &entry, 1));
	RC(-KFI_EOVERRUN, kfi_cq_readerr(pair.b.cq, &error, 0));
	RC(0, kfi_recv(pair.b.rx, &in[MESSAGES], 1, NULL, KFI_ADDR_UNSPEC, &in[MESSAGES]));
	RC(0, kfi_send(pair.a.tx, &out, 1, NULL, pair.a.peer, &out));
	kend_done(&pair.a, &out);
	kend_done(&pair.b, &in[MESSAGES]);
	RC(-KFI_EOVERRUN, kfi_cq_read(pair.b.cq, &entry, 1));
	RC(-KFI_EAGAIN, kfi_cq_read(pair.a.cq, &entry, 1));
	kpair_close(&pair);
	close(plan);
	unlink(path);
}

Test(kfi_contexts, a_full_queue_takes_no_operation)
{
	enum { ENTRIES = 8, MOST = 100000 };
	struct kfi_cq_attr attr = { .format = KFI_CQ_FORMAT_TAGGED, .size = ENTRIES };
	struct kfid_ep *sep, *tx;
	struct kend end = { 0 };
	struct kfid_mr *mr;
	struct kpair pair;
	char there[8], here;
	int posted = 0;
	long rc = 0;

	kpair_open(&pair, &kcxi);
	mr = kend_region(&pair.b, there, sizeof(there), KPAIR_REMOTE);
	RC(0, kfi_cq_open(pair.a.domain, &attr, &end.cq, NULL, NULL));
	RC(0, kfi_scalable_ep(pair.a.domain, pair.a.info, &sep, NULL));
	RC(0, kfi_scalable_ep_bind(sep, &pair.a.av->fid, 0));
	RC(0, kfi_tx_context(sep, 0, NULL, &tx, NULL));
	RC(0, kfi_ep_bind(tx, &end.cq->fid, 0));
	RC(0, kfi_enable(tx));
	while (!rc && posted < MOST) {
		rc = kfi_read(tx, &here, 1, NULL, pair.a.peer, 0, kfi_mr_key(mr), &here);
		posted += !rc;
	}
	RC(-KFI_EAGAIN, rc);
	cr_expect_geq(posted, ENTRIES);
	while (posted-- > 0)
		kend_done(&end, &here);
	RC(0, kfi_read(tx, &here, 1, NULL, pair.a.peer, 0, kfi_mr_key(mr), &here));
	kend_done(&end, &here);
	RC(0, kfi_close(&tx->fid));
	RC(0, kfi_close(&sep->fid));
	RC(0, kfi_close(&end.cq->fid));
	RC(0, kfi_close(&mr->fid));
	kpair_close(&pair);
}
