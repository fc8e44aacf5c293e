/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - records of processes, however damaged, through every output of emu_report but the names of source lines: each is
 * written, and what is JSON can be read again.
 *
 * Input: a file of records. */
#include <sanitizer/lsan_interface.h>
#include <unistd.h>

#include "tests/fuzz/freed.h"
#include "tests/fuzz/fuzz.h"
#include "tools/report/report_steps.h"
#include "tools/report/report_out.h"

static char folder[64], path[128];

void __wrap_report_problem(struct report_run *run, const char *format, ...);
/* Nobody is told. */
void __wrap_report_problem(struct report_run *run, const char *format, ...)
{
	(void)format;
	run->problems++;
}

static void remove_folder(void)
{
	unlink(path);
	rmdir(folder);
}

static void make_folder(void)
{
	const char *temporary = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%.40s/emu-fuzz.XXXXXX", temporary ? temporary : "/tmp");
	FUZZ_CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/host-1-1.jsonl", folder);
	FUZZ_CHECK(!atexit(remove_folder));
}

static void write_file(const uint8_t *data, size_t size)
{
	FILE *file = fopen(path, "we");

	FUZZ_CHECK(file && fwrite(data, 1, size, file) == size && !fclose(file));
}

static void check_json(char *text)
{
	cJSON *json = cJSON_Parse(text);

	FUZZ_CHECK(json);
	cJSON_Delete(json);
	free(text);
}

static void read_records(void)
{
	struct report_run run = { 0 };
	char *people = NULL;
	size_t size;
	FILE *out;

	report_init(&run);
	report_read_folder(&run, folder);
	report_merge(&run);
	report_judge(&run);
	out = open_memstream(&people, &size);
	FUZZ_CHECK(out);
	people_report(out, &run);
	FUZZ_CHECK(!fclose(out));
	free(people);
	check_json(report_as_json(&run));
	check_json(report_as_sarif(&run));
	free(report_as_junit(&run));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cJSON_Hooks hooks = { malloc, free }; /* as this program has them */

	if (!*folder) {
		make_folder();
		cJSON_InitHooks(&hooks);
		__lsan_disable();
		read_records(); /* what it remembers for good */
		__lsan_enable();
	}
	write_file(data, size);
	freed_begin();
	read_records();
	freed_end();
	return 0;
}
