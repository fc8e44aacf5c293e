/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_secret.c - reading the shared secret. */
#include "emu/fi/provider/fi_secret.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/fi/provider/fi_setting_say.h"
static_assert(LIMIT_SECRET_MIN == 16 && LIMIT_SECRET == 4096, "as the message says");

enum { OTHERS = S_IRWXG | S_IRWXO };

/* NULL, or what is wrong with the open file. */
static const char *flaw_of(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return strerror(errno);
	if (!S_ISREG(status.st_mode))
		return "not a regular file";
	if (status.st_mode & OTHERS)
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
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* the open of a pipe would wait */
	const char *flaw = fd < 0 ? strerror(errno) : flaw_of(fd);
	ssize_t length = flaw ? 0 : read_all(fd, secret->bytes, sizeof(secret->bytes));

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
