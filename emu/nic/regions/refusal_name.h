/* SPDX-License-Identifier: BSD-2-Clause */
/* refusal_name.h - causes of refusals, and rights of regions, in one word each, for programs that read what the NIC says. They do
 * not change. Pure. */
#ifndef EMU_NIC_REFUSAL_NAME_H
#define EMU_NIC_REFUSAL_NAME_H

#include <stdint.h>

/* "unknown-key"; NULL: no cause of this version. By number, as a newer peer's cause may be any. */
const char *refusal_name(unsigned int cause);

struct right_name {
	uint32_t bit; /* of enum mr_access; 0 ends the list */
	const char *name;
};

extern const struct right_name right_names[];

#endif
