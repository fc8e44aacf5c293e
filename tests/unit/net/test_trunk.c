/* SPDX-License-Identifier: BSD-2-Clause */
/* test_trunk.c - lines that share a stream, whatever carries it (trunk.h): how they join, what they carry, and how
 * they end (WIRE-130, WIRE-131, WIRE-133, WIRE-134). */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <criterion/criterion.h>

#include "trunks.h"

TestSuite(trunks, .init = open_trunks, .fini = close_link, .timeout = 60);

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void close_conn(struct conn *conn)
{
	tcp_link.close(conn->line);
	conn->line = NULL;
}

static void expect_closed(struct conn *conn)
{
	UNTIL(!conn->line);
	cr_assert(conn->eof ? !conn->downs : conn->error == ECONNRESET, "alone, and as a channel");
}

/* Lines that were closed, and linger. */
static void expect_count(unsigned int count)
{
	UNTIL(!tcp_tick(tcp));
	cr_assert_eq(tcp->count, besides + count, "%u sockets", tcp->count);
}

Test(trunks, begin_with_the_second_line)
{
	enum line_state states[] = { LINE_OPEN, LINE_CHANNEL, LINE_CHANNEL, LINE_CHANNEL };
	unsigned int sockets[] = { 2, 4, 4, 4 };
	int before = descriptors();
	struct conn *a, *b;

	for (uint32_t i = 0; i < TRUNK_PAIRS; i++) {
		greet(&one[i], &two[i]);
		join(one[i], two[i], here);
		cr_assert(one[i]->line->state == states[i] && two[i]->line->state == states[i]);
		cr_assert(one[i]->line->channel == i && two[i]->line->channel == i);
		expect_count(sockets[i]);
		cr_assert_eq(descriptors() - before, (int)sockets[i]);
		cr_assert_str_eq(tcp_link.kind(one[i]->line), local ? "shm" : "tcp");
		cr_assert_str_eq(tcp_link.kind(two[i]->line), local ? "shm" : "tcp");
	}
	cr_assert(trunk_at(true) && !trunk_at(true)->next != !trunk_at(false)->next, "one, which has two sides");
	cr_assert_eq(tcp->shm_count, local ? besides + 4 : 0);
	greet(&a, &b);
	join(a, b, elsewhere);
	cr_assert(a->line->state == LINE_OPEN && b->line->state == LINE_OPEN);
	expect_count(6);
	cr_assert_eq(tcp->watched, 0);
}

Test(trunks, are_one_for_each_process)
{
	struct conn *a[3], *b[3];

	open_trunk();
	for (int i = 0; i < 3; i++) {
		greet(&a[i], &b[i]);
		join(a[i], b[i], elsewhere);
	}
	cr_assert(a[1]->line->trunk == a[2]->line->trunk && b[1]->line->trunk == b[2]->line->trunk);
	cr_assert(a[1]->line->trunk != one[1]->line->trunk && b[1]->line->trunk != two[1]->line->trunk);
	expect_count(8);
	tell(a[2], "there");
	tell(one[2], "here");
	expect(b[2], "there");
	expect(two[2], "here");
}

/* The dialler may be the other side the next time: that is a trunk of its own. */
Test(trunks, are_used_by_who_dialled)
{
	struct conn *a, *b;

	greet(&a, &b);
	join(a, b, here);
	close_conn(a);
	expect_closed(b);
	greet(&a, &b);
	join(a, b, here);
	cr_assert_null(tcp->trunks, "a line that was closed leads nowhere");
}

Test(trunks, carry_bytes_unmixed)
{
	char text[32];

	open_trunk();
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < TRUNK_PAIRS; i++) {
			snprintf(text, sizeof(text), "%d>%d;", round, i);
			send_text(one[i], text);
			snprintf(text, sizeof(text), "%d<%d;", round, i);
			send_text(two[i], text);
		}
		if (round % 3 == 2)
			turn();
	}
	calm();
	for (int i = 0; i < TRUNK_PAIRS; i++) {
		char *to = two[i]->bytes, *from = one[i]->bytes;

		for (int round = 0; round < 100; round++) {
			to += snprintf(text, sizeof(text), "%d>%d;", round, i);
			cr_assert_eq(memcmp(to - strlen(text), text, strlen(text)), 0, "round %d", round);
			from += snprintf(text, sizeof(text), "%d<%d;", round, i);
			cr_assert_eq(memcmp(from - strlen(text), text, strlen(text)), 0, "round %d", round);
		}
		cr_assert(to == two[i]->bytes + two[i]->got && from == one[i]->bytes + one[i]->got);
	}
}

