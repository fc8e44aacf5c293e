/* SPDX-License-Identifier: BSD-2-Clause */
/* kmod.h - no module is loaded by another one: request_module() does not compile. */
#ifndef EMU_KERNEL_LINUX_KMOD_H
#define EMU_KERNEL_LINUX_KMOD_H

#include <linux/compiler.h>

/* Modules are named to emu_insmod, in the order in which they are loaded. */
int request_module(const char *name, ...) __attribute__((error("request_module(): name all modules to emu_insmod")));

#endif
