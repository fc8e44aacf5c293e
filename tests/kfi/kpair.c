/* SPDX-License-Identifier: BSD-2-Clause */
/* kpair.c - see kpair.h. */
#include "tests/kfi/kpair.h"

#include <kfi_cm.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/provider/kemu_provider.h"

enum { RX_BITS = 2, NAME_BYTES = 64, GUARD_S = 60 };

static bool is_cxi(const struct kpair_wish *wish)
{
	return wish->personality && !strcmp(wish->personality, "kcxi");
}

static void end_open_queues(struct kend *end, const struct kpair_wish *wish)
{
	struct kfi_cq_attr cq = { .format = KFI_CQ_FORMAT_TAGGED, .size = 1024 };
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = RX_BITS };
	struct kfi_eq_attr eq = { .size = 64 };

	RC(0, kfi_fabric(end->info->fabric_attr, &end->fabric, NULL));
	RC(0, kfi_domain(end->fabric, end->info, &end->domain, NULL));
	if (wish->async) {
		RC(0, kfi_eq_open(end->fabric, &eq, &end->eq, NULL, NULL));
		RC(0, kfi_domain_bind(end->domain, &end->eq->fid, KFI_REG_MR));
	}
	RC(0, kfi_av_open(end->domain, &av, &end->av, NULL));
	RC(0, kfi_cq_open(end->domain, &cq, &end->cq, NULL, NULL));
}

static void end_open_contexts(struct kend *end, uint64_t selective)
{
	RC(0, kfi_scalable_ep(end->domain, end->info, &end->sep, NULL));
	RC(0, kfi_scalable_ep_bind(end->sep, &end->av->fid, 0));
	RC(0, kfi_tx_context(end->sep, 0, NULL, &end->tx, NULL));
	RC(0, kfi_ep_bind(end->tx, &end->cq->fid, KFI_TRANSMIT | selective));
	RC(0, kfi_enable(end->tx));
	RC(0, kfi_rx_context(end->sep, 0, NULL, &end->rx, NULL));
	RC(0, kfi_ep_bind(end->rx, &end->cq->fid, KFI_RECV));
	RC(0, kfi_enable(end->rx));
	RC(0, kfi_enable(end->sep));
}

static void end_open(struct kend *end, const struct kpair_wish *wish)
{
	struct kfi_info *hints = kfi_allocinfo();
	uint64_t selective = wish->selective ? KFI_SELECTIVE_COMPLETION : 0;

	memset(end, 0, sizeof(*end));
	hints->caps = KFI_MSG | KFI_TAGGED | KFI_RMA | wish->caps;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->domain_attr->mr_mode = wish->mr_mode;
	RC(0, kfi_getinfo(KFI_VERSION(1, 0), NULL, NULL, 0, hints, &end->info));
	kfi_freeinfo(hints);
	end_open_queues(end, wish);
	if (is_cxi(wish)) {
		end_open_contexts(end, selective);
		return;
	}
	RC(0, kfi_endpoint(end->domain, end->info, &end->tx, NULL));
	end->rx = end->tx;
	RC(0, kfi_ep_bind(end->tx, &end->av->fid, 0));
	RC(0, kfi_ep_bind(end->tx, &end->cq->fid, KFI_TRANSMIT | selective));
	RC(0, kfi_ep_bind(end->tx, &end->cq->fid, KFI_RECV));
	RC(0, kfi_enable(end->tx));
}

static void end_know(struct kend *end, const struct kend *other)
{
	uint8_t name[NAME_BYTES];
	size_t length = sizeof(name);

	RC(0, kfi_getname(other->sep ? &other->sep->fid : &other->tx->fid, name, &length));
	RC(1, kfi_av_insert(end->av, name, 1, &end->peer, 0, NULL));
}

static void end_close(struct kend *end)
{
	if (end->rx != end->tx)
		RC(0, kfi_close(&end->rx->fid));
	RC(0, kfi_close(&end->tx->fid));
	if (end->sep)
		RC(0, kfi_close(&end->sep->fid));
	RC(0, kfi_close(&end->cq->fid));
	RC(0, kfi_close(&end->av->fid));
	RC(0, kfi_close(&end->domain->fid));
	if (end->eq)
		RC(0, kfi_close(&end->eq->fid));
	RC(0, kfi_close(&end->fabric->fid));
	kfi_freeinfo(end->info);
}

void kpair_open(struct kpair *pair, const struct kpair_wish *wish)
{
	setenv("FI_EMU_PERSONALITY", wish->personality ? wish->personality : "kfi", 1);
	RC(0, kemu_register());
	pair->wish = wish;
	end_open(&pair->a, wish);
	end_open(&pair->b, wish);
	end_know(&pair->a, &pair->b);
	end_know(&pair->b, &pair->a);
}

void kpair_close(struct kpair *pair)
{
	end_close(&pair->a);
	end_close(&pair->b);
	RC(0, kemu_unregister());
}

static struct kpair_completion read_error(const struct kend *end)
{
	struct kfi_cq_err_entry error = { 0 };
	struct kpair_completion got = { 0 };

	RC(1, kfi_cq_readerr(end->cq, &error, 0));
	cr_assert_gt(error.err, 0);
	got.entry.op_context = error.op_context;
	got.entry.flags = error.flags;
	got.err = error.err;
	kfi_cq_strerror(end->cq, error.prov_errno, error.err_data, got.text, sizeof(got.text));
	return got;
}

struct kpair_completion kend_next(const struct kend *end)
{
	ktime_t late = ktime_add_ns(ktime_get(), GUARD_S * 1000000000ULL);
	struct kpair_completion got = { 0 };
	ssize_t rc;

	while ((rc = kfi_cq_read(end->cq, &got.entry, 1)) == -KFI_EAGAIN) {
		cr_assert(ktime_before(ktime_get(), late), "no completion");
		usleep_range(1, 10);
	}
	if (rc == -KFI_EAVAIL)
		return read_error(end);
	RC(1, rc);
	return got;
}

struct kfi_cq_tagged_entry kend_done(const struct kend *end, const void *context)
{
	struct kpair_completion got = kend_next(end);

	cr_assert_eq(got.err, 0, "%d: %s", got.err, got.text);
	cr_assert_eq(got.entry.op_context, context, "another context");
	return got.entry;
}

void kend_silent(const struct kend *end)
{
	struct kfi_cq_tagged_entry entry;

	RC(-KFI_EAGAIN, kfi_cq_read(end->cq, &entry, 1));
}

void kend_enable(const struct kend *end, struct kfid_mr *mr)
{
	if (!(end->info->domain_attr->mr_mode & KFI_MR_ENDPOINT))
		return;
	RC(0, kfi_mr_bind(mr, &end->rx->fid, 0));
	RC(0, kfi_mr_enable(mr));
}

struct kfid_mr *kend_region(const struct kend *end, void *buf, size_t len, uint64_t access)
{
	struct kfid_mr *mr;

	RC(0, kfi_mr_reg(end->domain, buf, len, access, 0, kpair_key(), 0, &mr, NULL));
	kend_enable(end, mr);
	return mr;
}

uint64_t kpair_key(void)
{
	static uint64_t key = 1000;

	return key++;
}
