/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_list.c - reads /proc/self/task by calls that are not trapped. */
#include "emu/process/races/thread_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "emu/net/os/spawn.h"
#include "emu/process/races/exempt_call.h"

/* The kernel's. */
struct directory_entry {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

static int task_open(const char *path, int flags)
{
	return (int)exempt_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | flags, 0, 0, 0);
}

static void task_close(int fd)
{
	exempt_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static int decimal(const char *text)
{
	int number = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (*text - '0');
	return number;
}

bool thread_list_read(struct thread_list *list)
{
	_Alignas(struct directory_entry) char entries[2048];
	int fd = task_open("/proc/self/task", O_DIRECTORY);
	bool full = false;
	long got;

	list->count = 0;
	if (fd < 0)
		return false;
	while (!full && (got = exempt_call(SYS_getdents64, fd, (long)entries, sizeof(entries), 0, 0, 0)) > 0) {
		for (long at = 0; at < got && !full;) {
			const struct directory_entry *entry = (const void *)(entries + at);
			int id = decimal(entry->name);

			at += entry->length;
			if (!id || spawn_is_own(id))
				continue;
			full = list->count == THREAD_LIST;
			if (!full)
				list->id[list->count++] = id;
		}
	}
	task_close(fd);
	return !full && !got;
}

bool thread_list_has(const struct thread_list *list, int id)
{
	for (unsigned int i = 0; i < list->count; i++)
		if (list->id[i] == id)
			return true;
	return false;
}

/* "0x..." or a decimal number, and the place behind it and one space. */
static const char *take_word(const char *text, uintptr_t *number)
{
	bool hex = text[0] == '0' && text[1] == 'x';

	*number = 0;
	for (text += hex ? 2 : 0; *text && *text != ' ' && *text != '\n'; text++) {
		uintptr_t digit = (uintptr_t)(*text >= 'a' ? *text - 'a' + 10 : *text - '0');

		*number = *number * (hex ? 16 : 10) + digit;
	}
	return *text == ' ' ? text + 1 : text;
}

/* "number argument argument argument argument argument argument stack at", or "running", or "-1 stack at". */
void thread_call_read(int id, struct thread_call *call)
{
	char path[64] = "/proc/self/task/", digits[12], text[256];
	const char *at = text;
	size_t end = strlen(path), count = 0;
	uintptr_t words[9] = { 0 };
	long got;
	int fd;

	call->number = -1;
	call->stack = call->at = 0;
	for (; id; id /= 10)
		digits[count++] = (char)('0' + id % 10);
	while (count)
		path[end++] = digits[--count];
	memcpy(path + end, "/syscall", sizeof("/syscall"));
	fd = task_open(path, 0);
	if (fd < 0)
		return;
	got = exempt_call(SYS_read, fd, (long)text, sizeof(text) - 1, 0, 0, 0);
	task_close(fd);
	if (got <= 0 || *text < '0' || *text > '9')
		return;
	text[got] = '\0';
	for (int i = 0; i < 9; i++)
		at = take_word(at, &words[i]);
	call->number = (long)words[0];
	call->stack = words[7];
	call->at = words[8];
}
