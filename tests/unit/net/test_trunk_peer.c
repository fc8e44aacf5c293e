/* SPDX-License-Identifier: BSD-2-Clause */
/* test_trunk_peer.c - a peer that lies about trunks, or is in a hurry: its bytes are written by hand, over TCP (WIRE-132,
 * WIRE-133). The rest is in test_trunk.c. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "trunks.h"
#include "wire/codec.h"

const bool local = false;

enum { NAME = 4711 }; /* of the peer's trunk */

TestSuite(trunk_peers, .init = open_trunks, .fini = close_link, .timeout = 60);

static struct wire_join join_of(uint32_t kind, uint32_t channel, uint64_t name)
{
	return (struct wire_join){ wire_put32(kind), wire_put32(channel), wire_put64(name) };
}

static void put(int fd, const void *bytes, size_t length)
{
	cr_assert_eq(write(fd, bytes, length), (ssize_t)length);
}

static void put_join_of(int fd, uint32_t kind, uint32_t channel, uint64_t name)
{
	struct wire_join bytes = join_of(kind, channel, name);

	put(fd, &bytes, sizeof(bytes));
}

static void put_head(int fd, uint32_t channel, uint32_t length)
{
	put(fd, &(struct wire_chunk){ wire_put32(channel), wire_put32(length) }, sizeof(struct wire_chunk));
}

static void put_text(int fd, uint32_t channel, const char *text)
{
	put_head(fd, channel, (uint32_t)strlen(text));
	put(fd, text, strlen(text));
}

/* A peer that has connected, and is to say how it goes on. */
static int peer_dials(struct conn **accepter)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), place = ep.accepted;

	*accepter = ep.accepts[place] = conn_make(&tcp_link);
	(*accepter)->hangs_up = true;
	cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(struct sockaddr_in)), 0);
	await(tcp_listen_fd(tcp));
	cr_assert(tcp_accept(tcp));
	cr_assert_eq(ep.accepted, place + 1);
	cr_assert_eq(tcp_link.join((*accepter)->line, false, here), 0);
	return fd;
}

static int peer_trunk(struct conn **accepter)
{
	int fd = peer_dials(accepter);

	put_join_of(fd, WIRE_JOIN_TRUNK, 1, NAME);
	UNTIL((*accepter)->line->state == LINE_CHANNEL);
	return fd;
}

static void expect_answer(int fd, uint32_t kind, uint32_t channel, uint64_t name)
{
	struct wire_join got, wanted = join_of(kind, channel, name);

	cr_assert_eq(recv(fd, &got, sizeof(got), MSG_WAITALL), sizeof(got));
	cr_assert_eq(memcmp(&got, &wanted, sizeof(got)), 0);
}

Test(trunk_peers, must_join_as_agreed)
{
	static const struct {
		uint32_t kind, channel;
		uint64_t name;
	} lies[] = {
		{ 0, 0, 0 },
		{ WIRE_JOIN_MOVE + 1, 0, 0 },
		{ UINT32_MAX, 1, NAME },
		{ WIRE_JOIN_ALONE, 1, 0 },
		{ WIRE_JOIN_ALONE, 0, NAME },
		{ WIRE_JOIN_TRUNK, 0, NAME },
		{ WIRE_JOIN_TRUNK, 2, NAME },
		{ WIRE_JOIN_MOVE, 0, NAME },
		{ WIRE_JOIN_MOVE, 1, NAME }, /* is taken */
	};
	struct conn *first, *next;
	int fd = peer_trunk(&first);

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		int other = peer_dials(&next);

		tcp_link.want_write(next->line);
		put_join_of(other, lies[i].kind, lies[i].channel, lies[i].name);
		UNTIL(next->downs);
		cr_assert(next->error == EPROTO && !next->line && !next->writables, "lie %zu", i);
		cr_assert_eq(recv(other, &(char){ 0 }, 1, 0), 0, "no answer");
		close(other);
	}
	cr_assert_eq(tcp->watched, 0);
	put_text(fd, 1, "the trunk goes on");
	expect(first, "the trunk goes on");
}

