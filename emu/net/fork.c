/* SPDX-License-Identifier: BSD-2-Clause */
/* fork.c - in a fork's child the NIC's sockets are closed. Otherwise, when the parent dies, its peers would find connections
 * that stand, and a listener, and nobody who serves them.
 *
 * The fork may have caught the link's lists in the middle of a change, so the kernel is asked which sockets there are. It
 * lists them in /proc for each epoll set; without /proc they stay open. Only what a signal handler may do is done. */
#include "emu/net/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { SETS = 3 };

static int sets[SETS], count;

/* "/proc/self/fdinfo/" and the number. */
static void name_of(char path[40], int fd)
{
	static const char folder[] = "/proc/self/fdinfo/";
	char digits[12];
	size_t length = 0, at = sizeof(folder) - 1;

	memcpy(path, folder, sizeof(folder));
	do
		digits[length++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (length)
		path[at++] = digits[--length];
	path[at] = 0;
}

/* A line for each: "tfd:" and the number, between blanks, come first. */
static void close_watched(int set)
{
	static const char label[] = "tfd:";
	size_t matched = 0;	/* of the label, in this line; past it, the number comes */
	char path[40], bytes[256];
	int at, number = -1;
	ssize_t n;

	name_of(path, set);
	at = open(path, O_RDONLY | O_CLOEXEC);
	while (at >= 0 && (n = read(at, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			char c = bytes[i];

			if (matched < sizeof(label) - 1) {
				matched = c == label[matched] ? matched + 1 : c == '\n' ? 0 : sizeof(label);
			} else if (matched == sizeof(label) - 1 && c >= '0' && c <= '9') {
				number = (number < 0 ? 0 : 10 * number) + (c - '0');
			} else if (number >= 0) {
				close(number);
				number = -1;
				matched = sizeof(label);
			}
			if (c == '\n')
				matched = 0;
		}
	}
	if (at >= 0)
		close(at);
}

static void in_child(void)
{
	int saved = errno;

	for (int i = 0; i < count; i++)
		close_watched(sets[i]);
	errno = saved;
}

int fork_open(void)
{
	return -pthread_atfork(NULL, NULL, in_child);
}

void fork_watch(int fd)
{
	sets[count++] = fd;
}
