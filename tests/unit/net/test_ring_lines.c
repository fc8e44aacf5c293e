/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ring_lines.c - lines of neighbours whose bytes go by a ring and by a socket (tcp_shm_ring.c): part of test_local.c's
 * program. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "pairs.h"

enum { PAGE = 4096, MUCH = 4 << 20 };

/* What the peer does before the next receive from a socket. */
static void (*meanwhile)(void);
static struct conn *hearer, *peer;

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

/* As libc's it takes six arguments, whether there are as many or not. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	void (*act)(void) = meanwhile;

	if (number == SYS_recvfrom && act) {
		meanwhile = NULL;
		act();
	}
	return __real_syscall(number, a, b, c, d, e, f);
}

TestSuite(rings, .init = open_link, .fini = close_link);

static bool in_socket(const struct conn *conn)
{
	int bytes;

	cr_assert_eq(ioctl(conn->line->fd, FIONREAD, &bytes), 0);
	return bytes;
}

Test(rings, take_what_is_sent_to_who_looks)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	send_text(two, "by the ring");
	send_text(one, "and back");
	cr_assert_not(in_socket(one) || in_socket(two));
	cr_assert_eq(tcp_link.poll(tcp), 2);
	expect_text(one, "by the ring");
	expect_text(two, "and back");
	cr_assert_eq(tcp_link.poll(tcp), 0);
	tcp_link.set_polling(tcp, false);
	send_text(two, "by the socket");
	cr_assert(in_socket(one));
	expect_text(one, "by the socket");
}

/* Of bytes that will wake no thread. */
Test(rings, are_emptied_by_who_looks_no_more)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	send_text(two, "put before");
	tcp_link.set_polling(tcp, false);
	cr_assert_eq(one->got, 10);
}

Test(rings, keep_the_order)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	for (int i = 0; i < 3; i++) {
		one->deaf = true;
		send_text(two, "a ring, ");
		tcp_link.set_polling(tcp, false);
		send_text(two, "a socket, ");
		tcp_link.set_polling(tcp, true);
		send_text(two, "a ring");
		one->deaf = false;
		while (one->got < 24)
			tcp_link.poll(tcp);
		expect_text(one, "a ring, a socket, a ring");
	}
}

/* A receive with more room than is to come by the socket before the ring goes on. */
Test(rings, end_a_receive_by_the_socket)
{
	struct conn *one, *two;
	char a[4] = "", b[40] = "";
	struct iovec room[] = { { a, 3 }, { b, sizeof(b) } };

	pair_with_shm(&one, &two);
	one->deaf = true;
	tcp_link.set_polling(tcp, false);
	send_text(two, "socket");
	tcp_link.set_polling(tcp, true);
	send_text(two, "ring");
	cr_assert_eq(tcp_link.recv(one->line, room, 2), 6);
	cr_assert(!memcmp(a, "soc", 4) && !strcmp(b, "ket"));
	cr_assert_eq(tcp_link.recv(one->line, room, 2), 4);
}

static ssize_t send_zeros(struct conn *conn, size_t length)
{
	static char zeros[MUCH];

	return tcp_link.send(conn->line, &(struct iovec){ zeros, length }, 1);
}

/* And so does what follows, until the socket has taken all that it was to take. */
Test(rings, leave_to_the_socket_what_they_have_no_room_for)
{
	struct conn *one, *two;
	size_t sent, left;

	pair_with_shm(&one, &two);
	sent = (size_t)send_zeros(two, MUCH);
	cr_assert(sent < RING_BYTES && !in_socket(one));
	left = MUCH - sent;
	sent += (size_t)send_zeros(two, left);
	cr_assert(sent < MUCH && in_socket(one));
	left = MUCH - sent;
	for (ssize_t n; left; left -= n > 0 ? (size_t)n : 0) {
		n = send_zeros(two, left);
		if (n < 0)
			sent -= drain(one, sent);
		else
			sent += (size_t)n;
	}
	drain(one, sent);
	send_text(two, "by the ring");
	cr_assert_not(in_socket(one));
	tcp_link.poll(tcp);
	expect_text(one, "by the ring");
}

