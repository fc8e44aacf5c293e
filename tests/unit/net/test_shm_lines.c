/* SPDX-License-Identifier: BSD-2-Clause */
/* test_shm_lines.c - lines of neighbours that share a shared segment (tcp_shm.c): part of test_local.c's program. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/link/local.h"
#include "emu/nic/base/limits.h"
#include "pairs.h"

TestSuite(shms, .init = open_link, .fini = close_link);

/* Bytes by the socket while the ring is open, as if it had no room. */
static void write_announced(const struct conn *from, const char *text)
{
	const struct iovec bytes = { (char *)text, strlen(text) };

	shm_ring_tell(&from->line->ring, &bytes, 1);
	cr_assert_eq(write(from->line->fd, text, strlen(text)), (ssize_t)strlen(text));
	from->line->ring.sent += strlen(text);
}

static int polls_until(const bool *happened, struct conn *got)
{
	size_t before = atomic_load(&got->got);
	int polls = 0;

	while (!*happened && atomic_load(&got->got) == before && polls < 2 * MOST_POLLS) {
		tcp_link.poll(tcp);
		polls++;
	}
	return polls;
}

Test(shms, carry_notes)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	tcp_link.set_polling(tcp, false);
	cr_assert_not(tcp_link.store_ack(two->line, 7), "nobody looks");
	tcp_link.set_polling(tcp, true);
	cr_assert(tcp_link.store_ack(two->line, 8));
	cr_assert_gt(tcp_link.poll(tcp), 0);
	cr_assert(one->notes == 1 && one->noted == 8 && !two->notes);
	cr_assert_eq(tcp_link.poll(tcp), 0);
	cr_assert(tcp_link.store_ack(one->line, 9));
	tcp_link.set_polling(tcp, false);
	cr_assert(two->notes == 1 && two->noted == 9);
	cr_assert_not(tcp_link.store_ack(one->line, 10));
}

Test(shms, of_a_line_whose_peer_has_closed)
{
	struct conn *one, *two;
	uint64_t number;

	pair_with_shm(&one, &two);
	cr_assert(tcp_link.store_ack(two->line, 7));
	tcp_link.close(two->line);
	cr_assert(tcp_link.stored_ack(one->line, &number) && number == 7);
}

Test(shms, spare_polls_the_sockets)
{
	struct conn *one, *two;
	bool never = false;

	pair_with_shm(&one, &two);
	send_text(two, "by the ring");
	cr_assert_eq(polls_until(&never, one), 1);
	write_announced(two, "by the socket");
	cr_assert_eq(polls_until(&never, one), 1);
	cr_assert_eq(write(two->line->fd, "unannounced", 11), 11);
	tcp->polls_since_epoll = 0;
	cr_assert_eq(polls_until(&one->eof, one), MOST_POLLS, "a poll read a socket for which nothing was announced");
}

Test(shms, tell_of_no_end_which_is_found_all_the_same)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	write_announced(two, "last words");
	tcp_link.close(two->line);
	cr_assert_leq(polls_until(&one->eof, one), MOST_POLLS);
	cr_assert_leq(polls_until(&one->eof, one), MOST_POLLS);
	cr_assert(one->eof);
}

Test(shms, are_for_who_looks)
{
	struct conn *one, *two;
	bool never = false;

	pair_with_shm(&one, &two);
	tcp_link.set_polling(tcp, false);
	for (int i = 0; i < MOST_POLLS; i++) {
		write_announced(two, "x");
		cr_assert_eq(polls_until(&never, one), 1);
	}
	tcp_link.close(two->line);
	cr_assert_eq(polls_until(&one->eof, one), 1);
}

/* What is left by one receive is there for the next. */
Test(shms, leave_nothing_behind)
{
	struct conn *one, *two;
	char bytes[8];
	struct iovec few = { bytes, 1 }, all = { bytes, sizeof(bytes) };
	bool never = false;

	pair_with_shm(&one, &two);
	send_text(two, "abcd");
	one->deaf = true;
	tcp_link.poll(tcp);
	cr_assert_eq(tcp_link.recv(one->line, &few, 1), 1);
	one->deaf = false;
	cr_assert_eq(polls_until(&never, one), 1);
	cr_assert_eq(tcp_link.recv(one->line, &all, 1), -EAGAIN);
}

Test(shms, go_with_their_line)
{
	struct conn *one, *two;

	pair_with_shm(&one, &two);
	cr_assert_eq(tcp->shm_count, 2);
	tcp_link.close(one->line);
	tcp_link.close(two->line);
	cr_assert(!tcp->shm_count && !tcp->shms);
	pair_with_shm(&one, &two);
}

/* A dialler without the link has no shared segment. */
static int dial_by_hand(struct conn **two)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), place = ep.accepted;

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "emu-127.0.0.1:%u", ntohs(((struct sockaddr_in *)&at)->sin_port));
	*two = ep.accepts[place] = conn_make(&tcp_link);
	cr_assert_eq(connect(fd, (struct sockaddr *)&name,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1))),
		     0);
	await(tcp_listen_fd(tcp));
	cr_assert(tcp_accept(tcp));
	cr_assert_eq(ep.accepted, place + 1);
	return fd;
}

