/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus_main.c - emu_litmus: the command line, and a process for each order. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/litmus/litmus_say.h"

enum { NEED = 256, FORBIDS, LIST, TABLE, HELP };

struct litmus_options {
	const struct litmus *test; /* NULL: all */
	int order;                 /* -1: all */
	uint64_t runs, seed;
	bool need, forbidden;
};

static const struct option longs[] = {
	{ "order", required_argument, NULL, 'o' }, { "test", required_argument, NULL, 't' },
	{ "runs", required_argument, NULL, 'n' },  { "seed", required_argument, NULL, 's' },
	{ "need", no_argument, NULL, NEED },       { "forbidden", no_argument, NULL, FORBIDS },
	{ "list", no_argument, NULL, LIST },       { "table", no_argument, NULL, TABLE },
	{ "help", no_argument, NULL, HELP },       { 0 },
};

static void litmus_usage(FILE *out)
{
	fputs("usage: emurun emu_litmus [-o strong|rc|weak] [-t TEST] [-n RUNS] [-s SEED] [--need | --forbidden]\n"
	      "       emu_litmus --list | --table\n"
	      "Small programs whose outcome shows which order the NIC keeps; emu_litmus(1).\n\n"
	      "  -o, --order ORDER   this value of FI_EMU_ORDER alone\n"
	      "  -t, --test TEST     this test alone\n"
	      "  -n, --runs RUNS     of each test (10000)\n"
	      "  -s, --seed SEED     of what is drawn (1)\n"
	      "      --need          an outcome that the NIC shows must be seen: else exit status 1, too\n"
	      "      --forbidden     outcomes alone that no NIC may have, and with the bits of msg_order that forbid them\n"
	      "      --list          the tests, and what each side does\n"
	      "      --table         the same as a table in Markdown\n"
	      "Exit status: 0; 1 if an outcome was seen that is forbidden; 2 if the tests cannot be run.\n",
	      out);
}

static uint64_t whole_number(const char *what, const char *text, uint64_t least)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < least)
		litmus_die("%s: \"%s\" is not a number from %llu on", what, text, (unsigned long long)least);
	return n;
}

static int order_of(const char *text)
{
	for (int i = 0; i < ORDERS; i++)
		if (!strcmp(text, litmus_orders[i]))
			return i;
	litmus_die("--order: \"%s\" is not strong, rc or weak", text);
}

static const struct litmus *test_named(const char *text)
{
	for (unsigned i = 0; i < litmus_count; i++)
		if (!strcmp(text, litmus_table[i].name))
			return &litmus_table[i];
	litmus_die("--test: there is no \"%s\": emu_litmus --list has their names", text);
}

static void list(void)
{
	for (unsigned i = 0; i < litmus_count; i++)
		litmus_say_test(&litmus_table[i]);
}

/* Prints something else than results: the exit status. */
static int other(int opt)
{
	if (opt == LIST)
		list();
	else if (opt == TABLE)
		litmus_say_table();
	else
		litmus_usage(opt == HELP ? stdout : stderr);
	return opt == LIST || opt == TABLE || opt == HELP ? fflush(stdout) ? 2 : 0 : 2;
}

static void litmus_options_parse(struct litmus_options *o, int argc, char **argv)
{
	int opt;

	*o = (struct litmus_options){ .order = -1, .runs = 10000, .seed = 1 };
	while ((opt = getopt_long(argc, argv, "o:t:n:s:", longs, NULL)) != -1) {
		if (opt == 'o')
			o->order = order_of(optarg);
		else if (opt == 't')
			o->test = test_named(optarg);
		else if (opt == 'n')
			o->runs = whole_number("--runs", optarg, 1);
		else if (opt == 's')
			o->seed = whole_number("--seed", optarg, 0);
		else if (opt == NEED)
			o->need = true;
		else if (opt == FORBIDS)
			o->forbidden = true;
		else
			exit(other(opt));
	}
	if (optind < argc)
		litmus_die("\"%s\" is one word too many", argv[optind]);
}

/* The NIC draws by the seed of a fault plan: one of a seed alone, unless the user has a plan. */
static void set_up(const struct litmus_options *o, unsigned order)
{
	char path[64];
	int fd;

	if (setenv("FI_EMU_ORDER", litmus_orders[order], 1))
		litmus_die("FI_EMU_ORDER: %s", strerror(errno));
	if (getenv("FI_EMU_FAULT"))
		return;
	fd = memfd_create("seed.ini", 0);
	if (fd < 0 || dprintf(fd, "seed = %llu\n", (unsigned long long)o->seed) < 0)
		litmus_die("no file for the seed: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (setenv("FI_EMU_FAULT", path, 1))
		litmus_die("FI_EMU_FAULT: %s", strerror(errno));
}

/* Does a good run of it end so? */
static bool run_test(const struct litmus_options *o, const struct litmus *test, unsigned order, bool asked)
{
	/* To ask for none would be to ask for all that there is: one that has nothing to do with it is asked for. */
	uint64_t bits = test->also | (test->asks == FI_ORDER_ATOMIC_RAR ? FI_ORDER_ATOMIC_WAW : FI_ORDER_ATOMIC_RAR);
	struct tally tally;
	bool seen;

	litmus_run(test, bits | (asked ? test->asks : 0), o->runs, o->seed, &tally);
	litmus_say_tally(test, asked, order, &tally);
	if (fflush(stdout))
		litmus_die("stdout: %s", strerror(errno));
	seen = tally.count[litmus_outcome(test)];
	if (litmus_forbids(test, tally.told))
		return !seen;
	return seen || !o->need || !litmus_shows(test, order, tally.told);
}

static int run_order(const struct litmus_options *o, unsigned order)
{
	bool good = true;

	set_up(o, order);
	for (const struct litmus *test = litmus_table; test < litmus_table + litmus_count; test++) {
		if (o->test && o->test != test)
			continue;
		if (!o->forbidden || test->rule == FORBIDDEN)
			good &= run_test(o, test, order, false);
		if (test->rule == BY_ORDER)
			good &= run_test(o, test, order, true);
	}
	return !good;
}

/* A NIC reads its settings once in a process: each order has one of its own. */
static int in_process(const struct litmus_options *o, unsigned order)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0)
		exit(run_order(o, order));
	if (child < 0 || waitpid(child, &status, 0) != child)
		litmus_die("no process for order %s: %s", litmus_orders[order], strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char **argv)
{
	struct litmus_options o;
	int worst = 0;

	litmus_options_parse(&o, argc, argv);
	for (unsigned order = 0; order < ORDERS; order++) {
		int status = o.order < 0 || o.order == (int)order ? in_process(&o, order) : 0;

		worst = status > worst ? status : worst;
	}
	return worst;
}
