/* SPDX-License-Identifier: BSD-2-Clause */
/* rstreams.c - the stream of rsockets: sizes, ends, readiness, and direct placement. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/cm/rs_pair.h"

int repoll_create(int flags);
int repoll_ctl(int set, int op, int fd, struct epoll_event *event);
int repoll_wait(int set, struct epoll_event *events, int most, int timeout_ms);

enum { BIG = 3000017, ODD = 54 * 3000 };

/* The smallest that there are. */
static const int narrow[][3] = { { SOL_SOCKET, SO_RCVBUF, 256 }, { SOL_SOCKET, SO_SNDBUF, 256 }, { SOL_RDMA, RDMA_RQSIZE, 4 },
				 { SOL_RDMA, RDMA_SQSIZE, 4 },   { SOL_RDMA, RDMA_INLINE, 16 },  { -1, 0, 0 } };

static void *send_big(void *fd)
{
	rs_send_bytes(*(int *)fd, 0, BIG, 65537);
	return NULL;
}

static void *send_odd(void *fd)
{
	size_t at = 0;

	for (size_t part = 1; at < ODD; part += 13, at += 3000)
		rs_send_bytes(*(int *)fd, at, 3000, part);
	return NULL;
}

/* Both send at a time, and each receives in parts of another size. */
static void both_ways(const int (*options)[3], void *(*sends)(void *fd), size_t length, size_t part, size_t other)
{
	pthread_t threads[2];
	struct rs_pair p;

	rs_pair_open(&p, options);
	pthread_create(&threads[0], NULL, sends, &p.asks);
	pthread_create(&threads[1], NULL, sends, &p.answers);
	rs_expect_bytes(p.answers, 0, length, part);
	rs_expect_bytes(p.asks, 0, length, other);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	rs_pair_close(&p);
}

Test(cm_rstream, much_goes_both_ways_at_a_time)
{
	both_ways(NULL, send_big, BIG, 4999, 131073);
}

/* Whatever is asked for: the most that there is. */
static const int wide[][3] = {
	{ SOL_RDMA, RDMA_RQSIZE, 1 << 30 }, { SOL_RDMA, RDMA_SQSIZE, 1 << 30 }, { SOL_RDMA, RDMA_INLINE, 1 << 30 }, { -1, 0, 0 }
};

Test(cm_rstream, odd_sizes_go_through_wide_queues_both_ways)
{
	both_ways(wide, send_odd, ODD, 997, 70000);
}

Test(cm_rstream, odd_sizes_go_through_narrow_queues_both_ways)
{
	both_ways(narrow, send_odd, ODD, 37, 1001);
}

static void *read_one(void *fd)
{
	char byte;

	cr_assert_eq(rrecv(*(int *)fd, &byte, 1, 0), 1);
	return NULL;
}

static void *poll_once(void *fd)
{
	rs_poll_for(*(int *)fd, POLLIN);
	return NULL;
}

Test(cm_rstream, each_call_that_sleeps_on_one_rsocket_is_woken)
{
	enum { READERS = 4, TURNS = 50 };
	pthread_t readers[READERS], poller;
	struct rs_pair p;

	rs_pair_open(&p, NULL);
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < READERS; i++)
			pthread_create(&readers[i], NULL, read_one, &p.answers);
		pthread_create(&poller, NULL, poll_once, &p.answers);
		for (int i = 0; i < READERS; i++)
			rs_send_bytes(p.asks, 0, 1, 1);
		for (int i = 0; i < READERS; i++)
			pthread_join(readers[i], NULL);
		rs_send_bytes(p.asks, 0, 1, 1);
		pthread_join(poller, NULL);
		rs_expect_bytes(p.answers, 0, 1, 1);
	}
	rs_pair_close(&p);
}

Test(cm_rstream, lists_of_buffers_are_sent_and_received_in_order)
{
	char out[3][5] = { "abcd", "", "efgh" }, in[2][6] = { "", "" };
	const struct iovec from[3] = { { out[0], 4 }, { out[1], 0 }, { out[2], 4 } }, to[2] = { { in[0], 5 }, { in[1], 5 } };
	struct msghdr sends = { .msg_iov = (struct iovec *)(uintptr_t)from, .msg_iovlen = 3 };
	struct msghdr receives = { .msg_iov = (struct iovec *)(uintptr_t)to, .msg_iovlen = 2 };
	struct rs_pair p;

	rs_pair_open(&p, NULL);
	cr_assert_eq(rwritev(p.asks, from, 3), 8);
	cr_assert_eq(rrecv(p.answers, in[0], 5, MSG_PEEK | MSG_WAITALL), 5);
	cr_assert_str_eq(in[0], "abcde");
	cr_assert_eq(rreadv(p.answers, to, 2), 8);
	cr_assert_str_eq(in[1], "fgh");
	cr_assert_eq(rsendmsg(p.answers, &sends, 0), 8);
	cr_assert_eq(rrecvmsg(p.asks, &receives, 0), 8);
	cr_assert_eq(rsend(p.asks, out, 0, 0), 0);
	cr_assert(rrecv(p.asks, in[0], 1, MSG_OOB) == -1 && errno == EOPNOTSUPP);
	cr_assert(rwritev(p.asks, from, -1) == -1 && errno == EINVAL);
	rs_pair_close(&p);
}

