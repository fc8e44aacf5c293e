/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_map.h - what the process has mapped, as far as pages can be watched. A copy of /proc/self/maps that is read anew when a
 * trapped call has changed it, or has made more and one is looked for that is not there. */
#ifndef EMU_PROCESS_MEMORY_MAP_H
#define EMU_PROCESS_MEMORY_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/process/races/watched_pages.h"

struct memory_mapping {
	uintptr_t start, end;
	unsigned char protection;
	bool watchable; /* memory that the program reads and writes: of a file, or of none */
};

/* Finds where the writable memory of this library is, which is never watched. Once, before the others. */
void memory_map_start(void);
/* Any thread. Mappings may have gone, or be others; or there may be more. Reading takes long where protection has made many. */
void memory_map_changed(void);
void memory_map_grew(void);
/* NULL: there is no memory, or it is this library's own. */
const struct memory_mapping *memory_map_find(uintptr_t at) REQUIRES(watched_lock);

#endif
