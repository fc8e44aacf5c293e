/* SPDX-License-Identifier: BSD-2-Clause */
/* test_trunk_local.c - trunks between neighbours alone: their shared segments. The rest is in test_trunk.c. */
#include <errno.h>

#include <criterion/criterion.h>

#include "trunks.h"

const bool local = true;

TestSuite(local_trunks, .init = open_link, .fini = close_link, .timeout = 60);

/* A Unix socket whose peer has closed it is reported as broken, whatever is there to be read. */
Test(local_trunks, read_the_answer_of_a_stream_that_has_ended)
{
	struct conn *a, *b;

	open_trunk();
	tcp_link.set_polling(tcp, false);
	greet(&a, &b);
	tcp_link.set_polling(tcp, false); /* no ring is read before the socket */
	cr_assert_eq(tcp_link.join(b->line, false, here), 0);
	cr_assert_eq(tcp_link.join(a->line, true, here), 0);
	tcp_link.want_write(a->line);
	UNTIL(a->line->state == LINE_CHANNEL);
	cr_assert_eq(a->writables, 1);
	cr_assert_eq(tcp->watched, 0);
	tell(a, "moved");
	expect(b, "moved");
}

/* What one side has put into a ring is read, whatever the other does next. */
Test(local_trunks, go_on_by_the_socket_when_polling_ends)
{
	open_trunk();
	for (int i = 0; i < 8; i++) {
		tcp_link.set_polling(tcp, i % 2);
		tell(one[1], "to");
		tell(one[2], "and");
		tell(two[3], "fro");
		tcp_link.flush(tcp, true);
		tcp_link.set_polling(tcp, !(i % 2));
		expect(two[1], "to");
		expect(two[2], "and");
		expect(one[3], "fro");
	}
}

/* Bytes in the ring wait with the line that is not readable, and no socket reports them. */
Test(local_trunks, read_a_ring_that_waited)
{
	static const char much[CONN_ROOM / 2];

	open_trunk();
	tcp_link.set_readable(two[1]->line, false);
	tell(one[1], "first");
	calm();
	cr_assert_eq(try_send(one[2], much, sizeof(much)), sizeof(much));
	tcp_link.flush(tcp, true);
	tcp_link.set_polling(tcp, false);
	calm();
	cr_assert(!two[1]->got && !two[2]->got);
	kicks = 0;
	tcp->ticking = false;
	tcp_link.set_readable(two[1]->line, true);
	cr_assert_eq(kicks, 1);
	while (tcp_read_on(tcp))
		;
	expect_text(two[1], "first");
	cr_assert_eq(two[2]->got, sizeof(much));
}

/* The device stores no number by a line that shares a stream, and none that a peer stores reaches it. */
/* Each keeps its ring and its stored acknowledgements. */
Test(local_trunks, begin_when_a_quarter_of_the_segments_is_taken)
{
	struct conn *dialler[LIMIT_SHM / 8 + 1], *accepter[LIMIT_SHM / 8 + 1]; /* both ends are here */
	size_t few = LIMIT_SHM / 8;

	for (size_t i = 0; i <= few; i++) {
		greet(&dialler[i], &accepter[i]);
		tcp->shm_for_pairs = LIMIT_SHM / 4;
		join(dialler[i], accepter[i], here);
		cr_assert_eq(dialler[i]->line->state, i < few ? LINE_OPEN : LINE_CHANNEL);
	}
	cr_assert(tcp_link.store_ack(dialler[1]->line, 7));
}

Test(local_trunks, take_no_numbers)
{
	open_trunk();
	cr_assert(!tcp_link.store_ack(one[1]->line, 7) && !tcp_link.store_ack(two[2]->line, 7));
	cr_assert(tcp_link.store_ack(two[0]->line, 7));
	cr_assert(shm_store_ack(&trunk_at(true)->carrier->shm, 8));
	calm();
	cr_assert(one[0]->notes == 1 && one[0]->noted == 7);
	cr_assert_eq(one[1]->notes + two[1]->notes + one[2]->notes + two[2]->notes, 0);
}

/* A neighbour that takes nothing is told by ticks. */
Test(local_trunks, end_when_the_neighbour_is_stuck)
{
	static const char block[TRUNK_BYTES];

	tcp->config.silence_ns = TIME_MS(10 * TCP_TICK_MS);
	open_trunk();
	tcp_link.set_polling(tcp, false);
	while (!trunk_at(true)->carrier->tx_blocked) {
		while (try_send(one[1], block, sizeof(block)) > 0)
			;
		tcp_link.flush(tcp, true);
	}
	cr_assert_gt(kicks, 0);
	for (int i = 0; !tcp_drop_stuck(tcp); i++)
		cr_assert(tcp_tick(tcp) && i < 100);
	cr_assert(one[1]->error == ETIMEDOUT && one[2]->error == ETIMEDOUT && one[3]->error == ETIMEDOUT);
	cr_assert_eq(one[0]->downs, 0);
}
