/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.c - values, order and layout of kfabric's headers: what differs from libfabric, and that all else is libfabric's. */
#include <criterion/criterion.h>
#include <kfi_cm.h>
#include <kfi_cxi_ext.h>
#include <kfi_errno.h>
#include <kfi_prov.h>
#include <kfi_trigger.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>

#define IS(name, value) _Static_assert((name) == (value), #name)
#define SAME(name) _Static_assert((uint64_t)KFI_##name == (uint64_t)FI_##name, "KFI_" #name)

/* The members follow each other without a gap: A is the first of the pointers or numbers of 8 bytes, and NAME its n-th. */
#define NTH(structure, n, name) _Static_assert(offsetof(struct structure, name) == 8 * (n), #structure "." #name)
#define SAME_PLACE(structure, name) \
	_Static_assert(offsetof(struct kfi_##structure, name) == offsetof(struct fi_##structure, name), #structure "." #name)
#define SAME_SIZE(structure) _Static_assert(sizeof(struct kfi_##structure) == sizeof(struct fi_##structure), #structure)

/* Own values. */
IS(KFI_MR_LOCAL, 1 << 1);
IS(KFI_MR_RAW, 1 << 2);
IS(KFI_MR_VIRT_ADDR, 1 << 3);
IS(KFI_MR_PROV_KEY, 1 << 4);
IS(KFI_MR_RMA_EVENT, 1 << 5);
IS(KFI_MR_ENDPOINT, 1 << 6);
IS(KFI_LOCAL_MR, 1ULL << 55);
IS(KFI_REG_MR, 1ULL << 59);
IS(KFI_KEY_NOTAVAIL, UINT64_MAX);
IS(KFI_TAGGED_RMA, 1ULL << 6);
IS(KFI_TAGGED_MULTI_RECV, 1ULL << 31);
IS(KFI_KVEC, 1);
IS(KFI_BVEC, 2);
IS(KFI_SGL, 3);
IS(KFI_ADDR_GNI, 5);
IS(KFI_ADDR_CXI, 6);
IS(KFI_PROTO_UDP, 4);
IS(KFI_PROTO_CXI, 9);
IS(KFI_WAIT_QUEUE, 3);
IS(KFI_DATATYPE_LAST, 14);
IS(KFI_ATOMIC_OP_LAST, 19);
IS(KFI_REFRESH, 14);
IS(KFI_CLASS_CONNREQ, 18);
IS(KFI_EOTHER, 256);
IS(KFI_EOVERRUN, 268);
IS(KFI_VERSION(1, 7), 0x10007);
IS(KFI_MAJOR(0x10007), 1);
IS(KFI_MINOR(0x10007), 7);
IS(KFI_VERSION_GE(KFI_VERSION(2, 0), KFI_VERSION(1, 7)), 1);
IS(KFI_VERSION_LT(KFI_VERSION(1, 6), KFI_VERSION(1, 7)), 1);

/* libfabric's. */
SAME(MSG);
SAME(RMA);
SAME(TAGGED);
SAME(ATOMIC);
SAME(MULTICAST);
SAME(READ);
SAME(WRITE);
SAME(RECV);
SAME(SEND);
SAME(REMOTE_READ);
SAME(REMOTE_WRITE);
SAME(MULTI_RECV);
SAME(REMOTE_CQ_DATA);
SAME(MORE);
SAME(PEEK);
SAME(TRIGGER);
SAME(FENCE);
SAME(COMPLETION);
SAME(INJECT);
SAME(INJECT_COMPLETE);
SAME(TRANSMIT_COMPLETE);
SAME(DELIVERY_COMPLETE);
SAME(AFFINITY);
SAME(COMMIT_COMPLETE);
SAME(RMA_PMEM);
SAME(SOURCE_ERR);
SAME(LOCAL_COMM);
SAME(REMOTE_COMM);
SAME(SHARED_AV);
SAME(PROV_ATTR_ONLY);
SAME(NUMERICHOST);
SAME(RMA_EVENT);
SAME(SOURCE);
SAME(NAMED_RX_CTX);
SAME(DIRECTED_RECV);
SAME(SELECTIVE_COMPLETION);
SAME(CLAIM);
SAME(DISCARD);
SAME(FETCH_ATOMIC);
SAME(COMPARE_ATOMIC);
SAME(SYMMETRIC);
SAME(SYNC_ERR);
SAME(CONTEXT);
SAME(MSG_PREFIX);
SAME(ASYNC_IOV);
SAME(RX_CQ_DATA);
SAME(CONTEXT2);
SAME(SOCKADDR_IB);
SAME(PROTO_IB_UD);
SAME(ADDR_UNSPEC);
SAME(SHARED_CONTEXT);
SAME(AV_TABLE);
SAME(PROGRESS_MANUAL);
SAME(THREAD_ENDPOINT);
SAME(RM_ENABLED);
SAME(EP_RDM);
SAME(TC_DSCP);
SAME(TC_NETWORK_CTRL);
SAME(ORDER_RAR);
SAME(ORDER_RAW);
SAME(ORDER_RAS);
SAME(ORDER_WAR);
SAME(ORDER_WAW);
SAME(ORDER_WAS);
SAME(ORDER_SAR);
SAME(ORDER_SAW);
SAME(ORDER_SAS);
SAME(CLASS_EP);
SAME(CLASS_RX_CTX);
SAME(CLASS_MR);
SAME(CLASS_CNTR);
SAME(CLASS_CONNREQ);
SAME(ALIAS);
SAME(ENABLE);
SAME(GET_RAW_MR);
SAME(MAP_RAW_MR);
SAME(UNMAP_KEY);
SAME(FLUSH_WORK);
SAME(REFRESH);
SAME(WAIT_SET);
SAME(CONNREQ);
SAME(MR_COMPLETE);
SAME(JOIN_COMPLETE);
SAME(CQ_FORMAT_TAGGED);
SAME(CQ_COND_THRESHOLD);
SAME(LONG_DOUBLE_COMPLEX);
SAME(BXOR);
SAME(CSWAP);
SAME(MSWAP);
SAME(OPT_CM_DATA_SIZE);
SAME(OP_CNTR_ADD);
SAME(ENOKEY);
SAME(EKEYREJECTED);
SAME(EAVAIL);
SAME(EOVERRUN);
SAME(ECANCELED);

/* Objects and what describes memory. */
NTH(kfid, 0, fclass);
NTH(kfid, 1, context);
NTH(kfid, 2, ops);
NTH(kfid, 3, comp);
_Static_assert(offsetof(struct kfid, ref_cnt) >= offsetof(struct kfid, comp) + sizeof(struct completion), "kfid.ref_cnt");
_Static_assert(offsetof(struct kfid_mr, mem_desc) == sizeof(struct kfid), "kfid_mr.mem_desc");
_Static_assert(offsetof(struct kfid_mr, key) == sizeof(struct kfid) + 8, "kfid_mr.key");
_Static_assert(offsetof(struct kfid_mr, iova) == sizeof(struct kfid) + 16, "kfid_mr.iova");
NTH(kfi_mr_attr, 0, type);
NTH(kfi_mr_attr, 1, mr_iov);
NTH(kfi_mr_attr, 1, mr_biov);
NTH(kfi_mr_attr, 1, mr_sgl);
NTH(kfi_mr_attr, 2, iov_count);
NTH(kfi_mr_attr, 3, access);
NTH(kfi_mr_attr, 4, offset);
NTH(kfi_mr_attr, 5, requested_key);
NTH(kfi_mr_attr, 6, context);
NTH(kfi_mr_attr, 7, auth_key_size);
NTH(kfi_mr_attr, 8, auth_key);
NTH(kfi_mr_modify, 0, flags);
NTH(kfi_mr_modify, 1, attr);
NTH(kfi_msg, 0, type);
NTH(kfi_msg, 1, msg_sgl);
NTH(kfi_msg, 2, desc);
NTH(kfi_msg, 6, data);
NTH(kfi_msg_tagged, 0, type);
NTH(kfi_msg_tagged, 1, msg_biov);
NTH(kfi_msg_tagged, 5, tag);
NTH(kfi_msg_tagged, 8, data);
NTH(kfi_msg_rma, 0, type);
NTH(kfi_msg_rma, 1, msg_iov);
NTH(kfi_msg_rma, 5, rma_iov);
NTH(kfi_msg_rma, 8, data);
SAME_SIZE(rma_iov);
SAME_PLACE(rma_iov, key);
SAME_SIZE(msg_atomic);
SAME_PLACE(msg_atomic, op);
SAME_SIZE(context2);
IS(sizeof(struct kfi_triggered_context), sizeof(struct kfi_context));
IS(sizeof(struct kfi_triggered_context2), sizeof(struct kfi_context2));
IS(sizeof(struct kcxi_addr), 8);

/* Tables of ops. */
NTH(kfi_ops, 4, ops_open);
NTH(kfi_ops_mr, 0, size);
NTH(kfi_ops_mr, 1, reg);
NTH(kfi_ops_mr, 2, regv);
NTH(kfi_ops_mr, 3, regbv);
NTH(kfi_ops_mr, 4, regattr);
NTH(kfi_ops_mr, 5, regsgl);
NTH(kfi_ops_domain, 0, size);
NTH(kfi_ops_domain, 1, av_open);
NTH(kfi_ops_domain, 2, cq_open);
NTH(kfi_ops_domain, 3, endpoint);
NTH(kfi_ops_domain, 4, scalable_ep);
NTH(kfi_ops_domain, 5, cntr_open);
NTH(kfi_ops_domain, 6, poll_open);
NTH(kfi_ops_domain, 7, stx_ctx);
NTH(kfi_ops_domain, 8, srx_ctx);
NTH(kfi_ops_domain, 9, query_atomic);
NTH(kfi_ops_fabric, 1, domain);
NTH(kfi_ops_fabric, 4, wait_open);
NTH(kfi_ops_msg, 3, recvbv);
NTH(kfi_ops_msg, 11, injectdata);
NTH(kfi_ops_msg, 12, recvsgl);
NTH(kfi_ops_msg, 13, sendsgl);
NTH(kfi_ops_rma, 4, readmsg);
NTH(kfi_ops_rma, 12, readsgl);
NTH(kfi_ops_rma, 13, writesgl);
NTH(kfi_ops_tagged, 4, recvmsg);
NTH(kfi_ops_tagged, 12, recvsgl);
NTH(kfi_ops_tagged, 13, sendsgl);
NTH(kfi_ops_ep, 5, rx_ctx);
SAME_PLACE(ops_atomic, readwrite);
SAME_PLACE(ops_atomic, compwritevalid);
SAME_PLACE(ops_av, straddr);
SAME_PLACE(ops_eq, strerror);
SAME_PLACE(ops_cq, strerror);
SAME_PLACE(ops_cntr, seterr);
SAME_PLACE(ops_cm, join);

/* Infos, entries and attributes. */
SAME_SIZE(tx_attr);
SAME_PLACE(tx_attr, tclass);
SAME_SIZE(rx_attr);
SAME_PLACE(rx_attr, iov_limit);
SAME_SIZE(ep_attr);
SAME_PLACE(ep_attr, auth_key);
SAME_PLACE(domain_attr, mr_mode);
SAME_PLACE(domain_attr, mr_iov_limit);
SAME_PLACE(domain_attr, tclass);
SAME_SIZE(fabric_attr);
SAME_PLACE(fabric_attr, api_version);
SAME_PLACE(info, handle);
SAME_PLACE(info, fabric_attr);
SAME_SIZE(cq_tagged_entry);
SAME_PLACE(cq_tagged_entry, tag);
SAME_PLACE(cq_err_entry, prov_errno);
SAME_PLACE(cq_err_entry, err_data_size);
SAME_SIZE(eq_entry);
SAME_SIZE(eq_err_entry);
SAME_PLACE(eq_cm_entry, data);
SAME_SIZE(av_attr);
SAME_SIZE(cq_attr);
SAME_SIZE(eq_attr);
SAME_SIZE(cntr_attr);
SAME_SIZE(mr_raw_attr);
SAME_SIZE(mr_map_raw);

Test(kfi_layout, an_address_of_cxi_begins_with_the_pid)
{
	union {
		struct kcxi_addr addr;
		uint64_t word;
	} address = { .addr = { .pid = 0xfff } };

	cr_assert_eq(address.word, 0xfffULL);
	address.addr = (struct kcxi_addr){ .nic = 0xffffffff };
	cr_assert_eq(address.word, 0xffffffffULL << 12);
	address.addr = (struct kcxi_addr){ .flags = 0x3ff };
	cr_assert_eq(address.word, 0x3ffULL << 44);
}
