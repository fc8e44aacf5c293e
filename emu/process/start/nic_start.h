/* SPDX-License-Identifier: BSD-2-Clause */
/* nic_start.h - the process's NIC, as its settings want it: with its fault plan, secret, trace, control socket and reports. */
#ifndef EMU_PROCESS_NIC_START_H
#define EMU_PROCESS_NIC_START_H

#include <stdbool.h>

struct nic;
struct process_settings;
struct watch_ops;

/* What the front end decides beyond the settings. */
struct nic_start {
	const char *personality;                     /* by whose rules the front end goes, for the control socket */
	const struct watch_ops *watch;               /* of checked mode; NULL: there is none */
	bool receives_first, multi_buf, fetch_reads; /* as in nic_config */
};

/* One more user, until net_end(). 0 or -errno, after a line of log; -EINVAL: a file that a setting names is wrong. One NIC a
 * process: later calls take the one that there is. Any thread. */
int nic_start(const struct process_settings *settings, const struct nic_start *start, struct nic **nic);

#endif
