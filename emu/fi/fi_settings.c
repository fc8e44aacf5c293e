/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_settings.c - FI_EMU_*: names, help and values. */
#include "emu/fi/fi_settings.h"

#include <string.h>

#include "emu/fi/fi_prov.h"

static const struct setting {
	const char *name;
	enum fi_param_type type;
	const char *help;
} settings_known[] = {
	{ "personality", FI_PARAM_STRING,
	  "Table of attributes and rules: strict (default) holds a program to every mr_mode bit it offers, lax asks "
	  "for none" },
	{ "iface", FI_PARAM_STRING, "Network interface, or an address of one, to use alone (default: any that is up)" },
	{ "progress", FI_PARAM_STRING,
	  "auto (default) or manual: nothing is served but inside the program's own calls, which finds programs that "
	  "rely on background progress" },
	{ "digest", FI_PARAM_STRING,
	  "What is covered by digests on the wire: head (default), full (payload, too) or off" },
	{ "retry_ms", FI_PARAM_INT, "How long a peer may be unreachable before ops to it fail (default 15000)" },
	{ "unexpected_bytes", FI_PARAM_SIZE_T,
	  "Payload of unexpected messages kept at an endpoint; past it they are pulled when matched (default 64 MiB)" },
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

static int read_retry(uint64_t *budget_ns)
{
	int value = 0;
	int err = fi_param_get_int(&emu_provider, "retry_ms", &value);

	*budget_ns = 0;
	if (err == -FI_ENODATA)
		return 0;
	if (err || value <= 0) {
		EMU_WARN(CORE, "setting retry_ms: not a positive number of milliseconds\n");
		return -FI_EINVAL;
	}
	*budget_ns = TIME_MS(value);
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

int settings_read(struct settings *settings)
{
	static const char *const progress_words[] = { "auto", "manual", NULL };
	static const char *const digest_words[] = { "head", "full", "off", NULL };
	static const char *const personality_words[] = { "strict", "lax", NULL };
	static const struct attr_table *const personalities[] = { &attr_strict, &attr_lax };
	static const enum nic_digest digests[] = { NIC_DIGEST_HEAD, NIC_DIGEST_FULL, NIC_DIGEST_OFF };
	size_t progress, digest, personality;
	char  *iface = NULL;

	if (read_word("progress", progress_words, &progress) || read_word("digest", digest_words, &digest) ||
	    read_word("personality", personality_words, &personality) || read_retry(&settings->retry_budget_ns) ||
	    read_unexpected(&settings->unexpected_bytes))
		return -FI_EINVAL;
	if (fi_param_get_str(&emu_provider, "iface", &iface) || (iface && !*iface))
		iface = NULL;
	settings->attr = personalities[personality];
	settings->iface = iface;
	settings->manual = progress == 1;
	settings->digest = digests[digest];
	return 0;
}
