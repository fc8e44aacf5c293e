/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_settings.c - FI_EMU_*: names, help and values. */
#include "emu/fi/fi_settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/fi_close_policy.h"
#include "emu/fi/fi_fault.h"
#include "emu/fi/fi_number.h"
#include "emu/fi/fi_prov.h"
#include "emu/fi/fi_secret.h"

enum { SETTING_TIMEOUT_MIN_MS = 1000, SETTING_TIMEOUT_MAX_MS = 3600000 };	/* TCP probes an idle line by the second */

static const struct setting {
	const char *name;
	enum fi_param_type type;
	const char *help;
} settings_known[] = {
	{ "personality", FI_PARAM_STRING,
	  "Table of attributes and rules: strict (default) holds a program to every mr_mode bit it offers, lax asks "
	  "for none" },
	{ "iface", FI_PARAM_STRING, "Network interface, or an address of one, to use alone (default: any that is up)" },
	{ "secret_file", FI_PARAM_STRING,
	  "File of 16 to 4096 bytes, readable by its owner alone, that peers must have as well: connections begin with a "
	  "proof of it on both sides, and datagrams are tagged by it (default: none; whoever reaches the port is let in)" },
	{ "progress", FI_PARAM_STRING,
	  "auto (default) or manual: nothing is served but inside the program's own calls, which finds programs that "
	  "rely on background progress" },
	{ "digest", FI_PARAM_STRING,
	  "What is covered by digests on the wire: head (default), full (payload, too) or off" },
	{ "retry_ms", FI_PARAM_INT, "How long a peer may be unreachable before ops to it fail (default 15000)" },
	{ "retry_cnt", FI_PARAM_INT,
	  "How often in a row a peer may refuse connections, 100 ms apart, before ops to it fail (default 3)" },
	{ "timeout_ms", FI_PARAM_INT,
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
	{ "fault", FI_PARAM_STRING,
	  "File of a fault plan, which has chosen ops fail, wait or meet a full receiver: see emu_fault(5) (default: none)" },
	{ "fetch_rights", FI_PARAM_STRING,
	  "What a region must allow for atomics that return something: write (default; FI_REMOTE_WRITE opens it to every "
	  "atomic) or both (FI_REMOTE_READ, too; alone it opens it to FI_ATOMIC_READ)" },
	{ "unexpected_bytes", FI_PARAM_SIZE_T,
	  "Payload of unexpected messages kept at an endpoint; past it they are pulled when matched (default 64 MiB)" },
	{ "dgram_loss", FI_PARAM_STRING,
	  "Part of the datagrams sent by FI_EP_DGRAM endpoints that is lost, from 0 (default) to 1, such as 0.01" },
	{ "dgram_seed", FI_PARAM_STRING,
	  "Which of them are lost: with the same number the same ones of each endpoint, as a process opens them (default 0)" },
};

void settings_define(void)
{
	for (size_t i = 0; i < sizeof(settings_known) / sizeof(settings_known[0]); i++)
		fi_param_define(&emu_provider, settings_known[i].name, settings_known[i].type, "%s",
				settings_known[i].help);
}

/* Finds the value of a setting among `words` (NULL ends them): 0 and *index; the first is the default. */
static int read_word(const char *name, const char *const *words, size_t *index)
{
	char *value = NULL;

	*index = 0;
	if (fi_param_get_str(&emu_provider, name, &value) || !value)
		return 0;
	for (size_t i = 0; words[i]; i++) {
		if (!strcmp(words[i], value)) {
			*index = i;
			return 0;
		}
	}
	EMU_WARN(CORE, "setting %s: \"%s\" is none of its values; see fi_info -e\n", name, value);
	return -FI_EINVAL;
}

/* *value is 0 where the setting is not made. */
static int read_number(const char *name, int min, int max, int *value)
{
	int err;

	*value = 0;
	err = fi_param_get_int(&emu_provider, name, value);
	if (err == -FI_ENODATA)
		return 0;
	if (!err && *value >= min && *value <= max)
		return 0;
	EMU_WARN(CORE, "setting %s: not a number from %d to %d\n", name, min, max);
	return -FI_EINVAL;
}

static int read_retry(struct settings *settings)
{
	int budget_ms, count, timeout_ms;

	if (read_number("retry_ms", 1, INT_MAX, &budget_ms) || read_number("retry_cnt", 1, INT_MAX, &count) ||
	    read_number("timeout_ms", SETTING_TIMEOUT_MIN_MS, SETTING_TIMEOUT_MAX_MS, &timeout_ms))
		return -FI_EINVAL;
	settings->retry_budget_ns = TIME_MS(budget_ms);
	settings->refused_dials = (uint32_t)count;
	settings->silence_ns = TIME_MS(timeout_ms);
	return 0;
}

static int read_unexpected(uint64_t *bytes)
{
	size_t value = 0;
	int    err = fi_param_get_size_t(&emu_provider, "unexpected_bytes", &value);

	*bytes = 0;
	if (err == -FI_ENODATA)
		return 0;
	if (err || !value) {
		EMU_WARN(CORE, "setting unexpected_bytes: not a positive number of bytes\n");
		return -FI_EINVAL;
	}
	*bytes = value;
	return 0;
}

static int read_dgram(struct settings *settings)
{
	char *rate = NULL, *seed = NULL;

	settings->dgram_loss = 0;
	settings->dgram_seed = 0;
	if (!fi_param_get_str(&emu_provider, "dgram_loss", &rate) && rate && !number_rate(rate, &settings->dgram_loss)) {
		EMU_WARN(CORE, "setting dgram_loss: not a number from 0 to 1, such as 0.01\n");
		return -FI_EINVAL;
	}
	if (!fi_param_get_str(&emu_provider, "dgram_seed", &seed) && seed && !number_whole(seed, &settings->dgram_seed)) {
		EMU_WARN(CORE, "setting dgram_seed: not a number\n");
		return -FI_EINVAL;
	}
	return 0;
}

/* `name` as fi_info -e lists it. */
static int read_flag(const char *name, bool *flag)
{
	int value = 0;
	int err = fi_param_get_bool(&emu_provider, name, &value);

	*flag = value;
	if (!err || err == -FI_ENODATA)
		return 0;
	EMU_WARN(CORE, "setting %s: neither 0 nor 1\n", name);
	return -FI_EINVAL;
}

/* Looks into the file, so that what is wrong with it is told before anything is opened. Set to nothing is no way to go
 * without: most likely somebody wanted a secret. */
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

/* The plan is read to see whether it is one; the NIC reads it when it starts. */
static int read_fault(const char **path)
{
	struct fault_plan plan;
	char *value = NULL;

	*path = NULL;
	if (fi_param_get_str(&emu_provider, "fault", &value) || !value || !*value)
		return 0;
	*path = value;
	return fault_read(value, &plan);
}

int settings_read(struct settings *settings)
{
	static const char *const progress_words[] = { "auto", "manual", NULL };
	static const char *const digest_words[] = { "head", "full", "off", NULL };
	static const char *const fetch_words[] = { "write", "both", NULL };
	static const char *const personality_words[] = { "strict", "lax", NULL };
	static const struct attr_table *const personalities[] = { &attr_strict, &attr_lax };
	static const enum nic_digest digests[] = { NIC_DIGEST_HEAD, NIC_DIGEST_FULL, NIC_DIGEST_OFF };
	static const char *const local_words[] = { "unix", "tcp", NULL };
	size_t local, progress, digest, personality, close, fetch;
	char  *iface = NULL;

	if (read_word("progress", progress_words, &progress) || read_word("local", local_words, &local) ||
	    read_word("digest", digest_words, &digest) ||
	    read_word("personality", personality_words, &personality) || read_retry(settings) ||
	    read_word("mr_close", close_policy_names, &close) || read_word("fetch_rights", fetch_words, &fetch) ||
	    read_unexpected(&settings->unexpected_bytes) || read_flag("pinned", &settings->pinned) ||
	    read_flag("mr_cache", &settings->mr_cache) || read_dgram(settings) ||
	    read_secret_file(&settings->secret_file) || read_fault(&settings->fault))
		return -FI_EINVAL;
	if (fi_param_get_str(&emu_provider, "iface", &iface) || (iface && !*iface))
		iface = NULL;
	settings->attr = personalities[personality];
	settings->close = close_policy((unsigned)close);
	settings->iface = iface;
	settings->manual = progress == 1;
	settings->local = local == 0;
	settings->fetch_reads = fetch == 1;
	settings->digest = digests[digest];
	return 0;
}
