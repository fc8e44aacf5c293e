/* SPDX-License-Identifier: BSD-2-Clause */
/* kworld.c - opening, registering, reaching for memory, through kfabric's calls alone. */
#include "tests/rules/kernel/kworld.h"

#include <kfi_cm.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <stdlib.h>

#include "emu/kfi/provider/kemu_provider.h"

enum { RX_BITS = 2, NAME_MAX_BYTES = 64 };

const int kmodes[] = { 0, KFI_MR_VIRT_ADDR, KFI_MR_PROV_KEY, KFI_MR_ENDPOINT, KFI_MR_VIRT_ADDR | KFI_MR_PROV_KEY | KFI_MR_ENDPOINT,
		       -1 };

/* --- sides --- */

static void kside_get_info(struct kside *side, const struct kwish *wish)
{
	struct kfi_info *hints = kfi_allocinfo();

	CHECK(hints, "no memory");
	hints->caps = KFI_MSG | KFI_RMA | wish->caps;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->domain_attr->mr_mode = wish->mr_mode;
	CHECK_RC(0, kfi_getinfo(KFI_VERSION(1, 0), NULL, NULL, 0, hints, &side->info));
	kfi_freeinfo(hints);
}

static void kside_open_queues(struct kside *side, bool async)
{
	struct kfi_cq_attr cq = { .format = KFI_CQ_FORMAT_TAGGED, .size = 256 };
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = RX_BITS };
	struct kfi_eq_attr eq = { .size = 64 };

	CHECK_RC(0, kfi_fabric(side->info->fabric_attr, &side->fabric, NULL));
	CHECK_RC(0, kfi_domain(side->fabric, side->info, &side->domain, NULL));
	if (async) {
		CHECK_RC(0, kfi_eq_open(side->fabric, &eq, &side->eq, NULL, NULL));
		CHECK_RC(0, kfi_domain_bind(side->domain, &side->eq->fid, KFI_REG_MR));
	}
	CHECK_RC(0, kfi_av_open(side->domain, &av, &side->av, NULL));
	CHECK_RC(0, kfi_cq_open(side->domain, &cq, &side->cq, NULL, NULL));
}

static void kside_open_endpoint(struct kside *side)
{
	CHECK_RC(0, kfi_endpoint(side->domain, side->info, &side->ep, NULL));
	CHECK_RC(0, kfi_ep_bind(side->ep, &side->av->fid, 0));
	CHECK_RC(0, kfi_ep_bind(side->ep, &side->cq->fid, KFI_TRANSMIT | KFI_RECV));
	CHECK_RC(0, kfi_enable(side->ep));
}

static void kside_open_contexts(struct kside *side)
{
	CHECK_RC(0, kfi_scalable_ep(side->domain, side->info, &side->sep, NULL));
	CHECK_RC(0, kfi_scalable_ep_bind(side->sep, &side->av->fid, 0));
	CHECK_RC(0, kfi_tx_context(side->sep, 0, NULL, &side->tx, NULL));
	CHECK_RC(0, kfi_ep_bind(side->tx, &side->cq->fid, KFI_TRANSMIT));
	CHECK_RC(0, kfi_enable(side->tx));
	CHECK_RC(0, kfi_rx_context(side->sep, 0, NULL, &side->rx, NULL));
	CHECK_RC(0, kfi_ep_bind(side->rx, &side->cq->fid, KFI_RECV));
	CHECK_RC(0, kfi_enable(side->rx));
	CHECK_RC(0, kfi_enable(side->sep));
}

static void kside_open(struct kside *side, const struct kwish *wish)
{
	memset(side, 0, sizeof(*side));
	kside_get_info(side, wish);
	kside_open_queues(side, wish->async);
	if (wish->personality)
		kside_open_contexts(side);
	else
		kside_open_endpoint(side);
}

/* Each side knows the other by its name. */
static void kside_know(struct kside *side, struct kside *other)
{
	uint8_t name[NAME_MAX_BYTES];
	size_t length = sizeof(name);

	CHECK_RC(0, kfi_getname(other->ep ? &other->ep->fid : &other->sep->fid, name, &length));
	CHECK_RC(1, kfi_av_insert(side->av, name, 1, &side->peer, 0, NULL));
	if (!other->ep)
		side->peer = kfi_rx_addr(side->peer, 0, RX_BITS);
}

