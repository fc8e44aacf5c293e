/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_settings.c - FI_EMU_* of libfabric's programs alone: names, help and values; and all of them for fi_info -e. */
#include "emu/fi/personality/fi_settings.h"

#include <rdma/fi_errno.h>
#include <stddef.h>

#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/process/front/process_front.h"
#include "emu/process/settings/setting_read.h"
#include "emu/process/settings/setting_say.h"

static const struct setting settings_own[] = {
	{ "personality", SETTING_TEXT,
	  "Table of attributes and rules: strict (default) holds a program to every mr_mode bit it offers, lax asks "
	  "for none; kfi and kcxi are for kfabric's programs, with the rules of kfi_mr(3) and those of HPE's provider cxi" },
	{ "mr_close", SETTING_TEXT,
	  "What is closed first: any (default) lets regions and the endpoints and counters that they are bound to close in "
	  "any order; mr-last refuses to close a region while those are open, mr-first refuses to close those while regions "
	  "are bound to them" },
	{ "pinned", SETTING_FLAG,
	  "Pin registered memory as hardware does: after the program has unmapped it and mapped something else there, peers "
	  "still reach the old pages. Where FI_MR_ALLOCATED is in force without FI_MR_MMU_NOTIFY; needs io_uring (default: "
	  "off)" },
	{ "mr_cache", SETTING_FLAG,
	  "Registers local buffers that have no descriptor, as adapters do that need it, and keeps those that are, in a cache; "
	  "see FI_MR_CACHE_* (default: no, since the NIC needs no such registration)" },
	{ "hmem", SETTING_TEXT,
	  "Emulated devices with memory, as in cuda:2,ze:1, for programs that have loaded libemu-hmem.so, which reads this and "
	  "hmem_size: see emu_hmem(3) (default: none)" },
	{ "hmem_size", SETTING_SIZE, "Bytes of memory of each emulated device (default 4 GiB)" },
	{ "fetch_rights", SETTING_TEXT,
	  "What a region must allow for atomics that return something: write (default; FI_REMOTE_WRITE opens it to every "
	  "atomic) or both (FI_REMOTE_READ, too; alone it opens it to FI_ATOMIC_READ)" },
	{ "check_atomic", SETTING_FLAG,
	  "Kernel clients under emu_insmod: reports calls that may sleep where a kernel may not; see kfi_emu(7) (default: no)" },
	{ "debugfs", SETTING_TEXT,
	  "Kernel clients: the folder in which their files of debugfs are FIFOs; see kfi_emu(7) (default: none)" },
	{ NULL, SETTING_TEXT, NULL },
};

static const struct setting *const settings_all[] = { settings_own, settings_known, NULL };

static void define(const struct setting *setting)
{
	static const enum fi_param_type types[] = {
		[SETTING_TEXT] = FI_PARAM_STRING,
		[SETTING_FLAG] = FI_PARAM_BOOL,
		[SETTING_SIZE] = FI_PARAM_SIZE_T,
	};

	fi_param_define(&emu_provider, setting->name, types[setting->type], "%s", setting->help);
}

void settings_define(void)
{
	for (size_t i = 0; settings_all[i]; i++)
		for (const struct setting *setting = settings_all[i]; setting->name; setting++)
			define(setting);
}

static int read_personality(const struct attr_table **attr)
{
	/* The first is the default. */
	static const struct attr_table *const tables[] = { &attr_strict, &attr_lax, &attr_kfi, &attr_kcxi };
	enum { TABLES = sizeof(tables) / sizeof(tables[0]) };
	const char *names[TABLES + 1];
	size_t index = 0;
	int err;

	for (size_t i = 0; i < TABLES; i++)
		names[i] = tables[i]->name;
	names[TABLES] = NULL;
	err = setting_word("personality", names, &index);
	*attr = tables[index];
	return err;
}

/* Reads the settings that replace values of the personality. */
static int read_over_personality(struct settings *settings)
{
	static const char *const fetch_words[] = { "write", "both", NULL };
	size_t close, fetch;

	if (read_personality(&settings->attr))
		return -FI_EINVAL;
	words_of_kernel(settings->attr->kernel_words);
	close = settings->attr->close;
	fetch = settings->attr->fetch_reads;
	settings->pinned = settings->attr->pinned;
	settings->mr_cache = settings->attr->mr_cache;
	settings->process.rnr_most = settings->attr->rnr_most;
	if (setting_word("mr_close", close_policy_names, &close) || setting_word("fetch_rights", fetch_words, &fetch) ||
	    setting_flag("pinned", &settings->pinned) || setting_flag("mr_cache", &settings->mr_cache))
		return -FI_EINVAL;
	settings->close = close_policy((enum close_order)close);
	settings->fetch_reads = fetch;
	return 0;
}

int settings_read(struct settings *settings)
{
	setting_names_check(settings_all);
	if (read_over_personality(settings) || process_settings_read(&settings->process, settings->attr->name))
		return -FI_EINVAL;
	return 0;
}
