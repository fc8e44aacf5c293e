/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_state.c - the table of a connection-oriented endpoint's states. */
#include "emu/nic/endpoint/ep_impl.h"

#include <assert.h>
#include <errno.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"

/* The states from which each state may be entered; [1]: by a queue pair. */
static const uint8_t from_states[][CM_STATES] = { {
							  [CM_ASKING] = 1 << CM_IDLE,
							  [CM_ACCEPTING] = 1 << CM_IDLE,
							  [CM_UP] = 1 << CM_ASKING | 1 << CM_ACCEPTING,
							  [CM_DOWN] = 1 << CM_IDLE | 1 << CM_ASKING | 1 << CM_ACCEPTING |
								      1 << CM_UP,
						  },
						  {
							  [CM_IDLE] = 1 << CM_IDLE | 1 << CM_UP | 1 << CM_DOWN,
							  [CM_UP] = 1 << CM_IDLE,
							  [CM_DOWN] = 1 << CM_IDLE | 1 << CM_UP,
						  } };

static const char *const names[CM_STATES] = {
	[CM_IDLE] = "idle", [CM_ASKING] = "asking", [CM_ACCEPTING] = "accepting", [CM_UP] = "up", [CM_DOWN] = "down",
};

void cm_enter(struct ep *ep, enum cm_state state)
{
	struct cm *cm = &ep->cm;
	enum cm_state from = cm->state;

	nic_role(ep->nic);
	assert(from_states[ep->pairing != NULL][state] & 1 << from);
	cm->state = state;
	cm->until_ns = 0;
	/* release: a poster that sees the gate open sees all that led to it (acquire in submit.c). A queue pair in error takes
	 * posts, and flushes them. */
	atomic_store_explicit(&cm->gate,
			      state == CM_UP     ? 0
			      : state != CM_DOWN ? -ENOTCONN
			      : ep->pairing      ? 0
						 : -ESHUTDOWN,
			      memory_order_release);
	if (ep->nic->config.debug)
		nic_log(ep->nic, NIC_LOG_DEBUG, "connected endpoint: from %s to %s", names[from], names[state]);
}
