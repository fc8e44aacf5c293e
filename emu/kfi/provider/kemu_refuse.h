/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_refuse.h - the sentence of a call that is refused, in the kernel's log at level warning: first the error, then the remedy.
 * What the device refuses is in libfabric's log, in kfabric's names. A sentence is told at most 10 times in 5 seconds. Any
 * context. */
#ifndef EMU_KFI_REFUSE_H
#define EMU_KFI_REFUSE_H

#include <emu_kernel.h>

/* Logs the sentence, "kfi_mr_reg: ...", and has the value `err`, a negative number of kfi_errno.h. */
#define KEMU_REFUSE(err, ...)                                                                \
	({                                                                                   \
		static struct emu_kernel_ratelimit kemu_limit;                               \
		if (emu_kernel_ratelimit(&kemu_limit))                                       \
			emu_kernel_printk(EMU_KERNEL_LEVEL_DEFAULT, "kfi_emu", __VA_ARGS__); \
		(err);                                                                       \
	})

#endif
