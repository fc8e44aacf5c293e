/* SPDX-License-Identifier: BSD-2-Clause */
/* emuctl.c - looks into running processes that use emu: emuctl COMMAND [PID|PROGRAM][/PERSONALITY] */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/emuctl.h"

static const char usage[] =
	"usage: emuctl [OPTION...] COMMAND [PID|PROGRAM][/PERSONALITY]\n"
	"\n"
	"Looks into processes of this user that have opened an emulated NIC. Without PID or PROGRAM there must be one.\n"
	"A process of libfabric and libibverbs has two NICs: PERSONALITY, as ps shows it, names one of them.\n"
	"\n"
	"  ps                 all of them\n"
	"  info               the process: program, settings, versions\n"
	"  ep, conn, mr, cq   endpoints; sessions with peers; registered regions; completion queues\n"
	"  stat               rates and counts, a line each interval\n"
	"  log                the last lines of its log\n"
	"  watch              refusals and connections, as they come\n"
	"  trace on|off       switches tracing\n"
	"  fault load FILE    puts a fault plan in force, emu_fault(5), in the place of the one there is\n"
	"  fault clear        takes it away\n"
	"  event NAME         has an asynchronous event happen, emu_fault(5): PORT_ERR, PORT_ACTIVE, GID_CHANGE, DEVICE_FATAL;\n"
	"  event NAME NUMBER  CQ_ERR, QP_FATAL to that completion queue or queue pair\n"
	"  metrics            counts of all processes, or one, as Prometheus reads them\n"
	"\n"
	"  --json             JSON lines, for programs\n"
	"  --keys             keys as they are; else all but their first digits are hidden\n"
	"  -i SECONDS         stat: the interval (1)\n"
	"  -n COUNT           stat: so many lines, then the end\n"
	"  --level LEVEL      log, watch: warn, info or debug (all)\n"
	"  --dir FOLDER       where the sockets are (FI_EMU_CTL, or emu-UID in XDG_RUNTIME_DIR or /tmp)\n"
	"  --timeout MS       how long each answer may take (2000)\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 2 after a sentence on stderr.\n";

/* Processes and plans have a say in it. */
static void say_shown(const char *format, va_list args)
{
	char text[1024], *shown;

	vsnprintf(text, sizeof(text), format, args);
	shown = safe(text);
	fflush(stdout);
	fprintf(stderr, "emuctl: %s\n", shown);
	free(shown);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_shown(format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_shown(format, args);
	va_end(args);
	exit(2);
}

struct printing {
	const struct asking *options;
	const char *command;
	struct table table;
};

static bool print_line(void *arg, const char *line, const cJSON *object)
{
	struct printing *printing = arg;
	const char *type = text_of(object, "type");

	if (printing->options->json)
		puts(line);
	else if (!strcmp(type, "process"))
		show_info(object);
	else if (!strcmp(type, "log") || !strcmp(type, "lost"))
		show_log(object);
	else if (!strcmp(type, "trace"))
		show_trace(object);
	else if (!strcmp(type, printing->command))
		show_line(&printing->table, type, object);
	if (!strcmp(printing->command, "watch"))
		fflush(stdout);
	return true;
}

static void run_ask(const struct asking *options, const struct process *process, const char *command, const char *request)
{
	struct printing printing = { .options = options, .command = command };
	char why[256];
	bool ok;

	if (!options->json)
		show_line(&printing.table, command, NULL);
	ok = ask(process, options, request, print_line, &printing, why, sizeof(why));
	if (printing.table.cells)
		table_print(&printing.table);
	if (!ok)
		die("process %d: %s", process->pid, why);
}

static int run_ps(const struct asking *options)
{
	static const char *const heads[] = { "PID", "PROGRAM", "PERSONALITY", "ENDPOINTS", "CONNECTIONS", "REGIONS", "NIC OPENED" };
	static const char *const counts[] = { "endpoints", "connections", "regions" };
	struct process *list;
	size_t count = find_all(options, &list);
	struct table table = { .columns = 7 };
	char age[32];

	for (size_t i = 0; i < 7 && !options->json; i++)
		table_add(&table, "%s", heads[i]);
	for (size_t i = 0; i < count; i++) {
		const cJSON *info = find_info(options, &list[i]);
		char *text = info && options->json ? cJSON_PrintUnformatted(info) : NULL;

		if (text)
			puts(text);
		free(text);
		if (!info && options->json)
			complain("process %d: %s", list[i].pid, list[i].why);
		if (options->json)
			continue;
		table_add(&table, "%d", list[i].pid);
		table_add(&table, "%s", info ? list[i].program : list[i].why);
		table_add(&table, "%s", text_of(info, "personality"));
		for (int j = 0; j < 3; j++)
			table_add(&table, "%.0f", number_of(info, counts[j]));
		age_text(number_of(info, "started_ns"), age, sizeof(age));
		table_add(&table, "%s%s", info ? age : "", info ? " ago" : "");
	}
	table_print(&table);
	return 0;
}

static int run_metrics(const struct asking *options, const char *which)
{
	struct process *list;
	size_t count;

	if (which) {
		list = find_one(options, which);
		count = 1;
	} else {
		count = find_all(options, &list);
	}
	for (size_t i = 0; i < count; i++)
		find_info(options, &list[i]);
	return metrics_run(options, list, count);
}

/* The request that loads the file, allocated. */
static char *fault_request(const char *path)
{
	static char plan[1 << 15];
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(plan, 1, sizeof(plan) - 1, file) : 0;
	cJSON *request;
	char *text, *line;

	if (!file || ferror(file))
		die("%s: cannot be read", path);
	if (length == sizeof(plan) - 1 || memchr(plan, '\0', length))
		die("%s: is no fault plan, or one of more than 32 KiB", path);
	fclose(file);
	plan[length] = '\0';
	request = cJSON_CreateObject();
	cJSON_AddStringToObject(request, "cmd", "fault");
	cJSON_AddStringToObject(request, "text", plan);
	text = cJSON_PrintUnformatted(request);
	line = text ? malloc(strlen(text) + 2) : NULL;
	if (!line)
		die("out of memory");
	sprintf(line, "%s\n", text);
	free(text);
	cJSON_Delete(request);
	return line;
}

static int run_fault(const struct asking *options, char **words)
{
	char *request;
	bool load = words[1] && !strcmp(words[1], "load") && words[2];
	const char *which = load ? words[3] : words[1] ? words[2] : NULL;

	if (!load && (!words[1] || strcmp(words[1], "clear")))
		die("fault load FILE, or fault clear; see emuctl --help");
	request = load ? fault_request(words[2]) : NULL;
	run_ask(options, find_one(options, which), "fault", request ? request : "{\"cmd\":\"fault\",\"clear\":true}\n");
	free(request);
	return 0;
}

/* Events of queues and queue pairs are followed by a number, and then the process. */
static int run_event(const struct asking *options, char **words)
{
	const char *name = words[1];
	bool numbered = name && (strstr(name, "CQ_ERR") || strstr(name, "QP_FATAL"));
	const char *number = numbered ? words[2] : "";
	char request[192];

	if (!name || !number || strlen(name) + strlen(number) > 60 || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != strlen(name) ||
	    strspn(number, "0123456789abcdefABCDEFx") != strlen(number))
		die("event NAME, or event CQ_ERR or QP_FATAL NUMBER; see emuctl --help");
	snprintf(request, sizeof(request), "{\"cmd\":\"event\",\"text\":\"%s%s%s\"}\n", name, numbered ? " " : "", number);
	run_ask(options, find_one(options, words[numbered ? 3 : 2]), "event", request);
	return 0;
}

static int run_trace(const struct asking *options, char **words)
{
	bool on = words[1] && !strcmp(words[1], "on");

	if (!on && (!words[1] || strcmp(words[1], "off")))
		die("trace on, or trace off; see emuctl --help");
	run_ask(options, find_one(options, words[2]), "trace",
		on ? "{\"cmd\":\"trace\",\"on\":true}\n" : "{\"cmd\":\"trace\",\"on\":false}\n");
	return 0;
}

static int run_simple(const struct asking *options, char **words, const char *level)
{
	static const char *const known[] = { "info", "ep", "conn", "mr", "cq", "log", "watch" };
	char request[128], part[32] = "";
	size_t i = 0;

	while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i], words[0]))
		i++;
	if (i == sizeof(known) / sizeof(known[0]))
		die("`%s' is no command; see emuctl --help", words[0]);
	if (words[1] && words[2])
		die("one process at a time; see emuctl --help");
	if (level)
		snprintf(part, sizeof(part), ",\"level\":\"%s\"", level);
	snprintf(request, sizeof(request), "{\"cmd\":\"%s\",\"reveal\":%s%s}\n", words[0], options->keys ? "true" : "false", part);
	run_ask(options, find_one(options, words[1]), words[0], request);
	return 0;
}

