/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_cm.c - names of endpoints, connections, and passive endpoints. */
#include "emu/kfi/ep/kemu_ep.h"

#include <kfi_errno.h>
#include <rdma/fi_cm.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_objects.h"
#include "emu/kfi/provider/kemu_personality.h"
#include "emu/kfi/provider/kemu_refuse.h"

/* The passive endpoints that are open, by which a handle is known. */
static struct kemu_pep *peps;
static pthread_mutex_t peps_lock = PTHREAD_MUTEX_INITIALIZER;

/* An endpoint or passive endpoint: libfabric's object, and whether its addresses are struct kcxi_addr. */
static struct fid *named(kfid_t fid, bool *cxi)
{
	struct kemu_ep *ep;

	*cxi = false;
	if (fid->fclass == KFI_CLASS_PEP)
		return &container_of(fid, struct kemu_pep, kfid.fid)->fi->fid;
	ep = kemu_ep(container_of(fid, struct kfid_ep, fid));
	if (!ep->fi)
		return NULL;
	*cxi = ep->domain->fabric->personality->cxi_addresses;
	return &ep->fi->fid;
}

static int kemu_cm_setname(kfid_t fid, void *addr, size_t addrlen)
{
	struct sockaddr_in in;
	struct kcxi_addr address;
	bool cxi;
	struct fid *fi = named(fid, &cxi);

	if (!fi || !addr)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_setname: addr is NULL, or the object has no name.");
	if (!cxi)
		return fi_setname(fi, addr, addrlen);
	if (addrlen != sizeof(address))
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_setname: addrlen is %zu, and addresses have %zu bytes.", addrlen,
				   sizeof(address));
	memcpy(&address, addr, sizeof(address));
	if (kemu_addr_to_socket(&address, &in))
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_setname: pid %u, and pids are 0 to %d.", (unsigned int)address.pid,
				   KEMU_PIDS - 1);
	return fi_setname(fi, &in, sizeof(in));
}

/* Writes what fits of an address; *addrlen is then its length. */
static int tell_cxi(const struct sockaddr_in *in, void *addr, size_t *addrlen)
{
	size_t room = *addrlen;
	struct kcxi_addr cxi;
	int err = kemu_addr_from_socket(in, sizeof(*in), &cxi);

	if (err)
		return KEMU_REFUSE(-KFI_EADDRNOTAVAIL, "kfi_getname, kfi_getpeer: the address has no pid.");
	*addrlen = sizeof(cxi);
	memcpy(addr, &cxi, room < sizeof(cxi) ? room : sizeof(cxi));
	return room < sizeof(cxi) ? -KFI_ETOOSMALL : 0;
}

static uint16_t shift_of(kfid_t fid)
{
	const struct kemu_ep *ep = kemu_ep(container_of(fid, struct kfid_ep, fid));

	return ep->scalable ? ep->scalable->shift : ep->shift;
}

static int kemu_cm_getname(kfid_t fid, void *addr, size_t *addrlen)
{
	struct sockaddr_in in = { 0 };
	size_t length = sizeof(in);
	bool cxi;
	struct fid *fi = named(fid, &cxi);
	int err;

	if (!fi || !addrlen || (!addr && *addrlen))
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_getname: addr or addrlen is NULL, or the object has no name.");
	if (!cxi)
		return fi_getname(fi, addr, addrlen);
	err = fi_getname(fi, &in, &length);
	if (err)
		return err;
	in.sin_port = htons((uint16_t)(ntohs(in.sin_port) - shift_of(fid)));
	return tell_cxi(&in, addr, addrlen);
}

static int kemu_cm_getpeer(struct kfid_ep *ep, void *addr, size_t *addrlen)
{
	if (!kemu_ep(ep)->fi)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_getpeer: a shared transmit context has no peer.");
	return fi_getpeer(kemu_ep(ep)->fi, addr, addrlen);
}

/* --- connections --- */

static int kno_connections(const char *call)
{
	return KEMU_REFUSE(-KFI_EOPNOTSUPP, "%s: the object has no connection.", call);
}

static int kemu_cm_connect(struct kfid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	EMU_KERNEL_SLEEPS("kfi_connect");
	return kemu_ep(ep)->fi ? fi_connect(kemu_ep(ep)->fi, addr, param, paramlen) : kno_connections("kfi_connect");
}

static int kemu_cm_accept(struct kfid_ep *ep, const void *param, size_t paramlen)
{
	EMU_KERNEL_SLEEPS("kfi_accept");
	return kemu_ep(ep)->fi ? fi_accept(kemu_ep(ep)->fi, param, paramlen) : kno_connections("kfi_accept");
}

static int kemu_cm_shutdown(struct kfid_ep *ep, uint64_t flags)
{
	EMU_KERNEL_SLEEPS("kfi_shutdown");
	return kemu_ep(ep)->fi ? fi_shutdown(kemu_ep(ep)->fi, flags) : kno_connections("kfi_shutdown");
}

static int kemu_cm_listen(struct kfid_pep *pep)
{
	EMU_KERNEL_SLEEPS("kfi_listen");
	if (pep->fid.fclass != KFI_CLASS_PEP)
		return kno_connections("kfi_listen");
	return fi_listen(container_of(pep, struct kemu_pep, kfid)->fi);
}

