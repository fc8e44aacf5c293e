/* SPDX-License-Identifier: BSD-2-Clause */
/* address.h - an endpoint's address as frames carry it, and as a person reads it. Pure. */
#ifndef EMU_NIC_ADDRESS_H
#define EMU_NIC_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct wire_address_fields;

/* Canonical form of an IPv4 or IPv6 socket address: the same for all forms of one endpoint's. False for other families. */
bool address_canonical(const struct sockaddr *from, struct sockaddr_storage *to);
/* Hashes the canonical form, or its first bytes as struct sockaddr_in6 has them; keyed as hash_u64() is. */
uint64_t address_hash(const uint64_t secret[2], const void *canonical);
bool address_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Of two canonical ones, each with or without a queue pair. */
bool address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Makes of a canonical address the one of the queue pair with that number (QPN), whose upper 16 bits of 24 become the port. */
void address_set_qpn(struct sockaddr_storage *canonical, uint32_t qpn);
uint16_t address_port(const struct sockaddr_storage *name);
/* 0: it is not one of a queue pair. */
uint32_t address_qpn(const struct sockaddr_storage *canonical);
void address_put(const struct sockaddr_storage *name, struct wire_address_fields *fields);
/* Gets the address in canonical form. */
void address_get(const struct wire_address_fields *fields, struct sockaddr_storage *name);
/* "192.0.2.1:4711", "192.0.2.1 QPN 0x126701"; returns text. */
const char *address_text(const struct sockaddr_storage *name, char *text, size_t size);

#endif