/* A stream that takes no word of how it goes on: the device, which closes the line then, is told, and no trunk has changed. */
Test(trunk_peers, whose_stream_is_closed_before_the_word)
{
	struct conn *a, *b, *next;
	int fd;

	greet(&a, &b);
	join(a, b, here);
	greet(&a, &b);
	cr_assert_eq(shutdown(a->line->fd, SHUT_WR), 0);
	cr_assert_eq(tcp_link.join(a->line, true, here), -EPIPE);
	cr_assert(!tcp->trunks && a->line->state == LINE_OPEN);
	greet(&one[0], &two[0]);
	join(one[0], two[0], here);
	greet(&a, &b);
	cr_assert_eq(shutdown(a->line->fd, SHUT_WR), 0);
	cr_assert_eq(tcp_link.join(a->line, true, here), -EPIPE);
	cr_assert(trunk_at(true)->channels == 1 && !a->line->trunk && a->line->state == LINE_OPEN);
	fd = peer_dials(&next);
	cr_assert_eq(shutdown(next->line->fd, SHUT_WR), 0);
	put_join_of(fd, WIRE_JOIN_MOVE, 2, trunk_at(false)->name);
	UNTIL(next->downs);
	cr_assert(next->error == EPIPE && !trunk_line(trunk_at(false), 2));
}

/* A trunk that has ended; and a trunk of this side's dials is no place for a peer's. */
Test(trunk_peers, go_on_alone_where_no_trunk_is_known)
{
	struct conn *next, *first;
	int fd;

	open_trunk();
	put_join_of(peer_dials(&next), WIRE_JOIN_MOVE, TRUNK_PAIRS, trunk_at(true)->name);
	UNTIL(next->line->state == LINE_CHANNEL);
	cr_assert_eq(next->line->trunk, trunk_at(false), "the name is known to the peer alone");
	trunk_at(false)->name++;
	fd = peer_dials(&next);
	tcp_link.want_write(next->line);
	put_join_of(fd, WIRE_JOIN_MOVE, TRUNK_PAIRS + 1, trunk_at(true)->name);
	UNTIL(next->line->state == LINE_OPEN);
	expect_answer(fd, WIRE_JOIN_ALONE, 0, 0);
	put(fd, "alone", 5);
	expect(next, "alone");
	cr_assert_eq(next->writables, 1);
	put_join_of(peer_dials(&first), WIRE_JOIN_TRUNK, 1, trunk_at(true)->name);
	UNTIL(first->line->state == LINE_CHANNEL);
	tell(next, "still");
	cr_assert_eq(recv(fd, &(char[5]){ 0 }, 5, MSG_WAITALL), 5);
}

Test(trunk_peers, move_to_a_channel)
{
	struct conn *first, *next;
	int fd = peer_trunk(&first), other = peer_dials(&next);
	struct wire_chunk head;
	char bytes[4];

	put_join_of(other, WIRE_JOIN_MOVE, UINT32_MAX, NAME);
	UNTIL(next->line->state == LINE_CHANNEL);
	expect_answer(other, WIRE_JOIN_MOVE, UINT32_MAX, NAME);
	cr_assert_eq(recv(other, bytes, 1, 0), 0);
	cr_assert_eq(tcp->count, 1);
	put_text(fd, UINT32_MAX, "moved");
	put_text(fd, 1, "first");
	expect(next, "moved");
	expect(first, "first");
	tell(next, "back");
	turn();
	cr_assert_eq(recv(fd, &head, sizeof(head), MSG_WAITALL), sizeof(head));
	cr_assert(wire_get32(head.channel) == UINT32_MAX && wire_get32(head.length) == 4);
	cr_assert_eq(recv(fd, bytes, 4, MSG_WAITALL), 4);
	cr_assert_eq(memcmp(bytes, "back", 4), 0);
}

