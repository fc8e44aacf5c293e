/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_query.c - what the device and its port are, and can do (vb_limits.h). */
#include "emu/verbs/device/vb_device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_gid.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/start/vb_refuse.h"

/* Numbers that <infiniband/verbs.h> names in comments alone. */
enum { WIDTH_4X = 2, SPEED_EDR = 32, LINK_DISABLED = 3, LINK_UP = 5, CA_ACK_DELAY = 15 };
enum { VENDOR = 0x02454d };     /* an OUI of those that are assigned locally: no vendor's */
enum { SPEED_100_MBPS = 1000 }; /* of the port, by ibv_query_port_speed() */
enum { CLOCK_KHZ = 1000000 };   /* completion timestamps are nanoseconds */
#define PAGE_SIZES 0xfffff000u

/* Newer headers have it behind all others. */
struct port_attr_new {
	struct ibv_port_attr attr;
	uint32_t active_speed_ex;
};

static bool port_is_there(const char *call, unsigned int port)
{
	if (port >= 1 && port <= VB_PORTS)
		return true;
	vb_refuse(EINVAL, call, "port %u: there is one port, and its number is 1.", port);
	return false;
}

static void fill_device(const struct vb_device *device, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){
		.fw_ver = EMU_VERSION,
		.node_guid = device->guid,
		.sys_image_guid = device->guid,
		.max_mr_size = UINT64_MAX,
		.page_size_cap = PAGE_SIZES,
		.vendor_id = VENDOR,
		.vendor_part_id = 1,
		.max_qp = VB_MAX_QP,
		.max_qp_wr = VB_MAX_QP_WR,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
				    IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_MGT_EXTENSIONS |
				    IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_sge = VB_MAX_SGE,
		.max_sge_rd = VB_MAX_SGE,
		.max_cq = VB_MAX_CQ,
		.max_cqe = VB_MAX_CQE,
		.max_mr = VB_MAX_MR,
		.max_mw = VB_MAX_MW,
		.max_pd = VB_MAX_PD,
		.max_qp_rd_atom = VB_MAX_RD_ATOMIC,
		.max_res_rd_atom = VB_MAX_RD_ATOMIC * VB_MAX_QP,
		.max_qp_init_rd_atom = VB_MAX_RD_ATOMIC,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_ah = VB_MAX_AH,
		.max_mcast_grp = VB_MAX_GROUPS,
		.max_mcast_qp_attach = VB_MAX_QP,
		.max_total_mcast_qp_attach = VB_MAX_QP,
		.max_srq = VB_MAX_SRQ,
		.max_srq_wr = VB_MAX_SRQ_WR,
		.max_srq_sge = VB_MAX_SGE,
		.max_pkeys = VB_MAX_PKEYS,
		.local_ca_ack_delay = CA_ACK_DELAY,
		.phys_port_cnt = VB_PORTS,
	};
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int err = vb_fault("ibv_query_device", context, 0);

	if (!err)
		fill_device(vb_device_of(context->device), attr);
	return err;
}

int vb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr,
		       size_t size)
{
	const uint32_t uc_odp = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t odp = uc_odp | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	struct ibv_device_attr_ex all = {
		.odp_caps = { .general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
			      .per_transport_caps = { .rc_odp_caps = odp,
						      .uc_odp_caps = uc_odp,
						      .ud_odp_caps = uc_odp & ~(uint32_t)IBV_ODP_SUPPORT_WRITE } },
		.xrc_odp_caps = odp,
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = CLOCK_KHZ,
		.max_dm_size = VB_MAX_DM,
		.phys_port_cnt_ex = VB_PORTS,
	};
	int err = vb_fault("ibv_query_device", context, 0);

	if (err)
		return err;
	if (input && input->comp_mask)
		return vb_refuse(EINVAL, "ibv_query_device_ex", "input->comp_mask is %#x, and no bit of it means anything.",
				 input->comp_mask);
	if (size < sizeof(all.orig_attr))
		return vb_refuse(EINVAL, "ibv_query_device_ex", "attr has %zu bytes, and an ibv_device_attr alone has %zu.", size,
				 sizeof(all.orig_attr));
	fill_device(vb_device_of(context->device), &all.orig_attr);
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	if (size > sizeof(all))
		memset((char *)attr + sizeof(all), 0, size - sizeof(all));
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

int vb_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	int err = vb_fault("ibv_query_port", context, 0); /* which may change the port */
	bool down = atomic_load(&vb_port_down);
	const struct port_attr_new all = {
		.attr = {
			.state = down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
			.max_mtu = VB_MTU_MAX,
			.active_mtu = VB_MTU_ACTIVE,
			.gid_tbl_len = VB_GIDS,
			.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
			.max_msg_sz = VB_MAX_MSG,
			.pkey_tbl_len = VB_MAX_PKEYS,
			.max_vl_num = 1,
			.active_width = WIDTH_4X,
			.active_speed = SPEED_EDR,
			.phys_state = down ? LINK_DISABLED : LINK_UP,
			.link_layer = IBV_LINK_LAYER_ETHERNET,
			.flags = IBV_QPF_GRH_REQUIRED,
		},
		.active_speed_ex = SPEED_EDR,
	};

	if (err)
		return err;
	if (!port_is_there("ibv_query_port", port))
		return EINVAL;
	if (size > sizeof(all))
		memset((char *)attr + sizeof(all), 0, size - sizeof(all));
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/* For programs that were built before the inline function of this name: they know fewer fields. */
#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return vb_query_port(context, port, (struct ibv_port_attr *)attr, offsetof(struct ibv_port_attr, port_cap_flags2));
}

VB_EXPORT int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	(void)context;
	if (!port_is_there("ibv_query_port_speed", port))
		return EINVAL;
	*speed = SPEED_100_MBPS;
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (!port_is_there("ibv_query_pkey", port))
		return -1;
	if (index < 0 || index >= VB_MAX_PKEYS) {
		vb_refuse(EINVAL, "ibv_query_pkey", "index %d: the table has %d P_Key, at index 0.", index, VB_MAX_PKEYS);
		return -1;
	}
	*pkey = htons(VB_PKEY);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	if (!port_is_there("ibv_get_pkey_index", port))
		return -1;
	if (pkey == htons(VB_PKEY))
		return 0;
	vb_refuse(ENOENT, "ibv_get_pkey_index", "P_Key %#x is not in the table, which has %#x.", ntohs(pkey), VB_PKEY);
	return -1;
}

int vb_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	(void)context;
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return vb_refuse(EINVAL, "ibv_query_rt_values_ex",
				 "comp_mask is %#x, and IBV_VALUES_MASK_RAW_CLOCK is all there is.", values->comp_mask);
	if (values->comp_mask)
		clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
	return 0;
}
