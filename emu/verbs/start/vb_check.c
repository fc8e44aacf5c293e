/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_check.c - what a program of verbs is to do about the findings of checked mode. */
#include "emu/process/check/check.h"

const struct check_front check_front = {
	.remedies = {
		[CHECK_SEND_CHANGED] = "Leave it alone until a completion tells that the request is done, or post it with "
				       "IBV_SEND_INLINE.",
		[CHECK_RECEIVE_CHANGED] = "Write to it only when its completion has been polled.",
		[CHECK_RECEIVE_USED] = "Use another buffer until its completion has been polled.",
		[CHECK_RECEIVE_SHARED] = "Messages overwrite each other there: give each receive a buffer of its own, if they "
					 "matter.",
		[CHECK_VECTOR] = "Give each byte a place of its own.",
		[CHECK_UNMAPPED] = "Unmap or free memory when its requests have completed and its regions are deregistered.",
		[CHECK_CQ_OVERRUN] = "Make it for all requests that may be posted and not polled, of all its queue pairs.",
		[CHECK_REGION_OPEN] = "Call ibv_dereg_mr when peers have ended their accesses.",
		[CHECK_BOTH_WAIT] = "Move the side that sends first to RTS (ibv_modify_qp with IBV_QPS_RTS).",
		[CHECK_OBJECT_OPEN] = "Destroy queue pairs first, then what they use, then the PD and the device.",
	},
	.receives_share = true,
};
