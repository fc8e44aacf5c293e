/* SPDX-License-Identifier: BSD-2-Clause */
/* test_refusal.c - numbers and sentences of refusals. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/refusal.h"
#include "tests/sim/harness/plain_front.h"

enum { OP_MESSAGE, OP_REMOTE_WRITE, OP_REMOTE_READ, OP_REMOTE_ATOMIC, OPS };

static const enum refusal_cause all[] = {
	REFUSAL_UNKNOWN_KEY,    REFUSAL_CLOSED,         REFUSAL_RIGHT,          REFUSAL_RANGE,       REFUSAL_WRAP,
	REFUSAL_NOT_BACKED,     REFUSAL_DISABLED,       REFUSAL_OTHER_ENDPOINT, REFUSAL_AUTH,        REFUSAL_SPENT,
	REFUSAL_REFRESHING,     REFUSAL_PAGE_UNKNOWN,   REFUSAL_RESOURCE,       REFUSAL_CAPABILITY,  REFUSAL_SOURCE_FAULT,
	REFUSAL_PEER_GONE,      REFUSAL_NOT_PERSISTENT, REFUSAL_NOT_FLUSHED,    REFUSAL_REGISTERING, REFUSAL_ATOMIC,
	REFUSAL_RECEIVE_BUFFER, REFUSAL_SENDER,         REFUSAL_LOCAL_CLOSED,   REFUSAL_UNREACHABLE, REFUSAL_CANCELLED,
	REFUSAL_TRUNCATED,      REFUSAL_PROTOCOL,       REFUSAL_ADDRESS,        REFUSAL_NO_SESSION,  REFUSAL_NO_MESSAGE,
	REFUSAL_STRANGER,       REFUSAL_RECEIVE_RANGE,  REFUSAL_MESSAGE_LONG,   REFUSAL_MISALIGNED,  REFUSAL_INVALIDATED,
	REFUSAL_NO_REGION,      REFUSAL_NO_READS,       REFUSAL_NO_SRX,         REFUSAL_BIND,
};
enum { CAUSES = sizeof(all) / sizeof(*all) };

static void expect(const struct refusal *refusal, const char *peer, const char *wanted)
{
	char text[LIMIT_ERROR_TEXT];
	size_t length = refusal_text(&plain_front, refusal, peer, text, sizeof(text));

	cr_assert_str_eq(text, wanted);
	cr_assert_eq(length, strlen(wanted));
}

static const char *phrase(enum refusal_cause cause)
{
	return refusal_phrase(&plain_front, cause);
}

Test(refusal, every_cause_has_its_own_phrase)
{
	for (int i = 0; i < CAUSES; i++) {
		cr_assert_not_null(phrase(all[i]));
		cr_assert_str_neq(phrase(all[i]), phrase((enum refusal_cause)40), "%d", all[i]);
		for (int j = 0; j < i; j++)
			cr_assert_str_neq(phrase(all[i]), phrase(all[j]), "%d %d", all[i], all[j]);
	}
}

Test(refusal, every_sentence_fits_at_its_longest)
{
	const char *peer = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535";
	char text[LIMIT_ERROR_TEXT];

	for (int i = 0; i < CAUSES; i++) {
		for (uint8_t op = 0; op < OPS; op++) {
			for (uint32_t form = 0; form < 64; form++) {
				struct refusal r = { all[i],
						     op,
						     UINT64_MAX,
						     UINT64_MAX,
						     UINT64_MAX,
						     UINT64_MAX - 1,
						     form << 16 | MR_ACCESS_ALL,
						     UINT64_MAX,
						     UINT64_MAX };
				size_t length = refusal_text(&plain_front, &r, peer, text, sizeof(text));

				cr_assert_lt(length, sizeof(text) - 1, "cause %d op %d: %s", all[i], op, text);
				cr_assert_eq(text[length - 1], '.', "%s", text);
				cr_assert_not_null(strstr(text, peer));
			}
		}
	}
}

Test(refusal, errno_of_each_cause)
{
	static const struct {
		enum refusal_cause cause;
		int err;
	} table[] = {
		{ REFUSAL_NONE, 0 },
		{ REFUSAL_UNKNOWN_KEY, EACCES },
		{ REFUSAL_CLOSED, EACCES },
		{ REFUSAL_RIGHT, EACCES },
		{ REFUSAL_RANGE, EACCES },
		{ REFUSAL_WRAP, EACCES },
		{ REFUSAL_NOT_BACKED, EFAULT },
		{ REFUSAL_DISABLED, EACCES },
		{ REFUSAL_OTHER_ENDPOINT, EACCES },
		{ REFUSAL_AUTH, EACCES },
		{ REFUSAL_SPENT, EACCES },
		{ REFUSAL_REFRESHING, EACCES },
		{ REFUSAL_PAGE_UNKNOWN, EACCES },
		{ REFUSAL_RESOURCE, ENOMEM },
		{ REFUSAL_CAPABILITY, EACCES },
		{ REFUSAL_NOT_PERSISTENT, EACCES },
		{ REFUSAL_NOT_FLUSHED, EIO },
		{ REFUSAL_REGISTERING, EACCES },
		{ REFUSAL_ATOMIC, EOPNOTSUPP },
		{ REFUSAL_RECEIVE_BUFFER, EFAULT },
		{ REFUSAL_RECEIVE_RANGE, EMSGSIZE },
		{ REFUSAL_MESSAGE_LONG, EMSGSIZE },
		{ REFUSAL_MISALIGNED, EINVAL },
		{ REFUSAL_INVALIDATED, EACCES },
		{ REFUSAL_NO_REGION, EACCES },
		{ REFUSAL_NO_READS, EINVAL },
		{ REFUSAL_NO_SRX, EINVAL },
		{ REFUSAL_SENDER, EIO },
		{ REFUSAL_LOCAL_CLOSED, EACCES },
		{ REFUSAL_SOURCE_FAULT, EFAULT },
		{ REFUSAL_PEER_GONE, ECONNREFUSED },
		{ REFUSAL_UNREACHABLE, ETIMEDOUT },
		{ REFUSAL_CANCELLED, ECANCELED },
		{ REFUSAL_TRUNCATED, NIC_ETRUNC },
		{ REFUSAL_PROTOCOL, EPROTO },
		{ REFUSAL_ADDRESS, EINVAL },
		{ REFUSAL_NO_SESSION, ENOMEM },
		{ REFUSAL_NO_MESSAGE, ENOMSG },
		{ REFUSAL_STRANGER, EADDRNOTAVAIL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		cr_assert_eq(refusal_errno(table[i].cause), table[i].err, "cause %d", table[i].cause);
}

/* A newer peer may send a cause that this version does not know (WIRE-48). */
Test(refusal, unknown_numbers_are_refusals_too)
{
	char text[LIMIT_ERROR_TEXT];

	for (int number = REFUSAL_NO_SRX + 1; number < 64; number++) {
		struct refusal r = { .cause = (enum refusal_cause)number, .op = OP_REMOTE_WRITE };

		cr_assert_eq(refusal_errno(r.cause), EACCES);
		cr_assert_not_null(refusal_phrase(&plain_front, r.cause));
		cr_assert_gt(refusal_text(&plain_front, &r, NULL, text, sizeof(text)), 0);
	}
	cr_assert_eq(refusal_errno((enum refusal_cause) - 1), EACCES);
	cr_assert_eq(refusal_errno((enum refusal_cause)127), EACCES);
}

