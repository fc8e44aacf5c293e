/* SPDX-License-Identifier: BSD-2-Clause */
/* moduleparam.h - parameters of modules: entries of emu_module.h.
 * A type is one of int, uint, long, ulong, short, ushort, bool, charp. Another does not compile, nor do callbacks. */
#ifndef EMU_KERNEL_LINUX_MODULEPARAM_H
#define EMU_KERNEL_LINUX_MODULEPARAM_H

#include <emu_module.h>
#include <linux/init.h>
#include <linux/types.h>

#ifdef KBUILD_MODNAME
#define EMU_MODULE_NAME KBUILD_MODNAME
#else
#define EMU_MODULE_NAME ""
#endif

/* An entry with a name of its own, and the pointer to it in the section. */
#define EMU_MODULE_PUT_(id, ...)                                                                                 \
	static const struct emu_module_entry emu_module_entry_##id = { .module = EMU_MODULE_NAME, __VA_ARGS__ }; \
	static const struct emu_module_entry *emu_module_pointer_##id                                            \
		__attribute__((section("emu_module"), used)) = &emu_module_entry_##id
#define EMU_MODULE_PUT__(id, ...) EMU_MODULE_PUT_(id, __VA_ARGS__)
#define EMU_MODULE_PUT(...) EMU_MODULE_PUT__(__COUNTER__, __VA_ARGS__)

#define EMU_MODULE_C_int int
#define EMU_MODULE_C_uint unsigned int
#define EMU_MODULE_C_long long
#define EMU_MODULE_C_ulong unsigned long
#define EMU_MODULE_C_short short
#define EMU_MODULE_C_ushort unsigned short
#define EMU_MODULE_C_bool _Bool
#define EMU_MODULE_C_charp char *

#define EMU_MODULE_CHECK(variable, ctype) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(variable), ctype), "the parameter's type is not its variable's")

/* The type's name goes through no other macro, as `bool` is one. */
#define module_param_named(label, variable, typename, permissions)                                                         \
	EMU_MODULE_CHECK(variable, EMU_MODULE_C_##typename);                                                               \
	EMU_MODULE_PUT(.kind = EMU_MODULE_PARAM, .type = EMU_MODULE_TYPE_##typename, .name = #label, .value = &(variable), \
		       .max = 1, .perm = (permissions))
#define module_param(variable, typename, permissions)                                                                         \
	EMU_MODULE_CHECK(variable, EMU_MODULE_C_##typename);                                                                  \
	EMU_MODULE_PUT(.kind = EMU_MODULE_PARAM, .type = EMU_MODULE_TYPE_##typename, .name = #variable, .value = &(variable), \
		       .max = 1, .perm = (permissions))
#define module_param_array(variable, typename, number, permissions)                                                          \
	EMU_MODULE_CHECK((variable)[0], EMU_MODULE_C_##typename);                                                            \
	EMU_MODULE_PUT(.kind = EMU_MODULE_PARAM, .type = EMU_MODULE_TYPE_##typename, .name = #variable, .value = (variable), \
		       .max = sizeof(variable) / sizeof((variable)[0]), .count = (unsigned int *)(number), .perm = (permissions))
#define module_param_string(label, variable, size, permissions)                                                       \
	EMU_MODULE_CHECK((variable)[0], char);                                                                        \
	EMU_MODULE_PUT(.kind = EMU_MODULE_PARAM, .type = EMU_MODULE_TYPE_string, .name = #label, .value = (variable), \
		       .max = (size), .perm = (permissions))
#define MODULE_PARM_DESC(label, description) EMU_MODULE_PUT(.kind = EMU_MODULE_PARAM_DESC, .name = #label, .text = (description))

#endif
