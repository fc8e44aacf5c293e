/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_nic_start.c - the process's NIC, as the settings and the personality want it. */
#include "emu/fi/domain/fi_nic_start.h"

#include "emu/fi/provider/fi_watched.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/process/start/nic_start.h"

int nic_start_by(const struct settings *settings, struct nic **nic)
{
	const struct nic_start start = {
		.personality = settings->attr->name,
		.watch = settings->process.check ? &check_watch : NULL,
		.receives_first = settings->attr->receives_first,
		.multi_buf = settings->attr->multi_buf,
		.fetch_reads = settings->fetch_reads,
	};

	return nic_start(&settings->process, &start, nic);
}

int emu_nic_start(struct nic **nic)
{
	struct settings settings;
	int err = settings_read(&settings);

	return err ? err : nic_start_by(&settings, nic);
}