Test(refusal, what_is_done_on_old_pages)
{
	const char *peer = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535";
	struct refusal access = { .op = OP_REMOTE_WRITE, .key = 0x9f3c, .addr = 8, .length = 64 };
	char text[LIMIT_ERROR_TEXT];
	size_t length = refusal_remapped(&access, "192.0.2.1:4711", text, sizeof(text));

	cr_assert_str_eq(text,
			 "remote write of 64 B at 0x8 with key 0x9f3c (peer 192.0.2.1:4711): done on the pages that "
			 "were pinned at registration (S81), but the program has changed the mapping of the region since then "
			 "(S80). Close a region before its memory is unmapped, moved or dropped.");
	cr_assert_eq(length, strlen(text));
	access = (struct refusal){
		.op = OP_REMOTE_WRITE, .key = UINT64_MAX, .addr = UINT64_MAX, .length = UINT64_MAX, .access = REFUSAL_VIRTUAL
	};
	length = refusal_remapped(&access, peer, text, sizeof(text));
	cr_assert_eq(text[length - 1], '.', "%s", text);
	cr_assert_eq(refusal_remapped(&access, peer, text, 0), 0);
}

/* Nothing is wrong, so there is nothing to change (WIRE-49). */
Test(refusal, injected)
{
	struct refusal r = {
		.cause = REFUSAL_RANGE, .op = OP_REMOTE_WRITE, .key = 0x9f3c, .addr = 8, .length = 64, .access = REFUSAL_INJECTED
	};

	expect(&r, NULL,
	       "remote write of 64 B at 0x8 with key 0x9f3c: injected by the target's fault plan "
	       "(the plan), as if outside the region (S65).");
}

