/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_copy.c - process_vm_writev, which some sandboxes forbid, and behind it one pipe for all. */
#include "emu/nic/memory/guard.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emu/nic/base/mutex.h"
#include "emu/nic/base/nocancel_file.h"

enum { VM_CHUNK = 1 << 30, PIPE_CHUNK = 1 << 16 }; /* bytes a process_vm_writev(), or a write() */

static struct mutex pipe_lock = MUTEX_INITIALIZER; /* leaf; guards the bytes in the pipe, too */
static int pipe_ends[2] GUARDED_BY(pipe_lock) = { -1, -1 };

static bool pipe_made(void) REQUIRES(pipe_lock)
{
	return pipe_ends[0] >= 0 || !pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK);
}

bool kernel_copies(void)
{
	char byte = 1, copy = 0;
	struct iovec local = { &copy, 1 }, remote = { &byte, 1 };
	bool made;

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1)
		return true;
	mutex_lock(&pipe_lock);
	made = pipe_made();
	mutex_unlock(&pipe_lock);
	return made;
}

void kernel_copy_forked(void)
{
	mutex_forked(&pipe_lock);
	for (int i = 0; i < 2; i++) {
		if (pipe_ends[i] >= 0)
			nocancel_close(pipe_ends[i]);
		pipe_ends[i] = -1;
	}
}

/* A failure does not say which of the two cannot be reached, nor that a device's memory can by the CPU alone: the pipe knows. */
static size_t copy_by_vm(void *to, const void *from, size_t length)
{
	size_t done = 0;

	while (done < length) {
		size_t chunk = length - done < VM_CHUNK ? length - done : VM_CHUNK;
		struct iovec local = { (char *)(uintptr_t)from + done, chunk }, remote = { (char *)to + done, chunk };
		ssize_t n = process_vm_writev(getpid(), &local, 1, &remote, 1, 0);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* Bytes that a failure left in the pipe must not come out before the next copy's bytes. */
static enum kernel_copied pipe_faulted(void) REQUIRES(pipe_lock)
{
	char bytes[4096];

	while (nocancel_read(pipe_ends[0], bytes, sizeof(bytes)) > 0)
		;
	return KERNEL_FAULTED;
}

static enum kernel_copied through_pipe(char *to, const char *from, size_t length) REQUIRES(pipe_lock)
{
	if (!pipe_made())
		return KERNEL_FORBIDDEN;
	while (length) {
		ssize_t there = nocancel_write(pipe_ends[1], from, length < PIPE_CHUNK ? length : PIPE_CHUNK);

		if (there <= 0)
			return pipe_faulted();
		from += there;
		length -= (size_t)there;
		while (there) {
			ssize_t n = nocancel_read(pipe_ends[0], to, (size_t)there);

			if (n <= 0)
				return pipe_faulted();
			there -= n;
			to += n;
		}
	}
	return KERNEL_COPIED;
}

enum kernel_copied kernel_copy(void *to, const void *from, size_t length)
{
	size_t done = copy_by_vm(to, from, length);
	enum kernel_copied copied;

	if (done == length)
		return KERNEL_COPIED;
	mutex_lock(&pipe_lock);
	copied = through_pipe((char *)to + done, (const char *)from + done, length - done);
	mutex_unlock(&pipe_lock);
	return copied;
}
