/* SPDX-License-Identifier: BSD-2-Clause */
/* emu_report.c - reads what processes recorded of refusals, misuse and leaks, and gives a verdict: emu_report FOLDER */
#include <err.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report_steps.h"
#include "tools/report/report_out.h"

enum { FILES_MAX = 32 };

static const char help[] =
	"usage: emu_report [OPTION...] FOLDER\n"
	"       emu_report [OPTION...] --run [--] CMD [ARG...]\n"
	"\n"
	"Says what the processes found that left their records in FOLDER (FI_EMU_REPORT=FOLDER): refused operations, refused\n"
	"calls, misuse and leaks, with both sides' facts, and a verdict. With --run, which is what `emurun --check' does, it\n"
	"runs CMD first, with a folder of its own.\n"
	"\n"
	"  --report FILE   also write the report there: JSON, JUnit or SARIF, by the suffix .json, .xml, .sarif\n"
	"  --json FILE, --junit FILE, --sarif FILE   the same, whatever the suffix\n"
	"  --expect FILE   accept what FILE lists, and fail if it did not happen\n"
	"  --no-checked    run CMD without checked mode\n"
	"  --allow-none    do not fail if no process opened the NIC\n"
	"  --status N      the exit status that the command had, if it was run without --run\n"
	"\n"
	"Exit status: 86 if something was found that is not expected, an expectation was not met, or no process opened the\n"
	"NIC; 2 if a file cannot be read or written, or records were lost; else CMD's, or 0. emu_report(1) says more.\n";

struct options {
	struct {
		const char *path;
		enum report_form form;
	} reports[FILES_MAX];
	const char *expects[FILES_MAX];
	unsigned reports_count, expects_count;
	bool runs, unchecked;
};

static struct report_run the_run;

static void add_report(struct options *options, const char *path, enum report_form form)
{
	if (form == REPORT_FORMS)
		errx(REPORT_ERROR, "%s: the suffix of a report is .json, .xml or .sarif", text_clean(path));
	if (options->reports_count == FILES_MAX)
		errx(REPORT_ERROR, "there are more than %d reports", FILES_MAX);
	options->reports[options->reports_count].path = path;
	options->reports[options->reports_count++].form = form;
}

static void add_expect(struct options *options, const char *path)
{
	if (options->expects_count == FILES_MAX)
		errx(REPORT_ERROR, "there are more than %d files of expectations", FILES_MAX);
	options->expects[options->expects_count++] = path;
}

static int parse_status(const char *text)
{
	char *end;
	long status = strtol(text, &end, 10);

	if (end == text || *end || status < 0 || status > 255)
		errx(REPORT_ERROR, "--status takes 0 to 255, and not `%s'", text_clean(text));
	return (int)status;
}

static void parse_options(struct report_run *run, struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "report", required_argument, NULL, 'r' },
		{ "json", required_argument, NULL, 'j' },
		{ "junit", required_argument, NULL, 'u' },
		{ "sarif", required_argument, NULL, 's' },
		{ "expect", required_argument, NULL, 'e' },
		{ "no-checked", no_argument, NULL, 'n' },
		{ "status", required_argument, NULL, 't' },
		{ "run", no_argument, NULL, 'R' },
		{ "allow-none", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "+h", known, NULL)) != -1)
		switch (option) {
		case 'r':
			add_report(options, optarg, report_form_of(optarg));
			break;
		case 'j':
			add_report(options, optarg, REPORT_JSON);
			break;
		case 'u':
			add_report(options, optarg, REPORT_JUNIT);
			break;
		case 's':
			add_report(options, optarg, REPORT_SARIF);
			break;
		case 'e':
			add_expect(options, optarg);
			break;
		case 'n':
			options->unchecked = true;
			break;
		case 'a':
			run->allow_none = true;
			break;
		case 't':
			run->status = parse_status(optarg);
			break;
		case 'R':
			options->runs = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			fprintf(stderr, "usage: emu_report [OPTION...] FOLDER; --help lists the options\n");
			exit(REPORT_ERROR);
		}
}

/* Reads, judges and reports. The exit status but for the command's. */
static int report_all(struct report_run *run, const struct options *options, const char *folder, FILE *out)
{
	unsigned i;

	report_read_folder(run, folder);
	loss_gather(run);
	report_expect_folder(run, folder);
	report_resolve(run);
	report_merge(run);
	report_judge(run);
	report_order(run);
	people_report(out, run);
	for (i = 0; i < options->reports_count; i++)
		report_file_write(run, options->reports[i].path, options->reports[i].form);
	if (fflush(out) != 0 && out == stdout)
		report_problem(run, "standard output: the report cannot be written");
	return run->problems ? REPORT_ERROR : run->verdict;
}

/* Within another run, whose report it is in then. */
static int run_within(struct report_run *run, const struct options *options, const char *folder)
{
	unsigned i;

	for (i = 0; i < options->expects_count; i++)
		report_expect_pass(run, options->expects[i], folder);
	for (i = 0; i < options->reports_count; i++)
		warnx("%s is not written: the findings go to the emurun --check that this one is within",
		      text_clean(options->reports[i].path));
	if (run->problems)
		return REPORT_ERROR;
	command_settings(folder, !options->unchecked);
	return command_become(run->command);
}

static int run_and_report(struct report_run *run, const struct options *options)
{
	const char *folder;
	int status;

	/* All that can fail for want of a file fails before the command runs. */
	if (run->problems)
		return REPORT_ERROR;
	if (command_outer_folder())
		return run_within(run, options, command_outer_folder());
	folder = command_folder_open(run);
	if (!folder)
		return REPORT_ERROR;
	command_settings(folder, !options->unchecked);
	loss_listen();
	command_run(run);
	signal(SIGPIPE, SIG_IGN);
	status = report_all(run, options, folder, stderr);
	command_folder_remove(folder);
	if (status == REPORT_ERROR)
		warnx("the command itself ended with status %d", run->status);
	return status ? status : run->status;
}

int main(int argc, char **argv)
{
	struct report_run *run = &the_run;
	struct options options = { 0 };
	unsigned i;

	report_init(run);
	parse_options(run, &options, argc, argv);
	if (optind == argc || (!options.runs && optind + 1 != argc)) {
		fprintf(stderr, "usage: emu_report [OPTION...] FOLDER; --help lists the options\n");
		return REPORT_ERROR;
	}
	for (i = 0; i < options.expects_count; i++)
		report_expect_file(run, options.expects[i]);
	for (i = 0; i < options.reports_count; i++)
		report_file_try(run, options.reports[i].path);
	if (options.runs) {
		run->command = argv + optind;
		return run_and_report(run, &options);
	}
	return run->problems ? REPORT_ERROR : report_all(run, &options, argv[optind], stdout);
}
