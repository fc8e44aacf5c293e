/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_secret.h - FI_EMU_SECRET_FILE: the file whose bytes are the shared secret. Any thread. */
#ifndef EMU_FI_SECRET_H
#define EMU_FI_SECRET_H

#include <stddef.h>
#include <stdint.h>

#include "emu/nic/limits.h"

struct secret_bytes {
	size_t  length;
	uint8_t bytes[LIMIT_SECRET + 1];	/* one more, to see that there is more */
};

/* 0, and then the caller forgets it as soon as can be. -FI_EINVAL after a line of log: the file is not there, is none, is not
 * its owner's alone, or is too short or long. */
int  secret_read(const char *path, struct secret_bytes *secret);
/* Wipes it. */
void secret_forget(struct secret_bytes *secret);

#endif
