/* SPDX-License-Identifier: BSD-2-Clause */
/* test_module.c - a runner finds the entries of a shared object, sets parameters, and runs it. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <emu_module.h>
#include <stdbool.h>
#include <string.h>

#include "tests/kernel/said.h"

static void *handle;
static const struct emu_module_bounds *bounds;

static void load(void)
{
	handle = dlopen(MODULE_FILE, RTLD_NOW | RTLD_LOCAL);
	cr_assert_not_null(handle, "%s", dlerror());
	bounds = dlsym(handle, EMU_MODULE_BOUNDS);
	cr_assert_not_null(bounds);
}

static const struct emu_module_entry *find(enum emu_module_kind kind, const char *name)
{
	for (const struct emu_module_entry *const *at = bounds->begin; at < bounds->end; at++)
		if ((*at)->kind == kind && (!name || !strcmp((*at)->name, name)))
			return *at;
	return NULL;
}

TestSuite(kernel_module, .init = load);

Test(kernel_module, all_entries_are_there)
{
	cr_assert_eq(bounds->end - bounds->begin, 21);
	for (const struct emu_module_entry *const *at = bounds->begin; at < bounds->end; at++)
		cr_assert_str_eq((*at)->module, "module_shape");
	cr_assert_str_eq(find(EMU_MODULE_INFO, "license")->text, "Dual BSD/GPL");
	cr_assert_str_eq(find(EMU_MODULE_PARAM_DESC, "count")->text, "operations to post");
	cr_assert_str_eq(find(EMU_MODULE_PARAM_DESC, "loud")->text, "say more");
}

Test(kernel_module, parameters_have_types_and_values)
{
	static const struct {
		const char *name;
		enum emu_module_type type;
		unsigned int max;
	} wanted[] = {
		{ "count", EMU_MODULE_TYPE_int, 1 },   { "size", EMU_MODULE_TYPE_uint, 1 },
		{ "delay", EMU_MODULE_TYPE_long, 1 },  { "mask", EMU_MODULE_TYPE_ulong, 1 },
		{ "low", EMU_MODULE_TYPE_short, 1 },   { "port", EMU_MODULE_TYPE_ushort, 1 },
		{ "loud", EMU_MODULE_TYPE_bool, 1 },   { "device", EMU_MODULE_TYPE_charp, 1 },
		{ "several", EMU_MODULE_TYPE_int, 4 }, { "label", EMU_MODULE_TYPE_string, 16 },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct emu_module_entry *entry = find(EMU_MODULE_PARAM, wanted[i].name);

		cr_assert_not_null(entry, "%s", wanted[i].name);
		cr_assert_eq(entry->type, wanted[i].type);
		cr_assert_eq(entry->max, wanted[i].max);
		cr_assert_eq(entry->count != NULL, wanted[i].max == 4);
	}
	cr_assert_eq(*(int *)find(EMU_MODULE_PARAM, "count")->value, 3);
	cr_assert_eq(find(EMU_MODULE_PARAM, "size")->perm, 0644);
}

Test(kernel_module, it_runs_with_its_parameters_and_ends)
{
	int (*state)(void) = (int (*)(void))dlsym(handle, "module_shape_state");
	char device[] = "emu7";

	said_begin();
	*(char **)find(EMU_MODULE_PARAM, "device")->value = device;
	*(bool *)find(EMU_MODULE_PARAM, "loud")->value = true;
	cr_assert_lt(state(), 0);
	cr_assert_eq(find(EMU_MODULE_INIT, NULL)->init(), 0);
	cr_assert_eq(state(), 0);
	cr_assert_eq(said_times("info module_shape.c: module_shape: emu7: 4096 bytes, -1 1 -2 7\n"), 1);
	find(EMU_MODULE_EXIT, NULL)->exit();
	cr_assert_lt(state(), 0);
}
