/* SPDX-License-Identifier: BSD-2-Clause */
/* kfabric.h - kfabric (HPE's KFI 1.7): flags, infos, objects, and the calls that any object takes.
 * Names, values and layouts are kfabric's, so that kernel clients and providers compile against them. What a call does is
 * described in the page of libfabric whose name lacks the k, unless its comment names another. Calls return 0, or a negative
 * number of kfi_errno.h. An inline reaches the provider without a check: an object's ops are complete, or KFI_CHECK_OP() asks.
 * kfi_tostr(), kfi_getparams() and kfi_freeparams() do not compile: upstream declares them and has no code for them. */
#ifndef EMU_KFI_KFABRIC_H
#define EMU_KFI_KFABRIC_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/types.h>

#define KFI_MAJOR_VERSION 1
#define KFI_MINOR_VERSION 7

enum { KFI_PATH_MAX = 256, KFI_NAME_MAX = 64, KFI_VERSION_MAX = 64 };

#define KFI_VERSION(major, minor) (((major) << 16) | (minor))
#define KFI_MAJOR(version) ((version) >> 16)
#define KFI_MINOR(version) ((version)&0xFFFF)
#define KFI_VERSION_GE(a, b) ((a) >= (b))
#define KFI_VERSION_LT(a, b) ((a) < (b))

struct kfid;
struct kfid_fabric;
struct kfid_domain;
struct kfid_av;
struct kfid_wait;
struct kfid_poll;
struct kfid_eq;
struct kfid_cq;
struct kfid_cntr;
struct kfid_ep;
struct kfid_pep;
struct kfid_stx;
struct kfid_mr;
typedef struct kfid *kfid_t;
typedef uint64_t kfi_addr_t;

#define KFI_PROV_SPECIFIC (1U << 31) /* in a number that the provider chose */

/* Capabilities, and flags of operations and completions: common ones from bit 1 up, those of single calls from bit 59 down.
 * Bit 6 is FI_COLLECTIVE in libfabric, and bit 31 FI_MATCH_COMPLETE: no number passes between the two without a table. */
#define KFI_MSG (1ULL << 1)
#define KFI_RMA (1ULL << 2)
#define KFI_TAGGED (1ULL << 3)
#define KFI_ATOMIC (1ULL << 4)
#define KFI_ATOMICS KFI_ATOMIC
#define KFI_MULTICAST (1ULL << 5)
#define KFI_TAGGED_RMA (1ULL << 6) /* RMA whose key is the tag of a tagged receive */
#define KFI_READ (1ULL << 8)
#define KFI_WRITE (1ULL << 9)
#define KFI_RECV (1ULL << 10)
#define KFI_SEND (1ULL << 11)
#define KFI_TRANSMIT KFI_SEND
#define KFI_REMOTE_READ (1ULL << 12)
#define KFI_REMOTE_WRITE (1ULL << 13)
#define KFI_MULTI_RECV (1ULL << 16)
#define KFI_REMOTE_CQ_DATA (1ULL << 17)
#define KFI_MORE (1ULL << 18)
#define KFI_PEEK (1ULL << 19)
#define KFI_TRIGGER (1ULL << 20)
#define KFI_FENCE (1ULL << 21)
#define KFI_COMPLETION (1ULL << 24)
#define KFI_EVENT KFI_COMPLETION
#define KFI_INJECT (1ULL << 25)
#define KFI_INJECT_COMPLETE (1ULL << 26)
#define KFI_TRANSMIT_COMPLETE (1ULL << 27)
#define KFI_DELIVERY_COMPLETE (1ULL << 28)
#define KFI_AFFINITY (1ULL << 29)
#define KFI_COMMIT_COMPLETE (1ULL << 30)
#define KFI_TAGGED_MULTI_RECV (1ULL << 31)
#define KFI_RMA_PMEM (1ULL << 49)
#define KFI_SOURCE_ERR (1ULL << 50)
#define KFI_LOCAL_COMM (1ULL << 51)
#define KFI_REMOTE_COMM (1ULL << 52)
#define KFI_SHARED_AV (1ULL << 53)
#define KFI_PROV_ATTR_ONLY (1ULL << 54)
#define KFI_NUMERICHOST (1ULL << 55)
#define KFI_RMA_EVENT (1ULL << 56)
#define KFI_SOURCE (1ULL << 57)
#define KFI_NAMED_RX_CTX (1ULL << 58)
#define KFI_DIRECTED_RECV (1ULL << 59)
#define KFI_SELECTIVE_COMPLETION (1ULL << 59) /* kfi_ep_bind() to a CQ */

