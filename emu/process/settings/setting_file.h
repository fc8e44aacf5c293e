/* SPDX-License-Identifier: BSD-2-Clause */
/* setting_file.h - opens a file that a setting names. Any thread.
 *
 * It is a regular one: a pipe would let the program wait, and a device has no end. A reader bounds what it takes all the same. */
#ifndef EMU_PROCESS_SETTING_FILE_H
#define EMU_PROCESS_SETTING_FILE_H

#include <sys/stat.h>

/* A descriptor to read, and *status; or -1, and *flaw is a phrase that says why. */
int setting_file_open(const char *path, struct stat *status, const char **flaw);

#endif
