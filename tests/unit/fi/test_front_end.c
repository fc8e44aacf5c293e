/* SPDX-License-Identifier: BSD-2-Clause */
/* test_front_end.c - refusals, rights and errnos in libfabric's terms. */
#include <criterion/criterion.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/nic/base/errno.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/regions/front_end.h"
#include "emu/nic/regions/mr.h"

enum { OP_MESSAGE, OP_REMOTE_WRITE, OP_REMOTE_READ, OP_REMOTE_ATOMIC, OPS };

static const char *sentence(const struct refusal *refusal, const char *peer)
{
	static char text[LIMIT_ERROR_TEXT];
	size_t length = refusal_text(&emu_front_end, refusal, peer, text, sizeof(text));

	cr_assert_eq(length, strlen(text));
	return text;
}

static const char *of(enum refusal_cause cause)
{
	return sentence(&(struct refusal){ .cause = cause }, NULL);
}

static void every_sentence_fits(void)
{
	const char *peer = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535";

	for (int cause = 1; cause < REFUSAL_CAUSES; cause++) {
		for (uint8_t op = 0; op < OPS; op++) {
			for (uint32_t form = 0; form < 32; form++) {
				struct refusal r = {
					(enum refusal_cause)cause,  op,         UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1,
					form << 16 | MR_ACCESS_ALL, UINT64_MAX, UINT64_MAX
				};
				const char *text = sentence(&r, peer);

				cr_assert_lt(strlen(text), LIMIT_ERROR_TEXT - 1, "cause %d op %d: %s", cause, op, text);
				cr_assert_eq(text[strlen(text) - 1], '.', "%s", text);
			}
		}
	}
}

Test(front_end, every_sentence_fits_at_its_longest)
{
	every_sentence_fits();
	words_of_kernel(true);
	every_sentence_fits();
}

/* Names begin anew behind anything that is no part of one; settings keep theirs. */
Test(front_end, names_of_the_kernel)
{
	static const struct {
		const char *text, *spelled;
		size_t size;
	} table[] = {
		{ "fi_mr_reg: FI_READ, see fi_mr(3).", "kfi_mr_reg: KFI_READ, see kfi_mr(3).", 80 },
		{ "(FI_EMU_PINNED) FI_LOG_LEVEL FI_PROVIDER_PATH", "(FI_EMU_PINNED) FI_LOG_LEVEL FI_PROVIDER_PATH", 80 },
		{ "EMU_FI_TAGGED_RMA", "KFI_TAGGED_RMA", 80 },
		{ "my_fi_name wifi_ XFI_ 8fi_ kfi_x", "my_fi_name wifi_ XFI_ 8fi_ kfi_x", 80 },
		{ "fi_", "fi_", 4 },
		{ "FI_a fi_b", "KFI_a fi_", 10 },
		{ "a fi_b", "a kfi_", 7 },
		{ "", "", 1 },
	};
	char text[80];

	for (int on = 1; on >= 0; on--) {
		words_of_kernel(on);
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
			strcpy(text, table[i].text);
			cr_expect_eq(words_put(text, table[i].size), strlen(text));
			cr_expect_str_eq(text, on ? table[i].spelled : table[i].text);
		}
	}
}

Test(front_end, sentences_of_causes)
{
	static const struct {
		enum refusal_cause cause;
		const char *wanted;
	} table[] = {
		{ REFUSAL_UNKNOWN_KEY,
		  "no region of the target has this key (S40). Use the value that fi_mr_key gave at the "
		  "target, in the domain of the endpoint addressed; under FI_MR_PROV_KEY it is not the key that was asked for." },
		{ REFUSAL_CLOSED, "a region that its receive names was closed before it had completed (S176). At the receiver, "
				  "close a region when all that was posted with its descriptor has completed." },
		{ REFUSAL_DISABLED, "the region is not enabled yet (S92, S101). At the target, bind it to its endpoint or "
				    "counters with fi_mr_bind and call fi_mr_enable, before peers use its key." },
		{ REFUSAL_OTHER_ENDPOINT, "the region is not bound to the endpoint addressed (S104). Address the endpoint to "
					  "which the target bound it with fi_mr_bind; closing that endpoint ends the binding." },
		{ REFUSAL_AUTH, "the initiator's authorization key is not the one that is taken here (S158). Give both sides the "
				"same auth_key." },
		{ REFUSAL_SPENT, "the region is for one op (FI_MR_SINGLE_USE), and another has used it or is using it (S130). "
				 "Register again for each op, or leave the flag out." },
		{ REFUSAL_REFRESHING, "the region is being refreshed by fi_mr_refresh (S116). Hold back access while the target "
				      "refreshes." },
		{ REFUSAL_PAGE_UNKNOWN, "a page of the range came after the registration (S107). Call fi_mr_refresh at the "
					"target after its memory changed." },
		{ REFUSAL_CAPABILITY, "the target's endpoint was opened without the capability. Ask for FI_MSG (FI_TAGGED for "
				      "tagged messages) and FI_RECV in the target's hints->caps." },
		{ REFUSAL_NOT_PERSISTENT, "FI_COMMIT_COMPLETE was asked, and the region is not persistent memory (S133). Register "
					  "a shared file mapping with FI_RMA_PMEM, or leave the flag out." },
		{ REFUSAL_REGISTERING, "the region's registration is not complete (S42). Use the key when the target has read its "
				       "FI_MR_COMPLETE event." },
		{ REFUSAL_ATOMIC, "the target has no such atomic operation on that datatype. Ask the target's fi_query_atomic "
				  "what there is." },
		{ REFUSAL_PEER_GONE,
		  "no endpoint, or another than before, answers at the peer's address. It has ended, or is "
		  "bound to another address of its host (FI_EMU_IFACE): fi_getname tells which, after it was started again." },
		{ REFUSAL_CANCELLED, "cancelled by fi_cancel or by closing the endpoint." },
		{ REFUSAL_ADDRESS, "no such entry in the address vector. Insert the peer's address with fi_av_insert and use the "
				   "fi_addr_t that it returns." },
		{ REFUSAL_STRANGER, "received, from a peer that is not in the address vector. Insert the address that err_data "
				    "holds with fi_av_insert, or leave FI_SOURCE_ERR out." },
		{ REFUSAL_SECRET, "the peer has not the same shared secret, or one side has none. Set FI_EMU_SECRET_FILE on both "
				  "sides, to files of the same bytes, and see the log of both." },
		{ REFUSAL_NOT_READY, "the receiver was not ready each time that it was tried. See why it reads no completions or "
				     "posts no receives, or set FI_EMU_RNR_RETRY=7 to try without end." },
	};
	const char *begin = "message of 0 B: ";

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		cr_assert_eq(strncmp(of(table[i].cause), begin, strlen(begin)), 0);
		cr_assert_str_eq(of(table[i].cause) + strlen(begin), table[i].wanted);
	}
}