/* addr_format. Numbers from 5 on are not libfabric's, nor are those of the protocols. */
enum { KFI_FORMAT_UNSPEC, KFI_SOCKADDR, KFI_SOCKADDR_IN, KFI_SOCKADDR_IN6, KFI_SOCKADDR_IB, KFI_ADDR_GNI, KFI_ADDR_CXI };

enum {
	KFI_PROTO_UNSPEC,
	KFI_PROTO_RDMA_CM_IB_RC,
	KFI_PROTO_IWARP,
	KFI_PROTO_IB_UD,
	KFI_PROTO_UDP,
	KFI_PROTO_SOCK_TCP,
	KFI_PROTO_IWARP_RDM,
	KFI_PROTO_IB_RDM,
	KFI_PROTO_GNI,
	KFI_PROTO_CXI,
};

#define KFI_ADDR_UNSPEC UINT64_MAX
#define KFI_ADDR_NOTAVAIL UINT64_MAX
#define KFI_KEY_NOTAVAIL UINT64_MAX
#define KFI_SHARED_CONTEXT UINT64_MAX /* tx_ctx_cnt, rx_ctx_cnt */

enum kfi_av_type { KFI_AV_UNSPEC, KFI_AV_MAP, KFI_AV_TABLE };

/* mr_mode. The values are not libfabric's. */
#define KFI_MR_LOCAL (1 << 1)
#define KFI_MR_RAW (1 << 2)
#define KFI_MR_VIRT_ADDR (1 << 3)
#define KFI_MR_PROV_KEY (1 << 4)
#define KFI_MR_RMA_EVENT (1 << 5)
#define KFI_MR_ENDPOINT (1 << 6)

enum kfi_progress { KFI_PROGRESS_UNSPEC, KFI_PROGRESS_AUTO, KFI_PROGRESS_MANUAL };

enum kfi_threading {
	KFI_THREAD_UNSPEC,
	KFI_THREAD_SAFE,
	KFI_THREAD_FID,
	KFI_THREAD_DOMAIN,
	KFI_THREAD_COMPLETION,
	KFI_THREAD_ENDPOINT,
};

enum kfi_resource_mgmt { KFI_RM_UNSPEC, KFI_RM_DISABLED, KFI_RM_ENABLED };

/* msg_order and comp_order: a (R)ead, (W)rite or (S)end (A)fter another. */
#define KFI_ORDER_NONE 0
#define KFI_ORDER_RAR (1 << 0)
#define KFI_ORDER_RAW (1 << 1)
#define KFI_ORDER_RAS (1 << 2)
#define KFI_ORDER_WAR (1 << 3)
#define KFI_ORDER_WAW (1 << 4)
#define KFI_ORDER_WAS (1 << 5)
#define KFI_ORDER_SAR (1 << 6)
#define KFI_ORDER_SAW (1 << 7)
#define KFI_ORDER_SAS (1 << 8)
#define KFI_ORDER_STRICT 0x1FF
#define KFI_ORDER_DATA (1 << 16)

enum kfi_ep_type { KFI_EP_UNSPEC, KFI_EP_MSG, KFI_EP_DGRAM, KFI_EP_RDM, KFI_EP_SOCK_STREAM, KFI_EP_SOCK_DGRAM };

