/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_query.h - queries that programs reach through the context's table. As their man pages say. Any thread. */
#ifndef EMU_VB_QUERY_H
#define EMU_VB_QUERY_H

#include "emu/verbs/start/vb_abi.h"

/* `size` is the structure's in the program, which may know fewer fields, or more. */
int vb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr,
		       size_t size);
int vb_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size);
/* The clock of completion timestamps: CLOCK_MONOTONIC in nanoseconds. */
int vb_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

#endif
