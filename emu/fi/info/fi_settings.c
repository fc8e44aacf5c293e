/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_settings.c - FI_EMU_*: names, help and values. */
#include "emu/fi/info/fi_settings.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "emu/fi/domain/fi_close_policy.h"
#include "emu/fi/info/fi_attr.h"
#include "emu/fi/provider/fi_fault.h"
#include "emu/fi/provider/fi_parse.h"
#include "emu/fi/provider/fi_prov.h"
#include "emu/fi/provider/fi_secret.h"
#include "emu/fi/provider/fi_setting_say.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/fi/report/fi_report.h"

enum { SETTING_TRACE_SIZE = 16 << 20, SETTING_TRACE_SIZE_MIN = 1 << 20 };
#define SETTING_TRACE_SIZE_MAX (INT64_C(4) << 30)
enum { SETTING_TIMEOUT_MIN_MS = 1000, SETTING_TIMEOUT_MAX_MS = 3600000 }; /* TCP's idle probes count in seconds */

/* Numbers are strings to libfabric, which would take the digits that begin one and ignore the rest. */
static const struct setting {
	const char *name;
	enum fi_param_type type;
	const char *help;
} settings_known[] = {
	{ "personality", FI_PARAM_STRING,
	  "Table of attributes and rules: strict (default) holds a program to every mr_mode bit it offers, lax asks "
	  "for none; kfi and kcxi are for kfabric's programs, with the rules of kfi_mr(3) and those of HPE's provider cxi" },
	{ "iface", FI_PARAM_STRING, "Network interface, or an address of one, to use alone (default: any that is up)" },
	{ "ports", FI_PARAM_STRING,
	  "Range of ports, as in 47000-47999, for listeners and datagrams if the program names no port; for firewalls "
	  "(default: the system's choice)" },
	{ "advertise", FI_PARAM_STRING,
	  "Address, without port, that peers are told instead of the one that endpoints are bound to: for hosts and containers "
	  "behind address translation, which must lead the same ports there (default: none)" },
	{ "secret_file", FI_PARAM_STRING,
	  "File of 16 to 4096 bytes, readable by its owner alone, that peers must have as well: connections begin with a "
	  "proof of it on both sides, and datagrams are tagged by it (default: none; any peer that reaches the port is let in)" },
	{ "progress", FI_PARAM_STRING,
	  "auto (default) or manual: the NIC moves data only inside the program's own calls, which finds programs that "
	  "rely on background progress" },
	{ "digest", FI_PARAM_STRING,
	  "Digests on the wire cover: head (default: heads, and payloads of atomics), full (all payloads, too) or off (nothing)" },
	{ "retry_ms", FI_PARAM_STRING, "How long a peer may be unreachable before ops to it fail (default 15000)" },
	{ "retry_cnt", FI_PARAM_STRING,
	  "How often in a row a peer may refuse connections, 100 ms apart, before ops to it fail (default 3)" },
	{ "rnr_retry", FI_PARAM_STRING,
	  "How often an op is tried again whose receiver was not ready, as a queue pair's rnr_retry: 0 to 6, or 7 (default), which "
	  "means without end" },
	{ "timeout_ms", FI_PARAM_STRING,
	  "How long a connection may take to be made, or let nothing through, before it is broken and made anew: 1000 to 3600000 "
	  "(default 8000)" },
	{ "local", FI_PARAM_STRING,
	  "How processes of one user on one machine are connected: unix (default), by Unix sockets, or tcp, as all others are, "
	  "which tcpdump and tc see" },
	{ "mr_close", FI_PARAM_STRING,
	  "What is closed first: any (default) lets regions and the endpoints and counters that they are bound to close in "
	  "any order; mr-last refuses to close a region while those are open, mr-first refuses to close those while regions "
	  "are bound to them" },
	{ "pinned", FI_PARAM_BOOL,
	  "Pin registered memory as hardware does: after the program has unmapped it and mapped something else there, peers "
	  "still reach the old pages. Where FI_MR_ALLOCATED is in force without FI_MR_MMU_NOTIFY; needs io_uring (default: "
	  "off)" },
	{ "mr_cache", FI_PARAM_BOOL,
	  "Registers local buffers that have no descriptor, as adapters do that need it, and keeps those that are, in a cache; "
	  "see FI_MR_CACHE_* (default: no, since the NIC needs no such registration)" },
	{ "hmem", FI_PARAM_STRING,
	  "Emulated devices with memory, as in cuda:2,ze:1, for programs that have loaded libemu-hmem.so, which reads this and "
	  "hmem_size: see emu_hmem(3) (default: none)" },
	{ "hmem_size", FI_PARAM_SIZE_T, "Bytes of memory of each emulated device (default 4 GiB)" },
	{ "fault", FI_PARAM_STRING,
	  "File of a fault plan, which has chosen ops fail, wait or meet a full receiver: see emu_fault(5) (default: none)" },
	{ "fetch_rights", FI_PARAM_STRING,
	  "What a region must allow for atomics that return something: write (default; FI_REMOTE_WRITE opens it to every "
	  "atomic) or both (FI_REMOTE_READ, too; alone it opens it to FI_ATOMIC_READ)" },
	{ "check", FI_PARAM_BOOL,
	  "Checked mode: reports what hardware punishes later and silently, such as a buffer that is changed while it is being "
	  "sent, and objects that are never closed; costs speed (default: no)" },
	{ "check_atomic", FI_PARAM_BOOL,
	  "Kernel clients under emu_insmod: reports calls that may sleep where a kernel may not; see kfi_emu(7) (default: no)" },
	{ "unexpected_bytes", FI_PARAM_STRING,
	  "Payload of unexpected messages kept at an endpoint; past it they are pulled when matched (default 64 MiB)" },
	{ "report", FI_PARAM_STRING,
	  "Folder for reports: each process writes its findings there, for tools; see emurun --check (default: none)" },
	{ "trace", FI_PARAM_STRING,
	  "Folder in which each process leaves a ring file of what its NIC does, for emu_trace(1); or text: each frame is a line "
	  "on stderr (default: none)" },
	{ "trace_size", FI_PARAM_STRING, "Bytes of a ring file; the oldest events go when it is full (default 16 MiB)" },
	{ "dgram_loss", FI_PARAM_STRING,
	  "Part of the datagrams sent by FI_EP_DGRAM endpoints that is lost, from 0 (default) to 1, such as 0.01" },
	{ "ctl", FI_PARAM_STRING,
	  "Folder of the control socket, by which emuctl(1) looks into the process; off, 0, no: there is none (default: emu-UID in "
	  "XDG_RUNTIME_DIR, or in /tmp)" },
	{ "dgram_seed", FI_PARAM_STRING,
	  "Which of them are lost: with the same number the same ones of each endpoint, as a process opens them (default 0)" },
};

