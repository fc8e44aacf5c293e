/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_pd.c - protection domains. */
#include "emu/verbs/regions/vb_pd.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/device/nic.h"
#include "emu/verbs/start/vb_refuse.h"

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vb_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->ibv.context = context;
	pd->context = vb_context_of(context);
	pd->root = pd;
	vb_context_get(pd->context);
	return &pd->ibv;
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
	errno = -err;
	return NULL;
}

/* Peers' requests may hold it for a moment: then the driver role is not to be had, and the program tries again. */
static int close_device(struct vb_pd *pd)
{
	struct driver *driver;
	int err;

	if (!atomic_load(&pd->pd) || !vb_context_usable(pd->context))
		return 0;
	driver = nic_driver(atomic_load(&pd->context->nic));
	if (!driver_enter(driver))
		return EAGAIN;
	err = pd_close(atomic_load(&pd->pd));
	driver_leave(driver);
	return -err;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vb_pd *pd = vb_pd_of(ibv);
	unsigned users = atomic_load(&pd->users);
	int err;

	if (users)
		return vb_refuse(EBUSY, "ibv_dealloc_pd",
				 "%u regions, QPs, SRQs, address handles or parent domains of the PD are "
				 "open. Destroy them first.",
				 users);
	err = close_device(pd);
	if (err)
		return err;
	vb_context_put(pd->context);
	free(pd);
	return 0;
}
