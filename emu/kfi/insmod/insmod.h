/* SPDX-License-Identifier: BSD-2-Clause */
/* insmod.h - the parts of emu_insmod: a module's life, and its faults in words. */
#ifndef EMU_KFI_INSMOD_H
#define EMU_KFI_INSMOD_H

#include <emu_module.h>
#include <stdbool.h>
#include <stddef.h>

/* --- a kernel module as a shared object: its entries (emu_module.h), its life. The main thread alone. --- */

struct loaded {
	const char *path; /* as the command line has it */
	void *handle;     /* NULL: not loaded */
	const struct emu_module_bounds *bounds;
	bool running; /* its init has returned 0 */
};

/* Loads the object; its symbols are there for those loaded later, as exported ones are in the kernel. False after a line on
 * stderr. */
bool loaded_open(struct loaded *module, const char *path);
/* The entry of this kind, and of this name unless NULL; NULL: there is none. */
const struct emu_module_entry *loaded_entry(const struct loaded *module, enum emu_module_kind kind, const char *name);
/* Calls module_init(). False after a line on stderr: there is none, or it returned an error. */
bool loaded_init(struct loaded *module);
/* Calls module_exit() of a module that runs. False after a line on stderr: it has none, and cannot be unloaded. The object stays
 * mapped: threads that the module forgot may run in it. */
bool loaded_exit(struct loaded *module);

/* Sets the parameter that "name=value" names; a bool may stand alone. False after a line on stderr: no such parameter, or no such
 * value; nothing is changed then. */
bool loaded_set(const struct loaded *module, const char *assignment);

/* --- a module's fault in words. --- */

/* From now on a signal that would end the process by a fault of the program's (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) prints
 * what happened, the address, and the calls that led there, before it does. To be called once, before the NIC starts, which looks
 * at faults first. */
void fault_report_begin(void);

#endif