void settings_define(void)
{
	for (size_t i = 0; i < sizeof(settings_known) / sizeof(settings_known[0]); i++)
		fi_param_define(&emu_provider, settings_known[i].name, settings_known[i].type, "%s", settings_known[i].help);
}

/* Finds the value of a setting among `words` (NULL ends them). *index stays if the setting is not set. */
static int read_word(const char *name, const char *const *words, size_t *index)
{
	char *value = NULL, list[128] = ""; /* the words are few and short */
	size_t length = 0;

	if (fi_param_get_str(&emu_provider, name, &value) || !value)
		return 0;
	for (size_t i = 0; words[i]; i++) {
		if (!strcmp(words[i], value)) {
			*index = i;
			return 0;
		}
	}
	for (size_t i = 0; words[i]; i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s", i ? ", " : "", words[i]);
	return setting_wrong(name, "\"%.64s\" is none of its values, which are %s", value, list);
}

/* *value stays if the setting is not set. */
static int read_number(const char *name, uint64_t min, uint64_t max, uint64_t *value)
{
	char *text = NULL;
	uint64_t number;

	if (fi_param_get_str(&emu_provider, name, &text) || !text)
		return 0;
	if (!parse_whole(text, &number) || number < min || number > max)
		return setting_wrong(name, "\"%.64s\" is not a number from %" PRIu64 " to %" PRIu64, text, min, max);
	*value = number;
	return 0;
}

/* As in ibv_modify_qp(): a count of retries, 7 being infinite. Unset it leaves the personality's. */
static int read_rnr(uint32_t *most)
{
	static const char *const retries[] = { "7", "0", "1", "2", "3", "4", "5", "6", NULL };
	size_t tries = SIZE_MAX;
	int err = read_word("rnr_retry", retries, &tries);

	if (!err && tries != SIZE_MAX)
		*most = (uint32_t)tries;
	return err;
}

static int read_retry(struct settings *settings)
{
	uint64_t budget_ms = 0, count = 0, timeout_ms = 0;

	if (read_rnr(&settings->rnr_most) || read_number("retry_ms", 1, INT_MAX, &budget_ms) ||
	    read_number("retry_cnt", 1, INT_MAX, &count) ||
	    read_number("timeout_ms", SETTING_TIMEOUT_MIN_MS, SETTING_TIMEOUT_MAX_MS, &timeout_ms))
		return -FI_EINVAL;
	settings->retry_budget_ns = TIME_MS(budget_ms);
	settings->refused_dials = (uint32_t)count;
	settings->silence_ns = TIME_MS(timeout_ms);
	return 0;
}

static int read_trace(struct settings *settings)
{
	uint64_t size = SETTING_TRACE_SIZE;
	char *value = NULL;

	settings->trace = NULL;
	if (!fi_param_get_str(&emu_provider, "trace", &value) && value && *value)
		settings->trace = value;
	if (read_number("trace_size", SETTING_TRACE_SIZE_MIN, SETTING_TRACE_SIZE_MAX, &size))
		return -FI_EINVAL;
	settings->trace_size = (size_t)size;
	return 0;
}

static int read_dgram(struct settings *settings)
{
	char *rate = NULL;

	settings->dgram_loss = 0;
	settings->dgram_seed = 0;
	if (!fi_param_get_str(&emu_provider, "dgram_loss", &rate) && rate && !parse_rate(rate, &settings->dgram_loss))
		return setting_wrong("dgram_loss", "not a number from 0 to 1, such as 0.01");
	return read_number("dgram_seed", 0, UINT64_MAX, &settings->dgram_seed);
}

/* `name` as fi_info -e lists it. */
static int read_flag(const char *name, bool *flag)
{
	int value = *flag;
	int err = fi_param_get_bool(&emu_provider, name, &value);

	*flag = value;
	if (!err || err == -FI_ENODATA)
		return 0;
	return setting_wrong(name, "neither 0 nor 1 (no, yes)");
}

/* Reads the file, so that errors in it are told before anything is opened. An empty setting is an error, too: most likely the
 * user wanted a secret. */
static int read_secret_file(const char **path)
{
	struct secret_bytes secret;
	char *value = NULL;
	int err;

	*path = NULL;
	if (fi_param_get_str(&emu_provider, "secret_file", &value) || !value)
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
	char *value = NULL, first[8];
	const char *dash;

	bound->first = bound->last = 0;
	if (fi_param_get_str(&emu_provider, "ports", &value) || !value)
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
	char *value = NULL;

	memset(&bound->advertised, 0, sizeof(bound->advertised));
	if (fi_param_get_str(&emu_provider, "advertise", &value) || !value)
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
static int settings_read_fault(const char **path)
{
	struct fault_plan plan;
	char *value = NULL;

	*path = NULL;
	if (fi_param_get_str(&emu_provider, "fault", &value) || !value || !*value)
		return 0;
	*path = value;
	return fault_read(value, &plan);
}

static int read_personality(const struct attr_table **attr)
{
	/* The first is the default. */
	static const struct attr_table *const tables[] = { &attr_strict, &attr_lax, &attr_kfi, &attr_kcxi };
	enum { TABLES = sizeof(tables) / sizeof(tables[0]) };
	const char *names[TABLES + 1];
	size_t index = 0;
	int err;

	for (size_t i = 0; i < TABLES; i++)
		names[i] = tables[i]->name;
	names[TABLES] = NULL;
	err = read_word("personality", names, &index);
	*attr = tables[index];
	return err;
}

/* Reads the settings that replace values of the personality. */
static int read_over_personality(struct settings *settings)
{
	static const char *const fetch_words[] = { "write", "both", NULL };
	size_t close, fetch;

	if (read_personality(&settings->attr))
		return -FI_EINVAL;
	words_of_kernel(settings->attr->kernel_words);
	close = settings->attr->close;
	fetch = settings->attr->fetch_reads;
	settings->pinned = settings->attr->pinned;
	settings->mr_cache = settings->attr->mr_cache;
	settings->rnr_most = settings->attr->rnr_most;
	if (read_word("mr_close", close_policy_names, &close) || read_word("fetch_rights", fetch_words, &fetch) ||
	    read_flag("pinned", &settings->pinned) || read_flag("mr_cache", &settings->mr_cache))
		return -FI_EINVAL;
	settings->close = close_policy((enum close_order)close);
	settings->fetch_reads = fetch;
	return 0;
}

/* Here, since a call may be refused before there is a NIC. */
static void switch_reports(const struct settings *settings)
{
	struct report_start start = { .personality = settings->attr->name, .checked = settings->check };
	char *folder = NULL;

	if (fi_param_get_str(&emu_provider, "report", &folder) || !folder)
		return;
	start.folder = folder;
	report_switch(&start);
}

/* NULL: the default folder, "": no control socket. What turns another setting off or on is no folder. */
static int read_ctl(const char **folder)
{
	static const char *const off[] = { "off", "0", "no", "false" }, *const on[] = { "on", "1", "yes", "true" };
	char *value = NULL;

	*folder = NULL;
	if (fi_param_get_str(&emu_provider, "ctl", &value) || !value || !*value)
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

int settings_read(struct settings *settings)
{
	static const char *const progress_words[] = { "auto", "manual", NULL };
	static const char *const digest_words[] = { "head", "full", "off", NULL };
	static const enum nic_digest digests[] = { NIC_DIGEST_HEAD, NIC_DIGEST_FULL, NIC_DIGEST_OFF };
	static const char *const local_words[] = { "unix", "tcp", NULL };
	size_t local = 0, progress = 0, digest = 0; /* the first words are the defaults */
	char *iface = NULL;

	settings->check = false;
	settings->unexpected_bytes = 0;
	setting_names_check(&settings_known[0].name, sizeof(settings_known) / sizeof(settings_known[0]), sizeof(settings_known[0]));
	if (read_word("progress", progress_words, &progress) || read_word("local", local_words, &local) ||
	    read_word("digest", digest_words, &digest) || read_over_personality(settings) || read_retry(settings) ||
	    read_ports(&settings->bound) || read_advertise(&settings->bound) ||
	    read_number("unexpected_bytes", 1, UINT64_MAX, &settings->unexpected_bytes) || read_dgram(settings) ||
	    read_trace(settings) || read_flag("check", &settings->check) || read_secret_file(&settings->secret_file) ||
	    settings_read_fault(&settings->fault) || read_ctl(&settings->ctl))
		return -FI_EINVAL;
	if (fi_param_get_str(&emu_provider, "iface", &iface) || (iface && !*iface))
		iface = NULL;
	switch_reports(settings);
	settings->iface = iface;
	settings->manual = progress == 1;
	settings->local = local == 0;
	settings->digest = digests[digest];
	return 0;
}