/* The device hears a line again while nobody polls, and then receives as much as it likes: ticks go on until nothing is left. */
Test(rings, of_the_deaf_are_read_later)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	send_zeros(two, CONN_ROOM + 1);
	tcp_link.set_readable(one->line, false);
	tcp_link.set_polling(tcp, false);
	cr_assert(!one->got && !kicks);
	cr_assert_not(tcp_read_on(tcp) || tcp_tick(tcp));
	tcp_link.set_readable(one->line, true);
	cr_assert_eq(kicks, 1);
	cr_assert(tcp_read_on(tcp));
	cr_assert_eq(one->got, CONN_ROOM);
	cr_assert(tcp_tick(tcp));
	one->got = 0;
	cr_assert(tcp_read_on(tcp));
	cr_assert_eq(one->got, 1);
	cr_assert_not(tcp_read_on(tcp) || tcp_tick(tcp));
}

static void send_three(struct conn *conn)
{
	for (int i = 0; i < 3; i++)
		cr_assert_eq(send_zeros(conn, CONN_ROOM), CONN_ROOM);
}

/* The device does not receive all that there is at once. */
Test(rings, of_the_deaf_are_read_at_once)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	one->echo = true;
	tcp_link.set_readable(one->line, false);
	send_three(two);
	tcp_link.set_polling(tcp, false);
	tcp_link.set_readable(one->line, true);
	cr_assert(tcp_read_on(tcp));
	cr_assert_not(shm_ring_has(&one->line->ring) || tcp_tick(tcp));
}

Test(rings, of_the_deaf_are_found_by_polls)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	tcp_link.set_readable(one->line, false);
	send_text(two, "unheard");
	tcp_link.poll(tcp);
	cr_assert_eq(one->got, 0);
	cr_assert_not(tcp_read_on(tcp), "as long as there are polls");
	tcp_link.set_readable(one->line, true);
	tcp_link.poll(tcp);
	cr_assert_eq(one->got, 7);
}

/* Where polls ask the sockets, as something else is to be told by these. */
Test(rings, are_read_when_boards_do_not_tell_all)
{
	struct conn *one, *two, *three, *four;

	pair_with_shm(&one, &two);
	pair_with_shm(&three, &four);
	tcp_link.set_readable(three->line, false);
	send_text(two, "x");
	tcp_link.poll(tcp);
	cr_assert_eq(one->got, 1);
}

Test(rings, come_before_the_end)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	send_text(two, "last words");
	tcp_link.close(two->line);
	for (int i = 0; i < 2 * MOST_POLLS && !one->eof; i++)
		tcp_link.poll(tcp);
	cr_assert(one->eof && one->got == 10 && !one->error);
}

static void say_and_go(void)
{
	send_text(peer, "last words");
	tcp_link.close(peer->line);
}

/* A peer puts its last words there, and goes, after its ring was looked at and before the socket is. */
Test(rings, are_looked_at_after_the_end)
{
	pair_with_shm(&hearer, &peer);
	meanwhile = say_and_go;
	tcp->polls_since_epoll = 0;
	conn_readable(hearer);
	cr_assert_not(meanwhile || hearer->eof);
	for (int i = 0; i < 2 * MOST_POLLS && !hearer->eof; i++)
		tcp_link.poll(tcp);
	cr_assert(hearer->eof && hearer->got == 10 && !hearer->error);
}

/* A send that finds the peer gone is no end while there is something to be read. */
Test(rings, are_read_before_a_stream_is_broken)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	send_text(two, "last words");
	tcp_link.close(two->line);
	cr_assert_gt(send_zeros(one, MUCH), 0, "nobody knows yet");
	cr_assert_eq(send_zeros(one, MUCH), -EAGAIN);
	tcp_link.set_polling(tcp, false);
	cr_assert_eq(one->got, 10);
	cr_assert_eq(send_zeros(one, 1), -EPIPE);
}

