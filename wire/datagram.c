/* SPDX-License-Identifier: BSD-2-Clause */
/* datagram.c - the codec and the validator of unreliable datagrams. */
#include "wire/datagram.h"

#include <assert.h>

#include "wire/digest.h"

static const char *const flaw_names[WIRE_DG_FLAWS] = {
	[WIRE_DG_FLAWLESS] = "nothing wrong",
	[WIRE_DG_SHORT] = "shorter than a datagram's head (WIRE-90)",
	[WIRE_DG_MAGIC] = "without the magic bytes: not an emu peer? (WIRE-91)",
	[WIRE_DG_VERSION] = "of another version (WIRE-91)",
	[WIRE_DG_FLAGS] = "unknown flags, or flags that exclude each other (WIRE-92)",
	[WIRE_DG_LENGTH] = "payload is not the bytes behind the head, or past the MTU (WIRE-90)",
	[WIRE_DG_ADDRESS] = "the sender's address is malformed (WIRE-93)",
	[WIRE_DG_CQ_DATA_FLAG] = "CQ data without its flag (WIRE-92)",
	[WIRE_DG_DIGEST] = "digest does not match (WIRE-94)",
	[WIRE_DG_PAIR] = "a queue pair's number or a fact of its GRH is out of range (WIRE-151)",
};

const char *wire_datagram_flaw_name(enum wire_datagram_flaw flaw)
{
	assert(flaw < WIRE_DG_FLAWS && flaw_names[flaw]);
	return flaw_names[flaw];
}

/* The digest of `head`, with its digest field taken as zero, and of `payload` bytes behind it. */
static uint64_t digest_of(const struct wire_datagram *head, size_t payload)
{
	uint8_t bytes[WIRE_DATAGRAM_MAX];

	memcpy(bytes, head, sizeof(*head) + payload);
	memset(bytes + offsetof(struct wire_datagram, digest), 0, sizeof(head->digest));
	return digest_bytes(bytes, sizeof(*head) + payload);
}

/* So many bytes behind the head are covered as it is, in each version. */
static size_t covered(uint16_t version)
{
	return version == WIRE_PAIR_DATAGRAM_VERSION ? sizeof(struct wire_pair_datagram) : 0;
}

static uint64_t sealed(const struct wire_datagram *head)
{
	return digest_of(head,
			 wire_get16(head->flags) & WIRE_DG_WHOLE ? wire_get32(head->payload) : covered(wire_get16(head->version)));
}

static enum wire_datagram_flaw datagram_check(const struct wire_datagram *head, size_t length, uint16_t version, uint16_t known)
{
	uint16_t flags;

	if (length < sizeof(*head))
		return WIRE_DG_SHORT;
	flags = wire_get16(head->flags);
	if (memcmp(head->magic, WIRE_DATAGRAM_MAGIC, sizeof(head->magic)))
		return WIRE_DG_MAGIC;
	if (wire_get16(head->version) != version)
		return WIRE_DG_VERSION;
	if (length < sizeof(*head) + covered(version))
		return WIRE_DG_SHORT;
	if (flags & ~known || (flags & WIRE_DG_WHOLE && flags & WIRE_DG_TAGGED))
		return WIRE_DG_FLAGS;
	if (length > WIRE_DATAGRAM_MAX || wire_get32(head->payload) != length - sizeof(*head))
		return WIRE_DG_LENGTH;
	if (!wire_address_is_good(wire_get16(head->family), wire_get16(head->port), head->addr, wire_get32(head->scope)))
		return WIRE_DG_ADDRESS;
	if (wire_get64(head->cq_data) && !(flags & WIRE_DG_CQ_DATA))
		return WIRE_DG_CQ_DATA_FLAG;
	return flags & WIRE_DG_TAGGED || sealed(head) == wire_get64(head->digest) ? WIRE_DG_FLAWLESS : WIRE_DG_DIGEST;
}

enum wire_datagram_flaw wire_check_datagram(const void *bytes, size_t length)
{
	return datagram_check(bytes, length, WIRE_DATAGRAM_VERSION, WIRE_DG_CQ_DATA | WIRE_DG_WHOLE | WIRE_DG_TAGGED);
}

