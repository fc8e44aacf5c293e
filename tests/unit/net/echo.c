/* SPDX-License-Identifier: BSD-2-Clause */
/* echo.c - the NIC over real sockets and a fake device that echoes, and its peer. */
#include "echo.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/thread/net.h"
#include "emu/net/thread/net_internal.h"
#include "fake.h"

struct nic *nic;
struct driver *driver;
int peer;
uint64_t slow_ns;
static struct ep ep;
static struct conn *conn;

/* The NIC, a listener, and a peer that the NIC thread lets in. */
void echo_start(bool manual)
{
	struct net_config config = { .manual = manual, .slow_ns = slow_ns };
	struct sockaddr_storage at = { .ss_family = AF_INET };
	void *listener;

	cr_assert_eq(net_start(&nic, &config), 0);
	driver = nic_driver(nic);
	conn = ep.accepts[0] = conn_make(fake.ops);
	conn->echo = true;
	ep.accepts[1] = conn_make(fake.ops);
	cr_assert(driver_enter(driver));
	cr_assert_eq(fake.ops->listen(fake.link, &at, &ep, &listener), 0);
	driver_leave(driver);
	peer = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(peer, (struct sockaddr *)&at, sizeof(struct sockaddr_in)), 0);
	for (bool in = false; !in;) {
		cr_assert(driver_enter(driver));
		in = ep.accepted == 1;
		driver_leave(driver);
		sched_yield();
	}
	/* And has told so to sleepers: none of those to come is woken by it. */
	cr_assert_eq(poll(&(struct pollfd){ .fd = net_control_fd(), .events = POLLIN }, 1, 30000), 1);
}

void echo_ping(void)
{
	cr_assert_eq(send(peer, "?", 1, 0), 1);
}

/* Blocks. */
void echo_pong(void)
{
	char byte = 0;

	cr_assert_eq(recv(peer, &byte, 1, 0), 1);
	cr_assert_eq(byte, '?');
}

bool echo_has_pong(void)
{
	char byte;

	return recv(peer, &byte, 1, MSG_DONTWAIT) == 1;
}

/* Dials the NIC's own listener, and returns when the NIC thread has finished both ends. */
void echo_dial_itself(void)
{
	struct sockaddr_storage at = { .ss_family = AF_INET };
	struct conn *dialled = conn_make(fake.ops);
	bool up = false;
	void *listener;

	cr_assert(driver_enter(driver));
	cr_assert_eq(fake.ops->listen(fake.link, &at, &ep, &listener), 0);
	cr_assert_eq(fake.ops->dial(fake.link, &at, dialled, &dialled->line), 0);
	driver_leave(driver);
	while (!up) {
		sched_yield();
		cr_assert(driver_enter(driver));
		up = dialled->ups == 1 && ep.accepted == 2;
		driver_leave(driver);
	}
}

bool never(void *arg)
{
	(void)arg;
	return false;
}
