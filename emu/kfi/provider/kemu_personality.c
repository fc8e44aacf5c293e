/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_personality.c - which of the kernel's personalities the environment names. */
#include "emu/kfi/provider/kemu_personality.h"

#include <stdlib.h>
#include <string.h>

#include "emu/kfi/provider/kemu_refuse.h"

static const char variable[] = "FI_EMU_PERSONALITY";

const struct kemu_personality *kemu_personality(void)
{
	static const struct kemu_personality *const all[] = { &kemu_personality_kfi, &kemu_personality_kcxi };
	const char *name = getenv(variable);

	if (!name) {
		name = kemu_personality_kfi.name;
		setenv(variable, name, 1); /* libfabric's provider reads it, too */
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	KEMU_REFUSE(0,
		    "%s=%s is none of the kernel's personalities. `kfi` keeps what kfi_mr(3) promises; `kcxi` is HPE's provider.",
		    variable, name);
	return NULL;
}