static const char *end_of(const struct refusal *refusal, const char *end)
{
	const char *text = sentence(refusal, NULL);

	return strlen(text) < strlen(end) ? text : text + strlen(text) - strlen(end);
}

/* The sentence ends so. */
#define ENDS(end, ...) cr_assert_str_eq(end_of(&(struct refusal){ __VA_ARGS__ }, end), end)

Test(front_end, what_depends_on_the_op)
{
	ENDS("(S27). Add FI_REMOTE_READ to the access given to fi_mr_reg.", .cause = REFUSAL_RIGHT, .op = OP_REMOTE_READ,
	     .access = MR_REMOTE_WRITE);
	ENDS("(S29). Add FI_REMOTE_WRITE to the access given to fi_mr_reg.", .cause = REFUSAL_RIGHT, .op = OP_REMOTE_WRITE,
	     .access = MR_REMOTE_READ);
	ENDS("(S30). Add FI_REMOTE_READ to the access given to fi_mr_reg.", .cause = REFUSAL_RIGHT, .op = OP_REMOTE_ATOMIC,
	     .access = MR_REMOTE_WRITE);
	ENDS(" Ask for FI_RMA and FI_REMOTE_READ in the target's hints->caps.", .cause = REFUSAL_CAPABILITY, .op = OP_REMOTE_READ);
	ENDS(" Ask for FI_RMA and FI_REMOTE_WRITE in the target's hints->caps.", .cause = REFUSAL_CAPABILITY,
	     .op = OP_REMOTE_WRITE);
	ENDS(" Ask for FI_ATOMIC and FI_REMOTE_WRITE (to be read atomically: FI_REMOTE_READ) in the target's hints->caps.",
	     .cause = REFUSAL_CAPABILITY, .op = OP_REMOTE_ATOMIC);
	ENDS(": closed 0 us ago by fi_close (S178). Keep a region open until its peers are done with it.", .cause = REFUSAL_CLOSED,
	     .op = OP_REMOTE_WRITE);
	ENDS(" injected by the target's fault plan (FI_EMU_FAULT), as if the region was closed by fi_close (S178).",
	     .cause = REFUSAL_CLOSED, .op = OP_REMOTE_READ, .access = REFUSAL_INJECTED);
}

Test(front_end, rights)
{
	static const struct {
		uint64_t theirs;
		uint32_t ours;
	} table[] = {
		{ 0, 0 },
		{ FI_READ, MR_READ },
		{ FI_WRITE, MR_WRITE },
		{ FI_RECV, MR_RECV },
		{ FI_SEND, MR_SEND },
		{ FI_REMOTE_READ, MR_REMOTE_READ },
		{ FI_REMOTE_WRITE, MR_REMOTE_WRITE },
		{ STATUS_RIGHTS, MR_ACCESS_ALL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		cr_assert_eq(status_rights(table[i].theirs), table[i].ours);
}

Test(front_end, errnos)
{
	static const struct {
		int ours, theirs;
	} table[] = {
		{ 0, 0 },
		{ EAGAIN, FI_EAGAIN },
		{ EACCES, FI_EACCES },
		{ EBUSY, FI_EBUSY },
		{ NIC_EAVAIL, FI_EAVAIL },
		{ NIC_ETRUNC, FI_ETRUNC },
		{ NIC_ENORX, FI_ENORX },
		{ NIC_ENOKEY, FI_ENOKEY },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		cr_assert_eq(status_of(table[i].ours), table[i].theirs);
		cr_assert_eq(status_of(-table[i].ours), -table[i].theirs);
	}
}
