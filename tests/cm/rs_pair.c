/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_pair.c - see rs_pair.h. */
#include "tests/cm/rs_pair.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

int rs_listener(struct sockaddr_in *at)
{
	socklen_t length = sizeof(*at);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	cr_assert_geq(fd, 0, "errno %d", errno);
	*at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert_eq(rbind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	cr_assert_eq(rlisten(fd, 8), 0);
	cr_assert_eq(rgetsockname(fd, (struct sockaddr *)at, &length), 0);
	cr_assert(length == sizeof(*at) && at->sin_port);
	return fd;
}

void rs_set(int fd, int level, int name, int value)
{
	cr_assert_eq(rsetsockopt(fd, level, name, &value, sizeof(value)), 0, "level %d name %d errno %d", level, name, errno);
}

short rs_poll_for(int fd, short events)
{
	struct pollfd poll = { .fd = fd, .events = events };

	cr_assert_eq(rpoll(&poll, 1, RS_GUARD_MS), 1);
	return poll.revents;
}

void rs_pair_open(struct rs_pair *pair, const int (*options)[3])
{
	struct sockaddr_in at;

	pair->listens = rs_listener(&at);
	pair->asks = rsocket(AF_INET, SOCK_STREAM, 0);
	for (; options && (*options)[0] >= 0; options++) {
		rs_set(pair->listens, (*options)[0], (*options)[1], (*options)[2]);
		rs_set(pair->asks, (*options)[0], (*options)[1], (*options)[2]);
	}
	cr_assert_eq(rfcntl(pair->asks, F_SETFL, O_NONBLOCK), 0);
	cr_assert(rconnect(pair->asks, (struct sockaddr *)&at, sizeof(at)) == -1 && errno == EINPROGRESS, "errno %d", errno);
	pair->answers = raccept(pair->listens, NULL, NULL);
	cr_assert_geq(pair->answers, 0, "errno %d", errno);
	cr_assert_eq(rs_poll_for(pair->asks, POLLOUT), POLLOUT);
	cr_assert_eq(rfcntl(pair->asks, F_SETFL, 0), 0);
}

void rs_pair_close(struct rs_pair *pair)
{
	cr_assert(!rclose(pair->asks) && !rclose(pair->answers) && !rclose(pair->listens));
}

uint8_t rs_byte(size_t i)
{
	return (uint8_t)(i * 7 + i / 251);
}

void rs_send_bytes(int fd, size_t begin, size_t length, size_t part)
{
	uint8_t *bytes = malloc(part);
	size_t i = 0;

	cr_assert(bytes);
	while (i < length) {
		size_t n = length - i < part ? length - i : part;

		for (size_t k = 0; k < n; k++)
			bytes[k] = rs_byte(begin + i + k);
		cr_assert_eq(rsend(fd, bytes, n, 0), (ssize_t)n, "a blocking send is whole; errno %d", errno);
		i += n;
	}
	free(bytes);
}

void rs_expect_bytes(int fd, size_t begin, size_t length, size_t part)
{
	uint8_t *bytes = malloc(part);
	size_t i = 0;

	cr_assert(bytes);
	while (i < length) {
		size_t wanted = length - i < part ? length - i : part;
		ssize_t n = rrecv(fd, bytes, wanted, 0);

		cr_assert(n > 0 && (size_t)n <= wanted, "%zd at %zu of %zu, errno %d", n, i, length, errno);
		for (ssize_t k = 0; k < n; k++)
			if (bytes[k] != rs_byte(begin + i + (size_t)k))
				cr_assert_fail("byte %zu is wrong", begin + i + (size_t)k);
		i += (size_t)n;
	}
	free(bytes);
}
