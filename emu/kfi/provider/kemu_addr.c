/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_addr.c - struct kcxi_addr and socket addresses; nodes and services. */
#include "emu/kfi/provider/kemu_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <kfi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/fi/provider/fi_kernel.h"
#include "emu/kfi/provider/kemu_refuse.h"

enum { APART = KEMU_CONTEXTS / KEMU_PID_PORTS, NEAR = KEMU_PIDS / APART };

_Static_assert((int)KEMU_PID_PORTS == (int)EMU_FI_ROW_PORTS, "a row is what the endpoint holds");
_Static_assert(KEMU_PID_BASE + (2 * KEMU_PIDS + KEMU_KEY_ROWS) * KEMU_PID_PORTS + KEMU_CONTEXTS < 32768,
	       "the rows lie below the system's own ports");

static unsigned int row_of(unsigned int pid)
{
	return pid % NEAR * APART + pid / NEAR;
}

static unsigned int pid_of(unsigned int row)
{
	return row / APART + row % APART * NEAR;
}

int kemu_addr_to_socket(const struct kcxi_addr *cxi, struct sockaddr_in *socket)
{
	if (cxi->pid >= KEMU_PIDS && cxi->pid != KEMU_PID_ANY)
		return -KFI_EINVAL;
	*socket = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl((uint32_t)cxi->nic) };
	if (cxi->pid != KEMU_PID_ANY)
		socket->sin_port = htons((uint16_t)(KEMU_PID_BASE + row_of(cxi->pid) * KEMU_PID_PORTS));
	return 0;
}

int kemu_addr_from_socket(const void *socket, size_t length, struct kcxi_addr *cxi)
{
	struct sockaddr_in in;
	unsigned int row;

	if (!socket || length < sizeof(in))
		return -KFI_EINVAL;
	memcpy(&in, socket, sizeof(in));
	row = (unsigned int)ntohs(in.sin_port) - KEMU_PID_BASE; /* ports below come out too large */
	if (in.sin_family != AF_INET || (in.sin_port && (row % KEMU_PID_PORTS || row / KEMU_PID_PORTS >= KEMU_PIDS)))
		return -KFI_EINVAL;
	*cxi = (struct kcxi_addr){ .nic = ntohl(in.sin_addr.s_addr), .pid = KEMU_PID_ANY };
	if (in.sin_port)
		cxi->pid = (uint16_t)pid_of(row / KEMU_PID_PORTS);
	return 0;
}

/* The number of an interface's name, or -1. */
static long interface_number(const char *node)
{
	char *end;
	long number;

	if ((strncmp(node, "cxi", 3) != 0 && strncmp(node, "emu", 3) != 0) || node[3] < '0' || node[3] > '9')
		return -1;
	number = strtol(node + 3, &end, 10);
	return *end || number > UINT16_MAX ? -1 : number;
}

static int resolve_node(const char *node, struct kcxi_addr *cxi)
{
	long number = node ? interface_number(node) : 0;
	struct kemu_interface interface;
	struct in_addr in;
	unsigned long hex;
	char *end;
	int err;

	if (number >= 0) {
		err = kemu_interface_at((unsigned int)number, &interface);
		if (!err)
			cxi->nic = interface.nic;
		return err;
	}
	if (inet_pton(AF_INET, node, &in) == 1) {
		cxi->nic = ntohl(in.s_addr);
		return 0;
	}
	errno = 0;
	hex = strtoul(node, &end, 16);
	if (errno || end == node || *end || hex > UINT32_MAX || strchr(node, '-'))
		return -KFI_EINVAL;
	cxi->nic = hex;
	return 0;
}

static int resolve_service(const char *service, bool source, struct kcxi_addr *cxi)
{
	unsigned long number;
	char *end;

	cxi->pid = source ? KEMU_PID_ANY : 0;
	if (!service)
		return 0;
	if (*service < '0' || *service > '9')
		return -KFI_EINVAL;
	number = strtoul(service, &end, 10);
	if (*end || number > UINT16_MAX)
		return -KFI_EINVAL;
	cxi->pid = number % KEMU_PIDS;
	return 0;
}

int kemu_addr_resolve(const char *node, const char *service, bool source, struct kcxi_addr *cxi)
{
	int err;

	*cxi = (struct kcxi_addr){ 0 };
	err = resolve_node(node, cxi);
	if (err)
		return KEMU_REFUSE(err,
				   "node `%s` is neither an IPv4 address, nor an interface (cxi0, emu0), nor a hexadecimal number.",
				   node ? node : "(none)");
	err = resolve_service(service, source, cxi);
	return err ? KEMU_REFUSE(err, "service `%s` is no number from 0 to %d.", service, UINT16_MAX) : 0;
}

uint16_t kemu_addr_shift(const uint8_t *key, size_t size)
{
	uint32_t number = 0;

	if (!size)
		return 0;
	memcpy(&number, key, size < sizeof(number) ? size : sizeof(number));
	return (uint16_t)((KEMU_PIDS + number % KEMU_KEY_ROWS) * KEMU_PID_PORTS);
}

/* A name of the network namespace, which ends with the last descriptor. */
static int claim_pid(const struct kcxi_addr *cxi, uint16_t shift)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), length, err;

	if (fd < 0)
		return -errno;
	length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "emu-kcxi/%x/%u/%u", (unsigned int)cxi->nic,
			  (unsigned int)cxi->pid, shift);
	if (!bind(fd, (const struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* 0: no other program has the first port of the row; -KFI_EADDRINUSE: one has. */
static int row_try(const struct kcxi_addr *cxi, uint16_t shift)
{
	struct sockaddr_in at;
	int err = kemu_addr_to_socket(cxi, &at), fd;

	if (err)
		return err;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	at.sin_port = htons((uint16_t)(ntohs(at.sin_port) + shift));
	err = bind(fd, (const struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
	close(fd);
	return err;
}

int kemu_addr_claim(struct kcxi_addr *cxi, uint16_t shift)
{
	struct kcxi_addr at = *cxi;
	int fd = -KFI_EADDRINUSE;

	if (cxi->pid != KEMU_PID_ANY)
		return claim_pid(cxi, shift);
	for (unsigned int pid = 0; pid < KEMU_PIDS && fd == -KFI_EADDRINUSE; pid++) {
		at.pid = pid & 0xfff;
		fd = row_try(&at, shift);
		if (!fd)
			fd = claim_pid(&at, shift);
	}
	if (fd >= 0)
		cxi->pid = at.pid;
	return fd;
}
