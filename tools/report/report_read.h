/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_read.h - reads the records that processes left in a folder (FI_EMU_REPORT).
 * What cannot be read, and files of a newer version, are problems of the run; the rest is read all the same. Lines that are
 * no records are counted in their process.
 */
#ifndef REPORT_READ_H
#define REPORT_READ_H

#include "tools/report/report_model.h"

enum { REPORT_VERSION = 1 };

void report_read_folder(struct report_run *run, const char *folder);

#endif
