/* SPDX-License-Identifier: BSD-2-Clause */
/* test_trunk_full.c - lines that share a stream that takes no more: part of the programs of test_trunk.c. */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "trunks.h"

enum { BLOCK = 20000, MUCH = 1 << 20 };

TestSuite(full_trunks, .init = open_trunks, .fini = close_link, .timeout = 60);

static size_t sent[TRUNK_PAIRS];

/* The byte at some place of what a line carries. */
static char byte_at(int line, size_t place)
{
	return (char)(place % 251 + (size_t)line * 60);
}

static int place_of(const struct conn *conn, struct conn *const *conns)
{
	int i = 0;

	while (conns[i] != conn)
		i++;
	return i;
}

static void check_bytes(struct conn *conn, size_t length)
{
	int line = place_of(conn, two);

	for (size_t i = 0; i < length; i++)
		cr_assert_eq(conn->bytes[i], byte_at(line, conn->eaten + i), "line %d, byte %zu", line, conn->eaten + i);
	conn->eaten += length;
}

/* Sends until nothing goes any more, and wants to go on. */
static void send_much(int line)
{
	char block[BLOCK];
	ssize_t n = 1;

	while (n > 0 && sent[line] < MUCH) {
		for (size_t i = 0; i < sizeof(block); i++)
			block[i] = byte_at(line, sent[line] + i);
		n = try_send(one[line], block, MUCH - sent[line] < BLOCK ? MUCH - sent[line] : BLOCK);
		sent[line] += n > 0 ? (size_t)n : 0;
	}
	if (sent[line] == MUCH)
		return;
	cr_assert_eq(n, -EAGAIN);
	tcp_link.want_write(one[line]->line);
}

/* So that the trunk and its stream are full, of bytes of one line. Nobody polls meanwhile. */
static void fill_trunk(int line)
{
	struct trunk *trunk = one[line]->line->trunk;
	char byte = byte_at(line, sent[line]);

	for (int i = 1; i < TRUNK_PAIRS; i++)
		two[i]->eats = check_bytes;
	do {
		tcp_link.flush(tcp, true);
		while (try_send(one[line], &byte, 1) == 1)
			byte = byte_at(line, ++sent[line]);
	} while (!trunk->carrier->tx_blocked);
	cr_assert_gt(trunk->out_end, TRUNK_BYTES / 2);
}

/* The line that blocked first has the first turn, and then each in turn. */
Test(full_trunks, give_each_line_its_turn)
{
	static const int order[] = { 2, 3, 1 };
	int turns = 0, writables[TRUNK_PAIRS] = { 0 };

	open_trunk();
	fill_trunk(2);
	for (int i = 0; i < 3; i++)
		send_much(order[i]);
	for (int half = 0; two[1]->eaten + two[2]->eaten + two[3]->eaten < 3 * MUCH; half++) {
		if (half % 2)
			tcp_link.flush(tcp, true);
		else
			tcp_link.poll(tcp);
		for (int line = 1; line < TRUNK_PAIRS; line++) {
			if (one[line]->writables == writables[line])
				continue;
			writables[line]++;
			cr_assert_eq(one[line]->writables, writables[line], "one call, one event");
			cr_assert(sent[1] == MUCH || sent[2] == MUCH || sent[3] == MUCH || line == order[turns % 3],
				  "line %d has turn %d", line, turns);
			turns++;
			send_much(line);
		}
	}
	cr_assert_geq(turns, 9);
	cr_assert_eq(tcp->watched, 0);
	calm();
	for (int line = 1; line < TRUNK_PAIRS; line++)
		cr_assert_eq(one[line]->writables, writables[line]);
}

/* The first to be woken has nothing to send any more. */
Test(full_trunks, do_not_wait_for_a_line_that_is_silent)
{
	open_trunk();
	fill_trunk(2);
	for (int i = 1; i < TRUNK_PAIRS; i++)
		tcp_link.want_write(one[i]->line);
	UNTIL(one[1]->writables);
	for (int i = 0; i < 3 * MOST_POLLS; i++) {
		tcp_link.flush(tcp, false);
		tcp_link.poll(tcp);
	}
	calm();
	cr_assert(one[1]->writables == 1 && one[2]->writables == 1 && one[3]->writables == 1);
}

