/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_xrcd.c - XRC domains: opened by file, and closed; what belongs to each. */
#include "emu/verbs/qp/vb_xrcd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "emu/net/os/fork.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/device/nic.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_srq.h"
#include "emu/verbs/start/vb_refuse.h"

struct vb_xrc {
	struct vb_xrc *next;
	struct nic *nic;
	struct xrc *xrc;
	struct pd *pd;
	bool named; /* by a file: `device` and `inode` */
	dev_t device;
	ino_t inode;
	unsigned int handles;
	struct vb_srq *srqs;
	struct vb_qp *qps;
};

static struct mutex lock = MUTEX_INITIALIZER; /* of all below, and of all domains */
static struct vb_xrc *domains;

static void domains_forked(void)
{
	mutex_forked(&lock);
}

static struct fork_reset reset = { .in_child = domains_forked };

struct xrc *vb_xrcd_device(const struct vb_xrcd *xrcd)
{
	return xrcd->domain->xrc;
}

struct pd *vb_xrcd_pd(const struct vb_xrcd *xrcd)
{
	return xrcd->domain->pd;
}

bool vb_xrcd_is_of(struct ibv_xrcd *ibv, const struct ibv_context *context)
{
	return ibv && ibv->context == context;
}

/* --- opened and closed --- */

/* With the lock. 0 or an errno. */
static int xrc_begin(struct nic *nic, const struct stat *file, struct vb_xrc **out) REQUIRES(driver_role)
{
	struct vb_xrc *domain = calloc(1, sizeof(*domain));
	int err = domain ? 0 : ENOMEM;

	if (err)
		return err;
	domain->nic = nic;
	if (file) {
		domain->named = true;
		domain->device = file->st_dev;
		domain->inode = file->st_ino;
	}
	err = -pd_open(nic, &domain->pd);
	if (!err)
		err = -xrc_open(nic, &domain->xrc);
	if (err) {
		if (domain->pd)
			(void)pd_close(domain->pd);
		free(domain);
		return err;
	}
	domain->next = domains;
	domains = domain;
	*out = domain;
	return 0;
}

static void xrc_end(struct vb_xrc *domain) REQUIRES(driver_role)
{
	struct vb_xrc **at = &domains;
	int err;

	while (*at != domain)
		at = &(*at)->next;
	*at = domain->next;
	xrc_close(domain->xrc);
	err = pd_close(domain->pd);
	assert(!err);
	(void)err;
	free(domain);
}

/* With the lock: that of the file, or a new one. 0 or an errno, after a line of log. */
static int find_domain(struct nic *nic, const struct ibv_xrcd_init_attr *attr, const char *call, struct vb_xrc **out)
	REQUIRES(driver_role)
{
	struct stat file;
	bool named = attr->fd != -1;
	int err;

	if (named && fstat(attr->fd, &file))
		return vb_refuse(EBADF, call, "fd %d is no open descriptor.", attr->fd);
	for (*out = named ? domains : NULL; *out; *out = (*out)->next)
		if ((*out)->named && (*out)->nic == nic && (*out)->device == file.st_dev && (*out)->inode == file.st_ino)
			break;
	if (*out && attr->oflags & O_EXCL)
		return vb_refuse(EINVAL, call, "the file has a domain already, and oflags has O_EXCL.");
	if (!*out && named && !(attr->oflags & O_CREAT))
		return vb_refuse(EAGAIN, call, "the file has no domain yet, and oflags has no O_CREAT.");
	if (*out)
		return 0;
	err = xrc_begin(nic, named ? &file : NULL, out);
	return err ? vb_refuse(err, call, "no memory for the domain.") : 0;
}

/* With the lock. 0 or an errno, after a line of log. */
static int begin_handle(struct vb_context *context, const struct ibv_xrcd_init_attr *attr, const char *call, struct vb_xrc **out)
{
	int err = vb_context_enter(context, call);

	if (err)
		return err;
	err = find_domain(atomic_load(&context->nic), attr, call, out); /* V190 */
	if (!err)
		(*out)->handles++;
	vb_context_leave(context);
	return err;
}

struct ibv_xrcd *vb_open_xrcd(struct ibv_context *ibv, struct ibv_xrcd_init_attr *attr)
{
	static const char call[] = "ibv_open_xrcd";
	static const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct vb_context *context = vb_context_of(ibv);
	struct vb_xrcd *xrcd;
	int err;

