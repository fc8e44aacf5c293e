/* SPDX-License-Identifier: BSD-2-Clause */
/* log_limit.h - lines of log that peers cause: LIMIT_LOG_LINES of a kind, and then one more a second, so that no peer fills a disk.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_LOG_LIMIT_H
#define EMU_NIC_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct nic;

/* Each kind has a limit of its own. */
enum log_limit_kind {
	LOG_LIMIT_REFUSAL,    /* requests that were refused */
	LOG_LIMIT_CONNECTION, /* connections that were turned away, or ended for a cause */
	LOG_LIMIT_KINDS
};

struct log_limit {
	uint32_t left;     /* lines */
	uint64_t since_ns; /* from then on a line more each second */
	uint64_t left_out;
};

void log_limit_init(struct nic *nic);
/* May one more line be logged? Else it is counted, and the log is told of each power of two of those. */
bool log_limit_ok(struct nic *nic, enum log_limit_kind kind);

#endif
