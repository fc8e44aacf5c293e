/* SPDX-License-Identifier: BSD-2-Clause */
/* nic_impl.h - the nic itself and its protection domains, for the files of emu/nic alone.
 * Thread: holder of the driver role, but for what submit.h guards. */
#ifndef EMU_NIC_NIC_IMPL_H
#define EMU_NIC_NIC_IMPL_H

#include <stdatomic.h>

#include "emu/nic/nic.h"
#include "emu/nic/sendq.h"
#include "emu/nic/submit.h"
#include "wire/frame.h"

struct conn;
struct session;

struct pd {
	struct nic *nic;
	struct mr_table *regions;
	uint32_t users;			/* endpoints */
};

struct nic {
	struct driver driver;
	struct nic_config config;
	struct link_ops link;
	void *link_arg;
	struct nic_clock clock;
	uint64_t now_ns;		/* as of the begin of this slice */
	struct submit submit;
	struct ep *eps;
	struct conn *conns;
	struct conn *busy;		/* have something to send */
	struct conn *dead;		/* to be freed at the end of the slice */
	struct session *timed, *owing;
	uint32_t conn_count;
	bool urgent;			/* a post found its peer idle: send at once */
	uint32_t post_slices;		/* in a row that did no more than take posts */
	bool tick_now;			/* a timer may have come that is earlier than deadline_ns */
	bool greeting;			/* a connection may be waiting for its HELLO */
	atomic_uint_fast64_t deadline_ns;
	struct sendq_spares spares;
	uint8_t scratch[SLICE_RECV_BYTES];
};

void nic_log(struct nic *nic, enum nic_log level, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
