/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_flag_names.h - the bits of a flags argument that a call does not take, in kfabric's names. Any context. */
#ifndef EMU_KFI_FLAG_NAMES_H
#define EMU_KFI_FLAG_NAMES_H

#include <kfi_errno.h>
#include <stdint.h>

#include "emu/kfi/provider/kemu_refuse.h"

enum { KEMU_FLAG_NAMES_MAX = 512 };

/* All of them in `text`, which is returned; "bit 55" where kfabric has no name. */
const char *kemu_flag_names(uint64_t flags, char text[KEMU_FLAG_NAMES_MAX]) __attribute__((cold));

/* `flags` are those that are too many; `rule` is "" or " (S5)". Logs the sentence, and has the value -KFI_EBADFLAGS. */
#define KEMU_REFUSE_FLAGS(call, flags, rule)                                                                                  \
	({                                                                                                                    \
		char kemu_names[KEMU_FLAG_NAMES_MAX];                                                                         \
		KEMU_REFUSE(-KFI_EBADFLAGS,                                                                                   \
			    "%s: the flags %#llx (%s) mean nothing here, or need a capability that was not asked for. Leave " \
			    "them out%s.",                                                                                    \
			    call, (unsigned long long)(flags), kemu_flag_names((flags), kemu_names), rule);                   \
	})

#endif