Test(shms, are_nothing_that_a_peer_must_have)
{
	struct conn *two;
	int fd = dial_by_hand(&two);
	bool never = false;

	tcp_link.set_polling(tcp, true);
	cr_assert_eq(tcp->shm_count, 1);
	for (int i = 0; i < MOST_POLLS; i++) {
		cr_assert_eq(write(fd, "x", 1), 1);
		cr_assert_eq(polls_until(&never, two), 1);
	}
	send_text(two, "to who does not know");
	cr_assert_eq(tcp->shm_count, 1);
}

Test(shms, are_kept_by_who_can_give_none)
{
	struct conn *two;
	int fd = dial_by_hand(&two);
	char bytes[8];

	if (setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){ 0 }, sizeof(int)))
		cr_skip_test("this kernel lets nobody refuse files");
	send_text(two, "none");
	cr_assert_eq(read(fd, bytes, sizeof(bytes)), 4);
	cr_assert(!tcp->shm_count && two->line->shm_fd == -1);
	send_text(two, "more");
	cr_assert_eq(read(fd, bytes, sizeof(bytes)), 4);
}

Test(shms, are_few)
{
	struct conn *one, *two;
	bool never = false;
	int next;

	dial_by_hand(&two);
	for (int i = 0; i < LIMIT_SHM / 2 - 1; i++)
		pair_with_shm(&one, &two);
	pair(&one, &two);
	cr_assert_eq(tcp->shm_count, LIMIT_SHM);
	next = dup(0);
	close(next);
	send_text(two, "with the last one");
	expect_text(one, "with the last one");
	cr_assert_null(one->line->shm.own);
	cr_assert_lt(dup(0), next, "the descriptor that waited to be sent is closed, and the one received");
	pair(&one, &two);
	send_text(two, "without");
	expect_text(one, "without");
	cr_assert(tcp->shm_count == LIMIT_SHM && !two->line->shm.own);
	write_announced(two, "and asked by each poll");
	cr_assert_eq(polls_until(&never, one), 1);
}

Test(shms, are_not_all_that_polls_ask)
{
	struct sockaddr_storage here = { .ss_family = AF_INET };
	struct conn *one, *two;
	bool never = false;

	((struct sockaddr_in *)&here)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	pair_with_shm(&one, &two);
	cr_assert_eq(tcp_link.bind(tcp, &here, false, &ep, &ep.port), 0);
	ep.ops = &tcp_link;
	for (int i = 1; i < MOST_POLLS; i++) {
		cr_assert_eq(tcp_link.send_datagram(ep.port, &here, "x", 1), 0);
		tcp_link.poll(tcp);
		cr_assert_eq(ep.taken, i);
	}
	tcp_link.unbind(ep.port);
	write_announced(two, "and found");
	cr_assert_eq(polls_until(&never, one), 1);
	cr_assert_eq(tcp->polls_since_epoll, 1, "the poll asked the sockets, too");
	tcp_link.set_readable(one->line, false);
	tcp_link.close(two->line);
	tcp_link.poll(tcp);
	cr_assert_eq(one->downs, 1);
}

/* An accepter that is not the link's: its first bytes have `file` with them, if there is one. */
static struct conn *dialled_to_other(int file)
{
	struct iovec iov = { (char[]){ "first" }, 5 };
	struct conn *one = dial(), *two = ep.accepts[ep.accepted] = conn_make(&tcp_link);

	finish(one);
	await(tcp_listen_fd(tcp));
	cr_assert(tcp_accept(tcp));
	line_drop_shm(two->line);
	cr_assert_eq(file < 0 ? write(two->line->fd, "first", 5) : local_send_file(two->line->fd, &iov, 1, file), 5);
	expect_text(one, "first");
	cr_assert_null(one->line->shm.own);
	write_announced(two, "more");
	expect_text(one, "more");
	return one;
}

Test(shms, are_not_asked_for)
{
	dialled_to_other(-1);
	cr_assert_eq(tcp->shm_count, 0);
}

Test(shms, are_no_other_files)
{
	int fd = memfd_create("no segment", MFD_ALLOW_SEALING), next;

	cr_assert_eq(ftruncate(fd, 4096), 0);
	dialled_to_other(fd);
	cr_assert_eq(tcp->shm_count, 0);
	next = dup(fd);
	close(next);
	dialled_to_other(fd);
	cr_assert_eq(dup(fd), next + 2, "two sockets more, and no copy of the file");
}

/* As many as a message can carry are as strange as one that is no shared segment: none stays open. */
Test(shms, are_one_file_alone)
{
	enum { FILES = 253 }; /* SCM_MAX_FD */
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(FILES * sizeof(int))];
	} room = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (char[]){ "first" }, 5 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room };

	for (size_t files = 2; files <= FILES; files = files < 5 ? files + 1 : FILES + (files == FILES)) {
		struct conn *one = dial(), *two = ep.accepts[ep.accepted] = conn_make(&tcp_link);
		int next;

		finish(one);
		await(tcp_listen_fd(tcp));
		cr_assert(tcp_accept(tcp));
		line_drop_shm(two->line);
		next = dup(0);
		close(next);
		room.head.cmsg_len = CMSG_LEN(files * sizeof(int));
		message.msg_controllen = CMSG_SPACE(files * sizeof(int));
		cr_assert_eq(sendmsg(two->line->fd, &message, 0), 5);
		expect_text(one, "first");
		cr_assert_null(one->line->shm.own);
		cr_assert_eq(dup(0), next, "%zu files were sent", files);
		close(next);
	}
}
