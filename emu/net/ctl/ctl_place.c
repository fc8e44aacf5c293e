/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_place.c - where the control socket lies: a folder that nobody else can write, and a name that no other process has.
 *
 * The name is the process's number, and a number that tells it from an earlier process with the same one, whose file may be left.
 * emuctl finds these, as nobody answers there, and removes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/net/ctl/ctl.h"
#include "emu/net/os/monotonic.h"

static int folder_check(const char *folder, const char **why)
{
	struct stat status;

	*why = "its folder cannot be made";
	if (mkdir(folder, 0700) && errno != EEXIST)
		return -errno;
	*why = "its folder is a link, no folder, another user's, or open to others";
	if (lstat(folder, &status))
		return -errno;
	return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 077) ? 0 : -EPERM;
}

static int socket_listen(int fd, const struct sockaddr_un *at)
{
	if (bind(fd, (const struct sockaddr *)at, sizeof(*at)))
		return -errno;
	/* Nobody connects before it listens. */
	if (chmod(at->sun_path, 0600) || listen(fd, CTL_CLIENTS)) {
		int err = -errno;

		unlink(at->sun_path);
		return err;
	}
	return 0;
}

int ctl_place_open(const char *folder, char path[CTL_PATH], const char **why)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int err = folder_check(folder, why), fd, length;

	if (err)
		return err;
	*why = "its path is too long";
	length = snprintf(at.sun_path, sizeof(at.sun_path), "%s/%d.%08x.sock", folder, (int)getpid(), (unsigned)monotonic_ns());
	if (length < 0 || (size_t)length >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	*why = "its file cannot be made";
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = socket_listen(fd, &at);
	if (err) {
		close(fd);
		return err;
	}
	memcpy(path, at.sun_path, sizeof(at.sun_path));
	return fd;
}
