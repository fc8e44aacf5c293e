/* SPDX-License-Identifier: BSD-2-Clause */
/* rsockets.c - the life of an rsocket: made, bound, connected, refused, shut down, closed; and its options. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cm/meeting.h"
#include "tests/cm/rs_pair.h"

static int int_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t length = sizeof(value);

	cr_assert_eq(rgetsockopt(fd, level, name, &value, &length), 0, "level %d name %d errno %d", level, name, errno);
	cr_assert_eq(length, sizeof(value));
	return value;
}

/* An address at which nobody listens. */
static void nobody(struct sockaddr_in *at)
{
	int fd = rs_listener(at);

	cr_assert_eq(rclose(fd), 0);
}

Test(cm_rsocket, a_number_is_a_descriptor_of_the_process_until_it_is_closed)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, IPPROTO_TCP), other;

	cr_assert_geq(fd, 0);
	cr_assert_geq(fcntl(fd, F_GETFD), 0);
	other = dup(fd);
	cr_assert(other >= 0 && other != fd);
	cr_assert(rread(other, &other, 1) == -1 && errno == EBADF, "a duplicate is no rsocket");
	close(other);
	cr_assert_eq(rclose(fd), 0);
	cr_assert(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
	cr_assert(rclose(fd) == -1 && errno == EBADF);
}

Test(cm_rsocket, other_sockets_are_left_to_the_kernel)
{
	cr_assert(rsocket(AF_UNIX, SOCK_STREAM, 0) == -1 && errno == EAFNOSUPPORT);
	cr_assert(rsocket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) == -1 && errno == EOPNOTSUPP);
	cr_assert(rsocket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0) == -1 && errno == EOPNOTSUPP);
	cr_assert(rsocket(AF_INET, SOCK_RAW, 0) == -1 && errno == EOPNOTSUPP);
	cr_assert(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP) == -1 && errno == EPROTONOSUPPORT);
}

