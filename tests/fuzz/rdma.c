/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma.c - the validators of questions for a service and of rdma_cm's words take any bytes; what they pass is what the encoders
 * write.
 *
 * Input: a byte that is odd for a question, whose digest is repaired if it is 3; then the bytes. */
#include "tests/fuzz/fuzz.h"
#include "wire/digest.h"
#include "wire/rdma.h"

static void question(uint8_t *bytes, size_t length, bool repaired)
{
	struct wire_service *service = (struct wire_service *)bytes, again;
	struct wire_service_fields fields;

	if (repaired && length == sizeof(*service))
		service->digest = wire_put64(digest_bytes(bytes, offsetof(struct wire_service, digest)));
	if (!wire_get_service(bytes, length, &fields))
		return;
	wire_put_service(&again, &fields);
	FUZZ_CHECK(!memcmp(&again, bytes, length));
}

static void word(const uint8_t *bytes, size_t length)
{
	uint8_t again[WIRE_CM_DATA_MAX];
	struct wire_rdma_fields fields;

	if (wire_get_rdma(bytes, length, &fields))
		return;
	FUZZ_CHECK(fields.length <= wire_rdma_room(fields.kind) && length <= sizeof(again));
	FUZZ_CHECK(wire_put_rdma(again, &fields) == length && !memcmp(again, bytes, length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;

	if (size < 1 || size > 1024)
		return 0;
	bytes = malloc(size); /* one more, as there may be none */
	FUZZ_CHECK(bytes);
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & 1)
		question(bytes, size - 1, data[0] == 3);
	else
		word(bytes, size - 1);
	free(bytes);
	return 0;
}
