/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.c - the settings of a process, whatever its front end: names, help and values. */
#include "emu/process/start/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "emu/process/faults/fault_file.h"
#include "emu/process/front/process_front.h"
#include "emu/process/report/report.h"
#include "emu/process/settings/setting_read.h"
#include "emu/process/settings/setting_say.h"

enum { SETTING_TRACE_SIZE = 16 << 20, SETTING_TRACE_SIZE_MIN = 1 << 20 };
#define SETTING_TRACE_SIZE_MAX (INT64_C(4) << 30)
enum { SETTING_TIMEOUT_MIN_MS = 1000, SETTING_TIMEOUT_MAX_MS = 3600000 }; /* TCP's idle probes count in seconds */

const struct setting settings_known[] = {
	{ "iface", SETTING_TEXT, "Network interface, or an address of one, to use alone (default: any that is up)" },
	{ "ports", SETTING_TEXT,
	  "Range of ports, as in 47000-47999, for listeners and datagrams if the program names no port; for firewalls "
	  "(default: the system's choice)" },
	{ "advertise", SETTING_TEXT,
	  "Address, without port, that peers are told instead of the one that endpoints are bound to: for hosts and containers "
	  "behind address translation, which must lead the same ports there (default: none)" },
	{ "secret_file", SETTING_TEXT,
	  "File of 16 to 4096 bytes, readable by its owner alone, that peers must have as well: connections begin with a "
	  "proof of it on both sides, and datagrams are tagged by it (default: none; any peer that reaches the port is let in)" },
	{ "progress", SETTING_TEXT,
	  "auto (default) or manual: the NIC moves data only inside the program's own calls, which finds programs that "
	  "rely on background progress" },
	{ "digest", SETTING_TEXT,
	  "Digests on the wire cover: head (default: heads, and payloads of atomics), full (all payloads, too) or off (nothing)" },
	{ "retry_ms", SETTING_TEXT, "How long a peer may be unreachable before ops to it fail (default 15000)" },
	{ "retry_cnt", SETTING_TEXT,
	  "How often in a row a peer may refuse connections, 100 ms apart, before ops to it fail (default 3)" },
	{ "rnr_retry", SETTING_TEXT,
	  "How often an op is tried again whose receiver was not ready, as a queue pair's rnr_retry: 0 to 6, or 7 (default), which "
	  "means without end" },
	{ "timeout_ms", SETTING_TEXT,
	  "How long a connection may take to be made, or let nothing through, before it is broken and made anew: 1000 to 3600000 "
	  "(default 8000)" },
	{ "local", SETTING_TEXT,
	  "How processes of one user on one machine are connected: unix (default), by Unix sockets, or tcp, as all others are, "
	  "which tcpdump and tc see" },
	{ "fault", SETTING_TEXT,
	  "File of a fault plan, which has chosen ops fail, wait or meet a full receiver: see emu_fault(5) (default: none)" },
	{ "order", SETTING_TEXT,
	  "What the NIC makes of an order that the program does not ask for: strong (default: all is done as posted), rc (writes "
	  "are seen late and in pieces, as a queue pair of InfiniBand may have them) or weak (ops pass each other, too)" },
	{ "check", SETTING_TEXT,
	  "Checked mode: reports what hardware punishes later and silently, such as a buffer that is changed while it is being "
	  "sent, and objects that are never closed; costs speed (default: no). races: looks for races, too, by answers and posts "
	  "that wait for a while, which seed=N draws; races,strict: memory that is polled is one" },
	{ "unexpected_bytes", SETTING_TEXT,
	  "Payload of unexpected messages kept at an endpoint; past it they are pulled when matched (default 64 MiB)" },
	{ "report", SETTING_TEXT,
	  "Folder for reports: each process writes its findings there, for tools; see emurun --check (default: none)" },
	{ "trace", SETTING_TEXT,
	  "Folder in which each process leaves a ring file of what its NIC does, for emu_trace(1); or text: each frame is a line "
	  "on stderr (default: none)" },
	{ "trace_size", SETTING_TEXT, "Bytes of a ring file; the oldest events go when it is full (default 16 MiB)" },
	{ "dgram_loss", SETTING_TEXT,
	  "Part of the datagrams sent by endpoints for datagrams that is lost, from 0 (default) to 1, such as 0.01" },
	{ "ctl", SETTING_TEXT,
	  "Folder of the control socket, by which emuctl(1) looks into the process; off, 0, no: there is none (default: emu-UID in "
	  "XDG_RUNTIME_DIR, or in /tmp)" },
	{ "dgram_seed", SETTING_TEXT,
	  "Which of them are lost: with the same number the same ones of each endpoint, as a process opens them (default 0)" },
	{ NULL, SETTING_TEXT, NULL },
};