Test(cm_rsocket, both_ends_have_names)
{
	struct sockaddr_in listens, asks, at;
	socklen_t length = sizeof(at);
	struct rs_pair p;

	rs_pair_open(&p, NULL);
	cr_assert_eq(rgetsockname(p.listens, (struct sockaddr *)&listens, &length), 0);
	cr_assert_eq(rgetsockname(p.asks, (struct sockaddr *)&asks, &length), 0);
	cr_assert_eq(rgetpeername(p.asks, (struct sockaddr *)&at, &length), 0);
	cr_assert(at.sin_port == listens.sin_port && at.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	cr_assert_eq(rgetpeername(p.answers, (struct sockaddr *)&at, &length), 0);
	cr_assert(at.sin_port == asks.sin_port && at.sin_addr.s_addr == asks.sin_addr.s_addr);
	cr_assert(rgetpeername(p.listens, (struct sockaddr *)&at, &length) == -1 && errno == ENOTCONN);
	length = 0;
	cr_assert(rgetsockname(p.asks, NULL, &length) == 0 && length == sizeof(at));
	rs_pair_close(&p);
}

Test(cm_rsocket, a_connection_is_refused_where_nobody_listens)
{
	struct sockaddr_in at;
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	char byte;

	nobody(&at);
	cr_assert(rconnect(fd, (struct sockaddr *)&at, sizeof(at)) == -1 && errno == ECONNREFUSED, "errno %d", errno);
	cr_assert(rrecv(fd, &byte, 1, 0) == -1 && errno == ENOTCONN);
	cr_assert_eq(rclose(fd), 0);
}

Test(cm_rsocket, one_that_does_not_wait_is_told_of_its_refusal)
{
	struct sockaddr_in at;
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	nobody(&at);
	cr_assert_eq(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(rfcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	cr_assert(rconnect(fd, (struct sockaddr *)&at, sizeof(at)) == -1 && errno == EINPROGRESS);
	cr_assert_eq(rs_poll_for(fd, POLLOUT), POLLOUT | POLLERR | POLLHUP);
	cr_assert_eq(int_option(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	cr_assert_eq(int_option(fd, SOL_SOCKET, SO_ERROR), 0);
	cr_assert_eq(rclose(fd), 0);
}

Test(cm_rsocket, a_call_comes_in_its_turn)
{
	struct sockaddr_in at;
	struct sockaddr_in6 at6 = { .sin6_family = AF_INET6 };
	int listens = rs_listener(&at), fd = rsocket(AF_INET, SOCK_STREAM, 0);
	char byte;

	cr_assert(rsend(fd, "", 1, 0) == -1 && errno == ENOTCONN);
	cr_assert(rrecv(listens, &byte, 1, 0) == -1 && errno == ENOTCONN);
	cr_assert(raccept(fd, NULL, NULL) == -1 && errno == EINVAL);
	cr_assert(rshutdown(fd, SHUT_WR) == -1 && errno == ENOTCONN);
	cr_assert(rbind(listens, (struct sockaddr *)&at, sizeof(at)) == -1 && errno == EINVAL);
	cr_assert(rbind(fd, (struct sockaddr *)&at, sizeof(at)) == -1 && errno == EADDRINUSE);
	cr_assert(rbind(fd, (struct sockaddr *)&at, 4) == -1 && errno == EINVAL);
	cr_assert(rconnect(fd, (struct sockaddr *)&at6, sizeof(at6)) == -1 && errno == EAFNOSUPPORT);
	cr_assert(rfcntl(fd, F_DUPFD, 0L) == -1 && errno == EOPNOTSUPP);
	cr_assert_eq(rfcntl(listens, F_SETFL, O_NONBLOCK), 0);
	cr_assert(raccept(listens, NULL, NULL) == -1 && errno == EAGAIN);
	cr_assert(!rclose(fd) && !rclose(listens));
}

Test(cm_rsocket, a_connected_one_says_so_once)
{
	struct sockaddr_in at;
	socklen_t length = sizeof(at);
	struct rs_pair p;

	rs_pair_open(&p, NULL);
	cr_assert_eq(rgetpeername(p.asks, (struct sockaddr *)&at, &length), 0);
	cr_assert_eq(rconnect(p.asks, (struct sockaddr *)&at, length), 0);
	cr_assert(rconnect(p.asks, (struct sockaddr *)&at, length) == -1 && errno == EISCONN);
	cr_assert(rsendto(p.asks, "", 1, 0, (struct sockaddr *)&at, length) == -1 && errno == EISCONN);
	rs_pair_close(&p);
}

Test(cm_rsocket, options_are_kept_and_those_of_queues_are_bounded)
{
	const int flags[][2] = { { SOL_SOCKET, SO_KEEPALIVE }, { SOL_SOCKET, SO_OOBINLINE },  { SOL_SOCKET, SO_REUSEADDR },
				 { IPPROTO_TCP, TCP_NODELAY }, { IPPROTO_TCP, TCP_KEEPIDLE }, { SOL_RDMA, RDMA_IOMAPSIZE },
				 { IPPROTO_IPV6, IPV6_V6ONLY } };
	int fd = rsocket(AF_INET6, SOCK_STREAM, 0), value = 1;
	struct linger linger = { .l_onoff = 1, .l_linger = 3 }, got;
	socklen_t length = sizeof(got);

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		rs_set(fd, flags[i][0], flags[i][1], 1);
		cr_assert_eq(int_option(fd, flags[i][0], flags[i][1]), 1);
	}
	rs_set(fd, SOL_SOCKET, SO_RCVBUF, 100000);
	cr_assert_eq(int_option(fd, SOL_SOCKET, SO_RCVBUF), 100000);
	rs_set(fd, SOL_SOCKET, SO_SNDBUF, 1);
	cr_assert_gt(int_option(fd, SOL_SOCKET, SO_SNDBUF), 1);
	rs_set(fd, SOL_RDMA, RDMA_SQSIZE, 17);
	cr_assert_eq(int_option(fd, SOL_RDMA, RDMA_SQSIZE), 17);
	rs_set(fd, SOL_RDMA, RDMA_RQSIZE, INT32_MAX);
	cr_assert_lt(int_option(fd, SOL_RDMA, RDMA_RQSIZE), INT32_MAX);
	rs_set(fd, SOL_RDMA, RDMA_INLINE, 0);
	cr_assert_eq(int_option(fd, SOL_RDMA, RDMA_INLINE), 0);
	cr_assert_eq(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	cr_assert_eq(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &got, &length), 0);
	cr_assert(got.l_onoff == 1 && got.l_linger == 3);
	cr_assert(rsetsockopt(fd, SOL_SOCKET, SO_BROADCAST, &value, sizeof(value)) == -1 && errno == ENOPROTOOPT);
	cr_assert(rsetsockopt(fd, SOL_RDMA, RDMA_SQSIZE, &value, 1) == -1 && errno == EINVAL);
	cr_assert(rsetsockopt(fd, SOL_RDMA, RDMA_ROUTE, &value, sizeof(value)) == -1 && errno == EINVAL);
	cr_assert_eq(rclose(fd), 0);
}

Test(cm_rsocket, an_accepted_one_has_the_options_of_its_listener)
{
	const int options[][3] = { { SOL_RDMA, RDMA_SQSIZE, 21 }, { IPPROTO_TCP, TCP_NODELAY, 1 }, { -1, 0, 0 } };
	struct ibv_path_data path;
	socklen_t length = sizeof(path);
	struct rs_pair p;
	int value = 5;

	rs_pair_open(&p, options);
	cr_assert_eq(int_option(p.answers, SOL_RDMA, RDMA_SQSIZE), 21);
	cr_assert_eq(int_option(p.answers, IPPROTO_TCP, TCP_NODELAY), 1);
	cr_assert(rsetsockopt(p.answers, SOL_RDMA, RDMA_SQSIZE, &value, sizeof(value)) == -1 && errno == EINVAL, "it is late");
	cr_assert_eq(int_option(p.answers, IPPROTO_TCP, TCP_MAXSEG), 1024);
	cr_assert_eq(rgetsockopt(p.asks, SOL_RDMA, RDMA_ROUTE, &path, &length), 0);
	cr_assert_eq(length, sizeof(path));
	cr_assert(path.flags & IBV_PATH_FLAG_PRIMARY);
	cr_assert_eq(path.path.dgid.raw[15], 1, "::ffff:127.0.0.1");
	rs_pair_close(&p);
}

Test(cm_rsocket, ipv6_meets_as_well)
{
	struct sockaddr_in6 own, at;
	socklen_t length = sizeof(at);
	int listens, asks, answers;

	if (!meeting_own_ipv6(&own))
		cr_skip_test("no interface has an address of IPv6");
	listens = rsocket(AF_INET6, SOCK_STREAM, 0);
	asks = rsocket(AF_INET6, SOCK_STREAM, 0);
	cr_assert_eq(rlisten(listens, 1), 0, "at any address, and any number");
	cr_assert_eq(rgetsockname(listens, (struct sockaddr *)&at, &length), 0);
	cr_assert(length == sizeof(at) && at.sin6_port);
	own.sin6_port = at.sin6_port;
	rfcntl(asks, F_SETFL, O_NONBLOCK);
	cr_assert(rconnect(asks, (struct sockaddr *)&own, sizeof(own)) == -1 && errno == EINPROGRESS);
	answers = raccept(listens, (struct sockaddr *)&at, &length);
	cr_assert(answers >= 0 && at.sin6_family == AF_INET6 && !memcmp(&at.sin6_addr, &own.sin6_addr, 16));
	rs_poll_for(asks, POLLOUT);
	rs_send_bytes(answers, 0, 1000, 100);
	rfcntl(asks, F_SETFL, 0);
	rs_expect_bytes(asks, 0, 1000, 300);
	cr_assert(!rclose(asks) && !rclose(answers) && !rclose(listens));
}

static void *close_it(void *fd)
{
	cr_assert_eq(rclose(*(int *)fd), 0);
	return NULL;
}

Test(cm_rsocket, a_reader_hears_that_its_own_rsocket_is_closed)
{
	pthread_t thread;
	struct rs_pair p;
	char byte;
	ssize_t n;

	rs_pair_open(&p, NULL);
	pthread_create(&thread, NULL, close_it, &p.asks);
	n = rrecv(p.asks, &byte, 1, 0);
	cr_assert(n == 0 || (n == -1 && errno == EBADF), "%zd errno %d", n, errno);
	pthread_join(thread, NULL);
	cr_assert(!rclose(p.answers) && !rclose(p.listens));
}

/* In a process of its own: sends, says so, and waits to be killed. */
static void be_killed(const struct sockaddr_in *at, int said)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	if (!rconnect(fd, (const struct sockaddr *)at, sizeof(*at)) && rsend(fd, "last", 4, 0) == 4 && write(said, "", 1) == 1)
		pause();
	_exit(1);
}

Test(cm_rsocket, a_peer_that_is_killed_ends_the_stream)
{
	struct sockaddr_in at;
	int pipes[2], address[2], listens, answers;
	char bytes[8];
	pid_t child;

	cr_assert(!pipe(pipes) && !pipe(address));
	child = fork();
	if (!child) {
		cr_assert_eq(read(address[0], &at, sizeof(at)), (ssize_t)sizeof(at));
		be_killed(&at, pipes[1]);
	}
	listens = rs_listener(&at);
	cr_assert_eq(write(address[1], &at, sizeof(at)), (ssize_t)sizeof(at));
	answers = raccept(listens, NULL, NULL);
	cr_assert_geq(answers, 0);
	cr_assert_eq(read(pipes[0], bytes, 1), 1);
	cr_assert_eq(rrecv(answers, bytes, 4, MSG_WAITALL), 4);
	kill(child, SIGKILL);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert_eq(rrecv(answers, bytes, 1, 0), 0);
	cr_assert(rsend(answers, bytes, 1, 0) == -1 && errno == EPIPE, "errno %d", errno);
	cr_assert(rs_poll_for(answers, POLLIN) & POLLHUP);
	cr_assert(!rclose(answers) && !rclose(listens));
}

Test(cm_rsocket, a_child_of_a_fork_has_none)
{
	struct rs_pair p;
	int status;
	pid_t child;

	rs_pair_open(&p, NULL);
	child = fork();
	if (!child)
		_exit(rsend(p.asks, "", 1, 0) == -1 && errno == EBADF ? 7 : 1);
	cr_assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
	rs_send_bytes(p.asks, 0, 10, 10);
	rs_expect_bytes(p.answers, 0, 10, 10);
	rs_pair_close(&p);
}
