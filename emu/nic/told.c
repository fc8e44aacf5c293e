/* SPDX-License-Identifier: BSD-2-Clause */
/* told.c - a bucket of lines a kind, filled again as time passes. */
#include "emu/nic/told.h"

#include <inttypes.h>

#include "emu/nic/nic_impl.h"

static const char *const kinds[TOLD_KINDS] = {
	[TOLD_REFUSAL] = "requests of peers are refused", [TOLD_CONNECTION] = "connections of peers are closed",
};

void told_init(struct nic *nic)
{
	for (int kind = 0; kind < TOLD_KINDS; kind++)
		nic->told[kind] = (struct told){ .left = LIMIT_TOLD, .since_ns = nic_now(nic) };
}

bool told_one(struct nic *nic, enum told_kind kind)
{
	struct told *told = &nic->told[kind];
	uint64_t more = (nic_now(nic) - told->since_ns) / TIME_TOLD_NS;

	told->since_ns += more * TIME_TOLD_NS;
	told->left = more < LIMIT_TOLD - told->left ? told->left + (uint32_t)more : LIMIT_TOLD;
	if (told->left > 0) {
		told->left--;
		return true;
	}
	told->left_out++;
	if (!(told->left_out & (told->left_out - 1)))
		nic_log(nic, NIC_LOG_WARN, "more %s than are logged, which is one a second now: %" PRIu64 " left out so far",
			kinds[kind], told->left_out);
	return false;
}
