/* SPDX-License-Identifier: BSD-2-Clause */
/* emu_module.h - what a module leaves for the program that runs it.
 * The macros of linux/module.h put pointers to entries into the section emu_module. A runner finds them by
 * dlsym(handle, "emu_module_bounds"), or, where modules are linked into it, by the section's bounds. The order of entries is not
 * that of the source: the runner sets parameters first, then calls INIT, and EXIT at the end. */
#ifndef EMU_MODULE_H
#define EMU_MODULE_H

#include <stddef.h>

enum emu_module_kind {
	EMU_MODULE_INIT = 1,   /* module_init(): `init` */
	EMU_MODULE_EXIT,       /* module_exit(): `exit` */
	EMU_MODULE_PARAM,      /* module_param() and its like: `name`, `type`, `value`, `perm`, and for arrays `max`, `count` */
	EMU_MODULE_PARAM_DESC, /* MODULE_PARM_DESC(): `name`, `text` */
	EMU_MODULE_INFO,       /* MODULE_LICENSE() and its like: `name` is "license", `text` its text */
};

enum emu_module_type {
	EMU_MODULE_NONE, /* no parameter */
	EMU_MODULE_TYPE_int,
	EMU_MODULE_TYPE_uint,
	EMU_MODULE_TYPE_long,
	EMU_MODULE_TYPE_ulong,
	EMU_MODULE_TYPE_short,
	EMU_MODULE_TYPE_ushort,
	EMU_MODULE_TYPE_bool,
	EMU_MODULE_TYPE_charp,  /* `value` is a char **: the runner keeps the text as long as the module */
	EMU_MODULE_TYPE_string, /* `value` is an array of `max` chars, with the 0 */
};

struct emu_module_entry {
	enum emu_module_kind kind;
	enum emu_module_type type;
	const char *module; /* KBUILD_MODNAME, or "": then it is the file's name */
	const char *name;
	const char *text;
	int (*init)(void);
	void (*exit)(void);
	void *value;
	unsigned int max;    /* elements of an array; 1 for a single value */
	unsigned int *count; /* if not NULL: takes the number of elements that were set */
	unsigned int perm;   /* as in /sys/module: not looked at */
};

/* The entries of one program or shared object. */
struct emu_module_bounds {
	const struct emu_module_entry *const *begin, *const *end;
};

#define EMU_MODULE_BOUNDS "emu_module_bounds"

#endif
