/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_nic_start.c - the process's NIC, as the settings want it. */
#include "emu/fi/domain/fi_nic_start.h"

#include <assert.h>
#include <rdma/fi_errno.h>

#include "emu/fi/check/fi_check.h"
#include "emu/fi/ctl/fi_ctl.h"
#include "emu/fi/info/fi_attr.h"
#include "emu/fi/info/fi_settings.h"
#include "emu/fi/provider/fi_fault.h"
#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/provider/fi_log_ring.h"
#include "emu/fi/provider/fi_prov.h"
#include "emu/fi/provider/fi_secret.h"
#include "emu/fi/report/fi_report.h"
#include "emu/fi/report/fi_report_nic.h"
#include "emu/fi/trace/fi_trace.h"
#include "emu/net/thread/net.h"
#include "emu/nic/memory/guard.h"

/* Log lines of the device and its outside go to libfabric's log. */
static void log_line(enum nic_log level, const char *text)
{
	static const enum fi_log_level levels[] = {
		[NIC_LOG_WARN] = FI_LOG_WARN,
		[NIC_LOG_INFO] = FI_LOG_INFO,
		[NIC_LOG_DEBUG] = FI_LOG_DEBUG,
	};

	log_ring_put((enum log_ring_level)level, false, text);
	FI_LOG(&emu_provider, levels[level], FI_LOG_EP_DATA, "%s\n", text);
}

static_assert((int)LOG_RING_WARN == (int)NIC_LOG_WARN && (int)LOG_RING_INFO == (int)NIC_LOG_INFO &&
		      (int)LOG_RING_DEBUG == (int)NIC_LOG_DEBUG,
	      "levels are the same");

int nic_start_by(const struct settings *settings, struct nic **nic)
{
	struct fault_plan plan;
	char folder[CTL_PATH];
	struct net_config config = {
		.nic = {
			.front = &emu_front_end,
			.reports = report_on() ? &report_nic : NULL,
			.digest = settings->digest,
			.retry_budget_ns = settings->retry_budget_ns,
			.refused_dials = settings->refused_dials,
			.rnr_most = settings->rnr_most,
			.unexpected_bytes = settings->unexpected_bytes,
			.receives_first = settings->attr->receives_first,
			.fetch_reads = settings->fetch_reads,
			.dgram_loss = settings->dgram_loss,
			.dgram_seed = settings->dgram_seed,
			.watch = settings->check ? &check_watch : NULL,
			.debug = fi_log_enabled(&emu_provider, FI_LOG_DEBUG, FI_LOG_EP_DATA),
		},
		.manual = settings->manual, /* one NIC a process: a domain that asks for less progress gets more */
		.silence_ns = settings->silence_ns,
		.bound = settings->bound,
		.local = settings->local,
		.log = log_line,
		.ctl = { .folder = ctl_folder(settings, folder), .ops = &ctl_answers },
	};
	int err = settings->fault ? fault_read(settings->fault, &plan) : 0;
	struct secret_bytes secret;

	if (err)
		return err;
	config.nic.fault = settings->fault ? &plan : NULL;
	config.slow_ns = settings->fault ? fault_thread(&plan) : 0;
	err = guard_install();
	if (err) {
		EMU_WARN(DOMAIN,
			 "missing memory would kill this process: no handler for faults can be installed here, and the "
			 "kernel copies neither by process_vm_writev(2) nor by a pipe. Let the sandbox allow one of them\n");
		return err;
	}
	if (settings->secret_file) {
		err = secret_read(settings->secret_file, &secret);
		if (err)
			return err;
		config.nic.secret = secret.bytes;
		config.nic.secret_length = secret.length;
	}
	err = net_start(nic, &config);
	if (settings->secret_file)
		secret_forget(&secret);
	if (!err)
		report_process();
	if (err)
		EMU_WARN(DOMAIN, "the NIC cannot be started: %s\n", fi_strerror(-err));
	else if (settings->trace)
		trace_start(*nic, settings->trace, settings->trace_size);
	return err;
}

int emu_nic_start(struct nic **nic)
{
	struct settings settings;
	int err = settings_read(&settings);

	return err ? err : nic_start_by(&settings, nic);
}
