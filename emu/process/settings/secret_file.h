/* SPDX-License-Identifier: BSD-2-Clause */
/* secret_file.h - FI_EMU_SECRET_FILE: the file whose bytes are the shared secret. Any thread. */
#ifndef EMU_PROCESS_SECRET_FILE_H
#define EMU_PROCESS_SECRET_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/limits.h"

struct secret_bytes {
	size_t length;
	uint8_t bytes[LIMIT_SECRET + 1]; /* one more, to detect a longer file */
};

/* 0, and then the caller calls secret_forget() as soon as possible. -EINVAL after a line of log: the file does not exist, is no
 * plain file, is accessible to others than its owner, or is too short or long. */
int secret_read(const char *path, struct secret_bytes *secret);
/* Wipes it. */
void secret_forget(struct secret_bytes *secret);

#endif
