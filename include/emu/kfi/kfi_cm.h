/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_cm.h - names and connections of endpoints: fi_cm(3). Lengths are in bytes. */
#ifndef EMU_KFI_CM_H
#define EMU_KFI_CM_H

#include <kfi_endpoint.h>

struct kfid_mc {
	struct kfid fid;
	kfi_addr_t addr;
};

struct kfi_ops_cm {
	size_t size;
	int (*setname)(kfid_t fid, void *addr, size_t addrlen);
	int (*getname)(kfid_t fid, void *addr, size_t *addrlen);
	int (*getpeer)(struct kfid_ep *ep, void *addr, size_t *addrlen);
	int (*connect)(struct kfid_ep *ep, const void *addr, const void *param, size_t paramlen);
	int (*listen)(struct kfid_pep *pep);
	int (*accept)(struct kfid_ep *ep, const void *param, size_t paramlen);
	int (*reject)(struct kfid_pep *pep, kfid_t connreq, const void *param, size_t paramlen);
	int (*shutdown)(struct kfid_ep *ep, uint64_t flags);
	int (*join)(struct kfid_ep *ep, const void *addr, uint64_t flags, struct kfid_mc **mc, void *context);
};

/* Sets the address of an endpoint that is not enabled. The call copies the address. */
static inline int kfi_setname(struct kfid *fid, void *addr, size_t addrlen)
{
	return container_of(fid, struct kfid_ep, fid)->cm->setname(fid, addr, addrlen);
}

/* Writes the endpoint's address, and its length to *addrlen. -KFI_ETOOSMALL: *addrlen was less, and says what is needed. */
static inline int kfi_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	return container_of(fid, struct kfid_ep, fid)->cm->getname(fid, addr, addrlen);
}

/* Writes the address of the connected peer, as kfi_getname() does. */
static inline int kfi_getpeer(struct kfid_ep *ep, void *addr, size_t *addrlen)
{
	return ep->cm->getpeer(ep, addr, addrlen);
}

/* Begins to report requests of peers (KFI_CONNREQ) at the event queue of a passive endpoint. */
static inline int kfi_listen(struct kfid_pep *pep)
{
	return pep->cm->listen(pep);
}

/* Asks the peer at addr for a connection, with paramlen bytes for it. KFI_CONNECTED or an error follows at the event queue. */
static inline int kfi_connect(struct kfid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	return ep->cm->connect(ep, addr, param, paramlen);
}

/* Accepts the request that the endpoint was opened with. KFI_CONNECTED follows at the event queue. */
static inline int kfi_accept(struct kfid_ep *ep, const void *param, size_t paramlen)
{
	return ep->cm->accept(ep, param, paramlen);
}

/* Refuses a request, the handle of the info that came with KFI_CONNREQ. The handle is used up. */
static inline int kfi_reject(struct kfid_pep *pep, kfid_t connreq, const void *param, size_t paramlen)
{
	return pep->cm->reject(pep, connreq, param, paramlen);
}

/* Ends a connection. KFI_SHUTDOWN comes at the peer. Flags are reserved and 0. */
static inline int kfi_shutdown(struct kfid_ep *ep, uint64_t flags)
{
	return ep->cm->shutdown(ep, flags);
}

/* Joins a multicast group; KFI_JOIN_COMPLETE follows, and kfi_close() leaves it. -KFI_ENOSYS: the provider has no groups. */
static inline int kfi_join(struct kfid_ep *ep, const void *addr, uint64_t flags, struct kfid_mc **mc, void *context)
{
	if (!KFI_CHECK_OP(ep->cm, struct kfi_ops_cm, join))
		return -ENOSYS;
	return ep->cm->join(ep, addr, flags, mc, context);
}

/* Gives the address that sends to the group: fi_cm(3), fi_mc_addr. */
static inline kfi_addr_t kfi_mc_addr(struct kfid_mc *mc)
{
	return mc->addr;
}

#endif