static void kside_close(struct kside *side)
{
	struct kfid *const fids[] = {
		side->ep ? &side->ep->fid : NULL,
		side->tx ? &side->tx->fid : NULL,
		side->rx ? &side->rx->fid : NULL,
		side->sep ? &side->sep->fid : NULL,
		&side->cq->fid,
		&side->av->fid,
		&side->domain->fid,
		side->eq ? &side->eq->fid : NULL,
		&side->fabric->fid,
	};

	for (size_t i = 0; i < sizeof(fids) / sizeof(fids[0]); i++)
		if (fids[i])
			CHECK_RC(0, kfi_close(fids[i]));
	kfi_freeinfo(side->info);
}

struct kfid_ep *kside_receiver(const struct kside *side)
{
	return side->ep ? side->ep : side->rx;
}

static void begin(const struct kwish *wish)
{
	setenv("FI_EMU_PERSONALITY", wish->personality ? wish->personality : "kfi", 1);
	CHECK_RC(0, kemu_register());
}

void kworld_open(struct kworld *world, const struct kwish *wish)
{
	begin(wish);
	world->wish = wish;
	kside_open(&world->target, wish);
	kside_open(&world->initiator, wish);
	kside_know(&world->target, &world->initiator);
	kside_know(&world->initiator, &world->target);
}

void kworld_close(struct kworld *world)
{
	kside_close(&world->initiator);
	kside_close(&world->target);
	CHECK_RC(0, kemu_unregister());
}

void keach(void (*test)(struct kworld *world, enum kform form))
{
	static const char *const forms[] = { "kvec", "bio_vec", "scatterlist" };

	for (const int *mode = kmodes; *mode >= 0; mode++) {
		struct kwish wish = { .mr_mode = *mode };
		struct kworld world;

		kworld_open(&world, &wish);
		for (enum kform form = 0; form < KFORMS; form++) {
			check_label("mr_mode %#x, %s", *mode, forms[form]);
			test(&world, form);
		}
		kworld_close(&world);
	}
}

/* --- buffers --- */

void kbuffer_make(struct kbuffer *buffer, unsigned int parts)
{
	struct scatterlist *sg;
	unsigned int i;

	memset(buffer, 0, sizeof(*buffer));
	buffer->parts = parts;
	while (1u << buffer->order < 2 * parts)
		buffer->order++;
	buffer->block = alloc_pages(GFP_KERNEL | __GFP_ZERO, buffer->order);
	CHECK(buffer->block, "no pages");
	CHECK_RC(0, sg_alloc_table(&buffer->table, parts, GFP_KERNEL));
	for_each_sgtable_sg(&buffer->table, sg, i) {
		struct page *page = buffer->block + 2 * i;
		unsigned int offset = 64 * (i + 1), length = 512 + 100 * i;

		buffer->bvec[i] = (struct bio_vec){ .bv_page = page, .bv_offset = offset, .bv_len = length };
		buffer->kvec[i] = (struct kvec){ (char *)page_address(page) + offset, length };
		sg_set_page(sg, page, length, offset);
		buffer->length += length;
	}
	CHECK_RC(0, dma_map_sgtable(NULL, &buffer->table, DMA_BIDIRECTIONAL, 0));
}

void kbuffer_free(struct kbuffer *buffer)
{
	dma_unmap_sgtable(NULL, &buffer->table, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&buffer->table);
	__free_pages(buffer->block, buffer->order);
}

void kbuffer_fill(struct kbuffer *buffer, uint8_t value)
{
	for (unsigned int i = 0; i < buffer->parts; i++)
		memset(buffer->kvec[i].iov_base, value, buffer->kvec[i].iov_len);
}

uint8_t *kbuffer_at(const struct kbuffer *buffer, size_t offset)
{
	unsigned int i = 0;

	while (offset >= buffer->kvec[i].iov_len)
		offset -= buffer->kvec[i++].iov_len;
	return (uint8_t *)buffer->kvec[i].iov_base + offset;
}

/* --- regions --- */

static int register_attr(const struct kside *side, const struct kbuffer *buffer, const struct kask *ask, struct kfid_mr **mr)
{
	static const enum kfi_iov_type types[] = { KFI_KVEC, KFI_BVEC, KFI_SGL };
	struct kfi_mr_attr attr = {
		.type = types[ask->form],
		.iov_count = ask->count,
		.access = ask->access,
		.offset = ask->offset,
		.requested_key = ask->key,
		.context = ask->context,
	};

	if (ask->form == KFORM_KVEC)
		attr.mr_iov = buffer->kvec;
	else if (ask->form == KFORM_BVEC)
		attr.mr_biov = buffer->bvec;
	else
		attr.mr_sgl = buffer->table.sgl;
	return kfi_mr_regattr(side->domain, &attr, ask->flags, mr);
}

