/* SPDX-License-Identifier: BSD-2-Clause */
/* told.h - lines of log that peers cause: LIMIT_TOLD of a kind, and then one more a second, so that no peer fills a disk.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_TOLD_H
#define EMU_NIC_TOLD_H

#include <stdbool.h>
#include <stdint.h>

struct nic;

/* One does not silence the other. */
enum told_kind {
	TOLD_REFUSAL,		/* requests that were refused */
	TOLD_CONNECTION,	/* connections that were turned away, or ended for a cause */
	TOLD_KINDS
};

struct told {
	uint32_t left;		/* lines */
	uint64_t since_ns;	/* from then on a line more each second */
	uint64_t left_out;
};

void told_init(struct nic *nic);
/* May one more line be logged? Else it is counted, and the log is told of each power of two of those. */
bool told_one(struct nic *nic, enum told_kind kind);

#endif
