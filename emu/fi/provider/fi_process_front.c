/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_process_front.c - what libfabric's front end hands to the services of the process: words, libfabric's log and parameters. */
#include <rdma/fabric.h>

#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/process/front/process_front.h"

static const enum fi_log_level levels[] = {
	[PROCESS_WARN] = FI_LOG_WARN,
	[PROCESS_INFO] = FI_LOG_INFO,
	[PROCESS_DEBUG] = FI_LOG_DEBUG,
};

static const enum fi_log_subsys subsystems[] = {
	[PROCESS_ITSELF] = FI_LOG_CORE,
	[PROCESS_START] = FI_LOG_DOMAIN,
	[PROCESS_DEVICE] = FI_LOG_EP_DATA,
};

static bool shows(enum process_level level, enum process_subject subject)
{
	return fi_log_enabled(&emu_provider, levels[level], subsystems[subject]);
}

static void log_text(enum process_level level, enum process_subject subject, const char *text)
{
	FI_LOG(&emu_provider, levels[level], subsystems[subject], "%s\n", text);
}

static bool shows_calls(int subsystem)
{
	return fi_log_enabled(&emu_provider, FI_LOG_WARN, (enum fi_log_subsys)subsystem);
}

static void log_call(int subsystem, const char *text)
{
	FI_LOG(&emu_provider, FI_LOG_WARN, (enum fi_log_subsys)subsystem, "%s\n", text);
}

static const char *setting(const char *name)
{
	char *value = NULL;

	return fi_param_get_str(&emu_provider, name, &value) ? NULL : value;
}

static int flag(const char *name, bool *on)
{
	int value = 0, err = fi_param_get_bool(&emu_provider, name, &value);

	if (!err)
		*on = value;
	return err && err != -FI_ENODATA ? -FI_EINVAL : err;
}

static const char asked_key[] = "The key is what this region asked for, and under FI_MR_PROV_KEY the provider chose another. Send "
				"what fi_mr_key gives.";
static const char own_desc[] =
	"The key is the descriptor of a region of this process. Pass the key that the peer's fi_mr_key gave.";

const struct process_front process_front = {
	.device = &emu_front_end,
	.calls = { [OP_SEND] = "fi_send", [OP_WRITE] = "fi_write", [OP_READ] = "fi_read", [OP_ATOMIC] = "fi_atomic" },
	.receive_call = "fi_recv",
	.shared_receive_call = "fi_recv",
	.call_prefixes = { "fi_", "kfi_" },
	.guesses = {
		[GUESS_DESCRIPTOR] = "The key is the local descriptor of this region. Send what fi_mr_key gives, not fi_mr_desc.",
		[GUESS_ASKED] = asked_key,
		[GUESS_ADDRESS] = "The key is an address in this region. Send what fi_mr_key gives.",
		[GUESS_OWN_DESCRIPTOR] = own_desc,
		[GUESS_OWN_KEY] = "The key is that of a region of this process. Pass the key that the peer's fi_mr_key gave.",
	},
	.settings_listed = "fi_info -e lists those that there are.",
	.variables = "FI_",
	.library = "libfabric",
	.library_version = fi_version,
	.shows = shows,
	.log = log_text,
	.shows_calls = shows_calls,
	.log_call = log_call,
	.setting = setting,
	.flag = flag,
};
