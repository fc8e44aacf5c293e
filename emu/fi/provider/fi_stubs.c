/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_stubs.c - functions for all calls that are not implemented: each refuses. */
#include "emu/fi/provider/fi_stubs.h"

#include "emu/fi/provider/fi_refuse.h"

/* A function of these arguments that refuses the call. */
#define STUB(type, name, arguments, refusal) \
	type name arguments                  \
	{                                    \
		return refusal;              \
	}

/* clang-format off */
/* --- control, connection and set-up --- */

STUB(int, stub_bind, (struct fid *fid, struct fid *bfid, uint64_t flags),
	refuse_missing("fi_bind of this object", "Other objects are bound to it"))
STUB(int, stub_control, (struct fid *fid, int command, void *arg),
	refuse_missing("fi_control", "Its man page names its commands"))
STUB(int, stub_ops_open, (struct fid *fid, const char *name, uint64_t flags, void **ops, void *context),
	refuse_probe("fi_open_ops"))
STUB(int, stub_tostr, (const struct fid *fid, char *buf, size_t len),
	refuse_probe("fi_tostr"))
STUB(int, stub_ops_set, (struct fid *fid, const char *name, uint64_t flags, void *ops, void *context),
	refuse_probe("fi_set_ops"))
STUB(int, stub_set_user_id, (struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags),
	refuse_missing("fi_av_set_user_id", "FI_AV_USER_ID is not offered"))
STUB(int, stub_tx_ctx, (struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep, void *context),
	refuse_missing("fi_tx_context", "Contexts are those of an endpoint opened by fi_scalable_ep"))
STUB(int, stub_rx_ctx, (struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep, void *context),
	refuse_missing("fi_rx_context", "Contexts are those of an endpoint opened by fi_scalable_ep"))
STUB(ssize_t, stub_cancel, (fid_t fid, void *context),
	refuse_missing("fi_cancel", "It has no receives"))
STUB(int, stub_getopt, (fid_t fid, int level, int optname, void *optval, size_t *optlen),
	refuse_probe("fi_getopt"))
STUB(int, stub_setopt, (fid_t fid, int level, int optname, const void *optval, size_t optlen),
	refuse_probe("fi_setopt"))
STUB(int, stub_setname, (fid_t fid, void *addr, size_t addrlen),
	refuse_missing("fi_setname", "A shared context has no address"))
STUB(int, stub_getname, (fid_t fid, void *addr, size_t *addrlen),
	refuse_missing("fi_getname", "A shared context has no address"))
STUB(ssize_t, stub_size_left, (struct fid_ep *ep),
	refuse_probe("fi_tx_size_left or fi_rx_size_left"))
STUB(int, stub_getpeer, (struct fid_ep *ep, void *addr, size_t *addrlen),
	refuse_missing("fi_getpeer", "It has no peer"))
STUB(int, stub_connect, (struct fid_ep *ep, const void *addr, const void *param, size_t paramlen),
	refuse_missing("fi_connect", "It has no peer. Connect an endpoint"))
STUB(int, stub_listen, (struct fid_pep *pep),
	refuse_missing("fi_listen", "A passive endpoint listens (fi_passive_ep)"))
STUB(int, stub_accept, (struct fid_ep *ep, const void *param, size_t paramlen),
	refuse_missing("fi_accept", "Accept with an endpoint that is opened with the info of the FI_CONNREQ event"))
STUB(int, stub_reject, (struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen),
	refuse_missing("fi_reject", "The passive endpoint rejects"))
STUB(int, stub_shutdown, (struct fid_ep *ep, uint64_t flags),
	refuse_missing("fi_shutdown", "It has no peer"))
STUB(int, stub_join, (struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc, void *context),
	refuse_missing("fi_join", "FI_MULTICAST is not offered, and groups are joined by endpoints of type FI_EP_RDM"))
STUB(int, stub_xpu_ctx, (struct fid_domain *domain, struct fi_xpu_attr *attr, struct fid_xpu_ctx **ctx, void *context),
	refuse_probe("fi_xpu_ctx"))
STUB(int, stub_ep_export_xpu, (struct fid_ep *ep, uint64_t flags, struct fid_xpu_ep *xpu_ep),
	refuse_probe("fi_ep_export_xpu"))
STUB(int, stub_cq_export_xpu, (struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq),
	refuse_probe("fi_cq_export_xpu"))
STUB(int, stub_cntr_export_xpu, (struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr),
	refuse_probe("fi_cntr_export_xpu"))

/* --- collectives --- */

#define STUB_COLLECTIVE(name, arguments) \
	static STUB(ssize_t, name, arguments, refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM"))

STUB_COLLECTIVE(collective_barrier, (struct fid_ep *ep, fi_addr_t coll_addr, void *context))
STUB_COLLECTIVE(collective_broadcast, (struct fid_ep *ep, void *buf, size_t count, void *desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context))
STUB_COLLECTIVE(collective_alltoall, (struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
	void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype, uint64_t flags, void *context))
STUB_COLLECTIVE(collective_allreduce, (struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
	void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context))
STUB_COLLECTIVE(collective_allgather, (struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
	void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype, uint64_t flags, void *context))
STUB_COLLECTIVE(collective_reduce_scatter, (struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
	void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context))
STUB_COLLECTIVE(collective_reduce, (struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
	void *result_desc, fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	void *context))
STUB_COLLECTIVE(collective_scatter, (struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
	void *result_desc, fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context))
STUB_COLLECTIVE(collective_gather, (struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
	void *result_desc, fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context))
STUB_COLLECTIVE(collective_msg, (struct fid_ep *ep, const struct fi_msg_collective *msg, struct fi_ioc *resultv,
	void **result_desc, size_t result_count, uint64_t flags))
STUB_COLLECTIVE(collective_barrier2, (struct fid_ep *ep, fi_addr_t coll_addr, uint64_t flags, void *context))
/* clang-format on */

struct fi_ops_collective stub_collective = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = collective_barrier,
	.broadcast = collective_broadcast,
	.alltoall = collective_alltoall,
	.allreduce = collective_allreduce,
	.allgather = collective_allgather,
	.reduce_scatter = collective_reduce_scatter,
	.reduce = collective_reduce,
	.scatter = collective_scatter,
	.gather = collective_gather,
	.msg = collective_msg,
	.barrier2 = collective_barrier2,
};
