/* SPDX-License-Identifier: BSD-2-Clause */
/* loaded.c - loading, starting and ending a module. */
#include "emu/kfi/insmod/insmod.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <kfi_errno.h>

static const char *reason(int err)
{
	return kfi_strerror(err < 0 ? -err : err);
}

bool loaded_open(struct loaded *module, const char *path)
{
	char local[4096];

	*module = (struct loaded){ .path = path };
	/* A name without a slash is a file here, and no library to look for. */
	if (!strchr(path, '/') && snprintf(local, sizeof(local), "./%s", path) < (int)sizeof(local))
		path = local;
	module->handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!module->handle) {
		fprintf(stderr, "emu_insmod: %s\n", dlerror());
		return false;
	}
	module->bounds = dlsym(module->handle, EMU_MODULE_BOUNDS);
	if (!module->bounds)
		fprintf(stderr,
			"emu_insmod: %s is no kernel module: it was not compiled with emu's linux/module.h "
			"(-I .../emu/kernel), or its symbols are hidden.\n",
			module->path);
	return module->bounds;
}

const struct emu_module_entry *loaded_entry(const struct loaded *module, enum emu_module_kind kind, const char *name)
{
	for (const struct emu_module_entry *const *at = module->bounds->begin; at < module->bounds->end; at++)
		if ((*at)->kind == kind && (!name || !strcmp((*at)->name, name)))
			return *at;
	return NULL;
}

bool loaded_init(struct loaded *module)
{
	const struct emu_module_entry *entry = loaded_entry(module, EMU_MODULE_INIT, NULL);
	int rc = entry ? entry->init() : 0;

	if (!entry)
		fprintf(stderr, "emu_insmod: %s has no module_init().\n", module->path);
	else if (rc)
		fprintf(stderr, "emu_insmod: %s: module_init() returned %d: %s.\n", module->path, rc, reason(rc));
	module->running = entry && !rc;
	return module->running;
}

bool loaded_exit(struct loaded *module)
{
	const struct emu_module_entry *entry = loaded_entry(module, EMU_MODULE_EXIT, NULL);

	if (!module->running)
		return true;
	module->running = false;
	if (!entry) {
		fprintf(stderr, "emu_insmod: %s has no module_exit(): a kernel could not unload it.\n", module->path);
		return false;
	}
	entry->exit();
	return true;
}
