/* SPDX-License-Identifier: BSD-2-Clause */
/* kit.c - emu_rules: every rule of fi_mr(3) against any libfabric provider, or those of verbs against any libibverbs, one test
 * after another. */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/kit_report.h"
#include "tests/rules/harness/rule_table.h"
#include "tests/rules/verbs/vcalls.h"
#include "tests/rules/verbs/vworld.h"

enum { SECONDS = 120 };

struct options {
	const char *provider, *group, *match;
	unsigned rule, seconds;
	uint32_t api;
	enum report_form form;
	bool list, kernel, verbs;
};

static void usage(FILE *out)
{
	fprintf(out,
		"usage: emu_rules [-p PROVIDER] [-r RULE] [--api VERSION] [--json | --tap] [OPTION...]\n"
		"       emu_rules --verbs [-d DEVICE] [-r RULE] [--json | --tap] [OPTION...]\n"
		"Tests whether a libfabric provider keeps the rules of memory regions, fi_mr(3), or a device those of verbs.\n\n"
		"  -p, --provider NAME  provider to test (FI_PROVIDER, or emu)\n"
		"  -r, --rule S65       only the tests of this rule\n"
		"  -g, --group NAME     only the tests of this group; --list names them\n"
		"  -m, --match TEXT     only tests whose name holds TEXT\n"
		"      --api VERSION    API version to ask for: 1.8, 1.17, 2.1 (the running library's)\n"
		"      --kfi            the kernel's interface, kfi_mr(3), on the provider emu\n"
		"      --verbs          the rules of verbs, V1 on, on the libibverbs.so.1 that programs get here\n"
		"  -d, --device NAME    its device to test (the first)\n"
		"      --gid N          index of the GID to use (the first of IPv4, or 0)\n"
		"      --mode BITS      offer these mr_mode bits alone: local,virt_addr,...,all,none\n"
		"      --timeout N      seconds until a test is taken to hang (%d)\n"
		"      --json           one JSON object in the place of the table\n"
		"      --tap            one line a test: ok, not ok, skip\n"
		"  -l, --list           list rules and tests, and stop\n\n"
		"Each test runs in processes of its own, so a provider that crashes or hangs fails that test only.\n"
		"Exit status: 0 if no test failed, 1 if one did, 2 if the tests could not be run.\n",
		SECONDS);
}

static uint32_t read_api(const char *text)
{
	unsigned major, minor;
	char rest;

	if (sscanf(text, "%u.%u%c", &major, &minor, &rest) != 2 || !major)
		errx(2, "--api %s: not a version like 1.17", text);
	if (FI_VERSION_LT(fi_version(), FI_VERSION(major, minor)))
		errx(2, "--api %s: the libfabric that runs is %u.%u", text, FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	return FI_VERSION(major, minor);
}

static uint64_t mode_bit(const char *name)
{
	static const struct {
		const char *name;
		uint64_t bits;
	} known[] = {
		{ "none", 0 },
		{ "local", FI_MR_LOCAL },
		{ "raw", FI_MR_RAW },
		{ "virt_addr", FI_MR_VIRT_ADDR },
		{ "allocated", FI_MR_ALLOCATED },
		{ "prov_key", FI_MR_PROV_KEY },
		{ "mmu_notify", FI_MR_MMU_NOTIFY },
		{ "rma_event", FI_MR_RMA_EVENT },
		{ "endpoint", FI_MR_ENDPOINT },
		{ "hmem", FI_MR_HMEM },
		{ "collective", FI_MR_COLLECTIVE },
		{ "basic", FI_MR_BASIC_BITS },
		{ "all", FI_MR_LOCAL | FI_MR_RAW | FI_MR_BASIC_BITS | FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT | FI_MR_ENDPOINT |
				 FI_MR_HMEM | FI_MR_COLLECTIVE },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].bits;
	errx(2, "--mode: no bit %s", name);
}

static uint64_t read_mode(char *text)
{
	uint64_t bits = 0;
	char *name;

	for (name = strtok(text, ","); name; name = strtok(NULL, ","))
		bits |= mode_bit(name);
	return bits;
}

static unsigned read_number(const char *what, const char *text, unsigned max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || !*text || !n || n > max)
		errx(2, "%s %s: not a number from 1 to %u", what, text, max);
	return (unsigned)n;
}

enum { API = 256, KFI, VERBS, GID, MODE, TIMEOUT, JSON, TAP };
static const struct option longs[] = {
	{ "provider", required_argument, NULL, 'p' },
	{ "rule", required_argument, NULL, 'r' },
	{ "group", required_argument, NULL, 'g' },
	{ "match", required_argument, NULL, 'm' },
	{ "list", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ "api", required_argument, NULL, API },
	{ "kfi", no_argument, NULL, KFI },
	{ "verbs", no_argument, NULL, VERBS },
	{ "device", required_argument, NULL, 'd' },
	{ "gid", required_argument, NULL, GID },
	{ "mode", required_argument, NULL, MODE },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "json", no_argument, NULL, JSON },
	{ "tap", no_argument, NULL, TAP },
	{ NULL, 0, NULL, 0 },
};

