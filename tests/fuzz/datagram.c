/* SPDX-License-Identifier: BSD-2-Clause */
/* datagram.c - the validator of datagrams takes any bytes; what it passes is what the encoder writes.
 *
 * Input: a byte that is odd if the digest is to be repaired, then the datagram. */
#include "tests/fuzz/fuzz.h"
#include "wire/datagram.h"
#include "wire/digest.h"

/* As wire_put_datagram() does it: what is in the head but its digest stays. */
static void repair(uint8_t *bytes, size_t length)
{
	struct wire_datagram *head = (struct wire_datagram *)bytes;
	bool whole = wire_get16(head->flags) & WIRE_DG_WHOLE;
	bool pair = wire_get16(head->version) == WIRE_PAIR_DATAGRAM_VERSION && length >= (size_t)WIRE_PAIR_HEAD;

	head->digest = wire_put64(0);
	head->digest = wire_put64(digest_bytes(bytes, whole ? length : pair ? (size_t)WIRE_PAIR_HEAD : sizeof(*head)));
}

/* Likewise between queue pairs. */
static void try_pair(const uint8_t *bytes, size_t length)
{
	enum wire_datagram_flaw flaw = wire_check_pair_datagram(bytes, length);
	struct wire_pair_datagram_fields pair;
	struct wire_datagram_fields fields;
	uint8_t *again;

	FUZZ_CHECK(wire_datagram_flaw_name(flaw));
	if (flaw)
		return;
	again = malloc(length);
	FUZZ_CHECK(again);
	memcpy(again, bytes, length);
	memset(again, 0xa5, WIRE_PAIR_HEAD);
	wire_get_pair_datagram(bytes, &fields, &pair);
	FUZZ_CHECK(wire_put_pair_datagram(again, &fields, &pair) == length);
	if (fields.flags & WIRE_DG_TAGGED)
		((struct wire_datagram *)again)->digest = ((const struct wire_datagram *)bytes)->digest;
	FUZZ_CHECK(!memcmp(again, bytes, length));
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_datagram_fields fields;
	uint8_t *bytes, *again;
	enum wire_datagram_flaw flaw;
	size_t length;

	if (size < 1 || size > 4096)
		return 0;
	length = size - 1;
	bytes = malloc(length ? length : 1);
	FUZZ_CHECK(bytes);
	memcpy(bytes, data + 1, length);
	if ((data[0] & 1) && length >= sizeof(struct wire_datagram))
		repair(bytes, length);
	flaw = wire_check_datagram(bytes, length);
	FUZZ_CHECK(wire_datagram_flaw_name(flaw));
	if (!flaw) {
		again = malloc(length);
		FUZZ_CHECK(again);
		memset(again, 0xa5, sizeof(struct wire_datagram));
		memcpy(again + sizeof(struct wire_datagram), bytes + sizeof(struct wire_datagram),
		       length - sizeof(struct wire_datagram));
		wire_get_datagram(bytes, &fields);
		FUZZ_CHECK(wire_put_datagram(again, &fields) == length);
		if (fields.flags & WIRE_DG_TAGGED) /* by a secret, which is not here */
			((struct wire_datagram *)again)->digest = ((struct wire_datagram *)bytes)->digest;
		FUZZ_CHECK(!memcmp(again, bytes, length));
		free(again);
	}
	try_pair(bytes, length);
	free(bytes);
	return 0;
}