/* Two sockets are not read in the order in which the peer has written to them. */
Test(trunk_peers, move_before_the_trunk_is_read)
{
	struct conn *first, *next, *other;
	int fd = peer_dials(&first), mover = peer_dials(&next), left = peer_dials(&other);

	put_join_of(mover, WIRE_JOIN_MOVE, 2, NAME);
	put_join_of(left, WIRE_JOIN_MOVE, 3, NAME);
	calm();
	cr_assert(next->line->state == LINE_JOINING && other->line->state == LINE_JOINING);
	close(left);
	UNTIL(other->downs);
	cr_assert_eq(other->error, ECONNRESET);
	put_join_of(fd, WIRE_JOIN_TRUNK, 1, NAME);
	UNTIL(first->line->state == LINE_CHANNEL);
	cr_assert_eq(next->line->state, LINE_CHANNEL);
	expect_answer(mover, WIRE_JOIN_MOVE, 2, NAME);
}

/* What the line waited for is no trunk, or is gone. */
Test(trunk_peers, move_to_a_trunk_that_does_not_come)
{
	for (int gone = 0; gone < 2; gone++) {
		struct conn *first, *next;
		int fd = peer_dials(&first), mover = peer_dials(&next);

		put_join_of(mover, WIRE_JOIN_MOVE, 2, NAME);
		calm();
		cr_assert_eq(next->line->state, LINE_JOINING);
		if (gone)
			close(fd);
		else
			put_join_of(fd, WIRE_JOIN_ALONE, 0, 0);
		UNTIL(next->line->state == LINE_OPEN);
		expect_answer(mover, WIRE_JOIN_ALONE, 0, 0);
	}
}

Test(trunk_peers, join_byte_by_byte)
{
	static const uint32_t kinds[] = { WIRE_JOIN_TRUNK, WIRE_JOIN_MOVE, WIRE_JOIN_ALONE };

	for (uint32_t i = 0; i < 3; i++) {
		struct wire_join bytes = i < 2 ? join_of(kinds[i], i + 1, NAME) : join_of(kinds[i], 0, 0);
		struct conn *next;
		int fd = peer_dials(&next);

		for (size_t j = 0; j < sizeof(bytes); j++) {
			cr_assert_eq(next->line->state, LINE_JOINING);
			put(fd, (uint8_t *)&bytes + j, 1);
			calm();
		}
		cr_assert_eq(next->line->state, i < 2 ? LINE_CHANNEL : LINE_OPEN);
		cr_assert_eq(next->readables, 0);
	}
}

/* What a dialler sends behind its word is not part of that. */
Test(trunk_peers, go_on_at_once)
{
	struct {
		struct wire_join join;
		char text[5];
	} alone = { join_of(WIRE_JOIN_ALONE, 0, 0), "alone" };
	struct {
		struct wire_join join;
		struct wire_chunk head;
		char text[5];
	} trunk = { join_of(WIRE_JOIN_TRUNK, 1, NAME), { wire_put32(1), wire_put32(5) }, "trunk" };
	struct conn *next;

	put(peer_dials(&next), &alone, sizeof(alone));
	expect(next, "alone");
	put(peer_dials(&next), &trunk, offsetof(__typeof__(trunk), text) + 5);
	expect(next, "trunk");
}

Test(trunk_peers, may_go_while_a_line_joins)
{
	struct wire_join bytes = join_of(WIRE_JOIN_ALONE, 0, 0);

	for (size_t most = 0; most < sizeof(bytes); most += sizeof(bytes) - 1) {
		struct conn *next;
		int fd = peer_dials(&next);

		tcp_link.want_write(next->line);
		put(fd, &bytes, most);
		close(fd);
		UNTIL(next->downs);
		cr_assert(next->error == ECONNRESET && !next->writables && !next->readables);
	}
	cr_assert_eq(tcp->watched, 0);
}