/* As in ibv_modify_qp(): a count of retries, 7 being infinite. Unset it leaves the personality's. */
static int read_rnr(uint32_t *most)
{
	static const char *const retries[] = { "7", "0", "1", "2", "3", "4", "5", "6", NULL };
	size_t tries = SIZE_MAX;
	int err = setting_word("rnr_retry", retries, &tries);

	if (!err && tries != SIZE_MAX)
		*most = (uint32_t)tries;
	return err;
}

static int read_retry(struct process_settings *settings)
{
	uint64_t budget_ms = 0, count = 0, timeout_ms = 0;

	if (read_rnr(&settings->rnr_most) || setting_number("retry_ms", 1, INT_MAX, &budget_ms) ||
	    setting_number("retry_cnt", 1, INT_MAX, &count) ||
	    setting_number("timeout_ms", SETTING_TIMEOUT_MIN_MS, SETTING_TIMEOUT_MAX_MS, &timeout_ms))
		return -EINVAL;
	settings->retry_budget_ns = TIME_MS(budget_ms);
	settings->refused_dials = (uint32_t)count;
	settings->silence_ns = TIME_MS(timeout_ms);
	return 0;
}

static int read_trace(struct process_settings *settings)
{
	uint64_t size = SETTING_TRACE_SIZE;
	const char *value = process_front.setting("trace");

	settings->trace = value && *value ? value : NULL;
	if (setting_number("trace_size", SETTING_TRACE_SIZE_MIN, SETTING_TRACE_SIZE_MAX, &size))
		return -EINVAL;
	settings->trace_size = (size_t)size;
	return 0;
}

static int read_dgram(struct process_settings *settings)
{
	const char *rate = process_front.setting("dgram_loss");

	settings->dgram_loss = 0;
	settings->dgram_seed = 0;
	if (rate && !parse_rate(rate, &settings->dgram_loss))
		return setting_wrong("dgram_loss", "not a number from 0 to 1, such as 0.01");
	return setting_number("dgram_seed", 0, UINT64_MAX, &settings->dgram_seed);
}

/* Reads the file, so that errors in it are told before anything is opened. An empty setting is an error, too: most likely the
 * user wanted a secret. */
static int read_secret_file(const char **path)
{
	struct secret_bytes secret;
	const char *value = process_front.setting("secret_file");
	int err;

	*path = NULL;
	if (!value)
		return 0;
	err = secret_read(value, &secret);
	if (err)
		return err;
	secret_forget(&secret);
	*path = value;
	return 0;
}

static bool port_number(const char *text, uint16_t *port)
{
	uint64_t value;

	if (!parse_whole(text, &value) || value < 1 || value > UINT16_MAX)
		return false;
	*port = (uint16_t)value;
	return true;
}

static int read_ports(struct bound_config *bound)
{
	const char *value = process_front.setting("ports"), *dash;
	char first[8];

	bound->first = bound->last = 0;
	if (!value)
		return 0;
	dash = strchr(value, '-');
	if (dash && (size_t)(dash - value) < sizeof(first)) {
		memcpy(first, value, (size_t)(dash - value));
		first[dash - value] = 0;
		if (port_number(first, &bound->first) && port_number(dash + 1, &bound->last) && bound->first <= bound->last)
			return 0;
	}
	return setting_wrong("ports", "\"%.64s\" is no range of ports such as 47000-47999, from 1 to 65535", value);
}

