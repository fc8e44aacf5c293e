/* SPDX-License-Identifier: BSD-2-Clause */
/* late.c - what is bound to an endpoint that is enabled: refused in words, or taken in by a personality that allows it. */
#include "tests/fi/world.h"

#include <stdlib.h>
#include <string.h>

enum { KEY = 7, WRITES = 3 };

static uint8_t near[64], far[64];

static void open_two(struct world *w, const char *personality, struct fid_cntr **cntr, struct fid_stx **stx)
{
	setenv("FI_EMU_PERSONALITY", personality, 1);
	world_open(w, &(struct want){ .caps = FI_MSG | FI_RMA });
	RC(0, fi_cntr_open(w->domain, &(struct fi_cntr_attr){ 0 }, cntr, NULL));
	RC(0, fi_stx_context(w->domain, NULL, stx, NULL));
}

/* Endpoints enabled with a queue and an address vector alone. */
static struct fid_ep *bare(struct world *w)
{
	struct fid_ep *ep;

	RC(0, fi_endpoint(w->domain, w->info, &ep, NULL));
	RC(0, fi_ep_bind(ep, &w->av->fid, 0));
	RC(0, fi_ep_bind(ep, &w->cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_enable(ep));
	return ep;
}

static void write_some(struct world *w, struct fid_ep *ep, int count)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < count; i++)
		RC(0, fi_write(ep, near, sizeof(near), NULL, w->self, 0, KEY, NULL));
	for (int i = 0; i < count; i++)
		RC(1, world_next(w, &entry));
}

static void expect_words(int log, const char *words)
{
	const char *said = world_logged(log);

	cr_expect(strstr(said, words), "no \"%s\" in: %s", words, said);
}

Test(fi_late, strict_says_what_came_late)
{
	int log = world_catch_log("warn");
	struct fid_cntr *cntr;
	struct fid_stx *stx;
	struct world w;

	open_two(&w, "strict", &cntr, &stx);
	world_logged(log);
	RC(-FI_EOPBADSTATE, fi_ep_bind(w.ep, &cntr->fid, FI_WRITE));
	expect_words(log, "a counter is bound before fi_enable; FI_EMU_PERSONALITY=lax allows it");
	RC(-FI_EOPBADSTATE, fi_ep_bind(w.ep, &stx->fid, 0));
	expect_words(log, "a shared transmit context is bound before fi_enable; FI_EMU_PERSONALITY=lax allows it");
	RC(-FI_EOPBADSTATE, fi_ep_bind(w.ep, &w.cq->fid, FI_RECV));
	expect_words(log, "a completion queue is bound before fi_enable.\n");
	RC(-FI_EOPBADSTATE, fi_ep_bind(w.ep, &w.av->fid, 0));
	expect_words(log, "an address vector is bound before fi_enable.\n");
	RC(0, fi_close(&stx->fid));
	RC(0, fi_close(&cntr->fid));
	world_close(&w);
}

