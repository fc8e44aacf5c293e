/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.h - FI_EMU_* that mean the same under each front end. Read from the environment each time they are asked for. */
#ifndef EMU_PROCESS_SETTINGS_H
#define EMU_PROCESS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/net/link/bound.h"
#include "emu/nic/device/nic.h"
#include "emu/process/faults/fault_order.h"
#include "emu/process/settings/setting_read.h"
#include "emu/process/settings/setting_say.h"

/* All of the process; one without a name ends them. A front end has more of its own. */
extern const struct setting settings_known[];

struct process_settings {
	const char *iface;          /* FI_EMU_IFACE: interface or address; NULL: any */
	struct bound_config bound;  /* FI_EMU_PORTS, FI_EMU_ADVERTISE */
	const char *secret_file;    /* FI_EMU_SECRET_FILE, found readable; NULL: none */
	const char *ctl;            /* FI_EMU_CTL: a folder, "": none; NULL: the default */
	bool manual;                /* FI_EMU_PROGRESS=manual */
	enum nic_digest digest;     /* FI_EMU_DIGEST */
	uint64_t retry_budget_ns;   /* FI_EMU_RETRY_MS; 0: the default */
	uint32_t refused_dials;     /* FI_EMU_RETRY_CNT; 0: the default */
	uint32_t rnr_most;          /* FI_EMU_RNR_RETRY: tries, one more than retries; 0: without end. Stays if it is not set */
	uint64_t silence_ns;        /* FI_EMU_TIMEOUT_MS */
	bool local;                 /* FI_EMU_LOCAL=unix */
	const char *trace;          /* FI_EMU_TRACE; NULL: none */
	size_t trace_size;          /* FI_EMU_TRACE_SIZE */
	uint32_t dgram_loss;        /* FI_EMU_DGRAM_LOSS, in billionths */
	uint64_t dgram_seed;        /* FI_EMU_DGRAM_SEED */
	const char *fault;          /* FI_EMU_FAULT: a plan that can be read; NULL: none */
	enum process_order order;   /* FI_EMU_ORDER */
	struct check_setting check; /* FI_EMU_CHECK */
	uint64_t unexpected_bytes;  /* FI_EMU_UNEXPECTED_BYTES; 0: the default */
};

/* Reads them, and switches reports on where FI_EMU_REPORT names a folder: a call may be refused before there is a NIC.
 * `personality`: by whose rules the front end goes, for reports; lives on. 0, or -EINVAL after a line of log that names the
 * variable. Texts point into the environment. */
int process_settings_read(struct process_settings *settings, const char *personality);

#endif
