/* SPDX-License-Identifier: BSD-2-Clause */
/* secret_file.c - reading the shared secret. */
#include "emu/process/settings/setting_read.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/process/settings/setting_say.h"

static_assert(LIMIT_SECRET_MIN == 16 && LIMIT_SECRET == 4096, "as the message says");

enum { OTHERS = S_IRWXG | S_IRWXO };

/* NULL, or what is wrong with the file. Root reads each file, so one of root is no worse. */
static const char *flaw_of(const struct stat *status)
{
	if (status->st_uid != geteuid() && status->st_uid != 0)
		return "another user's, who can read and change it: make a copy that the program's user owns";
	if (status->st_mode & OTHERS)
		return "open to its group or to others: chmod 600 (or 400) would make it its owner's alone";
	return NULL;
}

/* Up to `room` bytes; -1: errno. */
static ssize_t read_all(int fd, uint8_t *bytes, size_t room)
{
	size_t length = 0;
	ssize_t got;

	while (length < room && (got = read(fd, bytes + length, room - length)) != 0) {
		if (got < 0 && errno != EINTR)
			return -1;
		length += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)length;
}

int secret_read(const char *path, struct secret_bytes *secret)
{
	struct stat status;
	const char *flaw;
	int fd = setting_file_open(path, &status, &flaw);
	ssize_t length;

	flaw = flaw ? flaw : flaw_of(&status);
	length = flaw ? 0 : read_all(fd, secret->bytes, sizeof(secret->bytes));

	if (length < 0)
		flaw = strerror(errno);
	else if (!flaw && (length < LIMIT_SECRET_MIN || length > LIMIT_SECRET))
		flaw = "not of 16 to 4096 bytes";
	if (fd >= 0)
		close(fd);
	secret->length = (size_t)length;
	if (!flaw)
		return 0;
	secret_forget(secret);
	return setting_wrong("secret_file", "\"%s\": %s", path, flaw);
}

void secret_forget(struct secret_bytes *secret)
{
	explicit_bzero(secret, sizeof(*secret));
}
