/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_text.c - the names of events. */
#include "emu/cm/cm_id.h"

const char *rdma_event_str(enum rdma_cm_event_type event)
{
#define NAME(event) [event] = #event
	static const char *const event_names[] = {
		NAME(RDMA_CM_EVENT_ADDR_RESOLVED),  NAME(RDMA_CM_EVENT_ADDR_ERROR),      NAME(RDMA_CM_EVENT_ROUTE_RESOLVED),
		NAME(RDMA_CM_EVENT_ROUTE_ERROR),    NAME(RDMA_CM_EVENT_CONNECT_REQUEST), NAME(RDMA_CM_EVENT_CONNECT_RESPONSE),
		NAME(RDMA_CM_EVENT_CONNECT_ERROR),  NAME(RDMA_CM_EVENT_UNREACHABLE),     NAME(RDMA_CM_EVENT_REJECTED),
		NAME(RDMA_CM_EVENT_ESTABLISHED),    NAME(RDMA_CM_EVENT_DISCONNECTED),    NAME(RDMA_CM_EVENT_DEVICE_REMOVAL),
		NAME(RDMA_CM_EVENT_MULTICAST_JOIN), NAME(RDMA_CM_EVENT_MULTICAST_ERROR), NAME(RDMA_CM_EVENT_ADDR_CHANGE),
		NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT),
	};
#undef NAME

	if ((unsigned int)event >= sizeof(event_names) / sizeof(event_names[0]))
		return "UNKNOWN EVENT";
	return event_names[event];
}
