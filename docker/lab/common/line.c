/* SPDX-License-Identifier: BSD-2-Clause */
/* line.c - see line.h. */
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOTE_BYTES = 256 };

static const char *const names[] = { [LAB_INITIATOR] = "initiator", [LAB_TARGET] = "target" };
static int notes = -1; /* the file that LAB_NOTES names: `lab check` reads there what happened */
static const char *self = "";
static const char *volatile waits_in = "a loop of its own"; /* the call of these files that waits */

void line_note(const char *format, ...)
{
	char text[NOTE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (notes >= 0)
		dprintf(notes, "%s %s\n", self, text);
}

/* The alarm's handler. The process ends by the alarm all the same. */
static void note_hang(int number)
{
	const char *const words[] = { self, " hangs in ", waits_in, "\n" };
	struct iovec parts[4];

	for (int i = 0; i < 4; i++)
		parts[i] = (struct iovec){ (void *)words[i], strlen(words[i]) };
	if (notes >= 0 && writev(notes, parts, 4) < 0)
		notes = -1;
	raise(number); /* SA_RESETHAND: at the return from here the signal does what it does by default */
}

/* How the target has ended; the initiator calls it when the target has, or is about to. */
static int reap(struct lab_line *line)
{
	int status;

	if (waitpid(line->child, &status, 0) < 0)
		return errno;
	line->child = 0;
	if (WIFSIGNALED(status))
		line_note("saw the target end by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		line_note("saw the target end with status %d", WEXITSTATUS(status));
	return status;
}

void line_die(const char *what, const char *why)
{
	printf("%s: %s\n", what, why);
	exit(1);
}

static void die_alone(struct lab_line *line)
{
	if (line->child)
		reap(line);
	line_die("the line", "the other process is gone");
}

enum lab_side line_fork(struct lab_line *line)
{
	const struct sigaction hang = { .sa_handler = note_hang, .sa_flags = SA_RESETHAND };
	const char *path = getenv("LAB_NOTES");
	enum lab_side side;
	int ends[2];

	setvbuf(stdout, NULL, _IOLBF, 0); /* so that the lines of both keep their order */
	if (path)
		notes = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		line_die("socketpair", strerror(errno));
	line->child = fork();
	if (line->child < 0)
		line_die("fork", strerror(errno));
	side = line->child ? LAB_INITIATOR : LAB_TARGET;
	self = names[side];
	line->fd = ends[side];
	close(ends[!side]);
	sigaction(SIGALRM, &hang, NULL);
	/* The target's comes first, so that both can say where they waited. */
	alarm(LAB_PATIENCE_S - (side == LAB_TARGET)); /* a process that waits for what never comes ends here */
	return side;
}

void line_tell(struct lab_line *line, const void *what, size_t length)
{
	if (send(line->fd, what, length, MSG_NOSIGNAL) != (ssize_t)length)
		die_alone(line);
}

void line_hear(struct lab_line *line, void *what, size_t length)
{
	const char *before = line_waits_in("lab_hear()");

	if (recv(line->fd, what, length, MSG_WAITALL) != (ssize_t)length)
		die_alone(line);
	line_waits_in(before);
}

int line_close(struct lab_line *line)
{
	close(line->fd);
	line_waits_in("lab_close(), for the target");
	return line->child && reap(line);
}

const char *line_waits_in(const char *call)
{
	const char *before = waits_in;

	waits_in = call;
	return before;
}

/* How many of the pages are in memory. */
static size_t pages_there(void *memory, size_t length)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)memory / page * page;
	const size_t pages = ((uintptr_t)memory + length - begin + page - 1) / page;
	unsigned char there[pages];
	size_t count = 0;

	if (mincore((void *)begin, pages * page, there))
		return 0;
	for (size_t i = 0; i < pages; i++)
		count += there[i] & 1;
	return count;
}

void line_note_memory(void *memory, size_t length)
{
	line_note("registers %zu B, of which %zu pages are there", length, pages_there(memory, length));
}
