/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong_secret.c - one process has a shared secret, and its peer has none */
#include "tests/errors/pair.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child that has a secret: an endpoint, whose address it writes to `line`. It is there until the other end is shut. */
static void open_with_secret(int line)
{
	char file[] = "/tmp/emu_secret_XXXXXX", address[256];
	size_t size = sizeof(address);
	struct pair peer;

	MUST(write(mkstemp(file), "only the child knows it", 23));
	setenv("FI_EMU_SECRET_FILE", file, 1);
	pair_open(&peer, NULL);
	unlink(file);
	MUST(fi_getname(&peer.target.ep->fid, address, &size));
	MUST(write(line, address, size));
	MUST(read(line, address, 1));
	exit(pair_close(&peer));
}

int main(void)
{
	char address[256];
	struct pair p;
	int line[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, line));
	if (!fork())
		open_with_secret(line[1]);
	MUST(read(line[0], address, sizeof(address)));
	pair_open(&p, NULL);
	pair_meet(&p, address);
	pair_write(&p, p.addr, 8, p.key);
	MUST(shutdown(line[0], SHUT_RDWR));
	MUST(wait(NULL));
	return pair_close(&p);
}