Test(full_trunks, wake_who_asks_for_nothing)
{
	open_trunk();
	calm();
	tcp_link.want_write(one[1]->line);
	tcp_link.want_write(one[1]->line);
	calm();
	cr_assert_eq(one[1]->writables, 1);
}

/* link.h: what send() has taken is delivered, whichever side closes its lines. */
Test(full_trunks, deliver_all_before_they_end)
{
	for (int side = 0; side < 2; side++) {
		open_trunk();
		for (int i = 0; side && i < TRUNK_PAIRS; i++) {
			struct conn *dialler = one[i];

			one[i] = two[i];
			two[i] = dialler;
		}
		memset(sent, 0, sizeof(sent));
		fill_trunk(2);
		for (int i = 1; i < TRUNK_PAIRS; i++)
			tcp_link.close(one[i]->line);
		UNTIL(!two[1]->line && !two[2]->line && !two[3]->line);
		cr_assert_eq(two[2]->eaten, sent[2]);
		UNTIL(!tcp->trunks);
		tcp_link.close(one[0]->line);
	}
}

/* Ends of lines have a place of their own, behind which there is none for bytes. */
Test(full_trunks, have_room_for_ends_alone)
{
	struct trunk *trunk;
	char byte = byte_at(1, 0);

	open_trunk();
	trunk = one[1]->line->trunk;
	fill_trunk(2);
	tcp_link.close(one[3]->line);
	tcp_link.close(one[2]->line);
	cr_assert_gt(trunk->out_end - trunk->out_at, TRUNK_BYTES);
	cr_assert_eq(try_send(one[1], &byte, 1), -EAGAIN);
	tcp_link.want_write(one[1]->line);
	UNTIL(two[2]->downs && two[3]->downs);
	cr_assert_eq(two[2]->eaten, sent[2]);
	UNTIL(one[1]->writables);
	cr_assert_eq(try_send(one[1], &byte, 1), 1);
	UNTIL(two[1]->eaten == sent[1] + 1);
}

Test(full_trunks, are_given_up_where_an_end_finds_no_room)
{
	struct trunk *trunk;

	open_trunk();
	trunk = one[1]->line->trunk;
	fill_trunk(2);
	trunk->out_at = 0;
	trunk->out_end = sizeof(trunk->out);
	tcp_link.close(one[3]->line);
	cr_assert_eq(try_send(one[1], "x", 1), -EPIPE);
	cr_assert_eq(one[1]->downs, 0, "not from inside close()");
	UNTIL(one[1]->downs && one[2]->downs);
	cr_assert_eq(one[3]->downs, 0);
	UNTIL(!two[1]->line && !two[2]->line && !two[3]->line);
	UNTIL(!tcp->trunks);
}

/* link.h: no call but a poll leads to an event. */
Test(full_trunks, wake_nobody_from_inside_a_close)
{
	open_trunk();
	tcp_link.want_write(one[2]->line);
	tcp_link.close(one[1]->line);
	cr_assert_eq(one[2]->writables, 0);
	UNTIL(one[2]->writables);
	fill_trunk(2);
	tcp_link.want_write(one[2]->line);
	tcp_close(tcp);
	cr_assert_eq(one[2]->writables, 1);
	open_trunks();
}

/* A line that waits for room is closed: the others keep their order. */
Test(full_trunks, forget_a_line_that_is_closed)
{
	static const int order[][TRUNK_PAIRS - 1] = { { 1, 2, 3 }, { 2, 1, 3 }, { 2, 3, 1 }, { 2, 1, 2 } };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		memset(sent, 0, sizeof(sent));
		open_trunk();
		fill_trunk(2);
		for (int j = 0; j < 3; j++)
			tcp_link.want_write(one[order[i][j]]->line);
		tcp_link.close(one[1]->line);
		tcp_link.want_write(one[3]->line); /* the last time it was not among them */
		UNTIL(one[2]->writables && one[3]->writables && two[1]->downs);
		cr_assert(one[1]->writables == 0 && one[2]->writables == 1 && one[3]->writables == 1);
		tcp_link.want_write(one[3]->line);
		UNTIL(one[3]->writables == 2);
		cr_assert_eq(two[2]->eaten, sent[2]);
		close_link();
		open_trunks();
		ep = (struct ep){ 0 };
	}
}
