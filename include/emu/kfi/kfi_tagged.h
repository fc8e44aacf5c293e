/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_tagged.h - messages that find their receive by a tag: fi_tagged(3). For buffers, contexts and results see kfi_endpoint.h. */
#ifndef EMU_KFI_TAGGED_H
#define EMU_KFI_TAGGED_H

#include <kfi_endpoint.h>

#define KFI_CLAIM (1ULL << 59)
#define KFI_DISCARD (1ULL << 58)

struct kfi_msg_tagged {
	enum kfi_iov_type type;
	union {
		const struct kvec *msg_iov;
		const struct bio_vec *msg_biov;
		const struct scatterlist *msg_sgl;
	};
	void **desc;
	size_t iov_count;
	kfi_addr_t addr;
	uint64_t tag;
	uint64_t ignore;
	void *context;
	uint64_t data;
};

struct kfi_ops_tagged {
	size_t size;
	ssize_t (*recv)(struct kfid_ep *ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, uint64_t tag, uint64_t ignore,
			void *context);
	ssize_t (*recvv)(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr, uint64_t tag,
			 uint64_t ignore, void *context);
	ssize_t (*recvbv)(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr,
			  uint64_t tag, uint64_t ignore, void *context);
	ssize_t (*recvmsg)(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags);
	ssize_t (*send)(struct kfid_ep *ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, uint64_t tag,
			void *context);
	ssize_t (*sendv)(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr, uint64_t tag,
			 void *context);
	ssize_t (*sendbv)(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr,
			  uint64_t tag, void *context);
	ssize_t (*sendmsg)(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags);
	ssize_t (*inject)(struct kfid_ep *ep, const void *buf, size_t len, kfi_addr_t dest_addr, uint64_t tag);
	ssize_t (*senddata)(struct kfid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest_addr,
			    uint64_t tag, void *context);
	ssize_t (*injectdata)(struct kfid_ep *ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr, uint64_t tag);
	ssize_t (*recvsgl)(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t src_addr,
			   uint64_t tag, uint64_t ignore, void *context);
	ssize_t (*sendsgl)(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t dest_addr,
			   uint64_t tag, void *context);
};

/* Posts a buffer for a message with this tag, except for the bits of ignore: fi_tagged(3). */
static inline ssize_t kfi_trecv(struct kfid_ep *ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, uint64_t tag,
				uint64_t ignore, void *context)
{
	return ep->tagged->recv(ep, buf, len, desc, src_addr, tag, ignore, context);
}

/* Posts as kfi_trecv(): count buffers for one message. */
static inline ssize_t kfi_trecvv(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr,
				 uint64_t tag, uint64_t ignore, void *context)
{
	return ep->tagged->recvv(ep, iov, desc, count, src_addr, tag, ignore, context);
}

/* Posts as kfi_trecv(): count parts of pages for one message. */
static inline ssize_t kfi_trecvbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr,
				  uint64_t tag, uint64_t ignore, void *context)
{
	return ep->tagged->recvbv(ep, biov, desc, count, src_addr, tag, ignore, context);
}

/* Posts as kfi_trecv(): count entries of a mapped scatterlist for one message. */
static inline ssize_t kfi_trecvsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count,
				   kfi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	return ep->tagged->recvsgl(ep, sgl, desc, count, src_addr, tag, ignore, context);
}

/* Posts what the message describes; flags (KFI_PEEK, KFI_CLAIM, KFI_DISCARD, ...) stand in the place of the endpoint's. */
static inline ssize_t kfi_trecvmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	return ep->tagged->recvmsg(ep, msg, flags);
}

/* Sends len bytes with a tag: fi_tagged(3). */
static inline ssize_t kfi_tsend(struct kfid_ep *ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, uint64_t tag,
				void *context)
{
	return ep->tagged->send(ep, buf, len, desc, dest_addr, tag, context);
}

/* Sends as kfi_tsend(): count buffers as one message. */
static inline ssize_t kfi_tsendv(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr,
				 uint64_t tag, void *context)
{
	return ep->tagged->sendv(ep, iov, desc, count, dest_addr, tag, context);
}

/* Sends as kfi_tsend(): count parts of pages as one message. */
static inline ssize_t kfi_tsendbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr,
				  uint64_t tag, void *context)
{
	return ep->tagged->sendbv(ep, biov, desc, count, dest_addr, tag, context);
}

/* Sends as kfi_tsend(): count entries of a mapped scatterlist as one message. */
static inline ssize_t kfi_tsendsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count,
				   kfi_addr_t dest_addr, uint64_t tag, void *context)
{
	return ep->tagged->sendsgl(ep, sgl, desc, count, dest_addr, tag, context);
}

/* Sends what the message describes; flags stand in the place of the endpoint's. */
static inline ssize_t kfi_tsendmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	return ep->tagged->sendmsg(ep, msg, flags);
}

/* Sends at most inject_size bytes. The buffer is the caller's at once, and no completion follows. */
static inline ssize_t kfi_tinject(struct kfid_ep *ep, const void *buf, size_t len, kfi_addr_t dest_addr, uint64_t tag)
{
	return ep->tagged->inject(ep, buf, len, dest_addr, tag);
}

/* Sends with data for the completion at the receiver, of which cq_data_size bytes count. */
static inline ssize_t kfi_tsenddata(struct kfid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
				    kfi_addr_t dest_addr, uint64_t tag, void *context)
{
	return ep->tagged->senddata(ep, buf, len, desc, data, dest_addr, tag, context);
}

/* Sends as kfi_tinject(), with the data of kfi_tsenddata(). */
static inline ssize_t kfi_tinjectdata(struct kfid_ep *ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr,
				      uint64_t tag)
{
	return ep->tagged->injectdata(ep, buf, len, data, dest_addr, tag);
}

#endif
