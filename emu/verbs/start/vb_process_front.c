/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_process_front.c - what the front end of verbs hands to the services of the process: words, a log on standard error, and
 * settings out of the environment. */
#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "emu/nic/base/cancel.h"
#include "emu/process/check/check.h"
#include "emu/process/front/process_front.h"
#include "emu/verbs/start/vb_front_end.h"

#define PREFIX "FI_EMU_"
enum { NAME_MAX_BYTES = 64, LINE_MAX_BYTES = 2700, LEVEL_UNREAD = 0, LEVEL_NONE, LEVEL_FIRST };

/* EMU_LOG_LEVEL, read when the first line might be logged. */
static int log_levels(void)
{
	static const char *const words[] = { "none", "warn", "info", "debug" };
	static atomic_int read;
	int levels = atomic_load_explicit(&read, memory_order_relaxed);
	const char *value;

	if (levels != LEVEL_UNREAD)
		return levels;
	levels = LEVEL_FIRST + PROCESS_WARN;
	value = getenv("EMU_LOG_LEVEL");
	for (size_t i = 0; value && i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcasecmp(value, words[i]))
			levels = LEVEL_NONE + (int)i;
	}
	atomic_store_explicit(&read, levels, memory_order_relaxed);
	return levels;
}

static bool stderr_shows(enum process_level level, enum process_subject subject)
{
	(void)subject;
	return log_levels() >= LEVEL_FIRST + (int)level;
}

/* One write, so that lines of several threads and processes stay whole. */
static void stderr_log(enum process_level level, enum process_subject subject, const char *text)
{
	static const char *const words[] = { [PROCESS_WARN] = "warn", [PROCESS_INFO] = "info", [PROCESS_DEBUG] = "debug" };
	char line[LINE_MAX_BYTES];
	int length, cancel_state, error = errno;

	if (!stderr_shows(level, subject))
		return;
	length = snprintf(line, sizeof(line), "emu: %s: %s", words[level], text);
	if (length >= (int)sizeof(line))
		length = (int)sizeof(line) - 1;
	line[length++] = '\n';       /* in the place of the terminator */
	cancel_state = cancel_off(); /* calls log while they hold locks */
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		errno = error;
	cancel_back(cancel_state);
}

static bool stderr_shows_calls(int subsystem)
{
	(void)subsystem;
	return stderr_shows(PROCESS_WARN, PROCESS_ITSELF);
}

static void stderr_log_call(int subsystem, const char *text)
{
	(void)subsystem;
	stderr_log(PROCESS_WARN, PROCESS_ITSELF, text);
}

static const char *env_setting(const char *name)
{
	char variable[NAME_MAX_BYTES] = PREFIX;
	size_t length = strlen(variable);

	for (; *name && length < sizeof(variable) - 1; name++)
		variable[length++] = (char)toupper((unsigned char)*name);
	return getenv(variable);
}

/* The words that libfabric takes, too. */
static int env_flag(const char *name, bool *on)
{
	static const char *const yes[] = { "1", "true", "yes", "on" }, *const no[] = { "0", "false", "no", "off" };
	const char *value = env_setting(name);

	if (!value)
		return -ENODATA;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcasecmp(value, yes[i]) && strcasecmp(value, no[i]))
			continue;
		*on = !strcasecmp(value, yes[i]);
		return 0;
	}
	return -EINVAL;
}

/* Of rdma-core's interface: the newest node of ibverbs.map, IBVERBS_1.18. */
static uint32_t node_version(void)
{
	return 1 << 16 | 18;
}

static const char own_lkey[] = "The key is the lkey of a region of this process. Pass the rkey that the peer has given.";

const struct process_front process_front = {
	.device = &vb_front_end,
	.faults = &vb_faults,
	.calls = { [OP_SEND] = "ibv_post_send", [OP_WRITE] = "ibv_post_send", [OP_READ] = "ibv_post_send",
		   [OP_ATOMIC] = "ibv_post_send" },
	.receive_call = "ibv_post_recv",
	.shared_receive_call = "ibv_post_srq_recv",
	.call_prefixes = { "ibv_", "rdma_" },
	.guesses = {
		[GUESS_DESCRIPTOR] = "The key is the lkey of this region. Send its rkey.",
		[GUESS_ASKED] = "The key is no rkey of this region. Send mr->rkey.",
		[GUESS_ADDRESS] = "The key is an address in this region. Send mr->rkey.",
		[GUESS_OWN_DESCRIPTOR] = own_lkey,
		[GUESS_OWN_KEY] = "The key is the rkey of a region of this process. Pass the rkey that the peer has given.",
	},
	.settings_listed = "emu/USING.md lists those that there are.",
	.variables = PREFIX,
	.library = "libibverbs",
	.library_version = node_version,
	.shows = stderr_shows,
	.log = stderr_log,
	.shows_calls = stderr_shows_calls,
	.log_call = stderr_log_call,
	.setting = env_setting,
	.flag = env_flag,
};

/* What a program is to do about the findings of checked mode. */
const struct check_front check_front = {
	.remedies = {
		[CHECK_SEND_CHANGED] = ("Leave it alone until a completion tells that the request is done, or post it with "
				       "IBV_SEND_INLINE."),
		[CHECK_RECEIVE_CHANGED] = "Write to it only when its completion has been polled.",
		[CHECK_RECEIVE_USED] = "Use another buffer until its completion has been polled.",
		[CHECK_RECEIVE_SHARED] = ("Messages overwrite each other there: give each receive a buffer of its own, if they "
					 "matter."),
		[CHECK_VECTOR] = "Give each byte a place of its own.",
		[CHECK_UNMAPPED] = "Unmap or free memory when its requests have completed and its regions are deregistered.",
		[CHECK_CQ_OVERRUN] = "Make it for all requests that may be posted and not polled, of all its queue pairs.",
		[CHECK_RACE_OPERATIONS] = ("Poll the first one's completion before the second one is posted, if need be by a "
					   "message of the peer's; of one queue pair, fence the second one (IBV_SEND_FENCE)."),
		[CHECK_RACE_LOAD] = "Poll the completion first, or, at the target, that of a message or of immediate data.",
		[CHECK_RACE_STORE] = "Poll the completion first, or, at the target, that of a message or of immediate data.",
		[CHECK_POLLED] = "No page promises that the last bytes come last: let a message or immediate data tell.",
		[CHECK_POLLED_STRICT] = "No page promises that the last bytes come last: let a message or immediate data tell.",
		[CHECK_REGION_OPEN] = "Call ibv_dereg_mr when peers have ended their accesses.",
		[CHECK_NO_HEADER_ROOM] = "Give each receive 40 bytes more than the message: the GRH comes first.",
		[CHECK_BOTH_WAIT] = "Move the side that sends first to RTS (ibv_modify_qp with IBV_QPS_RTS).",
		[CHECK_NO_ROUTE] = "Use the GID of an interface that reaches it.",
		[CHECK_OBJECT_OPEN] = "Destroy queue pairs first, then what they use, then the PD and the device.",
	},
	.receives_share = true,
};
