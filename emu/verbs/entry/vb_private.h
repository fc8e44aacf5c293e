/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_private.h - names that are no interface for programs, and that files loaded beside them want all the same.
 *
 * VB_PRIVATE_*: what rdma-core's providers (libmlx5, libefa) and its other libraries take from libibverbs. perftest, UCX and
 * libfabric are linked with such libraries, and do not load without. The nodes of each generation have all of them: no provider has
 * a device here, so none is called. VB_OLD_*: the interface before IBVERBS_1.1 (2006), of which no program is left.
 *
 * CALLS return an errno, POINTERS a null pointer, NOTHING returns nothing. */
#ifndef EMU_VB_PRIVATE_H
#define EMU_VB_PRIVATE_H

#include "emu/verbs/start/vb_abi.h"

/* clang-format off */
#define VB_PRIVATE_CALLS(X) \
	X(__ioctl_final_num_attrs) X(execute_ioctl) X(ibv_cmd_advise_mr) X(ibv_cmd_alloc_dm) X(ibv_cmd_alloc_dmah) \
	X(ibv_cmd_alloc_mw) X(ibv_cmd_alloc_pd) X(ibv_cmd_attach_mcast) X(ibv_cmd_close_xrcd) X(ibv_cmd_create_ah) \
	X(ibv_cmd_create_comp_cntr) X(ibv_cmd_create_counters) X(ibv_cmd_create_cq) X(ibv_cmd_create_cq_ex) \
	X(ibv_cmd_create_cq_ex2) X(ibv_cmd_create_flow) X(ibv_cmd_create_flow_action_esp) X(ibv_cmd_create_qp) \
	X(ibv_cmd_create_qp_ex) X(ibv_cmd_create_qp_ex2) X(ibv_cmd_create_rwq_ind_table) X(ibv_cmd_create_srq) \
	X(ibv_cmd_create_srq_ex) X(ibv_cmd_create_wq) X(ibv_cmd_dealloc_mw) X(ibv_cmd_dealloc_pd) X(ibv_cmd_dereg_mr) \
	X(ibv_cmd_destroy_ah) X(ibv_cmd_destroy_comp_cntr) X(ibv_cmd_destroy_counters) X(ibv_cmd_destroy_cq) \
	X(ibv_cmd_destroy_flow) X(ibv_cmd_destroy_flow_action) X(ibv_cmd_destroy_qp) X(ibv_cmd_destroy_rwq_ind_table) \
	X(ibv_cmd_destroy_srq) X(ibv_cmd_destroy_wq) X(ibv_cmd_detach_mcast) X(ibv_cmd_export_dmabuf_fd) \
	X(ibv_cmd_free_dm) X(ibv_cmd_free_dmah) X(ibv_cmd_get_context) X(ibv_cmd_inc_comp_cntr) \
	X(ibv_cmd_inc_err_comp_cntr) X(ibv_cmd_modify_cq) X(ibv_cmd_modify_flow_action_esp) X(ibv_cmd_modify_qp) \
	X(ibv_cmd_modify_qp_ex) X(ibv_cmd_modify_srq) X(ibv_cmd_modify_wq) X(ibv_cmd_open_qp) X(ibv_cmd_open_xrcd) \
	X(ibv_cmd_poll_cq) X(ibv_cmd_post_recv) X(ibv_cmd_post_send) X(ibv_cmd_post_srq_recv) \
	X(ibv_cmd_qp_attach_comp_cntr) X(ibv_cmd_query_comp_cntr_caps) X(ibv_cmd_query_context) X(ibv_cmd_query_device) \
	X(ibv_cmd_query_device_any) X(ibv_cmd_query_device_ex) X(ibv_cmd_query_mr) X(ibv_cmd_query_port) \
	X(ibv_cmd_query_port_speed) X(ibv_cmd_query_qp) X(ibv_cmd_query_srq) X(ibv_cmd_read_comp_cntr) \
	X(ibv_cmd_read_counters) X(ibv_cmd_read_err_comp_cntr) X(ibv_cmd_reg_dm_mr) X(ibv_cmd_reg_dmabuf_mr) \
	X(ibv_cmd_reg_mr) X(ibv_cmd_reg_mr_ex) X(ibv_cmd_req_notify_cq) X(ibv_cmd_rereg_mr) X(ibv_cmd_resize_cq) \
	X(ibv_cmd_set_comp_cntr) X(ibv_cmd_set_err_comp_cntr) X(ibv_dmabuf_heap_cc_shared_init) X(ibv_get_fw_ver)

#define VB_PRIVATE_POINTERS(X) \
	X(_verbs_init_and_alloc_context) X(ibv_dmabuf_heap_alloc) X(verbs_open_device)

#define VB_PRIVATE_NOTHING(X) \
	X(__verbs_log) X(ibv_dmabuf_heap_destroy) X(ibv_dmabuf_heap_free) X(verbs_init_cq) X(verbs_set_ops) \
	X(verbs_uninit_context)

#define VB_OLD_CALLS(X) \
	X(ibv_attach_mcast) X(ibv_close_device) X(ibv_dealloc_pd) X(ibv_dereg_mr) X(ibv_destroy_ah) X(ibv_destroy_cq) \
	X(ibv_destroy_qp) X(ibv_destroy_srq) X(ibv_detach_mcast) X(ibv_get_async_event) X(ibv_get_cq_event) \
	X(ibv_modify_qp) X(ibv_modify_srq) X(ibv_query_device) X(ibv_query_gid) X(ibv_query_pkey) X(ibv_query_port) \
	X(ibv_query_qp) X(ibv_query_srq) X(ibv_resize_cq)

#define VB_OLD_POINTERS(X) \
	X(ibv_alloc_pd) X(ibv_create_ah) X(ibv_create_cq) X(ibv_create_qp) X(ibv_create_srq) X(ibv_get_device_list) \
	X(ibv_get_device_name) X(ibv_open_device) X(ibv_reg_mr)

#define VB_OLD_NOTHING(X) \
	X(ibv_ack_async_event) X(ibv_ack_cq_events) X(ibv_free_device_list) X(ibv_get_device_guid)
/* clang-format on */

/* The words of a work request, for ibv_wr_opcode_str() (vb_text.c). Never NULL. Any thread. */
const char *vb_opcode_words(enum ibv_wr_opcode opcode);

#endif
