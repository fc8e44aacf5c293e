/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_tag_format.c - tagged calls of endpoints with FI_TAG_MPI or FI_TAG_CCL. They look at the tag and at the ignore mask, and go on
 * to the table that the endpoint would have without a format. */
#include "emu/fi/data/fi_data_impl.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/ep/fi_ep_calls.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"

/* FI_TAG_MPI: the message tag and the payload identifier, each of which a receive may leave open. FI_TAG_CCL: the identifier. */
#define MPI_TAG ((uint64_t)UINT32_MAX)
#define MPI_PAYLOAD ((uint64_t)UINT8_MAX << 32)

/* A program of 1.x means bits of one field by so small a number. */
uint64_t tag_format(const struct emu_domain *domain, const struct fi_info *info)
{
	uint64_t format = info->ep_attr ? info->ep_attr->mem_tag_format : 0;

	if (FI_VERSION_LT(domain->api, FI_VERSION(2, 0)) || (format != COMPAT_TAG_MPI && format != COMPAT_TAG_CCL))
		return 0;
	return format;
}

__attribute__((cold)) static int refuse_tag(const char *call, uint64_t tag)
{
	return REFUSE(
		EP_DATA, -FI_EINVAL,
		"%s: tag %#llx has bits that are in no field of FI_TAG_MPI. Make tags by fi_tag_mpi(), or ask for FI_TAG_BITS in "
		"ep_attr->mem_tag_format.",
		call, (unsigned long long)tag);
}

__attribute__((cold)) static int refuse_ignore(const struct emu_ep *ep, uint64_t ignore)
{
	if (ep->tag_format == COMPAT_TAG_CCL)
		return REFUSE(EP_DATA, -FI_EINVAL,
			      "fi_trecv: ignore %#llx, and tags of FI_TAG_CCL match as a whole. Pass 0, or ask for FI_TAG_MPI or "
			      "FI_TAG_BITS in ep_attr->mem_tag_format.",
			      (unsigned long long)ignore);
	return REFUSE(EP_DATA, -FI_EINVAL,
		      "fi_trecv: ignore %#llx covers a field of FI_TAG_MPI in part, or bits beyond. Pass 0, FI_MPI_IGNORE_TAG, "
		      "FI_MPI_IGNORE_PAYLOAD, or both; or ask for FI_TAG_BITS in ep_attr->mem_tag_format.",
		      (unsigned long long)ignore);
}

/* fi_endpoint(3) gives the identifier of FI_TAG_CCL no size. */
static bool tag_fits(const struct emu_ep *ep, uint64_t tag)
{
	return ep->tag_format != COMPAT_TAG_MPI || !(tag & ~(MPI_TAG | MPI_PAYLOAD));
}

static bool ignore_fits(const struct emu_ep *ep, uint64_t ignore)
{
	if (ep->tag_format != COMPAT_TAG_MPI)
		return !ep->tag_format || !ignore;
	return ignore == 0 || ignore == MPI_TAG || ignore == MPI_PAYLOAD || ignore == (MPI_TAG | MPI_PAYLOAD);
}

int tag_check_send(const struct emu_ep *ep, uint64_t tag)
{
	return tag_fits(ep, tag) ? 0 : refuse_tag("fi_tsend", tag);
}

int tag_check_recv(const struct emu_ep *ep, uint64_t tag, uint64_t ignore)
{
	if (!tag_fits(ep, tag))
		return refuse_tag("fi_trecv", tag);
	return ignore_fits(ep, ignore) ? 0 : refuse_ignore(ep, ignore);
}

static ssize_t format_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t tag, uint64_t ignore,
			   void *context)
{
	int err = tag_check_recv(emu_ep(fid), tag, ignore);

	return err ? err : emu_ep(fid)->tagged->recv(fid, buf, len, desc, src, tag, ignore, context);
}

static ssize_t format_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t tag,
			    uint64_t ignore, void *context)
{
	int err = tag_check_recv(emu_ep(fid), tag, ignore);

	return err ? err : emu_ep(fid)->tagged->recvv(fid, iov, desc, count, src, tag, ignore, context);
}

static ssize_t format_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	int err = msg ? tag_check_recv(emu_ep(fid), msg->tag, msg->ignore) : 0;

	return err ? err : emu_ep(fid)->tagged->recvmsg(fid, msg, flags);
}

static ssize_t format_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag, void *context)
{
	int err = tag_check_send(emu_ep(fid), tag);

	return err ? err : emu_ep(fid)->tagged->send(fid, buf, len, desc, dest, tag, context);
}

static ssize_t format_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t tag,
			    void *context)
{
	int err = tag_check_send(emu_ep(fid), tag);

	return err ? err : emu_ep(fid)->tagged->sendv(fid, iov, desc, count, dest, tag, context);
}

static ssize_t format_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	int err = msg ? tag_check_send(emu_ep(fid), msg->tag) : 0;

	return err ? err : emu_ep(fid)->tagged->sendmsg(fid, msg, flags);
}

static ssize_t format_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	int err = tag_check_send(emu_ep(fid), tag);

	return err ? err : emu_ep(fid)->tagged->inject(fid, buf, len, dest, tag);
}

static ssize_t format_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest,
			       uint64_t tag, void *context)
{
	int err = tag_check_send(emu_ep(fid), tag);

	return err ? err : emu_ep(fid)->tagged->senddata(fid, buf, len, desc, data, dest, tag, context);
}

static ssize_t format_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t tag)
{
	int err = tag_check_send(emu_ep(fid), tag);

	return err ? err : emu_ep(fid)->tagged->injectdata(fid, buf, len, data, dest, tag);
}

static struct fi_ops_tagged format_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = format_recv,
	.recvv = format_recvv,
	.recvmsg = format_recvmsg,
	.send = format_send,
	.sendv = format_sendv,
	.sendmsg = format_sendmsg,
	.inject = format_inject,
	.senddata = format_senddata,
	.injectdata = format_injectdata,
};

void tag_format_tables(struct emu_ep *ep)
{
	if (!ep->tag_format)
		return;
	ep->tagged = ep->fid.tagged;
	ep->fid.tagged = &format_ops;
}