int kregister(const struct kside *side, const struct kbuffer *buffer, const struct kask *ask, struct kfid_mr **mr)
{
	if (ask->by_attr)
		return register_attr(side, buffer, ask, mr);
	switch (ask->form) {
	case KFORM_KVEC:
		return kfi_mr_regv(side->domain, buffer->kvec, ask->count, ask->access, ask->offset, ask->key, ask->flags, mr,
				   ask->context);
	case KFORM_BVEC:
		return kfi_mr_regbv(side->domain, buffer->bvec, ask->count, ask->access, ask->offset, ask->key, ask->flags, mr,
				    ask->context);
	default:
		return kfi_mr_regsgl(side->domain, buffer->table.sgl, ask->count, ask->access, ask->offset, ask->key, ask->flags,
				     mr, ask->context);
	}
}

void kregion_close(struct kworld *world, struct kfid_mr *mr)
{
	struct kside *target = &world->target;
	bool bound = target->ep && target->info->domain_attr->mr_mode & KFI_MR_ENDPOINT;

	if (bound)
		CHECK_RC(0, kfi_close(&target->ep->fid));
	CHECK_RC(0, kfi_close(&mr->fid));
	if (bound) {
		kside_open_endpoint(target);
		kside_know(&world->initiator, target);
	}
}

uint64_t kfresh_key(void)
{
	static uint64_t key = 0x100;

	return key++;
}

void kregion_enable(const struct kworld *world, struct kfid_mr *mr)
{
	if (!(world->target.info->domain_attr->mr_mode & KFI_MR_ENDPOINT))
		return;
	CHECK_RC(0, kfi_mr_bind(mr, &kside_receiver(&world->target)->fid, 0));
	CHECK_RC(0, kfi_mr_enable(mr));
}

struct kfid_mr *kregion(const struct kworld *world, const struct kbuffer *buffer, enum kform form, uint64_t access)
{
	struct kask ask = { .form = form, .count = buffer->parts, .access = access, .key = kfresh_key() };
	struct kfid_mr *mr = NULL;

	CHECK_RC(0, kregister(&world->target, buffer, &ask, &mr));
	kregion_enable(world, mr);
	return mr;
}

/* --- operations --- */

int kcompletion(const struct kside *side, struct kfi_cq_tagged_entry *entry)
{
	struct kfi_cq_err_entry error = { 0 };
	struct deadline deadline = deadline_start();
	ssize_t rc;

	while ((rc = kfi_cq_read(side->cq, entry, 1)) == -KFI_EAGAIN)
		deadline_check(&deadline, "a completion");
	if (rc == 1)
		return 0;
	CHECK_RC(-KFI_EAVAIL, rc);
	CHECK_RC(1, kfi_cq_readerr(side->cq, &error, 0));
	CHECK(error.err > 0, "an error entry without an error");
	return error.err;
}

int krma_at(struct kworld *world, enum krma kind, uint64_t addr, uint64_t key, size_t length, uint8_t value)
{
	struct kside *side = &world->initiator;
	struct kfid_ep *ep = side->ep ? side->ep : side->tx;
	struct kfi_cq_tagged_entry entry = { 0 };
	uint8_t *buffer = kmalloc(length + 1, GFP_KERNEL);
	int err;

	CHECK(buffer, "no memory");
	memset(buffer, kind == KRMA_WRITE ? value : (uint8_t)~value, length);
	if (kind == KRMA_WRITE)
		CHECK_RC(0, kfi_write(ep, buffer, length, NULL, side->peer, addr, key, buffer));
	else
		CHECK_RC(0, kfi_read(ep, buffer, length, NULL, side->peer, addr, key, buffer));
	err = kcompletion(side, &entry);
	CHECK(err || entry.op_context == buffer, "a completion with another context");
	for (size_t i = 0; !err && kind == KRMA_READ && i < length; i++)
		CHECK(buffer[i] == value, "byte %zu was read as %#x", i, buffer[i]);
	kfree(buffer);
	return err;
}

int krma(struct kworld *world, enum krma kind, const struct kfid_mr *mr, uint64_t offset, size_t length, uint8_t value)
{
	return krma_at(world, kind, mr->iova + offset, kfi_mr_key((struct kfid_mr *)(uintptr_t)mr), length, value);
}