Test(trunks, send_what_lines_have_at_once)
{
	unsigned int received;

	open_trunk();
	calm();
	tell(one[1], "first");
	tell(one[2], "second");
	tell(one[3], "third");
	tell(one[1], ", again");
	for (int i = 0; i < MOST_POLLS; i++)
		tcp_link.poll(tcp);
	cr_assert(!two[1]->got && !two[2]->got && !two[3]->got, "nobody has flushed");
	cr_assert_not(tcp_link.flush(tcp, true));
	received = tcp->received;
	while (!two[3]->got)
		tcp_link.poll(tcp);
	cr_assert_eq(tcp->received, received + 1);
	expect_text(two[1], "first, again");
	expect_text(two[2], "second");
	expect_text(two[3], "third");
}

Test(trunks, keep_bytes_until_the_peer_has_answered)
{
	static const char much[TRUNK_BYTES / 4 + 100];

	open_trunk();
	tell(one[1], "sent");
	cr_assert_not(tcp_link.flush(tcp, false), "nothing is unanswered");
	expect(two[1], "sent");
	tell(one[2], "kept");
	for (int i = 0; i < MOST_POLLS; i++) {
		cr_assert(tcp_link.flush(tcp, false));
		tcp_link.poll(tcp);
	}
	cr_assert_eq(two[2]->got, 0);
	cr_assert_not(tcp_link.flush(tcp, true));
	cr_assert_not(tcp_link.flush(tcp, false));
	expect(two[2], "kept");
	tell(two[3], "answer");
	expect(one[3], "answer");
	tell(one[1], "no more");
	cr_assert_not(tcp_link.flush(tcp, false));
	expect(two[1], "no more");
	cr_assert_eq(try_send(one[1], much, sizeof(much)), sizeof(much));
	cr_assert(tcp_link.flush(tcp, false));
	cr_assert_eq(try_send(one[2], much, sizeof(much)), sizeof(much));
	cr_assert_not(tcp_link.flush(tcp, false), "half of what there is room for is not kept");
	UNTIL(two[1]->got == sizeof(much) && two[2]->got == sizeof(much));
}

Test(trunks, take_bytes_when_both_sides_know)
{
	for (int i = 0; i < TRUNK_PAIRS; i++) {
		greet(&one[i], &two[i]);
		cr_assert_eq(tcp_link.join(two[i]->line, false, here), 0);
		cr_assert_eq(try_send(two[i], "x", 1), -EAGAIN);
		tcp_link.want_write(two[i]->line);
		calm();
		cr_assert_eq(two[i]->writables, 0);
		cr_assert_eq(tcp_link.join(one[i]->line, true, here), 0);
		cr_assert_eq(try_send(one[i], "x", 1), i < 2 ? 1 : -EAGAIN, "a mover waits for the answer");
		if (i >= 2)
			tcp_link.want_write(one[i]->line);
		calm();
		cr_assert_eq(two[i]->writables, 1);
		cr_assert_eq(one[i]->writables, i >= 2);
		cr_assert_eq(tcp->watched, 0);
		if (i >= 2)
			tell(one[i], "x");
		expect(two[i], "x");
	}
	greet(&one[0], &two[0]);
	join(one[0], two[0], here);
	calm();
	cr_assert_eq(one[0]->writables + two[0]->writables, 0, "nobody asked");
}

/* A stored number would be lost with the stream. */
Test(trunks, store_no_number_while_a_line_joins)
{
	struct conn *a, *b;

	open_trunk();
	greet(&a, &b);
	cr_assert_eq(tcp_link.join(b->line, false, here), 0);
	cr_assert_eq(tcp_link.join(a->line, true, here), 0);
	cr_assert(!tcp_link.store_ack(a->line, 7) && !tcp_link.store_ack(b->line, 7));
	calm();
	cr_assert_eq(tcp_link.store_ack(a->line, 8), local);
	calm();
	cr_assert(b->notes == local && !a->notes);
}

Test(trunks, go_on_when_a_line_is_closed)
{
	open_trunk();
	tell(one[2], "last words");
	close_conn(one[2]);
	expect_closed(two[2]);
	cr_assert_eq(memcmp(two[2]->bytes, "last words", two[2]->got), 0);
	cr_assert_eq(two[2]->got, 10);
	close_conn(two[1]);
	expect_closed(one[1]);
	tell(one[3], "on");
	tell(two[3], "and on");
	expect(two[3], "on");
	expect(one[3], "and on");
	expect_count(4);
	greet(&one[1], &two[1]);
	join(one[1], two[1], here);
	cr_assert_eq(one[1]->line->channel, 4, "no number is given again");
	expect_count(4);
}

Test(trunks, end_with_the_last_line)
{
	open_trunk();
	for (int i = 1; i < TRUNK_PAIRS; i++) {
		close_conn(one[i]);
		expect_closed(two[i]);
	}
	calm();
	cr_assert_null(tcp->trunks);
	expect_count(2);
	cr_assert_eq(tcp->shm_count, local ? besides + 2 : 0);
	tell(one[0], "alone");
	expect(two[0], "alone");
	greet(&one[1], &two[1]);
	join(one[1], two[1], here);
	cr_assert_eq(one[1]->line->channel, 1, "of another trunk");
}