/* WIRE-151: an address of IPv4 is of family 4. */
static bool is_good_pair(const struct wire_datagram *head, const struct wire_pair_datagram *pair)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return (wire_get16(head->family) == 4 || memcmp(head->addr, mapped, sizeof(mapped)) != 0) &&
	       wire_get32(pair->dest_qpn) <= WIRE_QPN_GROUP && wire_get32(pair->src_qpn) >> 8 == wire_get16(head->port) &&
	       wire_get32(pair->flow_label) >> 20 == 0 && pair->sl >> 4 == 0 && !pair->zero && !wire_get64(head->auth) &&
	       wire_get64(head->cq_data) >> 32 == 0;
}

enum wire_datagram_flaw wire_check_pair_datagram(const void *bytes, size_t length)
{
	const struct wire_datagram *head = bytes;
	enum wire_datagram_flaw flaw = datagram_check(head, length, WIRE_PAIR_DATAGRAM_VERSION,
						      WIRE_DG_CQ_DATA | WIRE_DG_WHOLE | WIRE_DG_TAGGED | WIRE_DG_SOLICITED);

	if (flaw == WIRE_DG_FLAWLESS && !is_good_pair(head, (const struct wire_pair_datagram *)(head + 1)))
		return WIRE_DG_PAIR;
	return flaw;
}

void wire_get_datagram(const void *bytes, struct wire_datagram_fields *fields)
{
	const struct wire_datagram *head = bytes;

	*fields = (struct wire_datagram_fields){
		.flags = wire_get16(head->flags),
		.from.family = wire_get16(head->family),
		.from.port = wire_get16(head->port),
		.from.scope = wire_get32(head->scope),
		.payload = wire_get32(head->payload),
		.cq_data = wire_get64(head->cq_data),
		.auth = wire_get64(head->auth),
	};
	memcpy(fields->from.addr, head->addr, sizeof(head->addr));
}

void wire_get_pair_datagram(const void *bytes, struct wire_datagram_fields *fields, struct wire_pair_datagram_fields *pair)
{
	const struct wire_pair_datagram *more = (const struct wire_pair_datagram *)((const struct wire_datagram *)bytes + 1);

	wire_get_datagram(bytes, fields);
	fields->payload -= (uint32_t)sizeof(*more);
	*pair = (struct wire_pair_datagram_fields){
		.dest_qpn = wire_get32(more->dest_qpn),
		.src_qpn = wire_get32(more->src_qpn),
		.qkey = wire_get32(more->qkey),
		.flow_label = wire_get32(more->flow_label),
		.traffic_class = more->traffic_class,
		.hop_limit = more->hop_limit,
		.sl = more->sl,
	};
	memcpy(pair->dgid, more->dgid, sizeof(pair->dgid));
}

/* What stands behind the head is there already. */
static size_t datagram_put(struct wire_datagram *head, const struct wire_datagram_fields *fields, uint16_t version, size_t payload)
{
	assert(payload <= WIRE_MTU);
	*head = (struct wire_datagram){
		.version = wire_put16(version),
		.flags = wire_put16(fields->flags),
		.family = wire_put16(fields->from.family),
		.port = wire_put16(fields->from.port),
		.scope = wire_put32(fields->from.scope),
		.payload = wire_put32((uint32_t)payload),
		.cq_data = wire_put64(fields->cq_data),
		.auth = wire_put64(fields->auth),
	};
	memcpy(head->magic, WIRE_DATAGRAM_MAGIC, sizeof(head->magic));
	memcpy(head->addr, fields->from.addr, sizeof(head->addr));
	head->digest = wire_put64(sealed(head));
	return sizeof(*head) + payload;
}

size_t wire_put_datagram(void *at, const struct wire_datagram_fields *fields)
{
	return datagram_put(at, fields, WIRE_DATAGRAM_VERSION, fields->payload);
}

size_t wire_put_pair_datagram(void *at, const struct wire_datagram_fields *fields, const struct wire_pair_datagram_fields *pair)
{
	struct wire_datagram *head = at;
	struct wire_pair_datagram *more = (struct wire_pair_datagram *)(head + 1);

	*more = (struct wire_pair_datagram){
		.dest_qpn = wire_put32(pair->dest_qpn),
		.src_qpn = wire_put32(pair->src_qpn),
		.qkey = wire_put32(pair->qkey),
		.flow_label = wire_put32(pair->flow_label),
		.traffic_class = pair->traffic_class,
		.hop_limit = pair->hop_limit,
		.sl = pair->sl,
	};
	memcpy(more->dgid, pair->dgid, sizeof(more->dgid));
	return datagram_put(head, fields, WIRE_PAIR_DATAGRAM_VERSION, sizeof(*more) + fields->payload);
}