static uint8_t *hole(void)
{
	uint8_t *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	cr_assert_eq(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
	return memory;
}

/* As the kernel: what can be copied up to there is. */
Test(rings, send_up_to_what_is_no_memory)
{
	struct conn *one, *two;
	uint8_t *memory = hole();

	pair_with_shm(&one, &two);
	cr_assert_eq(tcp_link.send(two->line, &(struct iovec){ memory + PAGE - 3, 6 }, 1), 3);
	cr_assert_eq(tcp_link.send(two->line, &(struct iovec){ memory + PAGE, 6 }, 1), -EFAULT);
	tcp_link.poll(tcp);
	cr_assert_eq(one->got, 3);
}

Test(rings, receive_up_to_what_is_no_memory)
{
	struct conn *one, *two;
	uint8_t *memory = hole();
	struct iovec iov = { memory + PAGE - 3, 6 }, behind = { memory + PAGE, 6 };

	pair_with_shm(&one, &two);
	one->deaf = true;
	send_zeros(two, 6);
	cr_assert_not(in_socket(one));
	cr_assert_eq(tcp_link.recv(one->line, &iov, 1), 3);
	cr_assert_eq(tcp_link.recv(one->line, &behind, 1), -EFAULT);
}

static void expect_broken(struct conn *conn)
{
	for (int i = 0; i < 2 * MOST_POLLS && !conn->eof; i++)
		tcp_link.poll(tcp);
	cr_assert(conn->eof);
	cr_assert_eq(conn->error, EPROTO);
}

Test(rings, know_of_all_that_comes_by_the_socket)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	cr_assert_eq(write(two->line->fd, "unsaid", 6), 6);
	tcp->polls_since_epoll = 1;
	conn_readable(one);
	cr_assert_not(one->eof, "found by a poll of the sockets alone");
	expect_broken(one);
}

Test(rings, know_of_an_urgent_byte)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	cr_assert_eq(send(two->line->fd, "x", 1, MSG_OOB), 1);
	expect_broken(one);
}

/* A peer that reads no more, and says that there is something to be read from it: a sender would try for ever. */
Test(rings, are_not_waited_for_by_who_cannot_send)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	atomic_fetch_add(&two->line->ring.own->by_socket, 1000);
	tcp_link.set_polling(tcp, false);
	cr_assert_eq(shutdown(two->line->fd, SHUT_RD), 0);
	cr_assert_eq(send_zeros(one, 1), -EPIPE);
}

Test(rings, are_asked_in_vain)
{
	struct conn *one, *two;
	unsigned int received;

	pair_with_shm(&one, &two);
	tcp->polls_since_epoll = 0;
	received = tcp->received;
	conn_readable(one);
	cr_assert(!one->eof && tcp->received == received);
}

static int fed;

/* As much as is received, and a device that has room for it. */
static void feed(void)
{
	char some[64] = "";

	cr_assert_eq(write(peer->line->fd, some, sizeof(some)), (ssize_t)sizeof(some));
	hearer->got = 0;
	fed++;
	meanwhile = feed;
}

/* Of a record that is to come after more by the socket than will ever be there. */
Test(rings, keep_nobody_who_looks_no_more)
{
	uint64_t record[] = { (uint64_t)1 << 40, 1 };

	pair_with_shm(&hearer, &peer);
	memcpy(peer->line->ring.out, record, sizeof(record));
	atomic_fetch_add(&peer->line->ring.own->put, 64);
	meanwhile = feed;
	tcp_link.set_polling(tcp, false);
	cr_assert(fed > 1 && fed <= SLICE_RINGS, "%d receives", fed);
	cr_assert_eq(kicks, 1, "ticks read on");
	cr_assert(tcp_tick(tcp));
}

Test(rings, of_a_peer_that_counts_wrong)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	atomic_fetch_add(&two->line->ring.own->put, 8);
	expect_broken(one);
}
