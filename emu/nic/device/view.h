/* SPDX-License-Identifier: BSD-2-Clause */
/* view.h - what the device knows, copied out for a look from outside: endpoints, sessions, regions, queues, counts.
 *
 * Thread: holder of the driver role. Each call looks at VIEW_LOOKS objects at most and goes on where a cursor says. So a look at
 * 100,000 regions is many short turns, between which the device goes on: what comes or goes meanwhile is told or not. A session
 * may be told twice, if another one comes while they are told; a region is not. */
#ifndef EMU_NIC_VIEW_H
#define EMU_NIC_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/device/nic.h"
#include "emu/nic/queues/cq.h"
#include "emu/nic/regions/refusal.h"

enum { VIEW_LOOKS = 256, VIEW_NAME = 64 };

/* Zeroed: from the beginning. */
struct view_cursor {
	uint32_t first;  /* endpoints: those before are done; regions: protection domains from that number on are done, 0: none */
	uint32_t second; /* of the next endpoint or domain, so many sessions or slots are done */
};

struct view_ep {
	char name[VIEW_NAME];
	const char *type; /* "rdm", "msg", "passive" or "dgram" */
	uint32_t domain;  /* number of its protection domain */
	uint32_t caps;    /* enum ep_cap */
	uint32_t sessions;
	uint64_t unexpected, unexpected_bytes; /* messages without a receive; of a shared context, of all its endpoints */
	const struct cq *tx_cq, *rx_cq;        /* NULL: none; their addresses are their names */
	struct cq_view tx, rx;
	bool shared_rx;
};

struct view_session {
	uint32_t ep; /* index of its endpoint */
	char peer[VIEW_NAME];
	const char *stands;    /* "open" ... */
	const char *transport; /* "tcp" ...; NULL: no connection */
	uint64_t sent, acked;  /* requests numbered, and answered; of this session's life */
	uint64_t seen;         /* requests of the peer that were executed */
	uint64_t epoch;        /* connections so far: each after the first has resumed the session */
	uint32_t reads_open, verdicts;
	uint32_t refused_dials, failed_conns;
	bool waits;     /* ops wait to be sent */
	bool not_ready; /* the peer said that it has no receive, and is asked again later */
	bool target_only;
};

struct view_region {
	uint64_t id, key, address, length;
	uint32_t domain, segments, access, subs; /* access: enum mr_access */
	bool virtual_address, raw, persistent, registering, enabled, single_use, pinned;
};

/* Counts so far of the process's life. Those of requests lack the sessions that are there now (view_sessions() has them). */
struct view_counts {
	uint64_t acked, seen;
	uint64_t refused[REFUSAL_CAUSES]; /* requests of peers, by cause; [0]: by a cause of no name here */
	uint64_t failed[REFUSAL_CAUSES];  /* own ops, likewise; with it those that were cancelled */
	uint64_t lost[REFUSAL_CAUSES];    /* own ops, likewise, of which no completion tells it (EP_RULE_UNRELIABLE) */
	bool bytes_counted;               /* view_count_bytes() was called */
	uint64_t bytes_out, bytes_in;     /* on connections, since then */
	uint32_t endpoints, connections, regions;
};

/* The endpoint of that index; false: there are no more. */
bool view_ep(struct nic *nic, uint32_t index, struct view_ep *view) REQUIRES(driver_role);
/* Up to `room` of them; *end: these were the last. */
size_t view_sessions(struct nic *nic, struct view_cursor *cursor, struct view_session *out, size_t room, bool *end)
	REQUIRES(driver_role);
size_t view_regions(struct nic *nic, struct view_cursor *cursor, struct view_region *out, size_t room, bool *end)
	REQUIRES(driver_role);
void view_counts(struct nic *nic, struct view_counts *counts) REQUIRES(driver_role);
/* From now on bytes are counted: the table of the link is exchanged for one that counts. Nothing is counted before, at no cost. */
void view_count_bytes(struct nic *nic) REQUIRES(driver_role);
/* From now on lines of NIC_LOG_DEBUG are made, or no longer. Returns what was before. */
bool view_log_debug(struct nic *nic, bool on) REQUIRES(driver_role);

#endif
