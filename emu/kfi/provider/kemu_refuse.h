/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_refuse.h - the sentence of a call that is refused, in the kernel's log at level warning: first the error, then the remedy.
 * What the device refuses is in libfabric's log, in kfabric's names. A sentence is told at most 10 times in 5 seconds. Any
 * context. */
#ifndef EMU_KFI_REFUSE_H
#define EMU_KFI_REFUSE_H

#include <emu_kernel.h>
#include <kfi_errno.h>
#include <stdint.h>

/* Logs the sentence, "kfi_mr_reg: ...", and has the value `err`, a negative number of kfi_errno.h. */
#define KEMU_REFUSE(err, ...)                                                                \
	({                                                                                   \
		static struct emu_kernel_ratelimit kemu_limit;                               \
		if (emu_kernel_ratelimit(&kemu_limit))                                       \
			emu_kernel_printk(EMU_KERNEL_LEVEL_DEFAULT, "kfi_emu", __VA_ARGS__); \
		(err);                                                                       \
	})

/* --- the bits of a flags argument that a call does not take, in kfabric's names. --- */

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