/* What the vector of an attribute or message is made of. kfi_mr_refresh() leaves it 0, which means KFI_KVEC there. */
enum kfi_iov_type { KFI_KVEC = 1, KFI_BVEC, KFI_SGL };

/* Traffic classes: a label, or KFI_TC_DSCP with a DSCP in its low byte. */
enum {
	KFI_TC_UNSPEC = 0,
	KFI_TC_DSCP = 0x100,
	KFI_TC_LABEL = 0x200,
	KFI_TC_BEST_EFFORT = KFI_TC_LABEL,
	KFI_TC_LOW_LATENCY,
	KFI_TC_DEDICATED_ACCESS,
	KFI_TC_BULK_DATA,
	KFI_TC_SCAVENGER,
	KFI_TC_NETWORK_CTRL,
};

/* Makes a traffic class of a DSCP of 6 bits: fi_endpoint(3), tclass. */
static inline uint32_t kfi_tc_dscp_set(uint8_t dscp)
{
	return KFI_TC_DSCP | dscp;
}

/* Gives the DSCP of a traffic class, or 0 for a label. */
static inline uint8_t kfi_tc_dscp_get(uint32_t tclass)
{
	return tclass & KFI_TC_DSCP ? (uint8_t)tclass : 0;
}

/* Mode bits. */
#define KFI_CONTEXT (1ULL << 59)
#define KFI_MSG_PREFIX (1ULL << 58)
#define KFI_ASYNC_IOV (1ULL << 57)
#define KFI_RX_CQ_DATA (1ULL << 56)
#define KFI_LOCAL_MR (1ULL << 55)
#define KFI_NOTIFY_FLAGS_ONLY (1ULL << 54)
#define KFI_RESTRICTED_COMP (1ULL << 53)
#define KFI_CONTEXT2 (1ULL << 52)

/* Sizes are in bytes, except size, which counts operations. */
struct kfi_tx_attr {
	uint64_t caps;
	uint64_t mode;
	uint64_t op_flags;
	uint64_t msg_order;
	uint64_t comp_order;
	size_t inject_size;
	size_t size;
	size_t iov_limit;
	size_t rma_iov_limit;
	uint32_t tclass;
};

struct kfi_rx_attr {
	uint64_t caps;
	uint64_t mode;
	uint64_t op_flags;
	uint64_t msg_order;
	uint64_t comp_order;
	size_t total_buffered_recv;
	size_t size;
	size_t iov_limit;
};

struct kfi_ep_attr {
	enum kfi_ep_type type;
	uint32_t protocol;
	uint32_t protocol_version;
	size_t max_msg_size;
	size_t msg_prefix_size;
	size_t max_order_raw_size;
	size_t max_order_war_size;
	size_t max_order_waw_size;
	uint64_t mem_tag_format;
	size_t tx_ctx_cnt;
	size_t rx_ctx_cnt;
	size_t auth_key_size;
	uint8_t *auth_key;
};

struct kfi_domain_attr {
	struct kfid_domain *domain;
	char *name;
	enum kfi_threading threading;
	enum kfi_progress control_progress;
	enum kfi_progress data_progress;
	enum kfi_resource_mgmt resource_mgmt;
	enum kfi_av_type av_type;
	int mr_mode;
	size_t mr_key_size;
	size_t cq_data_size;
	size_t cq_cnt;
	size_t ep_cnt;
	size_t tx_ctx_cnt;
	size_t rx_ctx_cnt;
	size_t max_ep_tx_ctx;
	size_t max_ep_rx_ctx;
	size_t max_ep_stx_ctx;
	size_t max_ep_srx_ctx;
	size_t cntr_cnt;
	size_t mr_iov_limit;
	uint64_t caps;
	uint64_t mode;
	uint8_t *auth_key;
	size_t auth_key_size;
	size_t max_err_data;
	size_t mr_cnt;
	uint32_t tclass;
};