static int kemu_cm_reject(struct kfid_pep *pep, kfid_t connreq, const void *param, size_t paramlen)
{
	EMU_KERNEL_SLEEPS("kfi_reject");
	if (pep->fid.fclass != KFI_CLASS_PEP)
		return kno_connections("kfi_reject");
	return fi_reject(container_of(pep, struct kemu_pep, kfid)->fi, (struct fid *)connreq, param, paramlen);
}

/* Without kfi_join(), whose inline knows that by the op: there are no multicast groups. */
struct kfi_ops_cm kemu_cm_ops = {
	.size = sizeof(struct kfi_ops_cm),
	.setname = kemu_cm_setname,
	.getname = kemu_cm_getname,
	.getpeer = kemu_cm_getpeer,
	.connect = kemu_cm_connect,
	.listen = kemu_cm_listen,
	.accept = kemu_cm_accept,
	.reject = kemu_cm_reject,
	.shutdown = kemu_cm_shutdown,
};

/* --- passive endpoints --- */

struct fid *kemu_handle_to_fi(kfid_t handle)
{
	const struct kemu_pep *pep;

	pthread_mutex_lock(&peps_lock);
	for (pep = peps; pep && &pep->kfid.fid != handle; pep = pep->next)
		;
	pthread_mutex_unlock(&peps_lock);
	/* Else it is libfabric's name of a request, or anything: libfabric's provider looks for it. */
	return pep ? &pep->fi->fid : (struct fid *)handle;
}

static ssize_t kemu_pep_cancel(kfid_t fid, void *context)
{
	(void)fid, (void)context;
	return -KFI_ENOENT;
}

static int kemu_pep_getopt(kfid_t fid, int level, int name, void *value, size_t *length)
{
	if (level != KFI_OPT_ENDPOINT || name != KFI_OPT_CM_DATA_SIZE)
		return -KFI_ENOPROTOOPT;
	return fi_getopt(&container_of(fid, struct kemu_pep, kfid.fid)->fi->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, value,
			 length);
}

static int kemu_pep_setopt(kfid_t fid, int level, int name, const void *value, size_t length)
{
	(void)fid, (void)level, (void)name, (void)value, (void)length;
	return -KFI_ENOPROTOOPT;
}

static struct kfi_ops_ep pep_ops = {
	.size = offsetof(struct kfi_ops_ep, tx_ctx),
	.cancel = kemu_pep_cancel,
	.getopt = kemu_pep_getopt,
	.setopt = kemu_pep_setopt,
};

static int kemu_pep_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags)
{
	struct kemu_pep *pep = container_of(fid, struct kemu_pep, kfid.fid);
	struct kemu_eq *eq = kemu_eq_of(bfid, pep->fabric);
	int err;

	EMU_KERNEL_SLEEPS("kfi_pep_bind");
	if (!eq)
		return KEMU_REFUSE(
			-KFI_EINVAL,
			"kfi_pep_bind: a passive endpoint is bound to an event queue of its fabric, and to nothing else.");
	err = fi_pep_bind(pep->fi, &eq->fi->fid, flags);
	if (!err)
		kemu_object_bind(&pep->object, eq);
	return err;
}

static int kemu_pep_control(struct kfid *fid, int command, void *arg)
{
	EMU_KERNEL_SLEEPS("kfi_control");
	if (command != KFI_BACKLOG)
		return kemu_no_control(fid, command, arg);
	return fi_control(&container_of(fid, struct kemu_pep, kfid.fid)->fi->fid, FI_BACKLOG, arg);
}

static int kemu_pep_close(struct kfid *fid)
{
	struct kemu_pep *pep = container_of(fid, struct kemu_pep, kfid.fid), **link;
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	err = fi_close(&pep->fi->fid);
	if (err)
		return err;
	pthread_mutex_lock(&peps_lock);
	for (link = &peps; *link != pep; link = &(*link)->next)
		;
	*link = pep->next;
	pthread_mutex_unlock(&peps_lock);
	kemu_object_end(&pep->object, pep);
	return 0;
}

static struct kfi_ops pep_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_pep_close,
	.bind = kemu_pep_bind,
	.control = kemu_pep_control,
	.ops_open = kemu_no_ops_open,
};

static int open_pep(struct kemu_pep *pep, const struct kfi_info *info)
{
	struct fi_info *fi = NULL;
	int err = kemu_info_to_fi(pep->fabric->personality, "kfi_passive_ep", info, &fi);

	if (err)
		return err;
	err = fi_passive_ep(pep->fabric->fi, fi, &pep->fi, pep);
	fi_freeinfo(fi);
	return err;
}

int kemu_pep_open(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_pep **out, void *context)
{
	struct kemu_pep *pep;
	int err;

	EMU_KERNEL_SLEEPS("kfi_passive_ep");
	if (!kemu_fabric(fabric)->personality->endpoints)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_passive_ep: this provider has no connections.");
	if (!info || !out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_passive_ep: info or pep is NULL.");
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -KFI_ENOMEM;
	pep->fabric = kemu_fabric(fabric);
	pep->kfid = (struct kfid_pep){ .fid = { .fclass = KFI_CLASS_PEP, .context = context, .ops = &pep_fid_ops },
				       .ops = &pep_ops,
				       .cm = &kemu_cm_ops };
	err = kemu_object_opened(&pep->object, &pep->fabric->object.users, pep, open_pep(pep, info));
	if (err)
		return err;
	pthread_mutex_lock(&peps_lock);
	pep->next = peps;
	peps = pep;
	pthread_mutex_unlock(&peps_lock);
	*out = &pep->kfid;
	return 0;
}
