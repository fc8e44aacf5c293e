/* SPDX-License-Identifier: BSD-2-Clause */
/* report_nic.h - what the device tells of ops (front_reports, front_end.h) as counts and findings.
 * Owner: none, constant. To be in nic_config when the NIC starts with reports on, or with counts wanted (report_counts.h): then
 * its findings are written only if report_on(). */
#ifndef EMU_PROCESS_REPORT_NIC_H
#define EMU_PROCESS_REPORT_NIC_H

struct front_reports;
struct json;

extern const struct front_reports report_nic;
/* For report_end(): the counts, and the regions left open. */
void report_nic_end(struct json *json);

#endif