struct kfi_fabric_attr {
	struct kfid_fabric *fabric;
	char *name;
	char *prov_name;
	uint32_t prov_version;
	uint32_t api_version;
};

/* An info owns all that it points to but handle, domain and fabric, and all of it is of kmalloc(). */
struct kfi_info {
	struct kfi_info *next;
	uint64_t caps;
	uint64_t mode;
	uint32_t addr_format;
	size_t src_addrlen;
	size_t dest_addrlen;
	void *src_addr;
	void *dest_addr;
	kfid_t handle;
	struct kfi_tx_attr *tx_attr;
	struct kfi_rx_attr *rx_attr;
	struct kfi_ep_attr *ep_attr;
	struct kfi_domain_attr *domain_attr;
	struct kfi_fabric_attr *fabric_attr;
};

/* kfid.fclass */
enum {
	KFI_CLASS_UNSPEC,
	KFI_CLASS_FABRIC,
	KFI_CLASS_DOMAIN,
	KFI_CLASS_EP,
	KFI_CLASS_SEP,
	KFI_CLASS_RX_CTX,
	KFI_CLASS_SRX_CTX,
	KFI_CLASS_TX_CTX,
	KFI_CLASS_STX_CTX,
	KFI_CLASS_PEP,
	KFI_CLASS_INTERFACE,
	KFI_CLASS_AV,
	KFI_CLASS_MR,
	KFI_CLASS_EQ,
	KFI_CLASS_CQ,
	KFI_CLASS_CNTR,
	KFI_CLASS_WAIT,
	KFI_CLASS_POLL,
	KFI_CLASS_CONNREQ,
};

struct kfi_eq_attr;
struct kfi_wait_attr;

/* Called with the context of the queue once it has something to read. The provider may call them in atomic context. A read that
 * returned -KFI_EAGAIN arms them, and each arming gives one call. */
typedef void (*kfi_comp_handler)(struct kfid_cq *cq, void *context);
typedef void (*kfi_event_handler)(struct kfid_eq *eq, void *context);

/* Tables of ops: size is sizeof() in the provider, which may know fewer ops at the end than its caller. */
struct kfi_ops {
	size_t size;
	int (*close)(struct kfid *fid);
	int (*bind)(struct kfid *fid, struct kfid *bfid, uint64_t flags);
	int (*control)(struct kfid *fid, int command, void *arg);
	int (*ops_open)(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context);
};

/* The head of each object. comp and ref_cnt belong to the calls kfi_*_id() of kfi_prov.h. */
struct kfid {
	size_t fclass;
	void *context;
	struct kfi_ops *ops;
	struct completion comp;
	atomic_t ref_cnt;
};

struct kfi_ops_fabric {
	size_t size;
	int (*domain)(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_domain **domain, void *context);
	int (*passive_ep)(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_pep **pep, void *context);
	int (*eq_open)(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq, kfi_event_handler event_handler,
		       void *context);
	int (*wait_open)(struct kfid_fabric *fabric, struct kfi_wait_attr *attr, struct kfid_wait **waitset);
};

struct kfid_fabric {
	struct kfid fid;
	struct kfi_ops_fabric *ops;
	uint32_t api_version;
};

/* True where the provider's table has the op. */
#define KFI_CHECK_OP(ops, type, op) ((ops) && (ops)->size > offsetof(type, op) && (ops)->op)

/* Declared by upstream, where it has no code for them. */
struct kfi_param;
#define KFI_NO_CODE(name) __attribute__((error(name "(): kfabric declares it, and has no code for it")))
char *kfi_tostr(const void *data, int datatype) KFI_NO_CODE("kfi_tostr");
int kfi_getparams(struct kfi_param **params, int *count) KFI_NO_CODE("kfi_getparams");
void kfi_freeparams(struct kfi_param *params) KFI_NO_CODE("kfi_freeparams");

