/* SPDX-License-Identifier: BSD-2-Clause */
/* trunks.c - joins pairs. */
#include "trunks.h"

#include <string.h>

#include <criterion/criterion.h>

const uint8_t here[WIRE_PROCESS_LEN] = "process", elsewhere[WIRE_PROCESS_LEN] = "another";

struct conn *one[TRUNK_PAIRS], *two[TRUNK_PAIRS];
unsigned int besides;

/* With a shared segment, if they are neighbours: what follows goes by its ring. */
void greet(struct conn **dialler, struct conn **accepter)
{
	if (local)
		pair_with_shm(dialler, accepter);
	else
		pair(dialler, accepter);
	(*dialler)->hangs_up = (*accepter)->hangs_up = true;
}

void join(struct conn *dialler, struct conn *accepter, const uint8_t *process)
{
	cr_assert_eq(tcp_link.join(accepter->line, false, process), 0);
	cr_assert_eq(tcp_link.join(dialler->line, true, process), 0);
	UNTIL(dialler->line->state != LINE_JOINING && accepter->line->state != LINE_JOINING);
}

void open_trunks(void)
{
	struct conn *a, *b;

	open_link();
	if (!local)
		return;
	greet(&a, &b);
	join(a, b, here);
	greet(&a, &b);
	join(a, b, elsewhere);
	besides = tcp->count;
}

void open_trunk(void)
{
	for (int i = 0; i < TRUNK_PAIRS; i++) {
		greet(&one[i], &two[i]);
		join(one[i], two[i], here);
	}
}

struct trunk *trunk_at(bool dialled)
{
	struct trunk *trunk = tcp->trunks;

	while (trunk && !trunk->channels == dialled)
		trunk = trunk->next;
	return trunk;
}

void turn(void)
{
	tcp_link.flush(tcp, true);
	tcp_link.poll(tcp);
}

void calm(void)
{
	for (int i = 0; i < 2 * MOST_POLLS; i++)
		turn();
}

void expect(struct conn *conn, const char *text)
{
	UNTIL(atomic_load(&conn->got) >= strlen(text));
	expect_text(conn, text);
}

ssize_t try_send(struct conn *conn, const char *bytes, size_t length)
{
	return tcp_link.send(conn->line, &(struct iovec){ (char *)bytes, length }, 1);
}

void tell(struct conn *conn, const char *text)
{
	cr_assert_eq(try_send(conn, text, strlen(text)), (ssize_t)strlen(text));
}
