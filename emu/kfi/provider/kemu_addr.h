/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_addr.h - addresses of kfabric's provider cxi, struct kcxi_addr, as socket addresses: `nic` is the IPv4 address as a number,
 * and `pid` a row of ports, one for each receive context. And this machine's interfaces, which those addresses name. */
#ifndef EMU_KFI_ADDR_H
#define EMU_KFI_ADDR_H

#include <kfi_cxi_ext.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KEMU_PIDS = 256,       /* of an interface; the number behind a service is taken modulo this */
	KEMU_PID_ANY = 0xfff,  /* of a source: the first one that is free when the endpoint is enabled */
	KEMU_PID_PORTS = 16,   /* of one, so the most receive contexts of an endpoint */
	KEMU_PID_BASE = 20480, /* port of pid 0; below those that the system gives to others */
};

/* -KFI_EINVAL: the pid is neither one nor KEMU_PID_ANY, which is port 0. */
int kemu_addr_to_socket(const struct kcxi_addr *cxi, struct sockaddr_in *socket);
/* -KFI_EINVAL: no IPv4 address, or a port that begins no row. */
int kemu_addr_from_socket(const void *socket, size_t length, struct kcxi_addr *cxi);

/* Resolves "192.0.2.1", "cxi0", "emu0" or a hexadecimal number, and a pid. Without a node it is the first interface, without a
 * service KEMU_PID_ANY (`source`) or pid 0. 0; -KFI_ENODEV: no such interface, -KFI_EINVAL, -KFI_ENOMEM. May sleep. */
int kemu_addr_resolve(const char *node, const char *service, bool source, struct kcxi_addr *cxi);

/* The row of ports is free: a bind would succeed at each. `count` of them. Any thread. */
bool kemu_addr_free(const struct kcxi_addr *cxi, size_t count);

struct kemu_interface {
	uint32_t nic;
	char fabric[64], domain[64]; /* as libfabric's provider calls them */
};

/* Interface number `index`: 0; -KFI_ENODEV: there is none; -KFI_ENOMEM. May sleep. */
int kemu_interface_at(unsigned int index, struct kemu_interface *interface);
/* The number of the interface with this address, or one of these errors. */
int kemu_interface_of(uint32_t nic);

#endif