Test(cm_rstream, one_half_may_be_closed)
{
	struct rs_pair p;
	char byte;

	rs_pair_open(&p, NULL);
	rs_send_bytes(p.asks, 0, 5000, 5000);
	cr_assert_eq(rshutdown(p.asks, SHUT_WR), 0);
	cr_assert(rsend(p.asks, "", 1, 0) == -1 && errno == EPIPE);
	rs_expect_bytes(p.answers, 0, 5000, 5000);
	cr_assert_eq(rrecv(p.answers, &byte, 1, 0), 0);
	cr_assert_eq(rrecv(p.answers, &byte, 1, 0), 0, "again");
	cr_assert(rs_poll_for(p.answers, POLLIN | POLLRDHUP) & POLLRDHUP);
	rs_send_bytes(p.answers, 0, 100000, 33333);
	cr_assert_eq(rclose(p.answers), 0);
	rs_expect_bytes(p.asks, 0, 100000, 7777);
	cr_assert_eq(rrecv(p.asks, &byte, 1, 0), 0);
	cr_assert(!rclose(p.asks) && !rclose(p.listens));
}

Test(cm_rstream, one_that_reads_no_more_cannot_be_sent_to)
{
	struct rs_pair p;
	char byte;

	rs_pair_open(&p, NULL);
	cr_assert_eq(rshutdown(p.asks, SHUT_RDWR), 0);
	cr_assert_eq(rrecv(p.answers, &byte, 1, 0), 0);
	cr_assert(rsend(p.answers, "", 1, 0) == -1 && errno == EPIPE);
	cr_assert_eq(rrecv(p.asks, &byte, 1, 0), 0);
	rs_pair_close(&p);
}

