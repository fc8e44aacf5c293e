/* SPDX-License-Identifier: BSD-2-Clause */
/* log_limit.c - a bucket of lines a kind, filled again as time passes. */
#include "emu/nic/device/log_limit.h"

#include <inttypes.h>

#include "emu/nic/device/nic_impl.h"

static const char *const kinds[LOG_LIMIT_KINDS] = {
	[LOG_LIMIT_REFUSAL] = "requests of peers are refused",
	[LOG_LIMIT_CONNECTION] = "connections of peers are closed",
};

void log_limit_init(struct nic *nic)
{
	for (int kind = 0; kind < LOG_LIMIT_KINDS; kind++)
		nic->log_limits[kind] = (struct log_limit){ .left = LIMIT_LOG_LINES, .since_ns = nic->pace.now_ns };
}

bool log_limit_ok(struct nic *nic, enum log_limit_kind kind)
{
	struct log_limit *limit = &nic->log_limits[kind];
	uint64_t more = (nic_now(nic) - limit->since_ns) / TIME_LOG_LINE_NS;

	nic_role(nic);
	limit->since_ns += more * TIME_LOG_LINE_NS;
	limit->left = more < LIMIT_LOG_LINES - limit->left ? limit->left + (uint32_t)more : LIMIT_LOG_LINES;
	if (limit->left > 0) {
		limit->left--;
		return true;
	}
	limit->left_out++;
	if (!(limit->left_out & (limit->left_out - 1)))
		nic_log(nic, NIC_LOG_WARN, "more %s than are logged, which is one a second now: %" PRIu64 " left out so far",
			kinds[kind], limit->left_out);
	return false;
}
