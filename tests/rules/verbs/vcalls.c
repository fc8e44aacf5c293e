/* SPDX-License-Identifier: BSD-2-Clause */
/* vcalls.c - see vcalls.h. What the program exports must not stand in the place of the library for others: all is hidden. */
#include "tests/rules/verbs/vcalls.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <link.h>
#include <stddef.h>

#include "tests/rules/harness/check.h"
#include "tests/rules/verbs/forward.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

static void *library;

const char *vcalls_load(void)
{
	library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_GLOBAL);
	return library ? NULL : dlerror();
}

const char *vcalls_path(void)
{
	struct link_map *map;

	return dlinfo(library, RTLD_DI_LINKMAP, &map) ? "libibverbs.so.1" : map->l_name;
}

static void *find_call(const char *name)
{
	void *at = dlsym(library, name);

	CHECK(at, "libibverbs.so.1 has no %s", name);
	return at;
}

FORWARD(struct ibv_device **, ibv_get_device_list, (int *count), count)
FORWARD_VOID(ibv_free_device_list, (struct ibv_device * *list), list)
FORWARD(const char *, ibv_get_device_name, (struct ibv_device * device), device)
FORWARD(struct ibv_context *, ibv_open_device, (struct ibv_device * device), device)
FORWARD(int, ibv_close_device, (struct ibv_context * context), context)
FORWARD(int, ibv_get_async_event, (struct ibv_context * context, struct ibv_async_event *event), context, event)
FORWARD_VOID(ibv_ack_async_event, (struct ibv_async_event * event), event)
FORWARD(int, ibv_query_device, (struct ibv_context * context, struct ibv_device_attr *attr), context, attr)
FORWARD(int, ibv_query_port, (struct ibv_context * context, uint8_t port, struct _compat_ibv_port_attr *attr), context, port, attr)
FORWARD(int, ibv_query_gid, (struct ibv_context * context, uint8_t port, int index, union ibv_gid *gid), context, port, index, gid)
FORWARD(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context * context), context)
FORWARD(int, ibv_dealloc_pd, (struct ibv_pd * pd), pd)
FORWARD(struct ibv_ah *, ibv_create_ah, (struct ibv_pd * pd, struct ibv_ah_attr *attr), pd, attr)
FORWARD(struct ibv_ah *, ibv_create_ah_from_wc, (struct ibv_pd * pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port), pd, wc,
	grh, port)
FORWARD(int, ibv_attach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid), qp, gid, lid)
FORWARD(int, ibv_detach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid), qp, gid, lid)
FORWARD(int, ibv_destroy_ah, (struct ibv_ah * ah), ah)
FORWARD(struct ibv_mr *, ibv_reg_mr, (struct ibv_pd * pd, void *addr, size_t length, int access), pd, addr, length, access)
FORWARD(struct ibv_mr *, ibv_reg_mr_iova, (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova, int access), pd, addr,
	length, iova, access)
FORWARD(struct ibv_mr *, ibv_reg_mr_iova2, (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova, unsigned int access), pd,
	addr, length, iova, access)
FORWARD(int, ibv_rereg_mr, (struct ibv_mr * mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access), mr, flags, pd,
	addr, length, access)
FORWARD(int, ibv_dereg_mr, (struct ibv_mr * mr), mr)
FORWARD(struct ibv_comp_channel *, ibv_create_comp_channel, (struct ibv_context * context), context)
FORWARD(int, ibv_destroy_comp_channel, (struct ibv_comp_channel * channel), channel)
FORWARD(struct ibv_cq *, ibv_create_cq,
	(struct ibv_context * context, int cqe, void *cq_context, struct ibv_comp_channel *channel, int vector), context, cqe,
	cq_context, channel, vector)
FORWARD(int, ibv_resize_cq, (struct ibv_cq * cq, int cqe), cq, cqe)
FORWARD(int, ibv_destroy_cq, (struct ibv_cq * cq), cq)
FORWARD(int, ibv_get_cq_event, (struct ibv_comp_channel * channel, struct ibv_cq **cq, void **cq_context), channel, cq, cq_context)
FORWARD_VOID(ibv_ack_cq_events, (struct ibv_cq * cq, unsigned int count), cq, count)
FORWARD(struct ibv_srq *, ibv_create_srq, (struct ibv_pd * pd, struct ibv_srq_init_attr *attr), pd, attr)
FORWARD(int, ibv_modify_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr, int mask), srq, attr, mask)
FORWARD(int, ibv_query_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr), srq, attr)
FORWARD(int, ibv_destroy_srq, (struct ibv_srq * srq), srq)
FORWARD(struct ibv_qp *, ibv_create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr *attr), pd, attr)
FORWARD(int, ibv_modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask), qp, attr, mask)
FORWARD(int, ibv_query_qp, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init), qp, attr, mask,
	init)
FORWARD(int, ibv_destroy_qp, (struct ibv_qp * qp), qp)
FORWARD(struct ibv_qp_ex *, ibv_qp_to_qp_ex, (struct ibv_qp * qp), qp)
FORWARD(const char *, ibv_wc_status_str, (enum ibv_wc_status status), status)
FORWARD(const char *, ibv_event_type_str, (enum ibv_event_type event), event)