Test(cm_rstream, a_full_peer_is_waited_for_or_not)
{
	static uint8_t bytes[100000];
	struct rs_pair p;
	size_t sent = 0;
	ssize_t n;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = rs_byte(i);
	rs_pair_open(&p, narrow);
	cr_assert_eq(rfcntl(p.asks, F_SETFL, O_NONBLOCK), 0);
	while ((n = rsend(p.asks, bytes + sent, sizeof(bytes) - sent, 0)) > 0)
		sent += (size_t)n;
	cr_assert(errno == EAGAIN && sent > 0 && sent <= 256, "%zu errno %d", sent, errno);
	cr_assert(rrecv(p.asks, bytes, 1, 0) == -1 && errno == EAGAIN);
	rs_expect_bytes(p.answers, 0, sent, 1);
	cr_assert_eq(rs_poll_for(p.asks, POLLOUT | POLLIN), POLLOUT);
	cr_assert_gt(rsend(p.asks, bytes + sent, 10, 0), 0);
	cr_assert(rrecv(p.asks, bytes, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	rs_pair_close(&p);
}

Test(cm_rstream, rpoll_sees_rsockets_and_others)
{
	struct pollfd fds[4] = {
		{ .events = POLLIN }, { .events = POLLIN }, { .fd = -1, .events = POLLIN }, { .events = POLLOUT }
	};
	struct timeval at_once = { 0 };
	struct rs_pair p;
	fd_set reads, writes;
	int pipes[2];

	cr_assert(!pipe(pipes));
	rs_pair_open(&p, NULL);
	fds[0].fd = pipes[0];
	fds[1].fd = p.answers;
	fds[3].fd = p.listens;
	cr_assert_eq(rpoll(fds, 4, 0), 0);
	cr_assert_eq(rpoll(fds, 4, 20), 0);
	cr_assert_eq(write(pipes[1], "", 1), 1);
	cr_assert(rpoll(fds, 4, RS_GUARD_MS) == 1 && fds[0].revents == POLLIN && !fds[1].revents);
	rs_send_bytes(p.asks, 0, 1, 1);
	rs_poll_for(p.answers, POLLIN);
	cr_assert(rpoll(fds, 4, RS_GUARD_MS) == 2 && fds[0].revents == POLLIN && fds[1].revents == POLLIN);
	FD_ZERO(&reads);
	FD_ZERO(&writes);
	FD_SET(p.answers, &reads);
	FD_SET(p.asks, &reads);
	FD_SET(p.asks, &writes);
	cr_assert_eq(rselect(p.asks + p.answers, &reads, &writes, NULL, &at_once), 2);
	cr_assert(FD_ISSET(p.answers, &reads) && !FD_ISSET(p.asks, &reads) && FD_ISSET(p.asks, &writes));
	rs_pair_close(&p);
	cr_assert(rpoll(&fds[1], 1, 0) == 1 && fds[1].revents == POLLNVAL);
	close(pipes[0]);
	close(pipes[1]);
}

Test(cm_rstream, a_set_is_kept_for_repoll)
{
	struct epoll_event wants = { .events = EPOLLIN, .data.u64 = 41 }, got[4];
	struct rs_pair p;
	int set = repoll_create(0);

	rs_pair_open(&p, NULL);
	cr_assert_geq(set, 0);
	cr_assert_eq(repoll_ctl(set, EPOLL_CTL_ADD, p.answers, &wants), 0);
	cr_assert(repoll_ctl(set, EPOLL_CTL_ADD, p.answers, &wants) == -1 && errno == EEXIST);
	cr_assert(repoll_ctl(set, EPOLL_CTL_DEL, p.asks, NULL) == -1 && errno == ENOENT);
	cr_assert_eq(repoll_wait(set, got, 4, 0), 0);
	rs_send_bytes(p.asks, 0, 1, 1);
	cr_assert(repoll_wait(set, got, 4, RS_GUARD_MS) == 1 && got[0].events == EPOLLIN && got[0].data.u64 == 41);
	wants.events = EPOLLIN | EPOLLONESHOT;
	cr_assert_eq(repoll_ctl(set, EPOLL_CTL_MOD, p.answers, &wants), 0);
	cr_assert_eq(repoll_wait(set, got, 4, RS_GUARD_MS), 1);
	cr_assert_eq(repoll_wait(set, got, 4, 0), 0);
	wants.events = EPOLLIN | EPOLLET;
	cr_assert(repoll_ctl(set, EPOLL_CTL_MOD, p.answers, &wants) == -1 && errno == EINVAL);
	cr_assert_eq(repoll_ctl(set, EPOLL_CTL_DEL, p.answers, NULL), 0);
	cr_assert(repoll_wait(p.asks, got, 4, 0) == -1 && errno == EBADF);
	rs_pair_close(&p);
	close(set);
}

static const int mappable[][3] = { { SOL_RDMA, RDMA_IOMAPSIZE, 2 }, { -1, 0, 0 } };

Test(cm_rstream, mapped_memory_is_written_before_what_follows_is_received)
{
	static uint8_t memory[300000], from[300000];
	struct rs_pair p;
	off_t at;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = rs_byte(i);
	rs_pair_open(&p, mappable);
	cr_assert(riowrite(p.asks, from, 1, 0, 0) == (size_t)-1 && errno == EINVAL, "nothing is mapped");
	cr_assert_eq(riomap(p.answers, memory, 1000, PROT_WRITE, 0, 4096), 4096);
	at = riomap(p.answers, memory + 1000, sizeof(memory) - 1000, PROT_WRITE, 0, -1);
	cr_assert_eq(at, 5096);
	cr_assert(riomap(p.answers, memory, 10, PROT_WRITE, 0, -1) == -1 && errno == ENOMEM);
	cr_assert_eq(riomap(p.answers, from, 10, PROT_NONE, 0, 0), 0);
	rs_send_bytes(p.answers, 0, 1, 1);
	rs_expect_bytes(p.asks, 0, 1, 1);
	cr_assert_eq(riowrite(p.asks, from, sizeof(from), 4096, 0), sizeof(from), "errno %d", errno);
	rs_send_bytes(p.asks, 0, 1, 1);
	rs_expect_bytes(p.answers, 0, 1, 1);
	cr_assert_arr_eq(memory, from, sizeof(from));
	cr_assert_eq(riounmap(p.answers, memory, 1000), 0);
	cr_assert(riounmap(p.answers, memory, 1000) == -1 && errno == EINVAL);
	rs_send_bytes(p.answers, 0, 1, 1);
	rs_expect_bytes(p.asks, 0, 1, 1);
	cr_assert(riowrite(p.asks, from, 1, 4096, 0) == (size_t)-1 && errno == EINVAL);
	cr_assert_eq(riowrite(p.asks, from, 1, 5096, 0), 1);
	rs_pair_close(&p);
}

Test(cm_rstream, memory_is_mapped_where_it_was_asked_for)
{
	static uint8_t memory[64];
	struct rs_pair p;

	rs_pair_open(&p, NULL);
	cr_assert(riomap(p.asks, memory, 64, PROT_WRITE, 0, 0) == -1 && errno == ENOMEM, "RDMA_IOMAPSIZE is 0");
	cr_assert(riomap(p.asks, memory, 64, PROT_EXEC, 0, 0) == -1 && errno == EINVAL);
	cr_assert(riomap(p.listens, memory, 64, PROT_WRITE, 0, 0) == -1 && errno == ENOTCONN);
	rs_pair_close(&p);
	rs_pair_open(&p, mappable);
	cr_assert_eq(riomap(p.asks, memory, 32, PROT_WRITE, 0, 100), 100);
	cr_assert(riomap(p.asks, memory + 32, 32, PROT_WRITE, 0, 131) == -1 && errno == EINVAL);
	cr_assert_eq(riomap(p.asks, memory + 32, 32, PROT_WRITE, 0, 132), 132);
	rs_pair_close(&p);
}
