/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_stubs.c - a place for every call that does not exist (yet): control, connection and set-up. */
#include "emu/fi/fi_stubs.h"

#include <rdma/fi_errno.h>

int stub_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

int stub_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int stub_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

int stub_tostr(const struct fid *fid, char *buf, size_t len)
{
	return -FI_ENOSYS;
}

int stub_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
	return -FI_ENOSYS;
}

int stub_query_collective(struct fid_domain *domain, enum fi_collective_op coll, struct fi_collective_attr *attr,
		uint64_t flags)
{
	return -FI_ENOSYS;
}

int stub_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **av_set, void *context)
{
	return -FI_ENOSYS;
}

int stub_set_user_id(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags)
{
	return -FI_ENOSYS;
}

int stub_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep, void *context)
{
	return -FI_ENOSYS;
}

int stub_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep, void *context)
{
	return -FI_ENOSYS;
}

ssize_t stub_cancel(fid_t fid, void *context)
{
	return -FI_ENOSYS;
}

int stub_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	return -FI_ENOSYS;
}

int stub_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
{
	return -FI_ENOSYS;
}

int stub_setname(fid_t fid, void *addr, size_t addrlen)
{
	return -FI_ENOSYS;
}

int stub_getname(fid_t fid, void *addr, size_t *addrlen)
{
	return -FI_ENOSYS;
}

ssize_t stub_size_left(struct fid_ep *ep)
{
	return -FI_ENOSYS;
}

int stub_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	return -FI_ENOSYS;
}

int stub_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int stub_listen(struct fid_pep *pep)
{
	return -FI_ENOSYS;
}

int stub_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int stub_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int stub_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

int stub_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc, void *context)
{
	return -FI_ENOSYS;
}
