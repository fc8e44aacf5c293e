/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_loss.h - records that processes could not leave: they say so by a socket, and by the modes of their files. One thread.
 */
#ifndef REPORT_LOSS_H
#define REPORT_LOSS_H

#include "tools/report/report_model.h"

/* Before the command runs: its processes find the socket by their environment. Without one, the modes of files still tell. */
void loss_listen(void);

/* After report_read_folder(): what was said meanwhile becomes run->losses, and so do files that are no whole ones. */
void loss_gather(struct report_run *run);

#endif
