/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_fabric_open.c - the fabric object: its life, and its table of functions. */
#include "emu/fi/domain/fi_domain.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/fi/queues/fi_eq.h"
#include "emu/fi/queues/fi_wait.h"

static int fi_fabric_close(struct fid *fid)
{
	struct emu_fabric *fabric = (struct emu_fabric *)fid;

	if (atomic_load(&fabric->users))
		return REFUSE(FABRIC, -FI_EBUSY,
			      "fi_close: open objects of the fabric: %u (domains, event queues, passive "
			      "endpoints, wait sets). Close them first.",
			      atomic_load(&fabric->users));
	registry_remove(&fabric->opened);
	free(fabric);
	return 0;
}

static int fabric_domain2(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **domain, uint64_t flags, void *context)
{
	return flags ? REFUSE_FLAGS(FABRIC, "fi_domain2", flags) : emu_domain_open(fid, info, domain, context);
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fi_fabric_close,
	.bind = stub_bind,
	.control = stub_control,
	STUB_FID_OPS,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = emu_domain_open,
	.passive_ep = emu_pep_open,
	.eq_open = emu_eq_open,
	.wait_open = emu_wait_open,
	.trywait = emu_trywait,
	.domain2 = fabric_domain2,
};

int emu_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	struct emu_fabric *fabric;

	if (!attr || !out)
		return REFUSE(FABRIC, -FI_EINVAL, "fi_fabric: attr or fabric is NULL.");
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fid_ops;
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	registry_add(&fabric->opened, &fabric->fid.fid, attr->name);
	*out = &fabric->fid;
	return 0;
}
