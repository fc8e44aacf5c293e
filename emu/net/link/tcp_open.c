/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_open.c - the link made and freed: without the role, so calls may sleep here (emu/net/CMakeLists.txt). */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "emu/net/link/tcp_line.h"
#include "emu/net/link/trunk.h"

static void close_sets(struct tcp *tcp)
{
	int sets[] = { tcp->data_set, tcp->dial_set, tcp->listen_set, tcp->linger_set };

	for (int i = 0; i < 4; i++)
		if (sets[i] >= 0)
			close(sets[i]);
}

int tcp_open(struct tcp **out, const struct tcp_config *config)
{
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	int err;

	if (!tcp)
		return -ENOMEM;
	tcp->config = *config;
	err = random_open(&tcp->random);
	if (err) {
		tcp_link.log(tcp, NIC_LOG_WARN, "getrandom(2) is refused, but keys and ids need it: allow it in the sandbox");
		free(tcp);
		return err;
	}
	tcp->data_set = epoll_create1(EPOLL_CLOEXEC);
	tcp->dial_set = epoll_create1(EPOLL_CLOEXEC);
	tcp->listen_set = epoll_create1(EPOLL_CLOEXEC);
	tcp->linger_set = epoll_create1(EPOLL_CLOEXEC);
	if (tcp->data_set < 0 || tcp->dial_set < 0 || tcp->listen_set < 0 || tcp->linger_set < 0) {
		err = -errno;
		close_sets(tcp);
		random_close(&tcp->random);
		free(tcp);
		return err;
	}
	if (config->local)
		shm_all_open(tcp);
	*out = tcp;
	return 0;
}

void tcp_close(struct tcp *tcp)
{
	while (tcp->listeners)
		listener_close(tcp, tcp->listeners);
	while (tcp->ports)
		port_close(tcp->ports);
	trunks_close(tcp);
	while (tcp->lines)
		line_close(tcp->lines);
	while (tcp_tick(tcp))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	shm_all_close(tcp);
	close_sets(tcp);
	random_close(&tcp->random);
	free(tcp);
}
