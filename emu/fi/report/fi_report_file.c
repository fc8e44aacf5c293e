/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_report_file.c - the file of reports, and what can be wrong with it. */
#include "emu/fi/report/fi_report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/fi/provider/fi_prov.h"
#include "emu/fi/report/fi_report_line.h"

static int file = -1;
static pid_t opener;
static off_t good; /* bytes of whole lines */

static void tell(const char *what, const char *path, int err)
{
	EMU_WARN(CORE, "FI_EMU_REPORT: %s %s: %s. Nothing more is reported of this process\n", what, path, strerror(err));
}

bool report_file_open(const char *folder)
{
	char path[PATH_MAX], host[HOST_NAME_MAX + 1] = "unknown";
	int length;

	gethostname(host, sizeof(host) - 1);
	for (char *at = host; *at; at++)
		if (*at == '/')
			*at = '_';
	length = snprintf(path, sizeof(path), "%s/%s-%d-%" PRIu64 ".jsonl", folder, host, (int)getpid(), report_line_start());
	if (length < 0 || (size_t)length >= sizeof(path)) {
		tell("cannot make a file in", folder, ENAMETOOLONG);
		return false;
	}
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0) {
		tell("cannot make", path, errno);
		return false;
	}
	opener = getpid();
	good = 0;
	return true;
}

bool report_file_is_open(void)
{
	return file >= 0 && opener == getpid();
}

/* write(2), but a limit on the size of files (RLIMIT_FSIZE) is an error, and no signal that ends the program. */
static ssize_t write_quietly(const char *line, size_t length)
{
	sigset_t over, before, pending;
	ssize_t done;
	bool had;
	int err;

	sigemptyset(&over);
	sigaddset(&over, SIGXFSZ);
	sigpending(&pending);
	had = sigismember(&pending, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &over, &before);
	do
		done = write(file, line, length);
	while (done < 0 && errno == EINTR);
	err = errno;
	if (done < 0 && err == EFBIG && !had)
		sigtimedwait(&over, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return done;
}

bool report_file_put(const char *line, size_t length)
{
	ssize_t done = write_quietly(line, length);
	int err = done < 0 ? errno : ENOSPC;

	if (done == (ssize_t)length) {
		good += done;
		return true;
	}
	if (done > 0 && ftruncate(file, good) != 0)
		err = errno; /* the line stays cut: readers take the file for partial all the same */
	tell("cannot write the", "file of reports", err);
	report_file_close();
	return false;
}

void report_file_close(void)
{
	if (file >= 0)
		close(file);
	file = -1;
}

void report_file_forked(void)
{
	report_file_close();
}
