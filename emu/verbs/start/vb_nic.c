/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_nic.c - starts the NIC for the first object that needs it, and ends it with the process. Loading the library starts nothing: a
 * process that opens no device never notices it. */
#include "emu/verbs/start/vb_nic.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "emu/net/thread/net.h"
#include "emu/nic/base/cancel.h"
#include "emu/process/check/check_object.h"
#include "emu/process/faults/fault_calls.h"
#include "emu/process/report/report.h"
#include "emu/process/settings/setting_say.h"
#include "emu/process/start/nic_start.h"
#include "emu/process/start/settings.h"
#include "emu/verbs/start/vb_refuse.h"

#define PERSONALITY "verbs"

static atomic_bool used; /* the process has opened a device */

/* What libfabric's programs alone read: an environment may have it for those. */
static const struct setting settings_of_fi[] = {
	{ .name = "personality" }, { .name = "mr_close" },  { .name = "pinned" },       { .name = "mr_cache" },
	{ .name = "hmem" },        { .name = "hmem_size" }, { .name = "fetch_rights" }, { .name = "check_atomic" },
	{ .name = "debugfs" },     { .name = NULL },
};

static const struct setting *const settings_all[] = { settings_known, settings_of_fi, NULL };

static int read_settings(struct process_settings *settings)
{
	setting_names_check(settings_all);
	settings->rnr_most = 0; /* without end: a QP has its own rnr_retry */
	return process_settings_read(settings, PERSONALITY);
}

static int settings_check(void)
{
	struct process_settings settings;
	int err = -read_settings(&settings);

	if (!err && settings.check.on)
		err = check_start();
	if (!err)
		err = fault_calls_begin(settings.fault);
	if (!err)
		atomic_store(&used, true);
	return err;
}

/* Files are opened, read and closed here, which are points of cancellation. */
int vb_settings_check(void)
{
	int cancel_state = cancel_off(), err = settings_check();

	cancel_back(cancel_state);
	return err;
}

static int start_nic(struct nic **nic, const struct net_claim **claim)
{
	const struct nic_start start = { .personality = PERSONALITY, .watch = check_watch_posts() };
	struct process_settings settings;
	int err = vb_is_ending() ? -EAGAIN : read_settings(&settings);

	if (!err)
		err = nic_start(&settings, &start, nic);
	if (!err)
		*claim = atomic_load(&net_claim);
	return -err;
}

int vb_nic_start(struct nic **nic, const struct net_claim **claim)
{
	int cancel_state = cancel_off(), err = start_nic(nic, claim); /* likewise */

	cancel_back(cancel_state);
	return err;
}

void vb_nic_end(void)
{
	net_end();
}

/* At exit, after all that the program has registered for it; objects may still be open. */
__attribute__((destructor)) static void end(void)
{
	if (!atomic_load(&used))
		return;
	report_exits();
	vb_refuse_ending();
	check_exits();
	net_stop();
	report_end(report_nic_end);
}
