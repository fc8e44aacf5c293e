/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_nic_start.h - the process's NIC, which the first domain or passive endpoint starts. Any thread. */
#ifndef EMU_FI_NIC_START_H
#define EMU_FI_NIC_START_H

struct nic;
struct settings;

/* One more user, until net_end(). 0 or -errno, after a line of log. The first call reads the settings. */
int emu_nic_start(struct nic **nic);
int nic_start_by(const struct settings *settings, struct nic **nic);

#endif
