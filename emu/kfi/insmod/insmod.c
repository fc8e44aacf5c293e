/* SPDX-License-Identifier: BSD-2-Clause */
/* insmod.c - emu_insmod: runs kernel clients of kfabric as shared objects of one process. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/kfi/insmod/insmod.h"
#include "emu/kfi/provider/kemu_provider.h"

enum { MODULES_MAX = 64, EXIT_BAD_USE = 2, EXIT_INTERRUPTED = 128 + SIGINT };

static struct loaded modules[MODULES_MAX];
static size_t module_count;

static const char usage_text[] =
	"usage: emu_insmod [--unload] MODULE.so [NAME=VALUE...] [MODULE.so [NAME=VALUE...]]...\n"
	"\n"
	"Runs kernel clients of kfabric in user space, on the emulated NIC: loads each MODULE, sets its parameters, and\n"
	"calls its module_init(). SIGINT or SIGTERM calls each module_exit(), the last module's first, and ends.\n"
	"\n"
	"  -u, --unload   end as soon as each module_init() has returned\n"
	"  -h, --help     this text\n"
	"\n"
	"FI_EMU_PERSONALITY=kfi (kfi_mr(3)) or kcxi (HPE's provider); FI_EMU_CHECK_ATOMIC=1: calls that sleep where a kernel\n"
	"may not are reported. Status: 0; 1: a module failed, or left objects open; 2: wrong use. See kfi_emu(7).\n";

/* --- the signals that end it --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static bool stop;

/* Modules take as long as they want: a second signal does not wait. */
static void *wait_for_signal(void *set)
{
	int number;

	sigwait(set, &number);
	pthread_mutex_lock(&lock);
	stop = true;
	pthread_cond_signal(&ended);
	pthread_mutex_unlock(&lock);
	sigwait(set, &number);
	fprintf(stderr, "emu_insmod: a second signal: it ends at once, and a module_init() or module_exit() is still at work.\n");
	_exit(EXIT_INTERRUPTED);
}

/* All threads that come later have the signals blocked. */
static bool watch_signals(void)
{
	static sigset_t set;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return !pthread_create(&thread, NULL, wait_for_signal, &set) && !pthread_detach(thread);
}

static void wait_until_stopped(void)
{
	pthread_mutex_lock(&lock);
	while (!stop)
		pthread_cond_wait(&ended, &lock);
	pthread_mutex_unlock(&lock);
}

/* --- the modules --- */

static bool is_module(const char *argument)
{
	size_t length = strcspn(argument, "=");

	return !argument[length] && (strchr(argument, '/') || (length > 3 && !strcmp(argument + length - 3, ".so")));
}

/* Loads each module with the parameters behind it. All are loaded before the first one starts: a wrong argument starts none. */
static bool load(char *const *arguments)
{
	for (; *arguments; arguments++) {
		if (is_module(*arguments)) {
			if (module_count == MODULES_MAX) {
				fprintf(stderr, "emu_insmod: more than %d modules.\n", MODULES_MAX);
				return false;
			}
			if (!loaded_open(&modules[module_count], *arguments))
				return false;
			module_count++;
		} else if (!module_count) {
			fprintf(stderr, "emu_insmod: `%s` comes before any module: MODULE.so NAME=VALUE.\n", *arguments);
			return false;
		} else if (!loaded_set(&modules[module_count - 1], *arguments)) {
			return false;
		}
	}
	return true;
}

static bool start_modules(void)
{
	for (size_t i = 0; i < module_count; i++)
		if (!loaded_init(&modules[i]))
			return false;
	return true;
}

static bool unload(void)
{
	bool good = true;

	for (size_t i = module_count; i-- > 0;)
		good = loaded_exit(&modules[i]) && good;
	return good;
}

static int run(bool at_once)
{
	bool good;
	int rc = kemu_register();

	if (rc) {
		fprintf(stderr, "emu_insmod: the provider does not start: %s.\n", strerror(-rc));
		return EXIT_FAILURE;
	}
	good = start_modules();
	if (good && !at_once)
		wait_until_stopped();
	good = unload() && good;
	return kemu_unregister() == 0 && good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Where libfabric finds the provider, unless the environment says so: beside this program as it is built, or as it is installed. */
static void set_provider_path(void)
{
	static const char *const folders[] = { "../../fi", EMU_PROVIDER_FROM_BIN };
	char self[PATH_MAX], path[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0 || getenv("FI_PROVIDER_PATH"))
		return;
	self[length] = 0;
	*strrchr(self, '/') = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/libemu-fi.so", self, folders[i]);
		if (!access(path, R_OK)) {
			*strrchr(path, '/') = 0;
			setenv("FI_PROVIDER_PATH", path, 1);
			return;
		}
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "unload", no_argument, NULL, 'u' }, { "help", no_argument, NULL, 'h' }, { 0 } };
	bool at_once = false;
	int option;

	while ((option = getopt_long(argc, argv, "+uh", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage_text, stdout);
			return EXIT_SUCCESS;
		}
		if (option != 'u') {
			fputs(usage_text, stderr);
			return EXIT_BAD_USE;
		}
		at_once = true;
	}
	if (optind == argc) {
		fputs(usage_text, stderr);
		return EXIT_BAD_USE;
	}
	fault_report_begin();
	if (!watch_signals()) {
		perror("emu_insmod: no thread");
		return EXIT_FAILURE;
	}
	set_provider_path();
	if (!load(argv + optind))
		return EXIT_BAD_USE;
	return run(at_once);
}
