/* SPDX-License-Identifier: BSD-2-Clause */
/* address.c - see address.h. */
#include "emu/nic/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/base/hash.h"
#include "wire/codec.h"

bool address_canonical(const struct sockaddr *from, struct sockaddr_storage *to)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *in = (const struct sockaddr_in *)from;
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} name;

	memset(&name, 0, sizeof(name));
	if (from->sa_family == AF_INET) {
		name.in.sin_family = AF_INET;
		name.in.sin_port = in->sin_port;
		name.in.sin_addr = in->sin_addr;
	} else if (from->sa_family == AF_INET6) {
		name.in6.sin6_family = AF_INET6;
		name.in6.sin6_port = in6->sin6_port;
		name.in6.sin6_addr = in6->sin6_addr;
		name.in6.sin6_scope_id = in6->sin6_scope_id;
	} else {
		return false;
	}
	memset(to, 0, sizeof(*to));
	memcpy(to, &name, sizeof(name));
	return true;
}

uint64_t address_hash(const uint64_t secret[2], const void *canonical)
{
	uint64_t words[(sizeof(struct sockaddr_in6) + 7) / 8] = { 0 }, hash = 0;

	memcpy(words, canonical, sizeof(struct sockaddr_in6));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		hash = hash_u64(secret, hash ^ words[i]);
	return hash;
}

bool address_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct sockaddr_storage ca, cb;

	return address_canonical((const struct sockaddr *)a, &ca) && address_canonical((const struct sockaddr *)b, &cb) &&
	       !memcmp(&ca, &cb, sizeof(struct sockaddr_in6));
}

bool address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return !memcmp(a, b, sizeof(struct sockaddr_in6));
}

/* A field that addresses of other endpoints have zero, and connect(2) does not look at: one more than the queue pair's index. */
static uint16_t *number_of(const struct sockaddr_storage *name)
{
	return name->ss_family == AF_INET6 ? (uint16_t *)&((struct sockaddr_in6 *)name)->sin6_flowinfo
					   : (uint16_t *)((struct sockaddr_in *)name)->sin_zero;
}

static in_port_t *port_at(const struct sockaddr_storage *name)
{
	return name->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)name)->sin6_port : &((struct sockaddr_in *)name)->sin_port;
}

uint16_t address_port(const struct sockaddr_storage *name)
{
	return ntohs(*port_at(name));
}

void address_set_qpn(struct sockaddr_storage *canonical, uint32_t qpn)
{
	*number_of(canonical) = (uint16_t)((qpn & 0xff) + 1);
	*port_at(canonical) = htons((uint16_t)(qpn >> 8));
}

uint32_t address_qpn(const struct sockaddr_storage *canonical)
{
	uint16_t number = *number_of(canonical);

	return number ? (uint32_t)address_port(canonical) << 8 | (number - 1u) : 0;
}

void address_put(const struct sockaddr_storage *name, struct wire_address_fields *fields)
{
	memset(fields, 0, sizeof(*fields));
	if (name->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)name;

		fields->family = 6;
		fields->port = ntohs(in6->sin6_port);
		fields->scope = in6->sin6_scope_id;
		memcpy(fields->addr, &in6->sin6_addr, sizeof(in6->sin6_addr));
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)name;

		fields->family = 4;
		fields->port = ntohs(in->sin_port);
		memcpy(fields->addr, &in->sin_addr, sizeof(in->sin_addr));
	}
}

void address_get(const struct wire_address_fields *fields, struct sockaddr_storage *name)
{
	memset(name, 0, sizeof(*name));
	if (fields->family == 6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)name;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(fields->port);
		in6->sin6_scope_id = fields->scope;
		memcpy(&in6->sin6_addr, fields->addr, sizeof(in6->sin6_addr));
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)name;

		in->sin_family = AF_INET;
		in->sin_port = htons(fields->port);
		memcpy(&in->sin_addr, fields->addr, sizeof(in->sin_addr));
	}
}

const char *address_text(const struct sockaddr_storage *name, char *text, size_t size)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)name;
	const struct sockaddr_in *in = (const struct sockaddr_in *)name;
	char address[INET6_ADDRSTRLEN];
	uint32_t qpn = address_qpn(name);

	if (name->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, address, sizeof(address));
	else
		inet_ntop(AF_INET, &in->sin_addr, address, sizeof(address));
	if (qpn)
		snprintf(text, size, "%s QPN 0x%06x", address, (unsigned)qpn);
	else
		snprintf(text, size, name->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", address, address_port(name));
	return text;
}
