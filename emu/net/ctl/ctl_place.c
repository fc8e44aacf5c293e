/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_place.c - where the control socket lies: a folder that nobody else can write, and a name that no other process has.
 *
 * The name is the process's number, and a number that tells it from an earlier process with the same one, whose file may be left.
 * Such files are removed by the next process, and by emuctl: the number is of no process, or of another one, and nobody answers. A
 * file gets its name when somebody does; until then it ends in `new`, which the next process removes if it is old. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "emu/net/ctl/ctl.h"
#include "emu/net/os/monotonic.h"

enum { NEW_S = 60 }; /* a file is made in microseconds; so old, its process was killed before it had its name */

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

/* This process has no file yet. One of another namespace may have that number there. */
static bool may_be_gone(pid_t pid)
{
	return pid == getpid() || (kill(pid, 0) && errno == ESRCH);
}

/* It was never given its name. */
static bool is_unfinished(const struct sockaddr_un *at)
{
	struct stat status;

	return !lstat(at->sun_path, &status) && S_ISSOCK(status.st_mode) && status.st_mtime + NEW_S < time(NULL);
}

/* Nobody listens there. A process that is there is not asked, which would wake it; one of another namespace is. */
static bool is_left(const struct sockaddr_un *at)
{
	int fd, err;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	err = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) ? errno : 0;
	if (fd >= 0)
		close(fd);
	return err == ECONNREFUSED;
}

static void remove_left(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct sockaddr_un at = { .sun_family = AF_UNIX };
		int pid, end = 0, length = snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", folder, entry->d_name);
		const char *name = entry->d_name;

		if (sscanf(name, "%9d.%*8[0-9a-f].%n", &pid, &end) != 1 || pid <= 0 || !end || length <= 0 ||
		    (size_t)length >= sizeof(at.sun_path) || !may_be_gone(pid))
			continue;
		if (!strcmp(name + end, "sock") ? is_left(&at) : !strcmp(name + end, "new") && is_unfinished(&at))
			unlink(at.sun_path);
	}
	if (dir)
		closedir(dir);
}

/* Listens under another name first. */
static int socket_listen(int fd, const char path[CTL_PATH])
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t length = strlen(path);

	memcpy(at.sun_path, path, length - strlen("sock"));
	memcpy(at.sun_path + length - strlen("sock"), "new", sizeof("new"));
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)))
		return -errno;
	if (chmod(at.sun_path, 0600) || listen(fd, CTL_CLIENTS) || rename(at.sun_path, path)) {
		int err = -errno;

		unlink(at.sun_path);
		return err;
	}
	return 0;
}

int ctl_place_open(const char *folder, char path[CTL_PATH], const char **why)
{
	int err = folder_check(folder, why), fd, length;
	char name[CTL_PATH];

	if (err)
		return err;
	*why = "its path is too long";
	length = snprintf(name, sizeof(name), "%s/%d.%08x.sock", folder, (int)getpid(), (unsigned)monotonic_ns());
	if (length < 0 || (size_t)length >= sizeof(name))
		return -ENAMETOOLONG;
	remove_left(folder);
	*why = "its file cannot be made";
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = socket_listen(fd, name);
	if (err) {
		close(fd);
		return err;
	}
	memcpy(path, name, sizeof(name));
	return fd;
}