/* Gives KFI_VERSION(1, 7), the API of these headers: fi_version(3). */
uint32_t kfi_version(void);

/* Lists what the registered providers offer for the hints, in the order of registration: fi_getinfo(3). The caller frees *info by
 * kfi_freeinfo(). -KFI_ENODATA: no provider fits; -KFI_ENOSYS: the version is later than kfi_version(). May sleep. */
int kfi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
		struct kfi_info **info);

/* Frees an info and all behind its next; NULL is allowed. */
void kfi_freeinfo(struct kfi_info *info);

/* Makes an info whose attributes exist and are zero; NULL without memory. */
struct kfi_info *kfi_allocinfo(void);

/* Copies one info and what it owns, without its next; NULL gives an empty info: fi_getinfo(3). NULL without memory. */
struct kfi_info *kfi_dupinfo(const struct kfi_info *info);

/* Opens the fabric attr->name of provider attr->prov_name: fi_fabric(3). kfi_close() ends it. -KFI_EINVAL: one of the names is
 * missing; -KFI_ENODEV: no such provider. May sleep. */
int kfi_fabric(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric, void *context);

/* Ends an object. -KFI_EBUSY: other objects need it, and it stays open (kfi_mr(3), kfi_close). May sleep. */
static inline int kfi_close(struct kfid *fid)
{
	return fid->ops->close(fid);
}

/* Arguments of the control commands. */
struct kfi_alias {
	struct kfid **fid;
	uint64_t flags;
};

struct kfi_mr_raw_attr {
	uint64_t flags;
	uint64_t *base_addr;
	uint8_t *raw_key;
	size_t *key_size;
};

struct kfi_mr_map_raw {
	uint64_t flags;
	uint64_t base_addr;
	uint8_t *raw_key;
	size_t key_size;
	uint64_t *key;
};

/* Commands, and what arg points to. */
enum {
	KFI_GETFIDFLAG,  /* uint64_t */
	KFI_SETFIDFLAG,  /* uint64_t */
	KFI_GETOPSFLAG,  /* uint64_t */
	KFI_SETOPSFLAG,  /* uint64_t */
	KFI_ALIAS,       /* struct kfi_alias */
	KFI_GETWAIT,     /* the wait object */
	KFI_ENABLE,      /* nothing: NULL */
	KFI_BACKLOG,     /* int */
	KFI_GET_RAW_MR,  /* struct kfi_mr_raw_attr */
	KFI_MAP_RAW_MR,  /* struct kfi_mr_map_raw */
	KFI_UNMAP_KEY,   /* uint64_t */
	KFI_QUEUE_WORK,  /* struct kfi_deferred_work */
	KFI_CANCEL_WORK, /* struct kfi_deferred_work */
	KFI_FLUSH_WORK,  /* nothing: NULL */
	KFI_REFRESH,     /* struct kfi_mr_modify */
};

/* Passes a command to an object: fi_control(3). The calls that make the argument by themselves come before it. */
static inline int kfi_control(struct kfid *fid, int command, void *arg)
{
	return fid->ops->control(fid, command, arg);
}

/* Opens a second handle of an object, with op_flags of its own: fi_endpoint(3), fi_ep_alias. kfi_close() ends it. */
static inline int kfi_alias(struct kfid *fid, struct kfid **alias_fid, uint64_t flags)
{
	struct kfi_alias alias = { .fid = alias_fid, .flags = flags };

	return kfi_control(fid, KFI_ALIAS, &alias);
}

/* Gives the provider's own table of that name (kfi_cxi_ext.h has two), which the provider owns: fi_open_ops(3). */
static inline int kfi_open_ops(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return fid->ops->ops_open(fid, name, flags, ops, context);
}

/* What an operation's context points to under KFI_CONTEXT and KFI_CONTEXT2: the provider's until the operation completes. */
struct kfi_context {
	void *internal[4];
};

struct kfi_context2 {
	void *internal[8];
};

#endif