Test(refusal, range_by_offset)
{
	struct refusal r = { REFUSAL_RANGE, OP_REMOTE_WRITE, 0x9f3c, 4064, 64, 4096, MR_REMOTE_WRITE, 32, 0 };

	expect(&r, NULL,
	       "remote write of 64 B at offset 0xfe0 with key 0x9f3c: 32 B past the end of a 4096 B region "
	       "(S65). It began 4064 B into the region, where 32 B are left. Shorten it, or register more.");
	r.addr = 4096;
	r.excess = 64;
	expect(&r, NULL,
	       "remote write of 64 B at offset 0x1000 with key 0x9f3c: 64 B past the end of a 4096 B region "
	       "(S65). It began 4096 B into the region, where 0 B are left. Shorten it, or register more.");
	r.addr = 4100;
	r.excess = 68;
	expect(&r, NULL,
	       "remote write of 64 B at offset 0x1004 with key 0x9f3c: 68 B past the end of a 4096 B region "
	       "(S65). It began 4 B behind the region's end. Compute the offset again.");
	r.addr = (uint64_t)-100;
	r.excess = r.addr - 4096 + 64;
	expect(&r, NULL,
	       "remote write of 64 B at offset 0xffffffffffffff9c with key 0x9f3c: 100 B before the start of a 4096 B "
	       "region (S65). The offset is negative. Compute it again.");
	r.addr = 0x7f0000001000;
	r.excess = 0x7f0000000040;
	expect(&r, "192.0.2.1:4711",
	       "remote write of 64 B at offset 0x7f0000001000 with key 0x9f3c "
	       "(peer 192.0.2.1:4711): 139637976727616 B past the end of a 4096 B region (S65). Address it by "
	       "offset from 0, not by virtual address (S59).");
}

