/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_provider.h - the provider of kfabric that stands on libfabric's provider emu. */
#ifndef EMU_KFI_PROVIDER_H
#define EMU_KFI_PROVIDER_H

/* Registers it at kfabric's core. Once, before the first client; may sleep. 0, or a negative number of kfi_errno.h after a line of
 * log: FI_EMU_PERSONALITY names none of the kernel's personalities. */
int kemu_register(void);
/* Takes it back when its clients have ended. -KFI_EBUSY, after a line of log that says what they left open: it stays. */
int kemu_unregister(void);

#endif
