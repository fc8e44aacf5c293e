/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c - libfabric calls through tables without a look: no entry is NULL, and what is not there says -FI_ENOSYS. */
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_tagged.h>

/* Accelerators' calls: newer headers make four of them without a look at the table's size. With older headers these stand for
 * them, and call the entry behind the last that 1.17 knows. */
#if __has_include(<rdma/fi_xpu.h>)
#include <rdma/fi_xpu.h>
#else
struct fi_xpu_attr;
struct fid_xpu_ctx;
struct fid_xpu_ep;
struct fid_xpu_cq;
struct fid_xpu_cntr;

static int fi_xpu_ctx(struct fid_domain *domain, struct fi_xpu_attr *attr, struct fid_xpu_ctx **ctx, void *context)
{
	struct {
		struct fi_ops_domain base;
		int (*xpu_ctx)(struct fid_domain *domain, struct fi_xpu_attr *attr, struct fid_xpu_ctx **ctx, void *context);
	} *ops = (void *)domain->ops;

	return ops->xpu_ctx(domain, attr, ctx, context);
}

static int fi_ep_export_xpu(struct fid_ep *ep, uint64_t flags, struct fid_xpu_ep *xpu_ep)
{
	struct {
		struct fi_ops_ep base;
		int (*export_xpu)(struct fid_ep *ep, uint64_t flags, struct fid_xpu_ep *xpu_ep);
	} *ops = (void *)ep->ops;

	return ops->export_xpu(ep, flags, xpu_ep);
}

static int fi_cq_export_xpu(struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq)
{
	struct {
		struct fi_ops_cq base;
		int (*export_xpu)(struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq);
	} *ops = (void *)cq->ops;

	return ops->export_xpu(cq, flags, xpu_cq);
}

static int fi_cntr_export_xpu(struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr)
{
	struct {
		struct fi_ops_cntr base;
		int (*export_xpu)(struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr);
	} *ops = (void *)cntr->ops;

	return ops->export_xpu(cntr, flags, xpu_cntr);
}
#endif

/* A table is a size and then function pointers, at least those that libfabric's headers know. */
static void check_table(const char *name, const void *table, size_t known)
{
	const size_t *size = table;
	void *const *entry = table;

	cr_assert(table, "%s: no table", name);
	cr_assert(*size >= known && *size % sizeof(*entry) == 0, "%s: size %zu, the headers' is %zu", name, *size, known);
	for (size_t i = 1; i < *size / sizeof(*entry); i++)
		cr_expect(entry[i], "%s: entry %zu is NULL", name, i);
}

