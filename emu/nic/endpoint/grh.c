/* SPDX-License-Identifier: BSD-2-Clause */
/* grh.c - the header in front of a datagram that a queue pair has received, as hardware for RoCE v2 leaves it there. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "emu/nic/endpoint/ep_impl.h"
#include "wire/gid.h"

enum {
	IPV4_AT = GRH_BYTES - 20, /* behind bytes that mean nothing */
	HEADERS = 8 + 12 + 8,     /* of UDP, BTH and DETH */
	IMMEDIATE = 4,
	CHECK = 4,     /* ICRC */
	NEXT_UDP = 17, /* protocol */
	DONT_FRAGMENT = 0x4000,
};

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* RFC 1071, of 20 bytes, in which its own place is zero. */
static uint32_t checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16)) & 0xffff;
}

static void put_ipv4(uint8_t *header, const struct grh_fields *fields, uint32_t packet)
{
	header[0] = 0x45;
	header[1] = fields->traffic_class;
	put16(header + 2, 20 + packet);
	put16(header + 6, DONT_FRAGMENT);
	header[8] = fields->hop_limit;
	header[9] = NEXT_UDP;
	memcpy(header + 12, fields->sgid + 12, 4);
	if (group_is(fields->dgid))
		group_ipv4(fields->dgid, header + 16);
	else
		memcpy(header + 16, fields->dgid + 12, 4);
	put16(header + 10, checksum(header));
}

static void put_ipv6(uint8_t *grh, const struct grh_fields *fields, uint32_t packet)
{
	uint32_t first = htonl(UINT32_C(6) << 28 | (uint32_t)fields->traffic_class << 20 | fields->flow_label);

	memcpy(grh, &first, sizeof(first));
	put16(grh + 4, packet);
	grh[6] = NEXT_UDP;
	grh[7] = fields->hop_limit;
	memcpy(grh + 8, fields->sgid, 16);
	memcpy(grh + 24, fields->dgid, 16);
}

void grh_put(uint8_t grh[GRH_BYTES], const struct grh_fields *fields)
{
	uint32_t padded = (fields->length + 3) & ~UINT32_C(3);
	uint32_t packet = HEADERS + (fields->has_data ? IMMEDIATE : 0) + padded + CHECK;

	role_assert();
	memset(grh, 0, GRH_BYTES);
	if (wire_gid_is_ipv4(fields->sgid)) /* V143 */
		put_ipv4(grh + IPV4_AT, fields, packet);
	else
		put_ipv6(grh, fields, packet);
}
