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
void address_put(const struct sockaddr_storage *name, struct wire_address_fields *fields);
/* Gets the address in canonical form. */
void address_get(const struct wire_address_fields *fields, struct sockaddr_storage *name);
/* "192.0.2.1:4711"; returns text. */
const char *address_text(const struct sockaddr_storage *name, char *text, size_t size);

#endif
