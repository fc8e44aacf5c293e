/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_device.h - the emulated devices, which live as long as the process. Constant once they are made. Any thread. */
#ifndef EMU_VB_DEVICE_H
#define EMU_VB_DEVICE_H

#include <stdint.h>

#include "emu/verbs/start/vb_abi.h"

enum {
	VB_DEVICES_MAX = 16,    /* EMU_DEVICES may ask for */
	VB_PORTS = 1,           /* of a device, numbered from 1 */
	VB_PROVIDER_BYTES = 96, /* of rdma-core's own struct behind ibv_device, which providers' libraries look into */
};

/* The library of a provider (libmlx5, libefa) tells its devices from others by the first pointer behind ibv_device. */
struct vb_device {
	struct ibv_device ibv;
	union {
		const void *provider;
		uint8_t room[VB_PROVIDER_BYTES];
	};
	int index;     /* of the device, as rdma-core counts: from 1 */
	uint64_t guid; /* in network order: of the machine and the device's number */
};

static inline struct vb_device *vb_device_of(struct ibv_device *ibv)
{
	return (struct vb_device *)ibv;
}

/* --- vb_query.c: queries that programs reach through the context's table, as their man pages say. --- */

/* `size` is the structure's in the program, which may know fewer fields, or more. */
int vb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr,
		       size_t size);
int vb_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size);
/* The clock of completion timestamps: CLOCK_MONOTONIC in nanoseconds. */
int vb_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

#endif
