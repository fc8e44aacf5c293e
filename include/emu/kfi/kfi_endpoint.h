/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_endpoint.h - endpoints, their contexts, and messages: fi_endpoint(3), fi_msg(3).
 * Operations return 0, or -KFI_EAGAIN where the queue is full and nothing was posted. They complete with their context. Buffers are
 * the provider's until then, vectors and messages until the call returns. len is in bytes; desc is kfi_mr_desc()'s. */
#ifndef EMU_KFI_ENDPOINT_H
#define EMU_KFI_ENDPOINT_H

#include <kfi_domain.h>

struct kfi_msg {
	enum kfi_iov_type type;
	union {
		const struct kvec *msg_iov;
		const struct bio_vec *msg_biov;
		const struct scatterlist *msg_sgl;
	};
	void **desc;
	size_t iov_count;
	kfi_addr_t addr;
	void *context;
	uint64_t data;
};

/* Levels of options, and those of KFI_OPT_ENDPOINT: both are a size_t, in bytes. */
enum { KFI_OPT_ENDPOINT };
enum { KFI_OPT_MIN_MULTI_RECV, KFI_OPT_CM_DATA_SIZE };

struct kfi_ops_ep {
	size_t size;
	ssize_t (*cancel)(kfid_t fid, void *context);
	int (*getopt)(kfid_t fid, int level, int optname, void *optval, size_t *optlen);
	int (*setopt)(kfid_t fid, int level, int optname, const void *optval, size_t optlen);
	int (*tx_ctx)(struct kfid_ep *sep, int index, struct kfi_tx_attr *attr, struct kfid_ep **tx_ep, void *context);
	int (*rx_ctx)(struct kfid_ep *sep, int index, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep, void *context);
};

/* The calls for scatterlists came last to kfabric, and are at the end: here, and for RMA and tagged messages. */
struct kfi_ops_msg {
	size_t size;
	ssize_t (*recv)(struct kfid_ep *ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, void *context);
	ssize_t (*recvv)(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr, void *context);
	ssize_t (*recvbv)(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr,
			  void *context);
	ssize_t (*recvmsg)(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags);
	ssize_t (*send)(struct kfid_ep *ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, void *context);
	ssize_t (*sendv)(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr,
			 void *context);
	ssize_t (*sendbv)(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr,
			  void *context);
	ssize_t (*sendmsg)(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags);
	ssize_t (*inject)(struct kfid_ep *ep, const void *buf, size_t len, kfi_addr_t dest_addr);
	ssize_t (*senddata)(struct kfid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest_addr,
			    void *context);
	ssize_t (*injectdata)(struct kfid_ep *ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr);
	ssize_t (*recvsgl)(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t src_addr,
			   void *context);
	ssize_t (*sendsgl)(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t dest_addr,
			   void *context);
};

struct kfi_ops_cm;
struct kfi_ops_rma;
struct kfi_ops_tagged;
struct kfi_ops_atomic;

/* An endpoint, or a context of one. A provider may change the tables of ops in kfi_enable(), kfi_setopt() and kfi_ep_bind(): no
 * operation runs meanwhile. */
struct kfid_ep {
	struct kfid fid;
	struct kfi_ops_ep *ops;
	struct kfi_ops_cm *cm;
	struct kfi_ops_msg *msg;
	struct kfi_ops_rma *rma;
	struct kfi_ops_tagged *tagged;
	struct kfi_ops_atomic *atomic;
};

struct kfid_pep {
	struct kfid fid;
	struct kfi_ops_ep *ops;
	struct kfi_ops_cm *cm;
};

struct kfid_stx {
	struct kfid fid;
	struct kfi_ops_ep *ops;
};

/* Opens an endpoint that listens: fi_endpoint(3). kfi_close() ends it, as it does those below. */
static inline int kfi_passive_ep(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_pep **pep, void *context)
{
	return fabric->ops->passive_ep(fabric, info, pep, context);
}

/* Opens an endpoint as info describes it; with the handle of a KFI_CONNREQ, the one that accepts it. */
static inline int kfi_endpoint(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **ep, void *context)
{
	return domain->ops->endpoint(domain, info, ep, context);
}

/* Opens an endpoint that transmits and receives by its contexts alone: fi_endpoint(3), scalable endpoints. */
static inline int kfi_scalable_ep(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **sep, void *context)
{
	return domain->ops->scalable_ep(domain, info, sep, context);
}

/* Binds a queue, counter, address vector or shared context to an endpoint or context that is not enabled. */
static inline int kfi_ep_bind(struct kfid_ep *ep, struct kfid *bfid, uint64_t flags)
{
	return ep->fid.ops->bind(&ep->fid, bfid, flags);
}

/* Binds the event queue that reports the requests of peers. */
static inline int kfi_pep_bind(struct kfid_pep *pep, struct kfid *bfid, uint64_t flags)
{
	return pep->fid.ops->bind(&pep->fid, bfid, flags);
}

/* Binds the address vector that all contexts use. */
static inline int kfi_scalable_ep_bind(struct kfid_ep *sep, struct kfid *bfid, uint64_t flags)
{
	return sep->fid.ops->bind(&sep->fid, bfid, flags);
}

/* Lets an endpoint or context work. -KFI_ENOCQ, -KFI_ENOAV, -KFI_ENOEQ: a binding is missing; -KFI_EOPBADSTATE: it is enabled. */
static inline int kfi_enable(struct kfid_ep *ep)
{
	return ep->fid.ops->control(&ep->fid, KFI_ENABLE, NULL);
}

