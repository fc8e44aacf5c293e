/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_front_end.c - the causes of refusals as a program of libfabric can act on them, and the flags of its completions. */
#include "emu/fi/provider/fi_front_end.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include "emu/fi/provider/fi_words.h"
#include "emu/nic/regions/front_end.h"

#define CAPS(names) "Ask for " names " in the target's hints->caps."

const struct front_end emu_front_end = {
	.causes = {
		[REFUSAL_UNKNOWN_KEY] = { NULL, "Use the value that fi_mr_key gave at the target, in the domain of the endpoint "
			"addressed; under FI_MR_PROV_KEY it is not the key that was asked for." },
		[REFUSAL_CLOSED] = { "the region was closed by fi_close (S178)", NULL },
		[REFUSAL_DISABLED] = { NULL, "At the target, bind it to its endpoint or counters with fi_mr_bind and call "
			"fi_mr_enable, before peers use its key." },
		[REFUSAL_OTHER_ENDPOINT] = { NULL, "Address the endpoint to which the target bound it with fi_mr_bind; closing "
			"that endpoint ends the binding." },
		[REFUSAL_AUTH] = { NULL, "Give both sides the same auth_key." },
		[REFUSAL_SPENT] = { "the region is for one op (FI_MR_SINGLE_USE), and another has used it or is using it (S130)",
			"Register again for each op, or leave the flag out." },
		[REFUSAL_REFRESHING] = { "the region is being refreshed by fi_mr_refresh (S116)", NULL },
		[REFUSAL_PAGE_UNKNOWN] = { NULL, "Call fi_mr_refresh at the target after its memory changed." },
		[REFUSAL_NOT_PERSISTENT] = { "FI_COMMIT_COMPLETE was asked, and the region is not persistent memory (S133)",
			"Register a shared file mapping with FI_RMA_PMEM, or leave the flag out." },
		[REFUSAL_REGISTERING] = { NULL, "Use the key when the target has read its FI_MR_COMPLETE event." },
		[REFUSAL_ATOMIC] = { NULL, "Ask the target's fi_query_atomic what there is." },
		[REFUSAL_PEER_GONE] = { NULL, "It has ended, or is bound to another address of its host (FI_EMU_IFACE): fi_getname "
			"tells which, after it was started again." },
		[REFUSAL_CANCELLED] = { "cancelled by fi_cancel or by closing the endpoint", NULL },
		[REFUSAL_ADDRESS] = { NULL, "Insert the peer's address with fi_av_insert and use the fi_addr_t that it returns." },
		[REFUSAL_FIREWALL] = { "the peer is behind a firewall (FI_FIREWALL_ADDR), and is not connected", NULL },
		[REFUSAL_STRANGER] = { NULL, "Insert the address that err_data holds with fi_av_insert, or leave FI_SOURCE_ERR "
			"out." },
		[REFUSAL_SECRET] = { NULL, "Set FI_EMU_SECRET_FILE on both sides, to files of the same bytes, and see the log of "
			"both." },
		[REFUSAL_NOT_READY] = { NULL, "See why it reads no completions or posts no receives, or set FI_EMU_RNR_RETRY=7 to "
			"try without end." },
	},
	.give_read = "Add FI_REMOTE_READ to the access given to fi_mr_reg.",
	.give_write = "Add FI_REMOTE_WRITE to the access given to fi_mr_reg.",
	.give_cap = {
		CAPS("FI_MSG (FI_TAGGED for tagged messages) and FI_RECV"), CAPS("FI_RMA and FI_REMOTE_WRITE"),
		CAPS("FI_RMA and FI_REMOTE_READ"),
		CAPS("FI_ATOMIC and FI_REMOTE_WRITE (to be read atomically: FI_REMOTE_READ)"),
		[OP_COLLECTIVE] = CAPS("FI_COLLECTIVE"),
	},
	.give_tagged = CAPS("EMU_FI_TAGGED_RMA, FI_RMA, FI_TAGGED and FI_RECV, FI_REMOTE_WRITE or FI_REMOTE_READ"),
	.closed_by = "by fi_close",
	.receive_cap = "FI_RECV",
	.asked_key = "is what a region asked for, and under FI_MR_PROV_KEY the provider chose another: send what fi_mr_key gives",
	.settings = {
		[FRONT_SECRET] = "FI_EMU_SECRET_FILE", [FRONT_FAULT] = "FI_EMU_FAULT", [FRONT_DGRAM_LOSS] = "FI_EMU_DGRAM_LOSS",
		[FRONT_ADVERTISE] = "FI_EMU_ADVERTISE",
	},
	.respell = words_put,
	.cq_written = { FI_RMA | FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE, FI_ATOMIC | FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE },
	.cq_fetched = { FI_RMA | FI_REMOTE_CQ_DATA | FI_REMOTE_READ, FI_ATOMIC | FI_REMOTE_CQ_DATA | FI_REMOTE_READ },
	.cq_data = FI_REMOTE_CQ_DATA,
	.cq_tagged = { FI_RMA | FI_REMOTE_WRITE, FI_RMA | FI_REMOTE_READ },
	.cq_multi = FI_MULTI_RECV,
};
