/* SPDX-License-Identifier: BSD-2-Clause */
/* setting_file.c - regular files alone. */
#include "emu/process/settings/setting_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

int setting_file_open(const char *path, struct stat *status, const char **flaw)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* the open of a pipe would wait */

	*flaw = NULL;
	if (fd < 0 || fstat(fd, status))
		*flaw = strerror(errno);
	else if (!S_ISREG(status->st_mode))
		*flaw = "not a regular file";
	if (*flaw && fd >= 0)
		close(fd);
	return *flaw ? -1 : fd;
}
