/* SPDX-License-Identifier: BSD-2-Clause */
/* report_loss.c - records that processes could not leave. The socket has an abstract name, so that a process can write to it that
 * may write nowhere else. A line of a stranger's can make the run fail, and nothing else. */
#include "tools/report/report_steps.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/report/report_out.h"

enum { HEARD_MAX = 8192 };

static int listener = -1;

void loss_listen(void)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	socklen_t length = offsetof(struct sockaddr_un, sun_path); /* the kernel chooses a name */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(own);

	if (fd < 0)
		return;
	if (bind(fd, (struct sockaddr *)&own, length) != 0 || getsockname(fd, (struct sockaddr *)&own, &size) != 0 ||
	    size <= length + 1 ||
	    setenv("EMU_CHECK_SOCKET", report_format("%.*s", (int)(size - length - 1), own.sun_path + 1), 1) != 0) {
		close(fd);
		return;
	}
	listener = fd;
}

static void loss_add(struct report_run *run, const char *text)
{
	struct report_loss *loss = report_alloc(sizeof(*loss));

	loss->text = text;
	*run->losses_end = loss;
	run->losses_end = &loss->next;
	run->losses_count++;
}

/* Has the process said so itself? Then it gave the reason. */
static bool is_heard(const struct report_run *run, const struct report_process *process)
{
	const char *who = report_format("[%ld]: ", process->pid);
	const struct report_loss *loss;

	for (loss = run->losses; loss; loss = loss->next)
		if (strstr(loss->text, who))
			return true;
	return false;
}

static const char *loss_of(const struct report_process *process)
{
	if (process->lost)
		return "could not write its records to the end";
	if (process->cut_off)
		return "its last record is cut off";
	return process->corrupt ? report_format("%u of its records cannot be read", process->corrupt) : NULL;
}

void loss_gather(struct report_run *run)
{
	const struct report_process *process;
	char heard[HEARD_MAX];
	const char *what;
	ssize_t length;

	while (listener >= 0 && (length = recv(listener, heard, sizeof(heard), MSG_TRUNC)) >= 0)
		loss_add(run, report_format("%.*s", length < HEARD_MAX ? (int)length : HEARD_MAX, heard));
	for (process = run->processes; process; process = process->next)
		if ((what = loss_of(process)) && !is_heard(run, process))
			loss_add(run, report_format("%s[%ld]: %s", process->program, process->pid, what));
}