/* The remedy depends on where the access lies: an offset, a slip, the end, or another region's address. */
Test(refusal, range_by_address)
{
	struct refusal r = { REFUSAL_RANGE,
			     OP_REMOTE_READ,
			     0x2a,
			     0x8,
			     8,
			     4096,
			     MR_REMOTE_READ | REFUSAL_VIRTUAL | REFUSAL_BEFORE,
			     0x7f0000000ff8,
			     0 };

	expect(&r, NULL,
	       "remote read of 8 B at virtual address 0x8 with key 0x2a: 139637976731640 B before the start of a 4096 B "
	       "region (S65). Address it by the target's virtual address plus the offset (S60).");
	r.addr = 0x7f0000000ff8;
	r.excess = 8;
	expect(&r, NULL,
	       "remote read of 8 B at virtual address 0x7f0000000ff8 with key 0x2a: 8 B before the start of "
	       "a 4096 B region "
	       "(S65). The offset is negative. Compute it again.");
	r.addr = 0x550000001000;
	r.excess = 0x2a0000000000;
	expect(&r, NULL,
	       "remote read of 8 B at virtual address 0x550000001000 with key 0x2a: 46179488366592 B before "
	       "the start of a "
	       "4096 B region (S65). That is far off. Use a region's key with that region's own virtual address.");
	r.access = MR_REMOTE_READ | REFUSAL_VIRTUAL;
	r.addr = 0x7f0000001fff;
	r.excess = 7;
	expect(&r, NULL,
	       "remote read of 8 B at virtual address 0x7f0000001fff with key 0x2a: 7 B past the end of a 4096 B region "
	       "(S65). It began 4095 B into the region, where 1 B are left. Shorten it, or register more.");
	r.addr = 0x7f0000002008;
	r.excess = 16;
	expect(&r, NULL,
	       "remote read of 8 B at virtual address 0x7f0000002008 with key 0x2a: 16 B past the end of a 4096 B region "
	       "(S65). It began 8 B behind the region's end. Compute the offset again.");
	r.excess = UINT64_C(1) << 40;
	expect(&r, NULL,
	       "remote read of 8 B at virtual address 0x7f0000002008 with key 0x2a: 1099511627776 B past "
	       "the end of a 4096 B "
	       "region (S65). That is far off. Use a region's key with that region's own virtual address.");
	r.access = MR_REMOTE_READ | REFUSAL_VIRTUAL | REFUSAL_GAP;
	expect(&r, NULL,
	       "remote read of 8 B at virtual address 0x7f0000002008 with key 0x2a: reaches between the "
	       "segments of a 4096 B "
	       "region (S64). Address each segment by its own virtual address; nothing else belongs to the region.");
}

/* Of a key that no region has the way of addressing is unknown. */
Test(refusal, unknown_key)
{
	struct refusal r = {
		.cause = REFUSAL_UNKNOWN_KEY, .op = OP_REMOTE_WRITE, .key = 0x2a, .addr = 0x7f0000001000, .length = 8
	};

	expect(&r, NULL,
	       "remote write of 8 B at 0x7f0000001000 with key 0x2a: no region of the target has this key (S40). Use the "
	       "value that the target gave out, in the domain of the endpoint addressed.");
}

/* A receive fails by its own buffer, which is not called the initiator's, or by the sender's op. */
Test(refusal, receives)
{
	struct refusal r = { .cause = REFUSAL_RECEIVE_BUFFER, .op = REFUSAL_OP_RECEIVE, .length = 4096 };

	expect(&r, NULL,
	       "receive of 4096 B: the buffer of the receive that took the message cannot be written. At the receiver, "
	       "keep the memory mapped until the receive has completed.");
	r = (struct refusal){ .cause = REFUSAL_CLOSED, .op = OP_SEND, .length = 4096 };
	expect(&r, NULL,
	       "message of 4096 B: a region that its receive names was closed before it had completed (S176). At the receiver, "
	       "close a region when all that was posted with its descriptor has completed.");
	r = (struct refusal){ .cause = REFUSAL_SENDER, .op = REFUSAL_OP_RECEIVE, .length = 4096 };
	expect(&r, NULL, "receive of 4096 B: the rest does not come, as the sender's op has ended. See the sender's completion.");
	r = (struct refusal){ .cause = REFUSAL_SOURCE_FAULT, .op = OP_REMOTE_READ, .key = 1, .length = 8 };
	expect(&r, NULL,
	       "remote read of 8 B at 0x0 with key 0x1: the initiator's own buffer cannot be written. Keep the memory "
	       "mapped until the op has completed.");
}