Test(trunks, end_when_the_accepter_has_closed_all)
{
	open_trunk();
	for (int i = 1; i < TRUNK_PAIRS; i++)
		close_conn(two[i]);
	for (int i = 1; i < TRUNK_PAIRS; i++)
		expect_closed(one[i]);
	calm();
	cr_assert_null(tcp->trunks);
	expect_count(2);
}

Test(trunks, end_with_their_stream)
{
	open_trunk();
	shutdown(trunk_at(true)->carrier->fd, SHUT_RDWR);
	calm();
	for (int i = 1; i < TRUNK_PAIRS; i++) {
		cr_assert(one[i]->downs == 1 && !one[i]->line && one[i]->error == ECONNRESET);
		cr_assert(two[i]->downs == 1 && !two[i]->line && two[i]->error == ECONNRESET);
	}
	cr_assert_eq(one[0]->downs + two[0]->downs, 0);
	cr_assert_null(tcp->trunks);
	expect_count(2);
	tell(one[0], "alone");
	expect(two[0], "alone");
}

/* The dialler closes a line before it has its answer, and the accepter reads of the channel's end before the join. */
Test(trunks, end_a_line_that_its_dialler_has_given_up)
{
	struct conn *a, *b;

	open_trunk();
	greet(&a, &b);
	cr_assert_eq(tcp_link.join(b->line, false, here), 0);
	tell(one[1], "before");
	tcp_link.flush(tcp, true);
	cr_assert_eq(tcp_link.join(a->line, true, here), 0);
	tcp_link.close(a->line);
	a->line = NULL;
	trunk_read(trunk_at(false)->carrier);
	expect_closed(b);
	cr_assert_null(trunk_line(trunk_at(false), TRUNK_PAIRS));
}

Test(trunks, wait_for_lines_that_are_not_readable)
{
	open_trunk();
	tell(one[2], "before");
	expect(two[2], "before");
	tcp_link.set_readable(two[1]->line, false);
	tcp_link.set_readable(two[3]->line, false);
	tcp_link.set_readable(two[3]->line, false);
	tell(one[1], "waits");
	tell(one[2], " and behind");
	calm();
	cr_assert(!two[1]->got && !two[2]->got);
	tcp_link.set_readable(two[1]->line, true);
	calm();
	cr_assert(!two[1]->got && !two[2]->got);
	tcp_link.set_readable(two[3]->line, true);
	expect(two[1], "waits");
	expect(two[2], " and behind");
	cr_assert_eq(tcp->watched, 0);
}

Test(trunks, do_not_wait_for_a_line_that_is_closed)
{
	open_trunk();
	tcp_link.set_readable(two[1]->line, false);
	tell(one[1], "nobody's");
	tell(one[2], "behind");
	calm();
	cr_assert_eq(two[2]->got, 0);
	close_conn(two[1]);
	expect(two[2], "behind");
	expect_closed(one[1]);
	cr_assert_eq(two[1]->got, 0);
}

/* Two pages, the second not accessible. */
static char *page_and_hole(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	return pages;
}

Test(trunks, send_up_to_a_hole)
{
	char *pages = page_and_hole();
	char head[4] = "head";
	struct iovec iov[3] = { { head, 4 }, { pages + 4000, 200 }, { head, 4 } };

	open_trunk();
	memset(pages, 'p', 4096);
	cr_assert_eq(tcp_link.send(one[1]->line, iov, 2), 100);
	cr_assert_eq(try_send(one[1], pages + 4096, 104), -EFAULT);
	iov[1].iov_base = pages + 4096;
	cr_assert_eq(tcp_link.send(one[1]->line, iov, 3), 4, "nothing from behind the hole");
	UNTIL(two[1]->got == 104);
	cr_assert(!memcmp(two[1]->bytes, "headpppp", 8) && !memcmp(two[1]->bytes + 96, "pppphead", 8));
}

Test(trunks, receive_up_to_a_hole)
{
	char *pages = page_and_hole();

	open_trunk();
	tell(one[1], "12345");
	tell(one[2], "behind");
	two[1]->place = (struct iovec){ pages + 4096, 5 };
	UNTIL(two[1]->placed);
	cr_assert_eq(two[1]->placed, -EFAULT);
	expect_text(two[1], "12345");
	expect_text(two[2], "behind");
	tell(one[1], "12345");
	two[1]->place = (struct iovec){ pages + 4094, 5 };
	UNTIL(two[1]->placed == 2);
	cr_assert_eq(memcmp(pages + 4094, "12", 2), 0);
	expect_text(two[1], "345");
}
