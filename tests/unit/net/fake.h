/* SPDX-License-Identifier: BSD-2-Clause */
/* fake.h - a device for the tests of emu/net: keeps what the link tells it, echoes if told to. Stands in for
 * emu/nic's slice.c and conn.c; the driver role is the real one. */
#ifndef EMU_TESTS_FAKE_H
#define EMU_TESTS_FAKE_H

#include <stdatomic.h>

#include "emu/nic/device/nic.h"

enum { CONN_ROOM = 1 << 16, CONNS = 128 };

struct conn {
	struct line *line;
	const struct link_ops *ops;
	int ups, downs, readables, writables, notes;
	uint64_t noted; /* by the last of them */
	int error;      /* of the last conn_down() */
	bool eof;
	bool echo;
	bool deaf;            /* does not read */
	struct line **closes; /* what conn_readable() closes: a line, then set to NULL */
	bool hangs_up;        /* conn_down() closes its line, as the device does */
	bool gives_up;        /* conn_ack_stored() does */
	struct iovec place;   /* with a length: of one receive, instead of `bytes` */
	ssize_t placed;       /* what that receive returned */
	/* Takes what was received out of `bytes`, at once; NULL: it stays there. */
	void (*eats)(struct conn *conn, size_t length);
	size_t eaten; /* for eats() to count in */
	atomic_size_t got;
	char bytes[CONN_ROOM];
};

struct ep {
	const struct link_ops *ops;
	struct conn *accepts[64]; /* given out in turn; NULL: refused */
	int accepted, refused;
	struct conn *spared; /* its line is closed to make room; NULL: none is */
	struct port *port;   /* of datagrams; NULL: nothing is taken */
	int readables, writables, taken;
	ssize_t length; /* of the last one */
	char bytes[1500];
};

struct nic {
	struct driver driver;
	struct nic_config config;
	const struct link_ops *ops;
	void *link;
	struct nic_clock clock;
	atomic_bool left; /* an op is posted */
	int owes;         /* so many slices owe one more */
	atomic_uint_fast64_t deadline_ns;
	atomic_uint timers, slices, settled;
	atomic_bool looks;
	unsigned int loud_slices; /* nic_is_drained() after so many */
	int goodbyes;
	bool fails;
};

extern struct nic fake; /* the one that nic_open() gives */

struct conn *conn_make(const struct link_ops *ops);
/* Where nic_flushed() goes. */
extern void (*fake_flushed)(struct flush *flush);

#endif
