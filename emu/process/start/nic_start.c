/* SPDX-License-Identifier: BSD-2-Clause */
/* nic_start.c - a configuration out of settings. */
#include "emu/process/start/nic_start.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "emu/net/thread/net.h"
#include "emu/nic/memory/guard.h"
#include "emu/process/check/check.h"
#include "emu/process/ctl/ctl_commands.h"
#include "emu/process/faults/fault_calls.h"
#include "emu/process/faults/fault_file.h"
#include "emu/process/log/log.h"
#include "emu/process/report/report.h"
#include "emu/process/settings/setting_read.h"
#include "emu/process/start/settings.h"
#include "emu/process/trace/trace_file.h"

static_assert((int)LOG_RING_WARN == (int)NIC_LOG_WARN && (int)LOG_RING_INFO == (int)NIC_LOG_INFO &&
		      (int)LOG_RING_DEBUG == (int)NIC_LOG_DEBUG && (int)PROCESS_WARN == (int)NIC_LOG_WARN &&
		      (int)PROCESS_INFO == (int)NIC_LOG_INFO && (int)PROCESS_DEBUG == (int)NIC_LOG_DEBUG,
	      "levels are the same");

/* Logs what the device and its outside say. */
static void log_line(enum nic_log level, const char *text)
{
	log_ring_put((enum log_ring_level)level, false, text);
	process_front.log((enum process_level)level, PROCESS_DEVICE, text);
}

/* Without a seed it is drawn: each finding tells it. */
static const struct race_ops *look_for_races(const struct check_setting *check)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (check->races)
		check_races_start(check->has_seed ? check->seed : (uint64_t)now.tv_nsec, check->strict);
	return check_races();
}

static int read_plan(const struct process_settings *settings, struct fault_plan *plan, struct net_config *config)
{
	int err;

	if (!fault_calls_exchanged(plan)) {
		*plan = (struct fault_plan){ 0 };
		err = settings->fault ? fault_read(settings->fault, plan) : 0;
		if (err)
			return err;
		fault_order_set(settings->order);
		if (!fault_order_add(plan))
			return setting_wrong("order", "the fault plan %s has no room for its rules", settings->fault);
	}
	if (!plan->rules)
		return 0;
	config->nic.fault = plan;
	config->slow_ns = fault_thread(plan);
	return 0;
}

static int guard_begin(void)
{
	int err = guard_install();

	if (err)
		log_warn(PROCESS_START,
			 "missing memory would kill this process: no handler for faults can be installed here, and the kernel "
			 "copies neither by process_vm_writev(2) nor by a pipe. Let the sandbox allow one of them");
	return err;
}

int nic_start(const struct process_settings *settings, const struct nic_start *start, struct nic **nic)
{
	struct fault_plan plan;
	char folder[CTL_PATH];
	struct net_config config = {
		.nic = {
			.front = process_front.device,
			.reports = report_on() ? &report_nic : NULL,
			.digest = settings->digest,
			.retry_budget_ns = settings->retry_budget_ns,
			.refused_dials = settings->refused_dials,
			.rnr_most = settings->rnr_most,
			.unexpected_bytes = settings->unexpected_bytes,
			.receives_first = start->receives_first,
			.multi_buf = start->multi_buf,
			.fetch_reads = start->fetch_reads,
			.dgram_loss = settings->dgram_loss,
			.dgram_seed = settings->dgram_seed,
			.watch = start->watch,
			.alarm = fault_alarm,
			.debug = process_front.shows(PROCESS_DEBUG, PROCESS_DEVICE),
		},
		.manual = settings->manual, /* one NIC a process: a domain that asks for less progress gets more */
		.silence_ns = settings->silence_ns,
		.bound = settings->bound,
		.local = settings->local,
		.log = log_line,
		.ctl = { .folder = ctl_folder(settings->ctl, folder), .ops = &ctl_answers },
	};
	int err = read_plan(settings, &plan, &config);

	struct secret_bytes secret;

	ctl_process_note(start->personality, settings->manual);
	if (err)
		return err;
	err = guard_begin();
	if (err)
		return err;
	config.nic.races = look_for_races(&settings->check);
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
	if (err)
		log_warn(PROCESS_START, "the NIC cannot be started: %s", strerror(-err));
	else
		report_process();
	if (!err && settings->trace)
		trace_start(*nic, settings->trace, settings->trace_size);
	return err;
}
