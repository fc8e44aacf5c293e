/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_protocol.c - the address is that of a program that speaks another protocol */
#include "tests/errors/pair.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* In a child that ends with its parent; fills in the port. */
static void serve_a_web_page(struct sockaddr_in *address)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*address);
	char request[4096];

	MUST(bind(listener, (struct sockaddr *)address, size));
	MUST(listen(listener, 8));
	MUST(getsockname(listener, (struct sockaddr *)address, &size));
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int line = accept(listener, NULL, NULL);

		if (read(line, request, sizeof(request)) > 0)
			MUST(write(line, "HTTP/1.1 400 Bad Request\r\n\r\n", 28));
		close(line);
	}
}

int main(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pair p;

	serve_a_web_page(&address);
	pair_open(&p, NULL);
	pair_meet(&p, &address);
	pair_write(&p, p.addr, 8, p.key);
	return pair_close(&p);
}