/* S65, V12, or the number alone. */
static unsigned read_rule(const char *text)
{
	return read_number("--rule", text + (*text == 'S' || *text == 'V'), *text == 'S' ? RULES : VERBS_RULES);
}

static void choose_device(int opt, const char *text)
{
	if (opt == 'd')
		vchoice.device = text;
	else
		vchoice.gid = strcmp(text, "0") ? (int)read_number("--gid", text, UINT8_MAX) : 0;
}

static struct options read_options(int argc, char **argv)
{
	struct options o = { .seconds = SECONDS };
	int opt;

	while ((opt = getopt_long(argc, argv, "p:d:r:g:m:lh", longs, NULL)) != -1) {
		switch (opt) {
		case 'p':
			o.provider = optarg;
			break;
		case 'r':
			o.rule = read_rule(optarg);
			break;
		case 'g':
			o.group = optarg;
			break;
		case 'm':
			o.match = optarg;
			break;
		case 'l':
			o.list = true;
			break;
		case API:
			o.api = read_api(optarg);
			break;
		case KFI:
		case VERBS:
			o.kernel = opt == KFI;
			o.verbs = opt == VERBS;
			break;
		case 'd':
		case GID:
			choose_device(opt, optarg);
			break;
		case MODE:
			mode_only = read_mode(optarg);
			mode_chosen = true;
			break;
		case TIMEOUT:
			o.seconds = read_number("--timeout", optarg, 86400);
			break;
		case JSON:
			o.form = REPORT_JSON;
			break;
		case TAP:
			o.form = REPORT_TAP;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(2);
	}
	return o;
}

/* Is it of the interface that was asked for? */
static bool belongs(const struct options *o, const struct rule_test *test, const char *group)
{
	return o->verbs == (*test->name == 'V') && o->kernel == !strncmp(group, "kfi_", 4);
}

static bool chosen(const struct options *o, const struct rule_test *test)
{
	char group[64];

	rule_test_group(test, group, sizeof(group));
	return belongs(o, test, group) && (!o->rule || rule_test_cites(test, o->rule)) && (!o->group || !strcmp(o->group, group)) &&
	       (!o->match || strstr(test->name, o->match));
}

static void list(const struct options *o)
{
	const struct rule_test *test;
	unsigned rule = 0;
	char group[64];

	for (test = rule_tests; test; test = test->next) {
		if (!chosen(o, test))
			continue;
		if (rule != rule_test_rule(test, 0))
			puts(rule_title(*test->name, rule_test_rule(test, 0)));
		rule = rule_test_rule(test, 0);
		rule_test_group(test, group, sizeof(group));
		printf("  %-16s %s\n", group, test->name);
	}
}

static unsigned run(const struct options *o, const struct report_head *head)
{
	const struct rule_test *test;

	report_begin(o->form, head);
	for (test = rule_tests; test; test = test->next) {
		struct kit_outcome outcome;

		if (!chosen(o, test))
			continue;
		kit_run(test, o->seconds, &outcome);
		report_test(test, &outcome);
	}
	return report_end();
}

static unsigned run_fabric(const struct options *o)
{
	char api[32], library[32];
	const struct report_head head = { { { "provider", peer_provider() }, { "api", api }, { "libfabric", library } } };

	snprintf(api, sizeof(api), "%u.%u", FI_MAJOR(peer_api()), FI_MINOR(peer_api()));
	snprintf(library, sizeof(library), "%u.%u", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	return run(o, &head);
}

static unsigned run_verbs(const struct options *o)
{
	struct report_head head = { { { "device", NULL }, { "libibverbs", NULL } } };
	const char *why = vcalls_load();

	if (!why)
		why = v_find_device(&head.facts[0].value);
	if (why)
		errx(2, "--verbs: %s", why);
	head.facts[1].value = vcalls_path();
	return run(o, &head);
}

int main(int argc, char **argv)
{
	struct options o = read_options(argc, argv);

	rule_tests_sort();
	if (o.list) {
		list(&o);
		return 0;
	}
	if (o.verbs)
		return run_verbs(&o) ? 1 : 0;
	if (o.provider)
		setenv("EMU_TEST_PROVIDER", o.provider, 1);
	setenv("FI_PROVIDER", peer_provider(), 1); /* nothing else need be loaded */
	peer_set_api(o.api);
	return run_fabric(&o) ? 1 : 0;
}
