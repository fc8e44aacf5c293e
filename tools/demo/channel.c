/* SPDX-License-Identifier: BSD-2-Clause */
/* channel.c - questions and answers over two pipes, and the transcript's lines. */
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int must_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

/* Opening a FIFO waits for the other end, so both sides take them in the same order. */
struct channel channel_of_target(const char *questions, const char *answers)
{
	struct channel ch;

	signal(SIGPIPE, SIG_IGN);
	ch.in = must_open(questions, O_RDONLY);
	ch.out = must_open(answers, O_WRONLY);
	return ch;
}

struct channel channel_of_initiator(const char *questions, const char *answers)
{
	struct channel ch;

	signal(SIGPIPE, SIG_IGN);
	ch.out = must_open(questions, O_WRONLY);
	ch.in = must_open(answers, O_RDONLY);
	return ch;
}

/* Both messages are shorter than PIPE_BUF: they travel whole or not at all. */
static void channel_receive(int fd, void *msg, size_t size)
{
	ssize_t n;

	do
		n = read(fd, msg, size);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)size)
		die("the other process is gone");
}

static void transmit(int fd, const void *msg, size_t size)
{
	if (write(fd, msg, size) != (ssize_t)size)
		die("the other process is gone");
}

struct question channel_await(const struct channel *ch)
{
	struct question question;

	channel_receive(ch->in, &question, sizeof(question));
	return question;
}

void channel_answer(const struct channel *ch, const struct answer *answer)
{
	transmit(ch->out, answer, sizeof(*answer));
}

struct answer channel_ask(const struct channel *ch, const struct question *question)
{
	struct answer answer;

	transmit(ch->out, question, sizeof(*question));
	channel_receive(ch->in, &answer, sizeof(answer));
	return answer;
}

void say(const char *who, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%-9s  ", who);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	fflush(stdout);
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("demo: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}