/* The peer goes on sending, and no event of the socket tells of this side. */
Test(trunk_peers, whose_stream_takes_nothing)
{
	struct conn *first;
	int fd = peer_trunk(&first);

	cr_assert_eq(shutdown(trunk_at(false)->carrier->fd, SHUT_WR), 0);
	tell(first, "lost");
	UNTIL(first->downs);
	cr_assert(first->error == ECONNRESET && !tcp->trunks);
	close(fd);
}

/* Each line is told the error of the trunk's stream. */
Test(trunk_peers, whose_stream_fails)
{
	struct conn *first;
	int fd = peer_trunk(&first), no_socket = open("/dev/null", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(dup2(no_socket, trunk_at(false)->carrier->fd), trunk_at(false)->carrier->fd);
	trunk_read(trunk_at(false)->carrier);
	cr_assert(first->downs == 1 && first->error == ENOTSOCK && !tcp->trunks);
	close(no_socket);
	close(fd);
}

Test(trunk_peers, are_skipped_where_nobody_listens)
{
	static char much[3 * TRUNK_BYTES];
	struct conn *first;
	int fd = peer_trunk(&first);

	memset(much, 'j', sizeof(much));
	put_text(fd, 77, "junk");
	put_text(fd, 0, "junk");
	put_head(fd, 77, 0);
	put_head(fd, 0, 0);
	put_text(fd, 1, "good");
	expect(first, "good");
	put_head(fd, 78, sizeof(much) + sizeof(struct wire_chunk) + 9);
	for (size_t i = 0; i < 12; i++) {
		put(fd, much, sizeof(much) / 12);
		calm();
	}
	put_text(fd, 1, "is a part");
	put_text(fd, 1, "and this");
	expect(first, "and this");
	put_head(fd, 79, UINT32_MAX);
	put_text(fd, 1, "is part of the junk");
	calm();
	cr_assert_eq(first->got, 0);
	close(fd);
	UNTIL(first->downs);
	cr_assert_eq(first->error, ECONNRESET);
}

Test(trunk_peers, send_in_any_pieces)
{
	struct wire_chunk head = { wire_put32(1), wire_put32(4) };
	struct conn *first;
	int fd = peer_trunk(&first);

	for (size_t cut = 1; cut < sizeof(head); cut++) {
		put(fd, &head, cut);
		calm();
		put(fd, (uint8_t *)&head + cut, sizeof(head) - cut);
		calm();
		put(fd, "te", 2);
		expect(first, "te");
		put(fd, "xt", 2);
		expect(first, "xt");
	}
}

/* An end, and then more of the channel, which is closed by then. */
Test(trunk_peers, end_a_channel_for_good)
{
	struct conn *first, *next;
	int fd = peer_trunk(&first), other = peer_dials(&next);

	put_join_of(other, WIRE_JOIN_MOVE, 2, NAME);
	UNTIL(next->line->state == LINE_CHANNEL);
	put_head(fd, 1, 0);
	put_text(fd, 1, "more");
	put_head(fd, 1, 0);
	put_text(fd, 2, "on");
	expect(next, "on");
	cr_assert(first->downs == 1 && first->error == ECONNRESET && !first->got);
	put_head(fd, 2, 0);
	UNTIL(next->downs);
	UNTIL(!tcp->trunks);
	other = peer_dials(&next);
	put_join_of(other, WIRE_JOIN_MOVE, 3, NAME);
	UNTIL(next->line->state == LINE_OPEN);
	expect_answer(other, WIRE_JOIN_ALONE, 0, 0);
}

/* By hand the accepter: the first two lines have gone there, and the third is to. */
struct moving {
	int listener, alone, trunk, mover;
	uint64_t name;
	struct conn *lines[3];
};

static int dial_peer(struct moving *moving, int line, struct wire_join *said)
{
	struct conn *conn = moving->lines[line] = dial();
	int fd;

	conn->hangs_up = true;
	finish(conn);
	fd = accept(moving->listener, NULL, NULL);
	cr_assert_eq(tcp_link.join(conn->line, true, here), 0);
	cr_assert_eq(recv(fd, said, sizeof(*said), MSG_WAITALL), sizeof(*said));
	return fd;
}

static struct moving begin_to_move(void)
{
	struct moving moving = { .listener = socket(AF_INET, SOCK_STREAM, 0) };
	socklen_t length = sizeof(at);
	struct wire_join said, wanted;

	((struct sockaddr_in *)&at)->sin_port = 0;
	cr_assert_eq(bind(moving.listener, (struct sockaddr *)&at, sizeof(struct sockaddr_in)), 0);
	cr_assert(!listen(moving.listener, 4) && !getsockname(moving.listener, (struct sockaddr *)&at, &length));
	moving.alone = dial_peer(&moving, 0, &said);
	wanted = join_of(WIRE_JOIN_ALONE, 0, 0);
	cr_assert_eq(memcmp(&said, &wanted, sizeof(said)), 0);
	moving.trunk = dial_peer(&moving, 1, &said);
	moving.name = wire_get64(said.trunk);
	wanted = join_of(WIRE_JOIN_TRUNK, 1, moving.name);
	cr_assert_eq(memcmp(&said, &wanted, sizeof(said)), 0);
	moving.mover = dial_peer(&moving, 2, &said);
	wanted = join_of(WIRE_JOIN_MOVE, 2, moving.name);
	cr_assert_eq(memcmp(&said, &wanted, sizeof(said)), 0);
	cr_assert_eq(moving.lines[2]->line->state, LINE_JOINING);
	return moving;
}

/* The mover is gone, and the peer is told that its channel has ended. */
static void expect_moved_away(const struct moving *moving, int error)
{
	struct wire_chunk head;

	UNTIL(moving->lines[2]->downs);
	cr_assert(moving->lines[2]->error == error && !moving->lines[2]->writables);
	cr_assert_eq(recv(moving->trunk, &head, sizeof(head), MSG_WAITALL), sizeof(head));
	cr_assert(wire_get32(head.channel) == 2 && !wire_get32(head.length));
	cr_assert_eq(moving->lines[0]->downs + moving->lines[1]->downs, 0);
	put_text(moving->trunk, 1, "goes on");
	expect(moving->lines[1], "goes on");
}

Test(trunk_peers, answer_of_another_kind)
{
	struct moving moving = begin_to_move();

	put_join_of(moving.mover, WIRE_JOIN_TRUNK, 2, moving.name);
	expect_moved_away(&moving, EPROTO);
}

/* The peer knows no such trunk. */
Test(trunk_peers, answer_to_go_on_alone)
{
	struct moving moving = begin_to_move();
	char bytes[5];

	tcp_link.want_write(moving.lines[2]->line);
	put_join_of(moving.mover, WIRE_JOIN_ALONE, 0, 0);
	put(moving.mover, "alone", 5);
	expect(moving.lines[2], "alone");
	cr_assert(moving.lines[2]->writables == 1 && moving.lines[2]->line->state == LINE_OPEN && !moving.lines[2]->line->trunk);
	tell(moving.lines[2], "here");
	cr_assert_eq(recv(moving.mover, bytes, 4, MSG_WAITALL), 4);
	tcp_link.close(moving.lines[1]->line);
	UNTIL(!tcp->trunks);
	tcp_link.close(moving.lines[2]->line);
}

/* The trunk had no other line any more. */
Test(trunk_peers, answer_of_the_last_to_go_on_alone)
{
	struct moving moving = begin_to_move();

	tcp_link.close(moving.lines[1]->line);
	cr_assert_not_null(tcp->trunks);
	put_join_of(moving.mover, WIRE_JOIN_ALONE, 0, 0);
	UNTIL(!tcp->trunks);
	cr_assert_eq(moving.lines[2]->line->state, LINE_OPEN);
}

Test(trunk_peers, no_answer)
{
	struct moving moving = begin_to_move();

	close(moving.mover);
	expect_moved_away(&moving, ECONNRESET);
}

/* As long as a greeting may take, in ticks, and no longer. */
static void wait_for_the_end(void)
{
	uint32_t ticks = 0;

	cr_assert_gt(kicks, 0);
	while (!tcp_drop_stuck(tcp)) {
		cr_assert(tcp_tick(tcp));
		ticks++;
	}
	cr_assert_eq(ticks, TIME_HELLO_NS / TIME_MS(TCP_TICK_MS));
}

/* WIRE-131: the peer greets, and says nothing more. */
Test(trunk_peers, never_answer)
{
	struct moving moving = begin_to_move();

	wait_for_the_end();
	expect_moved_away(&moving, ETIMEDOUT);
	cr_assert_not(tcp_tick(tcp));
}

Test(trunk_peers, never_join)
{
	struct conn *next;
	int fd = peer_dials(&next);

	put(fd, &(struct wire_join){ .kind = wire_put32(WIRE_JOIN_ALONE) }, sizeof(struct wire_join) - 1);
	wait_for_the_end();
	cr_assert(next->downs == 1 && next->error == ETIMEDOUT);
	cr_assert_not(tcp_tick(tcp));
}

/* The accepter has closed the line, and that is known before its answer. */
Test(trunk_peers, end_before_the_answer)
{
	struct moving moving = begin_to_move();

	put_head(moving.trunk, 2, 0);
	expect_moved_away(&moving, ECONNRESET);
}

Test(trunk_peers, bytes_before_the_answer)
{
	struct moving moving = begin_to_move();

	tcp_link.want_write(moving.lines[2]->line);
	put_text(moving.trunk, 2, "early");
	expect(moving.lines[2], "early");
	cr_assert(moving.lines[2]->writables == 1 && moving.lines[2]->line->state == LINE_CHANNEL);
	cr_assert_eq(tcp->count, 2);
	put_text(moving.trunk, 2, "more");
	expect(moving.lines[2], "more");
}

Test(trunk_peers, answer_that_comes_byte_by_byte)
{
	struct moving moving = begin_to_move();
	struct wire_join bytes = join_of(WIRE_JOIN_MOVE, 2, moving.name);

	for (size_t i = 0; i < sizeof(bytes); i++) {
		cr_assert_eq(moving.lines[2]->line->state, LINE_JOINING);
		put(moving.mover, (uint8_t *)&bytes + i, 1);
		calm();
	}
	cr_assert_eq(moving.lines[2]->line->state, LINE_CHANNEL);
	cr_assert_eq(recv(moving.mover, &bytes, 1, 0), 0, "its stream ends");
}

Test(trunk_peers, trunk_that_breaks_while_a_line_joins)
{
	struct moving moving = begin_to_move();

	close(moving.trunk);
	UNTIL(moving.lines[1]->downs && moving.lines[2]->downs);
	cr_assert_eq(moving.lines[0]->downs, 0);
	cr_assert_null(tcp->trunks);
	cr_assert_eq(recv(moving.mover, &(char){ 0 }, 1, 0), 0);
}

/* The mover is the last of its trunk, and closed before it has the answer. */
Test(trunk_peers, trunk_whose_last_line_joins)
{
	struct moving moving = begin_to_move();
	struct wire_chunk head;

	tcp_link.close(moving.lines[1]->line);
	cr_assert_not_null(tcp->trunks);
	tcp_link.close(moving.lines[2]->line);
	cr_assert_null(tcp->trunks);
	for (uint32_t channel = 1; channel <= 2; channel++) {
		cr_assert_eq(recv(moving.trunk, &head, sizeof(head), MSG_WAITALL), sizeof(head));
		cr_assert(wire_get32(head.channel) == channel && !wire_get32(head.length));
	}
	cr_assert_eq(recv(moving.trunk, &head, 1, 0), 0);
}
