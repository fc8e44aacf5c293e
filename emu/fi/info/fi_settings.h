/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_settings.h - FI_EMU_*, as `fi_info -e` lists them. Read from the environment each time they are asked for. */
#ifndef EMU_FI_SETTINGS_H
#define EMU_FI_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/net/link/bound.h"
#include "emu/nic/endpoint/nic.h"

struct attr_table;
struct close_policy;

struct settings {
	const struct attr_table *attr;    /* FI_EMU_PERSONALITY */
	const char *iface;                /* FI_EMU_IFACE: interface or address; NULL: any */
	struct bound_config bound;        /* FI_EMU_PORTS, FI_EMU_ADVERTISE */
	const char *secret_file;          /* FI_EMU_SECRET_FILE, found readable; NULL: none */
	const char *ctl;                  /* FI_EMU_CTL: a folder, "": none; NULL: the default */
	bool manual;                      /* FI_EMU_PROGRESS=manual */
	enum nic_digest digest;           /* FI_EMU_DIGEST */
	uint64_t retry_budget_ns;         /* FI_EMU_RETRY_MS; 0: the default */
	uint32_t refused_dials;           /* FI_EMU_RETRY_CNT; 0: the default */
	uint32_t rnr_most;                /* FI_EMU_RNR_RETRY: tries, one more than retries; 0: without end */
	uint64_t silence_ns;              /* FI_EMU_TIMEOUT_MS */
	bool local;                       /* FI_EMU_LOCAL=unix */
	const struct close_policy *close; /* FI_EMU_MR_CLOSE */
	bool pinned;                      /* FI_EMU_PINNED */
	bool mr_cache;                    /* FI_EMU_MR_CACHE */
	bool fetch_reads;                 /* FI_EMU_FETCH_RIGHTS=both */
	const char *trace;                /* FI_EMU_TRACE; NULL: none */
	size_t trace_size;                /* FI_EMU_TRACE_SIZE */
	uint32_t dgram_loss;              /* FI_EMU_DGRAM_LOSS, in billionths */
	uint64_t dgram_seed;              /* FI_EMU_DGRAM_SEED */
	const char *fault;                /* FI_EMU_FAULT: a plan that can be read; NULL: none */
	bool check;                       /* FI_EMU_CHECK */
	uint64_t unexpected_bytes;        /* FI_EMU_UNEXPECTED_BYTES; 0: the default */
};

/* Tells libfabric the names and their help. Once, when the provider is loaded. */
void settings_define(void);
/* 0, or -FI_EINVAL after a line of log that names the variable. `iface`, `secret_file`, `fault` and `ctl` point into the
 * environment. */
int settings_read(struct settings *settings);

#endif