/* Ends the first operation with this context by -KFI_ECANCELED, if it is not under way. -KFI_ENOENT: there is none. */
static inline ssize_t kfi_cancel(struct kfid *fid, void *context)
{
	return container_of(fid, struct kfid_ep, fid)->ops->cancel(fid, context);
}

/* Sets an option, of optlen bytes. -KFI_ENOPROTOOPT: there is no such option. */
static inline int kfi_setopt(struct kfid *fid, int level, int optname, const void *optval, size_t optlen)
{
	return container_of(fid, struct kfid_ep, fid)->ops->setopt(fid, level, optname, optval, optlen);
}

/* Reads an option, and writes its length. -KFI_ETOOSMALL: *optlen was less. */
static inline int kfi_getopt(struct kfid *fid, int level, int optname, void *optval, size_t *optlen)
{
	return container_of(fid, struct kfid_ep, fid)->ops->getopt(fid, level, optname, optval, optlen);
}

/* Opens a second handle of an endpoint, whose operations have other default flags. *alias_ep is set on success alone. */
static inline int kfi_ep_alias(struct kfid_ep *ep, struct kfid_ep **alias_ep, uint64_t flags)
{
	struct kfid *fid = NULL;
	int rc = kfi_alias(&ep->fid, &fid, flags);

	if (!rc)
		*alias_ep = container_of(fid, struct kfid_ep, fid);
	return rc;
}

/* Opens transmit context number index of a scalable endpoint; attr may be NULL. */
static inline int kfi_tx_context(struct kfid_ep *ep, int index, struct kfi_tx_attr *attr, struct kfid_ep **tx_ep, void *context)
{
	return ep->ops->tx_ctx(ep, index, attr, tx_ep, context);
}

/* Opens receive context number index of a scalable endpoint; attr may be NULL. */
static inline int kfi_rx_context(struct kfid_ep *ep, int index, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep, void *context)
{
	return ep->ops->rx_ctx(ep, index, attr, rx_ep, context);
}

/* Opens a transmit context that endpoints of the domain can share. */
static inline int kfi_stx_context(struct kfid_domain *domain, struct kfi_tx_attr *attr, struct kfid_stx **stx, void *context)
{
	return domain->ops->stx_ctx(domain, attr, stx, context);
}

/* Opens a receive context that endpoints of the domain can share. */
static inline int kfi_srx_context(struct kfid_domain *domain, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep, void *context)
{
	return domain->ops->srx_ctx(domain, attr, rx_ep, context);
}

/* Posts a buffer for a message, of this sender under KFI_DIRECTED_RECV: fi_msg(3). */
static inline ssize_t kfi_recv(struct kfid_ep *ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, void *context)
{
	return ep->msg->recv(ep, buf, len, desc, src_addr, context);
}

/* Posts count buffers for one message. */
static inline ssize_t kfi_recvv(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr,
				void *context)
{
	return ep->msg->recvv(ep, iov, desc, count, src_addr, context);
}

/* Posts count parts of pages for one message. */
static inline ssize_t kfi_recvbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr,
				 void *context)
{
	return ep->msg->recvbv(ep, biov, desc, count, src_addr, context);
}

/* Posts count entries of a mapped scatterlist for one message. */
static inline ssize_t kfi_recvsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t src_addr,
				  void *context)
{
	return ep->msg->recvsgl(ep, sgl, desc, count, src_addr, context);
}

/* Posts what the message describes; flags stand in the place of the endpoint's. */
static inline ssize_t kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	return ep->msg->recvmsg(ep, msg, flags);
}

/* Sends len bytes: fi_msg(3). */
static inline ssize_t kfi_send(struct kfid_ep *ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, void *context)
{
	return ep->msg->send(ep, buf, len, desc, dest_addr, context);
}

/* Sends count buffers as one message. */
static inline ssize_t kfi_sendv(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr,
				void *context)
{
	return ep->msg->sendv(ep, iov, desc, count, dest_addr, context);
}

/* Sends count parts of pages as one message. */
static inline ssize_t kfi_sendbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr,
				 void *context)
{
	return ep->msg->sendbv(ep, biov, desc, count, dest_addr, context);
}

/* Sends count entries of a mapped scatterlist as one message. */
static inline ssize_t kfi_sendsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count,
				  kfi_addr_t dest_addr, void *context)
{
	return ep->msg->sendsgl(ep, sgl, desc, count, dest_addr, context);
}

/* Sends what the message describes; flags stand in the place of the endpoint's. */
static inline ssize_t kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	return ep->msg->sendmsg(ep, msg, flags);
}

/* Sends at most inject_size bytes. The buffer is the caller's at once, and no completion follows. */
static inline ssize_t kfi_inject(struct kfid_ep *ep, const void *buf, size_t len, kfi_addr_t dest_addr)
{
	return ep->msg->inject(ep, buf, len, dest_addr);
}

/* Sends with data for the completion at the receiver, of which cq_data_size bytes count. */
static inline ssize_t kfi_senddata(struct kfid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest_addr,
				   void *context)
{
	return ep->msg->senddata(ep, buf, len, desc, data, dest_addr, context);
}

/* Sends as kfi_inject(), with the data of kfi_senddata(). */
static inline ssize_t kfi_injectdata(struct kfid_ep *ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr)
{
	return ep->msg->injectdata(ep, buf, len, data, dest_addr);
}

#endif
