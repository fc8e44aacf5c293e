/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_tell.c - what a program of libfabric is to do about the findings of checked mode. */
#include "emu/fi/provider/fi_words.h"
#include "emu/process/check/check.h"

#define POLLED "No page promises that the last bytes come last: let a message, CQ data or a counter tell (fi_rma(3))."

const struct check_front check_front = {
	.remedies = {
		[CHECK_SEND_CHANGED] = "Leave it alone until its completion has been read, or post it with FI_INJECT.",
		[CHECK_RECEIVE_CHANGED] = "Write to it only when its completion has been read.",
		[CHECK_RECEIVE_USED] = "Use another buffer until its completion, or that of fi_cancel, has been read.",
		[CHECK_VECTOR] = "Give each byte a place of its own.",
		[CHECK_UNMAPPED] = "Unmap or free memory when its operations have completed and its regions are closed.",
		[CHECK_CONTEXT] = ("Give each operation a context structure of its own until its completion has been read "
			    "(FI_CONTEXT, FI_CONTEXT2)."),
		[CHECK_SERIAL] = "Let one thread in at a time, by a lock of the program's, or ask for FI_THREAD_SAFE.",
		[CHECK_CLAIM] = "Fetch it with the tag and the ignored bits by which it was claimed.",
		[CHECK_UNALIGNED] = "Give atomics addresses that are multiples of their element's size: NICs refuse others.",
		[CHECK_CQ_OVERRUN] = ("Open it with room for all operations that may complete between two reads, or ask for "
			       "FI_RM_ENABLED."),
		[CHECK_EQ_OVERRUN] = "Open it with a larger size, or read it more often.",
		[CHECK_IN_FLIGHT] = ("Read the completions of all that was posted, then close: what is left is dropped "
			      "(fi_endpoint(3))."),
		[CHECK_UNREAD] = ("Read a completion for each operation, and look whether it is an error; or bind the queue with "
			   "FI_SELECTIVE_COMPLETION, and let a counter tell."),
		[CHECK_NOT_ARMED] = ("Call fi_trywait before each wait on the descriptor, and wait only if it returns 0 "
			      "(fi_poll(3)): else the queue need not wake the program."),
		[CHECK_NO_PROGRESS] = "Read the completion queue, or a counter, before each new try: that makes the room.",
		[CHECK_PROGRESS_ASSUMED] = ("Read a queue or a counter until the peer has said that it is done, or ask for "
				     "FI_PROGRESS_AUTO."),
		[CHECK_RACE_OPERATIONS] = ("Wait for the first one's completion before the second one is begun, if need be by a "
					   "message of the peer's; of one endpoint, ask for the order (fi_endpoint(3), msg_order), "
					   "or fence the second one (FI_FENCE)."),
		[CHECK_RACE_LOAD] = ("Read the completion first, or, at the target, what tells of the access: a message, CQ data, "
				     "a counter."),
		[CHECK_RACE_STORE] = ("Read the completion first, or, at the target, what tells of the access: a message, CQ data, "
				      "a counter."),
		[CHECK_POLLED] = POLLED,
		[CHECK_POLLED_STRICT] = POLLED,
		[CHECK_REGION_OPEN] = "Close it by fi_close when peers have ended their accesses.",
		[CHECK_RAW_KEY_OPEN] = "End each fi_mr_map_raw by fi_mr_unmap_key.",
		[CHECK_ENDPOINT_OPEN] = "Close it by fi_close.",
		[CHECK_DOMAIN_OPEN] = "Close it, and what is open in it, by fi_close.",
	},
	.words = words_put,
};
