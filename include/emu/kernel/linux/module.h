/* SPDX-License-Identifier: BSD-2-Clause */
/* module.h - modules: entries of emu_module.h.
 * Code counts as built in: THIS_MODULE is NULL, and there is always a reference to it. */
#ifndef EMU_KERNEL_LINUX_MODULE_H
#define EMU_KERNEL_LINUX_MODULE_H

#include <emu_module.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

struct module;
#define THIS_MODULE ((struct module *)NULL)

static inline bool try_module_get(struct module *module)
{
	(void)module;
	return true;
}

static inline void module_put(struct module *module)
{
	(void)module;
}

#define module_init(function) EMU_MODULE_PUT(.kind = EMU_MODULE_INIT, .name = #function, .init = (function))
#define module_exit(function) EMU_MODULE_PUT(.kind = EMU_MODULE_EXIT, .name = #function, .exit = (function))

#define MODULE_INFO(tag, info) EMU_MODULE_PUT(.kind = EMU_MODULE_INFO, .name = #tag, .text = (info))
#define MODULE_LICENSE(info) MODULE_INFO(license, info)
#define MODULE_AUTHOR(info) MODULE_INFO(author, info)
#define MODULE_DESCRIPTION(info) MODULE_INFO(description, info)
#define MODULE_VERSION(info) MODULE_INFO(version, info)
#define MODULE_ALIAS(info) MODULE_INFO(alias, info)
#define MODULE_SOFTDEP(info) MODULE_INFO(softdep, info)

/* One for each shared object, though each of its files has it. The bounds are the linker's, NULL without an entry. */
extern const struct emu_module_entry *const __start_emu_module[] __attribute__((weak, visibility("hidden")));
extern const struct emu_module_entry *const __stop_emu_module[] __attribute__((weak, visibility("hidden")));
extern const struct emu_module_bounds emu_module_bounds;
__attribute__((weak, visibility("default")))
const struct emu_module_bounds emu_module_bounds = { .begin = __start_emu_module, .end = __stop_emu_module };

#endif
