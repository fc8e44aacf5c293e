/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_asked.c - libfabric loads this provider in the program's first call, and may then leave it out: at once, if FI_PROVIDER names
 * others, or at each fi_getinfo, by the hints. Of the latter the provider sees nothing but that nobody comes. */
#include "emu/fi/info/fi_info.h"

#include <rdma/fabric.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/process/report/call_stack.h"
#include "emu/process/report/report.h"

enum { TEXT_MAX = 2048 };

static atomic_bool asked;
static struct call_stack loaded; /* where the program made its first call, if it was noted */

void asked_loaded(void)
{
	struct settings settings;
	char *folder = NULL;

	if (fi_param_get_str(&emu_provider, "report", &folder) || !folder || !*folder)
		return;
	settings_read(&settings); /* switches reports on: at the provider's end libfabric has forgotten all settings */
	call_stack_prime();
	call_stack_take(&loaded);
}

void asked_now(void)
{
	atomic_store_explicit(&asked, true, memory_order_relaxed);
}

void asked_in_vain(const char *why)
{
	char text[TEXT_MAX];
	uint64_t place = 1;

	snprintf(text, sizeof(text), "fi_getinfo finds nothing: %s", why);
	for (const char *at = text; *at; at++)
		place = (place ^ (unsigned char)*at) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	report_finding(&(struct report_finding){
		.kind = REPORT_CALL,
		.side = REPORT_LOCAL,
		.cause = "no-info",
		.text = text,
		.call = "fi_getinfo",
		.remedy = "Ask for what is offered: fi_info -p emu -v lists it, and FI_EMU_PERSONALITY=lax offers more.",
		.place = place,
	});
}

/* Does FI_PROVIDER leave this provider out? A list of names, or of names to exclude behind a ^. */
static bool is_left_out(const char *list)
{
	bool excludes = *list == '^', named = false;
	size_t length;

	for (list += excludes; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		named |= length == strlen(emu_provider.name) && !strncasecmp(list, emu_provider.name, length);
	}
	return named == excludes;
}

void asked_end(void)
{
	const char *list = getenv("FI_PROVIDER");
	uint32_t version = fi_version();
	char text[TEXT_MAX];
	bool left_out = list && *list && is_left_out(list);

	if (atomic_load_explicit(&asked, memory_order_relaxed) || !loaded.count)
		return;
	if (left_out)
		snprintf(text, sizeof(text), "libfabric leaves emu out, as FI_PROVIDER is `%s' in this process", list);
	else
		snprintf(text, sizeof(text),
			 "libfabric loads emu, and does not ask it: the hints name another provider (fabric_attr->prov_name), "
			 "or the version asked for is above %u.%u, that of libfabric",
			 FI_MAJOR(version), FI_MINOR(version));
	report_finding(&(struct report_finding){
		.kind = REPORT_CALL,
		.side = REPORT_LOCAL,
		.cause = left_out ? "provider-filtered" : "not-asked",
		.text = text,
		.remedy = left_out ? "Leave the variable as emurun sets it, or add emu."
				   : "Name emu or no provider, and ask for an older version.",
		.here = &loaded,
		.place = 1,
	});
}
