/* SPDX-License-Identifier: BSD-2-Clause */
/* report_files.c - reports in files: what form each has, and how they are written. */
#include "tools/report/report_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum report_form report_form_of(const char *path)
{
	static const char *const suffixes[REPORT_FORMS] = { ".json", ".xml", ".sarif" };
	const char *dot = strrchr(path, '.');
	unsigned i;

	for (i = 0; dot && i < REPORT_FORMS; i++)
		if (strcmp(dot, suffixes[i]) == 0)
			return (enum report_form)i;
	return REPORT_FORMS;
}

/* Opens a new file beside the one that is to be replaced; -1 and errno. */
static int beside_open(const char *path, char **name)
{
	*name = report_format("%s.XXXXXX", path);
	return mkostemp(*name, O_CLOEXEC);
}

/* A device, a pipe and the like is written as it is. */
static bool is_special(const char *path)
{
	struct stat stat_of;

	return stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode);
}

void report_file_try(struct report_run *run, const char *path)
{
	struct stat stat_of;
	char *name;
	int fd;

	if (is_special(path)) {
		if (stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode))
			report_problem(run, "%s: cannot be written: is a folder", text_clean(path));
		else if (access(path, W_OK) != 0)
			report_problem(run, "%s: cannot be written: %s", text_clean(path), strerror(errno));
		return;
	}
	fd = beside_open(path, &name);
	if (fd >= 0) {
		close(fd);
		unlink(name);
	} else if (access(path, W_OK) != 0) {
		report_problem(run, "%s: cannot be written: %s", text_clean(path), strerror(errno));
	}
}

static int write_whole(int fd, const char *text)
{
	size_t size = strlen(text), at = 0;
	ssize_t written;

	while (at < size) {
		written = write(fd, text + at, size - at);
		if (written < 0 && errno != EINTR)
			return -errno;
		at += written > 0 ? (size_t)written : 0;
	}
	return 0;
}

/* 0, or a negative errno, and nothing is left. */
static int write_beside(const char *path, const char *text)
{
	mode_t mask = umask(0);
	int fd, rc;
	char *name;

	umask(mask);
	fd = beside_open(path, &name);
	if (fd < 0)
		return -errno;
	rc = write_whole(fd, text);
	if (rc == 0 && fchmod(fd, 0666 & ~mask) != 0)
		rc = -errno;
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(name, path) != 0)
		rc = -errno;
	if (rc != 0)
		unlink(name);
	return rc;
}

/* Where no file can be put beside it, or it cannot be replaced, as one that is mounted. */
static int write_over(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = write_whole(fd, text);
	if (rc != 0 && ftruncate(fd, 0) != 0)
		errno = 0; /* it is no file */
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

void report_file_write(struct report_run *run, const char *path, enum report_form form)
{
	char *text = form == REPORT_JSON ? report_as_json(run) : form == REPORT_JUNIT ? report_as_junit(run) : report_as_sarif(run);
	char *full = realpath(path, NULL); /* what a link leads to */
	const char *to = full ? full : path;
	int rc;

	if (is_special(to)) {
		rc = write_over(path, text);
	} else {
		rc = write_beside(to, text);
		if (rc == -EACCES || rc == -EPERM || rc == -EROFS || rc == -EBUSY || rc == -EXDEV)
			rc = write_over(to, text);
	}
	if (rc != 0)
		report_problem(run, "%s: the report cannot be written: %s", text_clean(path), strerror(-rc));
	free(full);
	free(text);
}
