/* SPDX-License-Identifier: BSD-2-Clause */
/* runner.c - runs Criterion's tests where Criterion does not start: under the thread sanitizer, beside whose mappings its sandbox
 * finds no room. In the place of its library: each test is a child of fork(), as a test of Criterion's is a process of its own.
 *
 * Of its arguments only --tap=FILE is heard; what it writes there are the lines of Criterion's TAP. A report of the sanitizer makes
 * the child's exit status another than 0. */
#include <criterion/criterion.h>
#include <criterion/event.h>
#include <criterion/logging.h>
#include <criterion/options.h>
#include <criterion/parameterized.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, HANG_GUARD = 240 /* s, for a test */ };

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak)), *__stop_cr_sts[] __attribute__((weak));

struct criterion_options criterion_options; /* which the macros look at */

static const struct criterion_test *current;
static const struct criterion_test_extra_data *suite;
static void *parameter; /* of a test that has them */
static bool failed;
static int why[2]; /* a pipe: a skipped test's reason */

/* --- what Criterion's macros call --- */

void criterion_internal_test_setup(void)
{
	if (suite && suite->init)
		suite->init();
	if (current->data->init)
		current->data->init();
}

void criterion_internal_test_main(void (*body)(void))
{
	if (current->data->kind_ == CR_TEST_PARAMETERIZED)
		((void (*)(void *))body)(parameter);
	else
		body();
}

void criterion_internal_test_teardown(void)
{
	if (current->data->fini)
		current->data->fini();
	if (suite && suite->fini)
		suite->fini();
}

int cr_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(text, format, args);
	va_end(args);
	return length;
}

void cr_asprintf_free(char *text)
{
	free(text);
}

char *cr_translate_assert_msg(int index, ...)
{
	const char *expression;
	va_list args;

	va_start(args, index);
	expression = index == CRITERION_ASSERT_MSG_FAIL ? "" : va_arg(args, const char *);
	va_end(args);
	return strdup(expression);
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	failed = true;
	fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line, stats->message);
}

void cri_asserts_passed_incr(void) {}

void criterion_continue_test(void) {}

void criterion_abort_test(void)
{
	exit(1);
}

void criterion_skip_test(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdprintf(why[1], format, args);
	va_end(args);
	exit(SKIPPED);
}

void cr_log(enum criterion_severity severity, const char *format, ...)
{
	va_list args;

	(void)severity;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* --- running --- */

static const struct criterion_test_extra_data *suite_of(const struct criterion_test *test)
{
	for (struct criterion_suite **at = __start_cr_sts; at && at < __stop_cr_sts; at++)
		if (*at && !strcmp((*at)->name, test->category))
			return (*at)->data;
	return NULL;
}

static void run(const struct criterion_test *test)
{
	current = test;
	suite = suite_of(test);
	alarm(HANG_GUARD);
	test->test();
	exit(failed);
}

static bool is_good(const struct criterion_test *test, int status)
{
	if (test->data->signal)
		return WIFSIGNALED(status) && WTERMSIG(status) == test->data->signal;
	return WIFEXITED(status) && WEXITSTATUS(status) == test->data->exit_code;
}

static bool judge(FILE *tap, const struct criterion_test *test, int status)
{
	char text[256] = "";

	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		if (read(why[0], text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		fprintf(tap, "ok - %s::%s # SKIP %s\n", test->category, test->name, text);
		return true;
	}
	if (is_good(test, status)) {
		fprintf(tap, "ok - %s::%s\n", test->category, test->name);
		return true;
	}
	fprintf(tap, "not ok - %s::%s wait status %#x\n", test->category, test->name, (unsigned int)status);
	return false;
}

/* In a process of its own. */
static bool run_and_judge(FILE *tap, const struct criterion_test *test, void *with)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		parameter = with;
		run(test);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("fork");
		exit(2);
	}
	return judge(tap, test, status);
}

/* Once, or once with each of its parameters. */
static bool run_each(FILE *tap, const struct criterion_test *test)
{
	struct criterion_test_params params;
	bool good = true;

	if (test->data->kind_ != CR_TEST_PARAMETERIZED)
		return run_and_judge(tap, test, NULL);
	params = test->data->param_();
	for (size_t i = 0; i < params.length; i++)
		good &= run_and_judge(tap, test, (char *)params.params + i * params.size);
	if (params.cleanup)
		params.cleanup(&params);
	return good;
}

int main(int argc, char **argv)
{
	const char *path = "/dev/stdout";
	bool good = true;
	FILE *tap;

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "--tap=", 6))
			path = argv[i] + 6;
	tap = fopen(path, "w");
	if (!tap || pipe(why)) {
		perror(path);
		return 2;
	}
	for (struct criterion_test **at = __start_cr_tst; at < __stop_cr_tst; at++)
		if (*at)
			good &= run_each(tap, *at);
	return fclose(tap) || !good;
}
