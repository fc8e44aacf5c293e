/* SPDX-License-Identifier: BSD-2-Clause */
/* one_port.c - queue pairs where FI_EMU_PORTS allows one port: what is told while another has it, and that it is given back. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/verbs/world.h"

/* A socket that has the port, or -1 where something else has it. */
static int taken(int type, uint16_t port)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, type, 0);

	cr_assert_geq(fd, 0);
	if (!bind(fd, (struct sockaddr *)&name, sizeof(name)) && (type == SOCK_DGRAM || !listen(fd, 1)))
		return fd;
	close(fd);
	return -1;
}

/* A port that nobody has, below those that the system gives; from here on it is the only one. */
static uint16_t only_port(void)
{
	uint16_t port = (uint16_t)(20000 + getpid() * 16 % 11008); /* tests beside this one look elsewhere */
	int streams, datagrams;
	char range[16];

	for (;; port++) {
		cr_assert_lt(port, 32000, "no port is free");
		streams = taken(SOCK_STREAM, port);
		datagrams = taken(SOCK_DGRAM, port);
		close(streams);
		close(datagrams);
		if (streams >= 0 && datagrams >= 0)
			break;
	}
	snprintf(range, sizeof(range), "%d-%d", port, port);
	setenv("FI_EMU_IFACE", "127.0.0.1", 1);
	setenv("FI_EMU_PORTS", range, 1);
	return port;
}

/* While another has the port of this type no queue pair can be created, and nothing is kept of the try. */
static void check(enum ibv_qp_type qp_type, int type)
{
	uint16_t port = only_port();
	int other = taken(type, port);
	struct ibv_qp_init_attr init = { .qp_type = qp_type, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct verbs verbs;

	verbs_open(&verbs);
	cq = ibv_create_cq(verbs.context, 2, NULL, NULL, 0);
	cr_assert_not_null(cq);
	init.send_cq = init.recv_cq = cq;
	said_begin();
	errno = 0;
	cr_assert_null(ibv_create_qp(verbs.pd, &init));
	cr_assert_eq(errno, EADDRINUSE);
	cr_assert(said_has("widen FI_EMU_PORTS"));
	close(other);
	for (int i = 0; i < 2; i++) {
		other = taken(SOCK_STREAM, port);
		cr_assert_geq(other, 0, "try %d: the port was not given back", i);
		close(other);
		qp = ibv_create_qp(verbs.pd, &init);
		cr_assert_not_null(qp);
		cr_assert_lt(taken(SOCK_STREAM, port), 0);
		cr_assert_eq(ibv_destroy_qp(qp), 0);
	}
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	verbs_close(&verbs);
}

Test(verbs_one_port, taken_by_a_listener)
{
	check(IBV_QPT_RC, SOCK_STREAM);
}

Test(verbs_one_port, taken_by_datagrams)
{
	check(IBV_QPT_UD, SOCK_DGRAM);
}
