/* SPDX-License-Identifier: BSD-2-Clause */
/* said.c - sentences about settings, which nobody hears here, and the names of a front end. */
#include <errno.h>

#include "emu/process/front/process_front.h"
#include "emu/process/settings/setting_say.h"

int setting_wrong(const char *name, const char *format, ...)
{
	(void)name;
	(void)format;
	return -EINVAL;
}

static const uint32_t becomes[] = { 0x2, 0x0, 0x4, 0x0 };

static const struct process_faults faults = { .calls = "ibv_open_device ibv_reg_mr ibv_post_send",
					      .statuses = "SUCCESS LOC_LEN_ERR REM_ACCESS_ERR",
					      .events = "PORT_ERR CQ_ERR QP_FATAL",
					      .status_prefix = "IBV_WC_",
					      .event_prefix = "IBV_EVENT_",
					      .events_of_qps = 1 << 2,
					      .events_of_cqs = 1 << 1,
					      .cm_events = "ADDR_RESOLVED ADDR_ERROR CONNECT_REQUEST REJECTED",
					      .cm_prefix = "RDMA_CM_EVENT_",
					      .cm_becomes = becomes,
					      .cm_request = 2,
					      .cm_rejected = 3 };

const struct process_front process_front = { .faults = &faults };
