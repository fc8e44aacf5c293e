/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_prov.c - the provider's entry. Loading starts nothing: a process that never uses the provider never notices it. */
#include "emu/fi/provider/fi_refuse.h"

#include "emu/fi/check/fi_check.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/info/fi_info.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/mr/fi_mr_cache.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_registry.h"
#include "emu/net/os/fork.h"
#include "emu/process/report/report.h"
#include "emu/net/thread/net.h"

/* At exit, in every process that loaded libfabric; objects may still be open. */
static void cleanup(void)
{
	report_exits();
	asked_end();
	refuse_ending(true);
	check_exit();
	net_stop();
	report_end(report_nic_end);
}

static void provider_forked(void)
{
	refuse_ending(false);
	registry_forked();
	connreq_forked();
}

static struct fork_reset reset = { .in_child = provider_forked };

struct fi_provider emu_provider = {
	.version = FI_VERSION(EMU_VERSION_MAJOR, EMU_VERSION_MINOR),
	.name = "emu",
	.getinfo = emu_getinfo,
	.fabric = check_fabric_open,
	.cleanup = cleanup,
};

FI_EXT_INI;

FI_EXT_INI
{
	/* The running library's version: its core skips a provider that is older than the API that a program asks for. */
	emu_provider.fi_version = fi_version();
	((struct compat_prov_context *)&emu_provider.context)->disable_layering = true;
	/* Before the first fi_getinfo(), which takes locks. Core goes on without a provider that is NULL. */
	if (fork_register(&reset))
		return NULL;
	settings_define();
	mr_cache_define();
	asked_loaded();
	return &emu_provider;
}