static double seconds_of(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (*end || end == text || !(value >= 0.001 && value <= 86400))
		die("`%s' is no number of seconds from 0.001 to 86400", text);
	return value;
}

static long whole_of(const char *text, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < 1 || value > most)
		die("`%s' is no number from 1 to %ld", text, most);
	return value;
}

static const char *level_word(const char *text)
{
	if (strcmp(text, "warn") && strcmp(text, "info") && strcmp(text, "debug"))
		die("`%s' is no level: they are warn, info and debug", text);
	return text;
}

static int run_command(const struct asking *options, char **words, const char *level, double interval, long count)
{
	if (!strcmp(words[0], "ps"))
		return run_ps(options);
	if (!strcmp(words[0], "metrics"))
		return run_metrics(options, words[1]);
	if (!strcmp(words[0], "fault"))
		return run_fault(options, words);
	if (!strcmp(words[0], "event"))
		return run_event(options, words);
	if (!strcmp(words[0], "trace"))
		return run_trace(options, words);
	if (!strcmp(words[0], "stat"))
		return stat_run(options, find_one(options, words[1]), interval, count);
	return run_simple(options, words, level);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "keys", no_argument, NULL, 'k' },
		{ "level", required_argument, NULL, 'l' },
		{ "dir", required_argument, NULL, 'd' },
		{ "timeout", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct asking options = { .timeout_ms = 2000 };
	const char *level = NULL;
	double interval = 1;
	long count = -1;
	int option;

	while ((option = getopt_long(argc, argv, "i:n:h", longs, NULL)) != -1) {
		switch (option) {
		case 'j':
			options.json = true;
			break;
		case 'k':
			options.keys = true;
			break;
		case 'l':
			level = level_word(optarg);
			break;
		case 'd':
			options.folder = optarg;
			break;
		case 't':
			options.timeout_ms = whole_of(optarg, 3600000);
			break;
		case 'i':
			interval = seconds_of(optarg);
			break;
		case 'n':
			count = whole_of(optarg, 1000000000);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return 2;
		}
	}
	argv += optind;
	if (!argv[0])
		die("which command? See emuctl --help");
	return run_command(&options, argv, level, interval, count);
}