Test(refusal, right)
{
	struct refusal r = { REFUSAL_RIGHT, OP_REMOTE_READ, 0x2a, 0, 8, 4096, MR_REMOTE_WRITE, 0, 0 };

	expect(&r, NULL, "remote read of 8 B at offset 0x0 with key 0x2a: region allows REMOTE_WRITE only (S27).");
	r.op = OP_REMOTE_WRITE;
	r.access = MR_REMOTE_READ | MR_SEND;
	expect(&r, NULL, "remote write of 8 B at offset 0x0 with key 0x2a: region allows REMOTE_READ, SEND only (S29).");
	r.access = MR_READ | MR_RECV | MR_WRITE;
	expect(&r, NULL, "remote write of 8 B at offset 0x0 with key 0x2a: region allows READ, WRITE, RECV only (S31).");
	r.access = 0;
	expect(&r, NULL, "remote write of 8 B at offset 0x0 with key 0x2a: region allows nothing only (S31).");
}

/* What an atomic lacks where the region can be written, it lacks by the other reading of the page. */
Test(refusal, right_of_an_atomic)
{
	struct refusal r = { REFUSAL_RIGHT, OP_REMOTE_ATOMIC, 0x2a, 0, 8, 4096, MR_REMOTE_READ, 0, 0 };

	expect(&r, NULL, "remote atomic of 8 B at offset 0x0 with key 0x2a: region allows REMOTE_READ only (S29).");
	r.access = MR_REMOTE_WRITE;
	expect(&r, NULL, "remote atomic of 8 B at offset 0x0 with key 0x2a: region allows REMOTE_WRITE only (S30).");
}

Test(refusal, age_of_a_closed_region)
{
	static const struct {
		uint64_t ns;
		const char *age;
	} ages[] = {
		{ 0, "closed 0 us ago" },           { 999999, "closed 999 us ago" },      { 1000000, "closed 1.0 ms ago" },
		{ 3100000, "closed 3.1 ms ago" },   { 999999999, "closed 999.9 ms ago" }, { 1000000000, "closed 1.0 s ago" },
		{ 7250000000, "closed 7.2 s ago" },
	};
	char text[LIMIT_ERROR_TEXT];

	for (size_t i = 0; i < sizeof(ages) / sizeof(*ages); i++) {
		struct refusal r = { .cause = REFUSAL_CLOSED, .op = OP_REMOTE_WRITE, .age_ns = ages[i].ns };

		refusal_text(&plain_front, &r, NULL, text, sizeof(text));
		cr_assert_not_null(strstr(text, ages[i].age), "%s", text);
		cr_assert_not_null(strstr(text, "S178"));
	}
}

Test(refusal, messages_have_no_key)
{
	struct refusal r = { .cause = REFUSAL_TRUNCATED, .op = OP_MESSAGE, .length = 64, .excess = 16 };

	expect(&r, "192.0.2.1:4711",
	       "message of 64 B (peer 192.0.2.1:4711): longer than the receive buffer by 16 B, "
	       "which were dropped. Post a buffer as long as the longest message expected.");
}

