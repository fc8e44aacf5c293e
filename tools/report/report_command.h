/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_command.h - runs a command whose processes leave their records in a folder of ours. One thread.
 */
#ifndef REPORT_COMMAND_H
#define REPORT_COMMAND_H

#include "tools/report/report_model.h"

/* The folder of the run that this one is within, or NULL. */
const char *command_outer_folder(void);

/* A new private folder; NULL, and a problem of the run, if there can be none. */
const char *command_folder_open(struct report_run *run);
void command_folder_remove(const char *folder);

/* Where the processes of the command leave their records. `checked`: in checked mode, unless the environment says else. */
void command_settings(const char *folder, bool checked);

/* Becomes the command; returns the exit status of a shell if that cannot be. */
int command_become(char *const *command);

/*
 * Runs it to its end, and passes signals on, other than those that the terminal sends to both. Sets run->seconds, and run->status,
 * for a signal as a shell does.
 */
void command_run(struct report_run *run);

#endif
