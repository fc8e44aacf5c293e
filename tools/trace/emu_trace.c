/* SPDX-License-Identifier: BSD-2-Clause */
/* emu_trace.c - joins traces of several processes, and writes them as text, for Perfetto, for Wireshark, or as a page. */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/trace/trace_read.h"
#include "tools/trace/trace_memory.h"
#include "tools/trace/trace_out.h"
#include "tools/trace/page/page.h"

enum { TROUBLE = 2 };

static const char help[] =
	"usage: emu_trace [OPTION...] FILE|FOLDER...\n"
	"\n"
	"Reads the traces that processes left with FI_EMU_TRACE=FOLDER, joins them, and writes what their NICs did.\n"
	"\n"
	"  --text           a line for each event (default, unless another form is asked for)\n"
	"  --perfetto FILE  for Perfetto (ui.perfetto.dev) and chrome://tracing\n"
	"  --pcapng FILE    the frames, for Wireshark\n"
	"  --html FILE      a page that a browser shows\n"
	"  --process PID    text: events of this process alone; and of\n"
	"  --kind KIND      ops of a kind: send, write, read, atomic, connect, accept, reject, collective\n"
	"  --refused        refusals, and ops that were refused\n"
	"  --ops            no frames\n"
	"\n"
	"Exit status: 2 if a file is damaged or cannot be read or written; what can be read is written all the same. emu_trace(1)\n"
	"says more.\n";

struct trace_options {
	const char *perfetto, *pcapng, *html;
	bool text;
	struct trace_filter filter;
};

struct inputs {
	struct ring_file *rings;
	uint32_t count, room;
	bool trouble;
};

static void input_file(struct inputs *inputs, const char *path)
{
	struct ring_file *ring = trace_grow(&inputs->rings, &inputs->count, &inputs->room, sizeof(*ring));

	if (!ring_read(ring, path)) {
		if (ring->damaged)
			warnx("%s: %s: the trace is partial", path, ring->note);
		inputs->trouble |= ring->damaged;
		return;
	}
	warnx("%s: %s", path, ring->note);
	ring_free(ring);
	inputs->count--;
	inputs->trouble = true;
}

static int is_trace(const struct dirent *entry)
{
	static const char suffix[] = ".emutrace";
	size_t length = strlen(entry->d_name);

	return length > strlen(suffix) && !strcmp(entry->d_name + length - strlen(suffix), suffix);
}

static void input_folder(struct inputs *inputs, const char *path)
{
	struct dirent **names;
	int count = scandir(path, &names, is_trace, alphasort);

	if (count <= 0) {
		warnx("%s: %s", path, count ? strerror(errno) : "there is no trace in it");
		inputs->trouble = true;
		return;
	}
	for (int i = 0; i < count; i++) {
		input_file(inputs, trace_words("%s/%s", path, names[i]->d_name));
		free(names[i]);
	}
	free(names);
}

static int kind_named(const char *name)
{
	for (int kind = 0; kind < TRACE_KINDS; kind++)
		if (!strcmp(name, trace_kind_name((enum trace_kind)kind)))
			return kind;
	errx(TROUBLE, "--kind takes no `%s'; --help names the kinds", name);
}

static uint32_t pid_named(const char *text)
{
	char *end;
	unsigned long pid = strtoul(text, &end, 10);

	if (end == text || *end || !pid || pid > UINT32_MAX || *text == '-')
		errx(TROUBLE, "--process takes a number, and not `%s'", text);
	return (uint32_t)pid;
}

static void trace_options_read(struct trace_options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "text", no_argument, NULL, 't' },          { "perfetto", required_argument, NULL, 'f' },
		{ "pcapng", required_argument, NULL, 'w' },  { "html", required_argument, NULL, 'p' },
		{ "process", required_argument, NULL, 'i' }, { "kind", required_argument, NULL, 'k' },
		{ "refused", no_argument, NULL, 'r' },       { "ops", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },          { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			exit(0);
		}
		if (c == '?')
			exit(TROUBLE); /* getopt has said why */
		options->text |= c == 't';
		options->perfetto = c == 'f' ? optarg : options->perfetto;
		options->pcapng = c == 'w' ? optarg : options->pcapng;
		options->html = c == 'p' ? optarg : options->html;
		options->filter.pid = c == 'i' ? pid_named(optarg) : options->filter.pid;
		options->filter.kind = c == 'k' ? kind_named(optarg) : options->filter.kind;
		options->filter.refused |= c == 'r';
		options->filter.ops |= c == 'o';
	}
	options->text |= !options->perfetto && !options->pcapng && !options->html;
}

/* True: it could not be written. */
static bool write_file(const struct trace *trace, const char *path, int (*form)(const struct trace *trace, FILE *file))
{
	FILE *file;
	int err;

	if (!path)
		return false;
	file = fopen(path, "we");
	if (!file) {
		warn("%s", path);
		return true;
	}
	err = form(trace, file);
	if (fclose(file) || err) {
		warn("%s", path);
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	struct trace_options options = { .filter = { .kind = -1 } };
	static struct inputs inputs; /* with the trace, until the process ends */
	static struct trace trace;

	trace_options_read(&options, argc, argv);
	if (optind == argc)
		errx(TROUBLE, "name the folder or the files of the traces; --help says more");
	for (int i = optind; i < argc; i++) {
		struct stat st;

		if (!stat(argv[i], &st) && S_ISDIR(st.st_mode))
			input_folder(&inputs, argv[i]);
		else
			input_file(&inputs, argv[i]);
	}
	if (!inputs.count)
		return TROUBLE;
	trace_join(&trace, inputs.rings, inputs.count);
	if (options.text && (lines_write(&trace, stdout, &options.filter) || fflush(stdout))) {
		warn("standard output");
		inputs.trouble = true;
	}
	inputs.trouble |= write_file(&trace, options.perfetto, perfetto_write);
	inputs.trouble |= write_file(&trace, options.pcapng, pcapng_write);
	inputs.trouble |= write_file(&trace, options.html, page_write);
	return inputs.trouble ? TROUBLE : 0;
}