/* A front end's words stand where it has some, and there alone. */
Test(refusal, words_of_a_front_end)
{
	static const struct front_end front = {
		.causes = {
			[REFUSAL_SPENT] = { "it is spent", NULL },
			[REFUSAL_AUTH] = { NULL, "Show the right one." },
			[REFUSAL_CANCELLED] = { "taken back", "Post it again." },
		},
		.give_read = "Give the right to read.", .give_write = "Give the right to write.",
		.give_cap = { "Ask for messages.", "Ask for writes.", "Ask for reads.", "Ask for atomics." },
		.closed_by = "by its program", .settings = { [FRONT_FAULT] = "FAULTS" },
	};
	static const struct {
		struct refusal why;
		const char *wanted;
	} table[] = {
		{ { .cause = REFUSAL_SPENT }, "message of 0 B: it is spent. Register again for each op." },
		{ { .cause = REFUSAL_AUTH },
		  "message of 0 B: the initiator's authorization key is not the one that is taken here "
		  "(S158). Show the right one." },
		{ { .cause = REFUSAL_CANCELLED }, "message of 0 B: taken back. Post it again." },
		{ { .cause = REFUSAL_PROTOCOL },
		  "message of 0 B: the peer broke the protocol or speaks another version of it. "
		  "See the log of both sides." },
		{ { .cause = REFUSAL_CLOSED, .op = OP_REMOTE_WRITE },
		  "remote write of 0 B at 0x0 with key 0x0: closed 0 us ago by its program (S178). Keep a region open until "
		  "its peers are done with it." },
		{ { .cause = REFUSAL_RIGHT, .op = OP_REMOTE_READ },
		  "remote read of 0 B at 0x0 with key 0x0: region allows "
		  "nothing only (S31). Give the right to read." },
		{ { .cause = REFUSAL_RIGHT, .op = OP_REMOTE_WRITE },
		  "remote write of 0 B at 0x0 with key 0x0: region allows "
		  "nothing only (S31). Give the right to write." },
		{ { .cause = REFUSAL_CAPABILITY, .op = OP_REMOTE_ATOMIC },
		  "remote atomic of 0 B at 0x0 with key 0x0: the target's "
		  "endpoint was opened without the capability. Ask for atomics." },
		{ { .cause = REFUSAL_SPENT, .access = REFUSAL_INJECTED },
		  "message of 0 B: injected by the target's fault plan "
		  "(FAULTS), as if it is spent." },
	};
	char text[LIMIT_ERROR_TEXT];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		refusal_text(&front, &table[i].why, NULL, text, sizeof(text));
		cr_assert_str_eq(text, table[i].wanted);
	}
	cr_assert_str_eq(refusal_phrase(&front, REFUSAL_SPENT), "it is spent");
	cr_assert_str_eq(refusal_phrase(&front, REFUSAL_ADDRESS), "no such entry in the address vector");
}

/* The same bits, but the rights, stand in NAK where WIRE-49 has them; others of a newer peer mean nothing. */
Test(refusal, rights_on_the_wire)
{
	cr_assert_eq(refusal_access_put(MR_READ), 0x100);
	cr_assert_eq(refusal_access_put(MR_WRITE), 0x200);
	cr_assert_eq(refusal_access_put(MR_RECV), 0x400);
	cr_assert_eq(refusal_access_put(MR_SEND), 0x800);
	cr_assert_eq(refusal_access_put(MR_REMOTE_READ), 0x1000);
	cr_assert_eq(refusal_access_put(MR_REMOTE_WRITE), 0x2000);
	cr_assert_eq(refusal_access_put(MR_REMOTE_ATOMIC), 0x8000);
	for (uint32_t form = 0; form < 64; form++) { /* WIRE-49, WIRE-170 */
		cr_assert_eq(refusal_access_put(form << 16 | MR_ACCESS_ALL), form << 16 | 0x3f00);
		cr_assert_eq(refusal_access_get(form << 16 | 0x3f00), form << 16 | MR_ACCESS_ALL);
	}
	cr_assert_eq(refusal_access_get(0xffc040ff), 0);
}

Test(refusal, any_size_is_terminated)
{
	struct refusal r = { REFUSAL_RANGE, OP_REMOTE_WRITE, 0x9f3c, 4064, 64, 4096, MR_REMOTE_WRITE, 32, 0 };
	char whole[LIMIT_ERROR_TEXT], text[LIMIT_ERROR_TEXT];
	size_t full = refusal_text(&plain_front, &r, NULL, whole, sizeof(whole));

	cr_assert_eq(refusal_text(&plain_front, &r, NULL, NULL, 0), 0);
	for (size_t size = 1; size <= full + 1; size++) {
		memset(text, '#', sizeof(text));
		cr_assert_eq(refusal_text(&plain_front, &r, NULL, text, size), size - 1);
		cr_assert_eq(memcmp(text, whole, size - 1), 0);
		cr_assert_eq(text[size - 1], '\0');
		cr_assert_eq(text[size], '#');
	}
}