static int read_advertise(struct bound_config *bound)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&bound->advertised;
	struct sockaddr_in *in = (struct sockaddr_in *)&bound->advertised;
	const char *value = process_front.setting("advertise");

	memset(&bound->advertised, 0, sizeof(bound->advertised));
	if (!value)
		return 0;
	if (inet_pton(AF_INET, value, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		if (in->sin_addr.s_addr && !IN_MULTICAST(ntohl(in->sin_addr.s_addr)))
			return 0;
	} else if (inet_pton(AF_INET6, value, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		if (!IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) && !IN6_IS_ADDR_MULTICAST(&in6->sin6_addr) &&
		    !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			return 0;
	}
	return setting_wrong("advertise", "\"%.64s\" is no address of one host, such as 192.0.2.7 or 2001:db8::7", value);
}

/* Reads the plan to validate it; the NIC reads it again when it starts. */
static int read_fault(const char **path)
{
	struct fault_plan plan;
	const char *value = process_front.setting("fault");

	*path = NULL;
	if (!value || !*value)
		return 0;
	*path = value;
	return fault_read(value, &plan);
}

/* NULL: the default folder, "": no control socket. What turns another setting off or on is no folder. */
static int read_ctl(const char **folder)
{
	static const char *const off[] = { "off", "0", "no", "false" }, *const on[] = { "on", "1", "yes", "true" };
	const char *value = process_front.setting("ctl");

	*folder = NULL;
	if (!value || !*value)
		return 0;
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
		if (!strcasecmp(value, on[i]))
			return setting_wrong("ctl",
					     "\"%s\" is neither off nor a folder. It is on unless it is set, and ./%s is a folder",
					     value, value);
		if (!strcasecmp(value, off[i])) {
			*folder = "";
			return 0;
		}
	}
	*folder = value;
	return 0;
}

static int read_check(struct check_setting *check)
{
	const char *value = process_front.setting("check");

	*check = (struct check_setting){ .on = false };
	if (!value || parse_check(value, check))
		return 0;
	return setting_wrong("check", "\"%.64s\" is neither 0 nor 1 (no, yes) nor races, with ,strict or ,seed=N behind it", value);
}

static void switch_reports(const struct process_settings *settings, const char *personality)
{
	const char *folder = process_front.setting("report");

	if (folder)
		report_switch(
			&(struct report_start){ .folder = folder, .personality = personality, .checked = settings->check.on });
}

int process_settings_read(struct process_settings *settings, const char *personality)
{
	static const char *const progress_words[] = { "auto", "manual", NULL };
	static const char *const digest_words[] = { "head", "full", "off", NULL };
	static const enum nic_digest digests[] = { NIC_DIGEST_HEAD, NIC_DIGEST_FULL, NIC_DIGEST_OFF };
	static const char *const local_words[] = { "unix", "tcp", NULL };
	static const char *const order_words[] = { "strong", "rc", "weak", NULL };
	size_t order = ORDER_STRONG, local = 0, progress = 0, digest = 0; /* the first words are the defaults */
	const char *iface = process_front.setting("iface");

	settings->unexpected_bytes = 0;
	if (setting_word("progress", progress_words, &progress) || setting_word("local", local_words, &local) ||
	    setting_word("order", order_words, &order) || setting_word("digest", digest_words, &digest) || read_retry(settings) ||
	    read_ports(&settings->bound) || read_advertise(&settings->bound) ||
	    setting_number("unexpected_bytes", 1, UINT64_MAX, &settings->unexpected_bytes) || read_dgram(settings) ||
	    read_trace(settings) || read_check(&settings->check) || read_secret_file(&settings->secret_file) ||
	    read_fault(&settings->fault) || read_ctl(&settings->ctl))
		return -EINVAL;
	settings->iface = iface && *iface ? iface : NULL;
	settings->manual = progress == 1;
	settings->local = local == 0;
	settings->order = (enum process_order)order;
	settings->digest = digests[digest];
	switch_reports(settings, personality);
	return 0;
}
