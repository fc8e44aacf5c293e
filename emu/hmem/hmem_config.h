/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem_config.h - FI_EMU_HMEM and FI_EMU_HMEM_SIZE: which devices there are. */
#ifndef EMU_HMEM_CONFIG_H
#define EMU_HMEM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "include/emu/hmem.h"

enum { HMEM_DEVICES_MAX = 16 }; /* of an interface */

struct hmem_config {
	int devices[EMU_HMEM_IFACES];
	size_t size; /* bytes of each device, a multiple of EMU_HMEM_PAGE */
};

/* Reads values of the two variables; NULL: not set. False after a line on stderr, and there are no devices. */
bool hmem_config_read(const char *devices, const char *size, struct hmem_config *config);

/* Prints a line on stderr, with the library's name before it. Async-signal-safe but for the conversions of printf. */
void hmem_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