	if (!vb_nic_get(context, call))
		return NULL;
	if ((attr->comp_mask & needed) != needed || attr->comp_mask & ~needed)
		return vb_refuse_null(EINVAL, call, "comp_mask is 0x%x, and not IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS.",
				      attr->comp_mask);
	xrcd = fork_register(&reset) ? NULL : calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;
	mutex_lock(&lock);
	err = begin_handle(context, attr, call, &xrcd->domain);
	mutex_unlock(&lock);
	if (err) {
		free(xrcd);
		errno = err;
		return NULL;
	}
	xrcd->ibv.context = ibv;
	xrcd->context = context;
	xrcd->check = check_opened(&(const struct check_what){ .name = "XRC domain", .end = "ibv_close_xrcd" });
	vb_context_get(context);
	return &xrcd->ibv;
}

/* With the lock. 0 or an errno. */
static int end_handle(struct vb_xrcd *xrcd, const char *call)
{
	int err = vb_context_enter(xrcd->context, call);

	if (err)
		return err;
	if (!--xrcd->domain->handles)
		xrc_end(xrcd->domain);
	vb_context_leave(xrcd->context);
	return 0;
}

int vb_close_xrcd(struct ibv_xrcd *ibv)
{
	static const char call[] = "ibv_close_xrcd";
	struct vb_xrcd *xrcd = vb_xrcd_of(ibv);
	unsigned int users = atomic_load(&xrcd->users);
	int err;

	if (vb_context_usable(xrcd->context)) {
		if (users) /* V190 */
			return vb_refuse(EBUSY, call, "%u queue pairs or shared receive queues use it. Destroy them first.", users);
		mutex_lock(&lock);
		err = end_handle(xrcd, call);
		mutex_unlock(&lock);
		if (err)
			return err;
	}
	check_closed(xrcd->check);
	vb_context_put(xrcd->context);
	free(xrcd);
	return 0;
}

/* --- what belongs to it --- */

void vb_xrcd_add_srq(struct vb_xrcd *xrcd, struct vb_srq *srq)
{
	atomic_fetch_add(&xrcd->users, 1);
	mutex_lock(&lock);
	srq->next = xrcd->domain->srqs;
	xrcd->domain->srqs = srq;
	mutex_unlock(&lock);
}

void vb_xrcd_drop_srq(struct vb_xrcd *xrcd, struct vb_srq *srq)
{
	struct vb_srq **at = &xrcd->domain->srqs;

	mutex_lock(&lock);
	while (*at != srq)
		at = &(*at)->next;
	*at = srq->next;
	mutex_unlock(&lock);
	atomic_fetch_sub(&xrcd->users, 1);
}

void vb_xrcd_get(struct vb_xrcd *xrcd)
{
	atomic_fetch_add(&xrcd->users, 1);
}

void vb_xrcd_put(struct vb_xrcd *xrcd)
{
	atomic_fetch_sub(&xrcd->users, 1);
}

void vb_xrcd_add_qp(struct vb_xrcd *xrcd, struct vb_qp *qp)
{
	mutex_lock(&lock);
	qp->domain = xrcd->domain;
	qp->opens = 1;
	qp->next = qp->domain->qps;
	qp->domain->qps = qp;
	mutex_unlock(&lock);
}

bool vb_xrcd_drop_qp(struct vb_qp *qp)
{
	struct vb_qp **at = &qp->domain->qps;
	bool last;

	mutex_lock(&lock);
	last = !--qp->opens;
	if (last) {
		while (*at != qp)
			at = &(*at)->next;
		*at = qp->next;
	}
	mutex_unlock(&lock);
	return last;
}

struct vb_qp *vb_xrcd_open_qp(struct vb_xrcd *xrcd, uint32_t qp_num)
{
	struct vb_qp *qp;

	mutex_lock(&lock);
	for (qp = xrcd->domain->qps; qp && qp->rq.qp_num != qp_num; qp = qp->next)
		;
	if (qp) {
		qp->opens++;
		vb_xrcd_get(xrcd);
	}
	mutex_unlock(&lock);
	return qp;
}

void vb_xrcd_each_cq(const struct vb_xrc *domain, void (*each)(struct vb_cq *cq, void *arg), void *arg)
{
	mutex_lock(&lock);
	for (struct vb_srq *srq = domain->srqs; srq; srq = srq->next)
		each(srq->cq, arg);
	mutex_unlock(&lock);
}
