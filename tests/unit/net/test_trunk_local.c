/* SPDX-License-Identifier: BSD-2-Clause */
/* test_trunk_local.c - trunks between neighbours alone: their shared segments (WIRE-135). The rest is in test_trunk.c. */
#include <errno.h>

#include <criterion/criterion.h>

#include "trunks.h"

const bool local = true;

TestSuite(local_trunks, .init = open_trunks, .fini = close_link, .timeout = 60);

/* Two segments are looked at as fast as one. */
Test(local_trunks, begin_with_the_third_line)
{
	const uint8_t process[WIRE_PROCESS_LEN] = { 1 };
	struct conn *a[3], *b[3];

	for (int i = 0; i < 3; i++) {
		greet(&a[i], &b[i]);
		join(a[i], b[i], process);
		cr_assert_eq(a[i]->line->state, i < 2 ? LINE_OPEN : LINE_CHANNEL);
	}
}

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

/* Each reaches its own line, and lets what waits for the peer's answer leave. */
Test(local_trunks, carry_numbers)
{
	uint64_t number;

	open_trunk();
	tell(one[3], "first");
	calm();
	cr_assert(trunk_at(true)->unanswered);
	cr_assert(tcp_link.store_ack(two[0]->line, 6));
	cr_assert(tcp_link.store_ack(two[1]->line, 7) && tcp_link.store_ack(two[2]->line, 8));
	cr_assert(tcp_link.store_ack(one[3]->line, 9));
	calm();
	cr_assert(one[0]->notes == 1 && one[0]->noted == 6);
	cr_assert(one[1]->notes == 1 && one[1]->noted == 7);
	cr_assert(one[2]->notes == 1 && one[2]->noted == 8);
	cr_assert(two[3]->notes == 1 && two[3]->noted == 9);
	cr_assert(!one[3]->notes && !two[1]->notes);
	cr_assert_not(trunk_at(true)->unanswered);
	cr_assert(tcp_link.store_ack(two[1]->line, 10));
	cr_assert(tcp_link.stored_ack(one[1]->line, &number) && number == 10, "before it ends");
	calm();
	cr_assert_eq(one[1]->notes, 1);
}

/* WIRE-136: told to nobody before the line ends, and whether anybody polls or not. */
Test(local_trunks, keep_what_was_executed)
{
	open_trunk();
	tcp_link.set_polling(tcp, false);
	for (int i = 0; i < TRUNK_PAIRS; i++) {
		tcp_link.note_executed(one[i]->line, 30 + (uint64_t)i);
		tcp_link.note_executed(two[i]->line, 40 + (uint64_t)i);
	}
	calm();
	for (int i = 0; i < TRUNK_PAIRS; i++) {
		cr_assert_eq(one[i]->notes + two[i]->notes, 0);
		cr_assert_eq(tcp_link.peer_executed(two[i]->line), 30 + (uint64_t)i);
		cr_assert_eq(tcp_link.peer_executed(one[i]->line), 40 + (uint64_t)i);
	}
}

Test(local_trunks, carry_numbers_until_polling_ends)
{
	open_trunk();
	cr_assert(tcp_link.store_ack(two[1]->line, 7));
	tcp_link.set_polling(tcp, false);
	cr_assert(one[1]->notes == 1 && one[1]->noted == 7);
	cr_assert_not(tcp_link.store_ack(two[1]->line, 8), "nobody looks");
}

/* It has no place for them, and the others go on. */
Test(local_trunks, carry_no_numbers_of_late_channels)
{
	struct conn *a, *b;

	open_trunk();
	trunk_at(true)->channels = SHM_CHANNELS - 2;
	greet(&a, &b);
	join(a, b, here);
	cr_assert(tcp_link.store_ack(b->line, 7));
	greet(&a, &b);
	join(a, b, here);
	cr_assert_not(tcp_link.store_ack(b->line, 7));
	tcp_link.note_executed(b->line, 7);
	cr_assert_eq(tcp_link.peer_executed(a->line), 0);
	tell(a, "by the trunk");
	expect(b, "by the trunk");
}

/* What the peer stores for a channel that is not there is nobody's. */
Test(local_trunks, ignore_numbers_of_no_line)
{
	open_trunk();
	cr_assert(shm_store_ack(&trunk_at(false)->carrier->shm, 40, 7));
	cr_assert(shm_store_ack(&trunk_at(false)->carrier->shm, 0, 0x1234));
	calm();
	for (int i = 0; i < TRUNK_PAIRS; i++)
		cr_assert_eq(one[i]->notes, 0);
}

/* The device closes lines as it hears of them. */
Test(local_trunks, may_end_by_a_number)
{
	open_trunk();
	for (int i = 1; i < TRUNK_PAIRS; i++)
		one[i]->gives_up = true;
	for (int i = 1; i < TRUNK_PAIRS; i++)
		cr_assert(tcp_link.store_ack(two[i]->line, 7));
	calm();
	cr_assert_null(trunk_at(true));
	cr_assert_null(trunk_at(false));
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