/* The order of Sandia OpenSHMEM: an endpoint that was not opened with FI_SHARED_CONTEXT is enabled, then bound. */
Test(fi_late, lax_counts_from_then_on)
{
	struct fid_cntr *cntr;
	struct fid_stx *stx;
	struct fid_ep *ep;
	struct fid_mr *mr;
	struct world w;

	open_two(&w, "lax", &cntr, &stx);
	RC(0, fi_mr_reg(w.domain, far, sizeof(far), FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	ep = bare(&w);
	write_some(&w, ep, WRITES);
	RC(0, fi_ep_bind(ep, &stx->fid, 0));
	RC(0, fi_ep_bind(ep, &cntr->fid, FI_WRITE | FI_READ));
	RC(-FI_EINVAL, fi_ep_bind(ep, &stx->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(ep, &cntr->fid, FI_WRITE));
	write_some(&w, ep, WRITES + 1);
	cr_expect_eq(fi_cntr_read(cntr), WRITES + 1);
	RC(-FI_EBUSY, fi_close(&cntr->fid));
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&stx->fid));
	RC(0, fi_close(&cntr->fid));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* Sandia OpenSHMEM closes the context before the endpoints that use it: they go on, and the last one frees it. */
Test(fi_late, lax_closes_a_shared_context_first)
{
	struct fid_ep *ep[2];
	struct fid_cntr *cntr;
	struct fid_stx *stx;
	struct fid_mr *mr;
	struct world w;

	open_two(&w, "lax", &cntr, &stx);
	RC(0, fi_mr_reg(w.domain, far, sizeof(far), FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	for (int i = 0; i < 2; i++) {
		ep[i] = bare(&w);
		RC(0, fi_ep_bind(ep[i], &stx->fid, 0));
	}
	write_some(&w, ep[0], WRITES);
	RC(0, fi_close(&stx->fid));
	write_some(&w, ep[0], WRITES);
	RC(0, fi_close(&ep[0]->fid));
	write_some(&w, ep[1], WRITES);
	RC(0, fi_close(&ep[1]->fid));
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&cntr->fid));
	world_close(&w);
}

/* Room is the shared context's from then on; what is under way keeps its own, and outlives it. */
Test(fi_late, lax_shares_room_from_then_on)
{
	struct fi_cq_tagged_entry entry;
	struct fi_tx_attr attr;
	struct fid_cntr *cntr;
	struct fid_stx *stx, *small;
	struct fid_ep *ep;
	struct world w;
	int sent = 0;

	open_two(&w, "lax", &cntr, &stx);
	attr = *w.info->tx_attr;
	attr.size = 2;
	RC(0, fi_stx_context(w.domain, &attr, &small, NULL));
	ep = bare(&w);
	for (; sent < WRITES; sent++) /* for which nothing is posted */
		RC(0, fi_send(ep, near, 8, NULL, w.self, NULL));
	RC(0, fi_ep_bind(ep, &small->fid, 0));
	while (!fi_send(ep, near, 8, NULL, w.self, NULL))
		sent++;
	cr_expect_eq(sent, WRITES + 2);
	for (int i = 0; i < sent; i++)
		RC(0, fi_recv(w.ep, far, sizeof(far), NULL, FI_ADDR_UNSPEC, NULL));
	for (int i = 0; i < 2 * sent; i++)
		RC(1, world_next(&w, &entry));
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&small->fid));
	RC(0, fi_close(&stx->fid));
	RC(0, fi_close(&cntr->fid));
	world_close(&w);
}

/* Bindings that the device cannot take in while it is at work. */
Test(fi_late, lax_takes_no_queue)
{
	int log = world_catch_log("warn");
	struct fid_cntr *cntr;
	struct fid_stx *stx;
	struct world w;

	open_two(&w, "lax", &cntr, &stx);
	world_logged(log);
	RC(-FI_EOPBADSTATE, fi_ep_bind(w.ep, &w.eq->fid, 0));
	expect_words(log, "an event queue is bound before fi_enable.\n");
	RC(0, fi_close(&stx->fid));
	RC(0, fi_close(&cntr->fid));
	world_close(&w);
}

/* As MPICH does. Regions of scalable endpoints belong to the whole. */
Test(fi_late, regions_and_contexts)
{
	int log = world_catch_log("warn");
	struct fid_ep *sep, *tx, *rx;
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_RMA, .mr_mode = FI_MR_ENDPOINT });
	w.info->ep_attr->tx_ctx_cnt = w.info->ep_attr->rx_ctx_cnt = 2;
	RC(0, fi_scalable_ep(w.domain, w.info, &sep, NULL));
	RC(0, fi_tx_context(sep, 0, NULL, &tx, NULL));
	RC(0, fi_rx_context(sep, 0, NULL, &rx, NULL));
	RC(0, fi_mr_reg(w.domain, far, sizeof(far), FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	world_logged(log);
	RC(-FI_EINVAL, fi_mr_bind(mr, &tx->fid, 0));
	expect_words(log, "to a transmit context of a scalable endpoint");
	RC(-FI_EINVAL, fi_mr_bind(mr, &rx->fid, 0));
	expect_words(log, "to a receive context of a scalable endpoint");
	RC(0, fi_mr_bind(mr, &sep->fid, 0));
	RC(0, fi_mr_enable(mr));
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&rx->fid));
	RC(0, fi_close(&tx->fid));
	RC(0, fi_close(&sep->fid));
	world_close(&w);
}
