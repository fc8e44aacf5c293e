/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c - libfabric calls through tables without a look: no entry is NULL, and what is not there says -FI_ENOSYS. */
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>

/* A table is a size and then function pointers. */
static void check_table(const char *name, const void *table)
{
	const size_t *size = table;
	void *const *entry = table;

	cr_assert(table, "%s: no table", name);
	cr_assert(*size > sizeof(*size) && *size % sizeof(*entry) == 0, "%s: size %zu", name, *size);
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
	check_table("fabric fid", w.fabric->fid.ops);
	check_table("fabric", w.fabric->ops);
	check_table("domain fid", w.domain->fid.ops);
	check_table("domain", w.domain->ops);
	check_table("domain mr", w.domain->mr);
	check_table("eq fid", w.eq->fid.ops);
	check_table("eq", w.eq->ops);
	check_table("cq fid", w.cq->fid.ops);
	check_table("cq", w.cq->ops);
	check_table("cntr fid", w.cntr->fid.ops);
	check_table("cntr", w.cntr->ops);
	check_table("av fid", w.av->fid.ops);
	check_table("av", w.av->ops);
	check_table("mr fid", mr->fid.ops);
	check_table("ep fid", w.ep->fid.ops);
	check_table("ep", w.ep->ops);
	check_table("ep cm", w.ep->cm);
	check_table("ep msg", w.ep->msg);
	check_table("ep rma", w.ep->rma);
	check_table("ep tagged", w.ep->tagged);
	check_table("ep atomic", w.ep->atomic);
	check_table("ep collective", w.ep->collective);
	check_table("wait fid", wait->fid.ops);
	check_table("wait", wait->ops);
	check_table("poll fid", poll->fid.ops);
	check_table("poll", poll->ops);
	check_table("stx fid", stx->fid.ops);
	check_table("stx", stx->ops);
	check_table("srx fid", srx->fid.ops);
	check_table("srx cm", srx->cm);
	RC(0, fi_close(&stx->fid));
	check_table("sep fid", sep->fid.ops);
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
