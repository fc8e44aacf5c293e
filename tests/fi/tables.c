/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c - libfabric calls through tables without a look: no entry is NULL, and what is not there says -FI_ENOSYS. */
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_tagged.h>

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
	struct fid_mr *mr;
	char buffer[64];

	world_open(&w, &(struct want){ 0 });
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
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_tables, objects_not_there_yet)
{
	struct world w;
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fid_stx *stx;
	struct fid_wait *wait;
	struct fid_poll *poll;
	struct fid_av_set *set;
	struct fi_av_set_attr set_attr = { 0 };
	struct fi_atomic_attr atomic_attr;
	struct fi_collective_attr collective_attr = { 0 };
	void *ops;

	world_open(&w, &(struct want){ 0 });
	RC(-FI_ENOSYS, fi_passive_ep(w.fabric, w.info, &pep, NULL));
	RC(-FI_ENOSYS, w.fabric->ops->wait_open(w.fabric, NULL, &wait));
	RC(-FI_ENOSYS, fi_scalable_ep(w.domain, w.info, &ep, NULL));
	RC(-FI_ENOSYS, w.domain->ops->poll_open(w.domain, NULL, &poll));
	RC(-FI_ENOSYS, fi_stx_context(w.domain, w.info->tx_attr, &stx, NULL));
	RC(-FI_ENOSYS, fi_srx_context(w.domain, w.info->rx_attr, &ep, NULL));
	RC(-FI_ENOSYS, fi_query_atomic(w.domain, FI_UINT64, FI_SUM, &atomic_attr, 0));
	RC(-FI_ENOSYS, fi_query_collective(w.domain, FI_BARRIER, &collective_attr, 0));
	RC(-FI_ENOSYS, fi_av_set(w.av, &set_attr, &set, NULL));
	RC(-FI_ENOSYS, fi_domain_bind(w.domain, &w.eq->fid, 1ull << 59));
	RC(-FI_ENOSYS, fi_open_ops(&w.domain->fid, "none", 0, &ops, NULL));
	RC(-FI_ENOSYS, fi_set_ops(&w.domain->fid, "none", 0, NULL, NULL));
	RC(-FI_ENOSYS, fi_tx_context(w.ep, 0, NULL, &ep, NULL));
	RC(-FI_ENOSYS, fi_rx_context(w.ep, 0, NULL, &ep, NULL));
	RC(-FI_ENOSYS, fi_ep_alias(w.ep, &ep, FI_TRANSMIT));
	world_close(&w);
}

Test(fi_tables, regions_without_events_and_raw_keys)
{
	struct world w;
	struct fid_mr *mr;
	char buffer[64];
	uint8_t raw[32];
	uint64_t base, key;
	size_t size = sizeof(raw);
	struct iovec iov = { buffer, sizeof(buffer) };

	world_open(&w, &(struct want){ 0 });
	RC(0, fi_mr_reg(w.domain, buffer, sizeof(buffer), FI_SEND, 0, 7, 0, &mr, NULL));
	RC(-FI_ENOSYS, fi_mr_bind(mr, &w.cntr->fid, FI_REMOTE_WRITE)); /* S97 */
	RC(-FI_ENOSYS, fi_mr_enable(mr));
	RC(-FI_ENOSYS, fi_mr_refresh(mr, &iov, 1, 0));
	RC(-FI_ENOSYS, fi_mr_raw_attr(mr, &base, raw, &size, 0));
	RC(-FI_ENOSYS, fi_mr_map_raw(w.domain, 0, raw, sizeof(raw), &key, 0));
	RC(-FI_ENOSYS, fi_mr_unmap_key(w.domain, 1));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

Test(fi_tables, transfers_not_there_yet)
{
	struct world w;
	uint64_t word = 0;
	size_t count;
	char peer[64];
	size_t length = sizeof(peer);

	world_open(&w, &(struct want){ 0 });
	RC(-FI_ENOSYS, fi_tsend(w.ep, &word, 8, NULL, w.self, 1, NULL));
	RC(-FI_ENOSYS, fi_tinject(w.ep, &word, 8, w.self, 1));
	RC(-FI_ENOSYS, fi_trecv(w.ep, &word, 8, NULL, w.self, 1, 0, NULL));
	RC(-FI_ENOSYS, fi_atomic(w.ep, &word, 1, NULL, w.self, 0, 1, FI_UINT64, FI_SUM, NULL));
	RC(-FI_ENOSYS, fi_inject_atomic(w.ep, &word, 1, w.self, 0, 1, FI_UINT64, FI_SUM));
	RC(-FI_ENOSYS, fi_atomicvalid(w.ep, FI_UINT64, FI_SUM, &count));
	RC(-FI_ENOSYS, fi_barrier(w.ep, 0, NULL));
	RC(-FI_ENOSYS, fi_getpeer(w.ep, peer, &length));
	RC(-FI_ENOSYS, fi_connect(w.ep, peer, NULL, 0));
	RC(-FI_ENOSYS, fi_accept(w.ep, NULL, 0));
	RC(-FI_ENOSYS, fi_shutdown(w.ep, 0));
	world_close(&w);
}
