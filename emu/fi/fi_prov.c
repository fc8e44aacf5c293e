/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_prov.c - the way in. Loading starts nothing: a process that never uses the provider never notices it. */
#include "emu/fi/fi_prov.h"

#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_fabric.h"
#include "emu/fi/fi_info.h"
#include "emu/fi/fi_mr_cache.h"
#include "emu/fi/fi_settings.h"
#include "emu/net/net.h"

/* At exit, in every process that loaded libfabric; whatever is still open. */
static void cleanup(void)
{
	net_stop();
}

struct fi_provider emu_provider = {
	.version = FI_VERSION(EMU_VERSION_MAJOR, EMU_VERSION_MINOR),
	.name = "emu",
	.getinfo = emu_getinfo,
	.fabric = emu_fabric_open,
	.cleanup = cleanup,
};

FI_EXT_INI;

FI_EXT_INI
{
	/* The running library's: its core passes over a provider that is older than the API a program asks for. */
	emu_provider.fi_version = fi_version();
	((struct compat_prov_context *)&emu_provider.context)->disable_layering = true;
	settings_define();
	mr_cache_define();
	return &emu_provider;
}