Test(fi_tables, no_entry_is_null)
{
	struct world w;
	struct fid_wait *wait;
	struct fid_poll *poll;
	struct fid_stx *stx;
	struct fid_ep *srx, *sep;
	struct fid_mr *mr;
	char buffer[64];

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_wait_open(w.fabric, &(struct fi_wait_attr){ .wait_obj = FI_WAIT_FD }, &wait));
	RC(0, fi_poll_open(w.domain, &(struct fi_poll_attr){ 0 }, &poll));
	RC(0, fi_stx_context(w.domain, NULL, &stx, NULL));
	RC(0, fi_srx_context(w.domain, NULL, &srx, NULL));
	RC(0, fi_scalable_ep(w.domain, w.info, &sep, NULL));
	RC(0, fi_mr_reg(w.domain, buffer, sizeof(buffer), FI_SEND, 0, 7, 0, &mr, NULL));
	check_table("fabric fid", w.fabric->fid.ops, sizeof(*w.fabric->fid.ops));
	check_table("fabric", w.fabric->ops, sizeof(*w.fabric->ops));
	check_table("domain fid", w.domain->fid.ops, sizeof(*w.domain->fid.ops));
	check_table("domain", w.domain->ops, sizeof(*w.domain->ops));
	check_table("domain mr", w.domain->mr, sizeof(*w.domain->mr));
	check_table("eq fid", w.eq->fid.ops, sizeof(*w.eq->fid.ops));
	check_table("eq", w.eq->ops, sizeof(*w.eq->ops));
	check_table("cq fid", w.cq->fid.ops, sizeof(*w.cq->fid.ops));
	check_table("cq", w.cq->ops, sizeof(*w.cq->ops));
	check_table("cntr fid", w.cntr->fid.ops, sizeof(*w.cntr->fid.ops));
	check_table("cntr", w.cntr->ops, sizeof(*w.cntr->ops));
	check_table("av fid", w.av->fid.ops, sizeof(*w.av->fid.ops));
	check_table("av", w.av->ops, sizeof(*w.av->ops));
	check_table("mr fid", mr->fid.ops, sizeof(*mr->fid.ops));
	check_table("ep fid", w.ep->fid.ops, sizeof(*w.ep->fid.ops));
	check_table("ep", w.ep->ops, sizeof(*w.ep->ops));
	check_table("ep cm", w.ep->cm, sizeof(*w.ep->cm));
	check_table("ep msg", w.ep->msg, sizeof(*w.ep->msg));
	check_table("ep rma", w.ep->rma, sizeof(*w.ep->rma));
	check_table("ep tagged", w.ep->tagged, sizeof(*w.ep->tagged));
	check_table("ep atomic", w.ep->atomic, sizeof(*w.ep->atomic));
	check_table("ep collective", w.ep->collective, sizeof(*w.ep->collective));
	check_table("wait fid", wait->fid.ops, sizeof(*wait->fid.ops));
	check_table("wait", wait->ops, sizeof(*wait->ops));
	check_table("poll fid", poll->fid.ops, sizeof(*poll->fid.ops));
	check_table("poll", poll->ops, sizeof(*poll->ops));
	check_table("stx fid", stx->fid.ops, sizeof(*stx->fid.ops));
	check_table("stx", stx->ops, sizeof(*stx->ops));
	check_table("srx fid", srx->fid.ops, sizeof(*srx->fid.ops));
	check_table("srx cm", srx->cm, sizeof(*srx->cm));
	RC(0, fi_close(&stx->fid));
	check_table("sep fid", sep->fid.ops, sizeof(*sep->fid.ops));
	RC(0, fi_close(&sep->fid));
	RC(0, fi_close(&srx->fid));
	RC(0, fi_close(&wait->fid));
	RC(0, fi_close(&poll->fid));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_tables, objects_not_there_yet)
{
	struct world w;
	struct fid_ep *ep;
	void *ops;

	world_open(&w, &(struct want){ 0 });
	RC(-FI_ENOSYS, fi_open_ops(&w.domain->fid, "none", 0, &ops, NULL));
	RC(-FI_ENOSYS, fi_set_ops(&w.domain->fid, "none", 0, NULL, NULL));
	RC(-FI_ENOSYS, fi_tx_context(w.ep, 0, NULL, &ep, NULL));
	RC(-FI_ENOSYS, fi_rx_context(w.ep, 0, NULL, &ep, NULL));
	world_close(&w);
}

static void call_accelerators(void)
{
	struct world w;
	struct fid_ep *srx, *sep;

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_srx_context(w.domain, NULL, &srx, NULL));
	RC(0, fi_scalable_ep(w.domain, w.info, &sep, NULL));
	RC(-FI_ENOSYS, fi_xpu_ctx(w.domain, NULL, NULL, NULL));
	RC(-FI_ENOSYS, fi_ep_export_xpu(w.ep, 0, NULL));
	RC(-FI_ENOSYS, fi_ep_export_xpu(srx, 0, NULL));
	RC(-FI_ENOSYS, fi_ep_export_xpu(sep, 0, NULL));
	RC(-FI_ENOSYS, fi_cq_export_xpu(w.cq, 0, NULL));
	RC(-FI_ENOSYS, fi_cntr_export_xpu(w.cntr, 0, NULL));
	RC(0, fi_close(&sep->fid));
	RC(0, fi_close(&srx->fid));
	world_close(&w);
}

Test(fi_tables, calls_of_accelerators)
{
	call_accelerators();
}

Test(fi_tables, calls_of_accelerators_in_checked_mode)
{
	setenv("FI_EMU_CHECK", "1", 1);
	call_accelerators();
}

Test(fi_tables, regions_without_events)
{
	struct world w;
	struct fid_mr *mr;
	char buffer[64];

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_RMA });
	RC(0, fi_mr_reg(w.domain, buffer, sizeof(buffer), FI_SEND, 0, 7, 0, &mr, NULL));
	RC(-FI_ENOSYS, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_WRITE)); /* S97 */
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_tables, transfers_not_there_yet)
{
	struct world w;
	char peer[64];
	size_t length = sizeof(peer);

	world_open(&w, &(struct want){ 0 });
	RC(-FI_EOPNOTSUPP, fi_barrier(w.ep, 0, NULL));
	RC(-FI_ENOSYS, fi_getpeer(w.ep, peer, &length));
	RC(-FI_ENOSYS, fi_connect(w.ep, peer, NULL, 0));
	RC(-FI_ENOSYS, fi_accept(w.ep, NULL, 0));
	RC(-FI_ENOSYS, fi_shutdown(w.ep, 0));
	world_close(&w);
}
