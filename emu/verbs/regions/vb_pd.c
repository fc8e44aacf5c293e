/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_pd.c - protection domains. */
#include "emu/verbs/regions/vb_pd.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/device/nic.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/start/vb_refuse.h"

static atomic_uint count;   /* open */
static atomic_uint handles; /* given out so far */

/* NULL with errno. */
static struct vb_pd *pd_new(struct vb_context *context, const char *call)
{
	struct vb_pd *pd;

	if (vb_count_take(&count, VB_MAX_PD, call, "PDs", "max_pd"))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	if (!pd) {
		vb_count_give(&count);
		return vb_refuse_null(ENOMEM, call, "no memory for a PD.");
	}
	pd->ibv.context = &context->abi.context;
	pd->context = context;
	pd->root = pd;
	pd->handle = pd->ibv.handle = atomic_fetch_add(&handles, 1) + 1;
	pd->check = check_opened(&(struct check_what){ .name = "PD", .end = "ibv_dealloc_pd", .outer = 1 });
	vb_context_get(context);
	return pd;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	bool fails = vb_fault("ibv_alloc_pd", context, 0);
	struct vb_pd *pd = fails ? NULL : pd_new(vb_context_of(context), "ibv_alloc_pd");

	return pd ? &pd->ibv : NULL;
}

int vb_pd_check(struct ibv_pd *ibv, const char *call)
{
	const struct vb_pd *pd = vb_pd_of(ibv);

	if (ibv->handle == pd->handle && ibv->context == &pd->context->abi.context)
		return 0;
	return vb_refuse_handle(call, ibv->handle, "PD of that context");
}

/* The program's allocators are for memory that a device shares with its library, of which there is none here. */
struct ibv_pd *vb_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct vb_pd *pd;

	if (attr->comp_mask & ~known)
		return vb_absent_null("ibv_alloc_parent_domain",
				      "comp_mask %#x: its bits ALLOCATORS and PD_CONTEXT alone are known.", attr->comp_mask);
	if (!attr->pd || attr->pd->context != context || (attr->td && attr->td->context != context))
		return vb_refuse_null(EINVAL, "ibv_alloc_parent_domain", "pd is NULL, or pd or td are of another context.");
	if (vb_pd_check(attr->pd, "ibv_alloc_parent_domain"))
		return NULL;
	pd = pd_new(vb_context_of(context), "ibv_alloc_parent_domain");
	if (!pd)
		return NULL;
	pd->base = vb_pd_of(attr->pd);
	pd->root = pd->base->root;
	pd->td = (struct vb_td *)attr->td;
	vb_pd_get(pd->base);
	if (pd->td)
		atomic_fetch_add(&pd->td->users, 1);
	return &pd->ibv;
}

struct ibv_td *vb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct vb_td *td;

	if (attr->comp_mask)
		return vb_refuse_null(EINVAL, "ibv_alloc_td", "comp_mask is %#x, and no bit of it means anything.",
				      attr->comp_mask);
	td = calloc(1, sizeof(*td));
	if (!td)
		return vb_refuse_null(ENOMEM, "ibv_alloc_td", "no memory for a thread domain.");
	td->ibv.context = context;
	vb_context_get(vb_context_of(context));
	return &td->ibv;
}

int vb_dealloc_td(struct ibv_td *ibv)
{
	struct vb_td *td = (struct vb_td *)ibv;

	if (atomic_load(&td->users))
		return vb_refuse(EBUSY, "ibv_dealloc_td", "%u parent domains use it. Deallocate them first.",
				 atomic_load(&td->users));
	vb_context_put(vb_context_of(ibv->context));
	free(td);
	return 0;
}

/* Opens the device's at the first need. */
struct pd *vb_pd_device(struct vb_pd *given, const char *call)
{
	struct vb_pd *root = given->root;
	struct nic *nic = vb_nic_get(root->context, call);
	struct pd *pd;
	int err = 0;

	if (!nic)
		return NULL;
	mutex_lock(&root->context->lock);
	pd = atomic_load(&root->pd);
	if (!pd)
		err = pd_open(nic, &pd);
	if (!err)
		atomic_store(&root->pd, pd);
	mutex_unlock(&root->context->lock);
	if (!err)
		return pd;
	return vb_refuse_null(-err, call, "no memory for the PD's part in the device.");
}

/* Peers' requests may hold it for a moment: then the driver role is not to be had, and the program tries again. */
static int close_device(struct vb_pd *pd)
{
	int err;

	if (!atomic_load(&pd->pd) || !vb_context_usable(pd->context))
		return 0;
	err = vb_context_enter(pd->context, "ibv_dealloc_pd");
	if (err)
		return err;
	err = pd_close(atomic_load(&pd->pd));
	vb_context_leave(pd->context);
	return err ? vb_refuse(-err, "ibv_dealloc_pd", "the device still uses it, for a moment. Try again.") : 0;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vb_pd *pd = vb_pd_of(ibv);
	unsigned users = atomic_load(&pd->users);
	int err = vb_pd_check(ibv, "ibv_dealloc_pd");

	if (err)
		return err;
	if (users) /* V2, V6 */
		return vb_refuse(EBUSY, "ibv_dealloc_pd",
				 "%u regions, memory windows, QPs, SRQs, address handles or parent domains of the PD are "
				 "open. Destroy them first.",
				 users);
	err = close_device(pd);
	if (err)
		return err;
	if (pd->base)
		vb_pd_put(pd->base);
	if (pd->td)
		atomic_fetch_sub(&pd->td->users, 1);
	vb_context_put(pd->context);
	check_closed(pd->check);
	free(pd);
	vb_count_give(&count);
	return 0;
}
