/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_absent.c - public names that are not built. Each fails as its man page has a device fail that lacks it, with EOPNOTSUPP, which
 * clients take for "skip". Without <infiniband/verbs.h>, as no argument is looked at. */
#include <stddef.h>

#include "emu/verbs/start/vb_refuse.h"

#define EXPORT __attribute__((visibility("default")))

/* That return an errno; -1 or another number, with errno; a null pointer, with errno; nothing. */
#define ABSENT(name)                                   \
	EXPORT int name(void);                         \
	int name(void)                                 \
	{                                              \
		return vb_absent(#name, "not built."); \
	}
#define ABSENT_NUMBER(name, number)                            \
	EXPORT int name(void);                                 \
	int name(void)                                         \
	{                                                      \
		return vb_absent(#name, "not built."), number; \
	}
#define ABSENT_POINTER(name)                                 \
	EXPORT void *name(void);                             \
	void *name(void)                                     \
	{                                                    \
		return vb_absent(#name, "not built."), NULL; \
	}
#define ABSENT_NOTHING(name)                    \
	EXPORT void name(void);                 \
	void name(void)                         \
	{                                       \
		vb_absent(#name, "not built."); \
	}

/* Queue pairs: emu/verbs/qp. */
ABSENT_NUMBER(ibv_query_qp_data_in_order, 0)

/* Datagrams, groups. */
ABSENT(ibv_resolve_eth_l2_from_gid)

/* Objects of other processes. */
ABSENT_POINTER(ibv_import_device)
ABSENT_POINTER(ibv_import_dm)
ABSENT_POINTER(ibv_import_mr)
ABSENT_POINTER(ibv_import_pd)
ABSENT_NOTHING(ibv_unimport_dm)
ABSENT_NOTHING(ibv_unimport_mr)
ABSENT_NOTHING(ibv_unimport_pd)

/* DMA handles, buffers, completion counters, device memory as DMA-buf. */
ABSENT(_ibv_query_comp_cntr_caps)
ABSENT_POINTER(ibv_alloc_buf)
ABSENT_POINTER(ibv_alloc_dmah)
ABSENT_POINTER(ibv_create_comp_cntr)
ABSENT(ibv_dealloc_dmah)
ABSENT(ibv_destroy_comp_cntr)
ABSENT_NUMBER(ibv_dm_export_dmabuf_fd, -1)
ABSENT_NUMBER(ibv_export_buf_dmabuf_fd, -1)
ABSENT_NOTHING(ibv_free_buf)
ABSENT(ibv_inc_comp_cntr)
ABSENT(ibv_inc_err_comp_cntr)
ABSENT(ibv_qp_attach_comp_cntr)
ABSENT(ibv_read_comp_cntr)
ABSENT(ibv_read_err_comp_cntr)
ABSENT_POINTER(ibv_reg_buf_mr)
ABSENT(ibv_set_comp_cntr)
ABSENT(ibv_set_err_comp_cntr)

/* What the library of rdma_cm uses of rdma-core's. */
ABSENT_NOTHING(ibv_copy_ah_attr_from_kern)
ABSENT_NOTHING(ibv_copy_path_rec_from_kern)
ABSENT_NOTHING(ibv_copy_path_rec_to_kern)
ABSENT_NOTHING(ibv_copy_qp_attr_from_kern)
