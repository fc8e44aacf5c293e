/* SPDX-License-Identifier: BSD-2-Clause */
/* report_file.c - the file of reports, and what can be wrong with it. */
#include "emu/process/report/report_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "emu/process/log/log.h"

/* A file that could not be written to its end has another mode than one of a process that was killed. */
enum { REPORT_FILE_MODE = 0600, REPORT_FILE_LOST = 0400 };

static int file = -1;
static pid_t opener;
static off_t good; /* bytes of whole lines */

/* To the emu_report that waits for the end of the run, if one does: this needs neither room on a disk nor rights in a folder. */
static void tell_run(const char *text)
{
	const char *name = getenv("EMU_CHECK_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t length = name ? strlen(name) : 0;
	int fd;

	if (!length || length >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path + 1, name, length); /* behind a NUL: an abstract name */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	close(fd);
}

static void tell_unwritten(const char *what, const char *path, int err)
{
	char text[PATH_MAX + 512];

	log_warn(PROCESS_ITSELF, "FI_EMU_REPORT: %s %s: %s. Nothing more is reported of this process", what, path, strerror(err));
	snprintf(text, sizeof(text), "%s[%d]: %s %s: %s", program_invocation_short_name, (int)getpid(), what, path, strerror(err));
	tell_run(text);
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
		tell_unwritten("cannot make a file in", folder, ENAMETOOLONG);
		return false;
	}
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, REPORT_FILE_MODE);
	if (file < 0) {
		tell_unwritten("cannot make", path, errno);
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
		err = errno; /* the line stays cut, which readers see */
	if (fchmod(file, REPORT_FILE_LOST) != 0)
		err = errno; /* a later reader does not see it */
	tell_unwritten("cannot write the", "file of reports", err);
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
