/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_stubs_data.c - functions for the data transfer calls that are not implemented: the collective ones. */
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"

static ssize_t collective_barrier(struct fid_ep *ep, fi_addr_t coll_addr, void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc, fi_addr_t coll_addr,
				    fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				   fi_addr_t coll_addr, enum fi_datatype datatype, uint64_t flags, void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				    fi_addr_t coll_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				    fi_addr_t coll_addr, enum fi_datatype datatype, uint64_t flags, void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
					 void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype, enum fi_op op,
					 uint64_t flags, void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				 fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
				 void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				  fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags,
				  void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				 fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_msg(struct fid_ep *ep, const struct fi_msg_collective *msg, struct fi_ioc *resultv, void **result_desc,
			      size_t result_count, uint64_t flags)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

static ssize_t collective_barrier2(struct fid_ep *ep, fi_addr_t coll_addr, uint64_t flags, void *context)
{
	return refuse_missing("collective call", "It is for endpoints of type FI_EP_RDM");
}

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
