/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_addr.h - addresses of kfabric's provider cxi, struct kcxi_addr, as socket addresses: `nic` is the IPv4 address as a number,
 * and `pid` a row of ports, one for each receive context. The rows of pids 0 to 31 lie 8 apart, so that each has ports for all
 * contexts; those of 32 to 63 come next to them, and so on: an endpoint with many contexts takes ports of later pids. And this
 * machine's interfaces, which those addresses name. */
#ifndef EMU_KFI_ADDR_H
#define EMU_KFI_ADDR_H

#include <kfi_cxi_ext.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KEMU_PIDS = 256,       /* of an interface; the number behind a service is taken modulo this */
	KEMU_PID_ANY = 0xfff,  /* of a source: the first one that is free when the endpoint is opened */
	KEMU_PID_PORTS = 16,   /* of one: so many receive contexts are its own */
	KEMU_CONTEXT_BITS = 7, /* number the contexts of an endpoint */
	KEMU_CONTEXTS = 1 << KEMU_CONTEXT_BITS,
	KEMU_PID_BASE = 20480, /* port of pid 0; below those that the system gives to others */
	KEMU_KEY_ROWS = 240,   /* authorization keys that differ modulo this have ports of their own */
};

/* -KFI_EINVAL: the pid is neither one nor KEMU_PID_ANY, which is port 0. */
int kemu_addr_to_socket(const struct kcxi_addr *cxi, struct sockaddr_in *socket);
/* -KFI_EINVAL: no IPv4 address, or a port that begins no row. */
int kemu_addr_from_socket(const void *socket, size_t length, struct kcxi_addr *cxi);

/* Resolves "192.0.2.1", "cxi0", "emu0" or a hexadecimal number, and a pid. Without a node it is the first interface, without a
 * service KEMU_PID_ANY (`source`) or pid 0. 0; -KFI_ENODEV: no such interface, -KFI_EINVAL, -KFI_ENOMEM. May sleep. */
int kemu_addr_resolve(const char *node, const char *service, bool source, struct kcxi_addr *cxi);

/* How many ports above those of its address an endpoint with this authorization key listens; 0 without one. With HPE's provider
 * a pid is one of its key (VNI), so that endpoints with different keys have the same. */
uint16_t kemu_addr_shift(const uint8_t *key, size_t size);

/* Makes the pid this process's own, of those with the same shift, until the descriptor is closed; KEMU_PID_ANY becomes one that is
 * free. The descriptor; -KFI_EADDRINUSE: another endpoint has it, in this process or another one of the network namespace; any
 * other error of the system's socket(2) and bind(2) as it is. */
int kemu_addr_claim(struct kcxi_addr *cxi, uint16_t shift);

struct kemu_interface {
	uint32_t nic;
	char fabric[64], domain[64]; /* as libfabric's provider calls them */
};

/* Interface number `index`: 0; -KFI_ENODEV: there is none; -KFI_ENOMEM. May sleep. */
int kemu_interface_at(unsigned int index, struct kemu_interface *interface);
/* The number of the interface with this address, or one of these errors. */
int kemu_interface_of(uint32_t nic);

#endif
