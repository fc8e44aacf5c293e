/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_nic.h - the process's NIC under verbs: its settings, its start, its end. Any thread; may sleep, so not with the driver
 * role. */
#ifndef EMU_VB_NIC_H
#define EMU_VB_NIC_H

struct net_claim;
struct nic;

/* Before the first device is opened: reads FI_EMU_*, and switches reports on where they ask for it. Starts nothing. 0; or EINVAL
 * after a line of log, or ENOMEM. */
int vb_settings_check(void);
/* One more user of the process's NIC, which the first one starts: 0, the NIC and the claim by which an object of it knows, after a
 * fork, whose it is (net_runs()). Or a positive errno, after a line of log; EAGAIN without one while the process ends. */
int vb_nic_start(struct nic **nic, const struct net_claim **claim);
/* One user less. */
void vb_nic_end(void);

#endif
