/* SPDX-License-Identifier: BSD-2-Clause */
/* refusals.c - how a refusal is told: the error completion, its cause, its sentence, and what it leaves alone. */
#include "tests/rules/harness/logged.h"
#include "tests/rules/harness/message.h"

#include <stdio.h>
#include <stdlib.h>

/* The causes that can be met in every mode. */
enum cause { NO_KEY, NO_WRITE, NO_READ, PAST_END, BELOW_BASE, CLOSED, CAUSES };

static struct outcome provoke(struct pair *p, enum cause cause)
{
	struct remote *rw = remote_reg(p, PAGE, ALL_REMOTE), *ro = remote_reg(p, PAGE, FI_REMOTE_READ),
		      *wo = remote_reg(p, PAGE, FI_REMOTE_WRITE);
	struct outcome out = { 0 };

	switch (cause) {
	case NO_KEY:
		out = deny(p, RMA_WRITE, rw->base[0], rw->key ^ 0x55, 64, "S1|S40");
		break;
	case NO_WRITE:
		out = deny(p, RMA_WRITE, ro->base[0], ro->key, 64, "S29");
		break;
	case NO_READ:
		out = deny(p, RMA_READ, wo->base[0], wo->key, 64, "S27");
		break;
	case PAST_END:
		out = deny(p, RMA_WRITE, rw->base[0] + PAGE - 32, rw->key, 64, "S65");
		break;
	case BELOW_BASE:
		out = deny(p, RMA_WRITE, rw->base[0] - 8, rw->key, 64, "S65");
		break;
	default:
		CHECK_RC(0, remote_close(p, rw));
		out = deny(p, RMA_WRITE, rw->base[0], rw->key, 64, "S178");
		break;
	}
	remote_forget(p, rw);
	remote_forget(p, ro);
	remote_forget(p, wo);
	return out;
}

/* A missing right is one cause, whichever it is; so is a range that does not fit, on whichever side. */
static bool alike(enum cause cause, enum cause other)
{
	return (cause == BELOW_BASE && other == PAST_END) || (cause == NO_READ && other == NO_WRITE);
}

/* Every cause has its own prov_errno, and err says permission. */
PAIR_TEST(rules, S27_S29_S40_S65_S178_causes_are_told_apart)
{
	/* Under FI_MR_RAW an unknown key does not get as far as the target (S53). */
	enum cause first = peer_has(&p->peer, FI_MR_RAW) ? NO_WRITE : NO_KEY, cause, other;
	int seen[CAUSES];

	if (!peer_is_emu())
		NOT_APPLICABLE("%s has no codes for causes", peer_provider());
	for (cause = first; cause < CAUSES; cause++) {
		struct outcome out = provoke(p, cause);

		CHECK(out.err == FI_EACCES, "err %d (%s), expected FI_EACCES: %s", out.err, fi_strerror(out.err), out.text);
		seen[cause] = out.prov_errno;
		for (other = first; other < cause; other++)
			CHECK(seen[other] != seen[cause] || alike(cause, other), "causes %d and %d share prov_errno %d", other,
			      cause, seen[cause]);
	}
}

/* Whether the sentence holds the number, as hexadecimal or decimal digits. */
static bool tells(const char *text, uint64_t number)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "0x%llx", (unsigned long long)number);
	if (strstr(text, digits))
		return true;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	return strstr(text, digits);
}

/* The sentence names the operation, the length asked for, the region's length and what to change. */
PAIR_TEST(rules, S65_sentence_names_what_was_asked_and_what_is_there)
{
	struct remote *r = remote_reg(p, 3000, ALL_REMOTE), *ro = remote_reg(p, PAGE, FI_REMOTE_READ);
	struct outcome out;

	if (!peer_is_emu())
		NOT_APPLICABLE("%s has no sentences", peer_provider());
	out = deny(p, RMA_WRITE, r->base[0] + 2980, r->key, 77, "S65");
	CHECK(strstr(out.text, "write"), "no operation in: %s", out.text);
	CHECK(tells(out.text, 77), "not the length asked for in: %s", out.text);
	CHECK(tells(out.text, 3000), "not the region's length in: %s", out.text);
	CHECK(tells(out.text, 57), "not by how much it was too far in: %s", out.text);
	out = deny(p, RMA_READ, r->base[0] + 2980, r->key, 77, "S65");
	CHECK(strstr(out.text, "read"), "no operation in: %s", out.text);
	out = deny(p, RMA_WRITE, ro->base[0], ro->key, 8, "S29");
	CHECK(strstr(out.text, "REMOTE_WRITE"), "not the right that is missing in: %s", out.text);
}

/* fi_cq_strerror keeps to the caller's buffer, and answers without one. */
PAIR_TEST(rules, S65_sentence_keeps_to_the_callers_buffer)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct outcome out = deny(p, RMA_WRITE, r->base[0] + PAGE, r->key, 8, "S65");
	char small[16];

	memset(small, 'x', sizeof(small));
	fi_cq_strerror(p->peer.cq, out.prov_errno, NULL, small, 8);
	CHECK(memchr(small, 0, 8), "not terminated within the buffer");
	CHECK(small[8] == 'x', "written past the buffer");
	CHECK(fi_cq_strerror(p->peer.cq, out.prov_errno, NULL, NULL, 0), "no text without a buffer");
}

/* ---- the queue that the error comes through ---- */

static void post_write(struct pair *p, struct remote *r, uint64_t addr, size_t len, struct op *op)
{
	CHECK_RC(0, pair_post(p, RMA_WRITE, p->local.iov[0].iov_base, len, addr, r->key, op));
}

/* An error waits: fi_cq_read says -FI_EAVAIL until fi_cq_readerr has taken it, which also works without room for
 * err_data. */
PAIR_TEST(rules, S178_error_waits_until_it_is_read)
{
	struct fi_cq_tagged_entry entry;
	struct {
		struct fi_cq_err_entry entry;
		uint8_t newer[64];
	} error = { 0 };
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct deadline guard = deadline_start();
	struct op op;
	ssize_t rc;

	CHECK_RC(-FI_EAGAIN, fi_cq_readerr(p->peer.cq, &error.entry, 0));
	post_write(p, r, r->base[0] + PAGE, 8, &op);
	while ((rc = fi_cq_read(p->peer.cq, &entry, 1)) == -FI_EAGAIN)
		deadline_check(&guard, "an error completion");
	CHECK_RC(-FI_EAVAIL, rc);
	CHECK_RC(-FI_EAVAIL, fi_cq_read(p->peer.cq, &entry, 1));
	CHECK_RC(1, fi_cq_readerr(p->peer.cq, &error.entry, 0));
	CHECK(error.entry.op_context == &op, "another operation's context");
	CHECK(error.entry.err > 0 && error.entry.flags & FI_RMA, "err %d, flags 0x%llx", error.entry.err,
	      (unsigned long long)error.entry.flags);
	CHECK_RC(-FI_EAGAIN, fi_cq_readerr(p->peer.cq, &error.entry, 0));
	CHECK_RC(-FI_EAGAIN, fi_cq_read(p->peer.cq, &entry, 1));
	live(p);
}

/* Refusals of many operations in flight come one by one, each to its own operation. */
PAIR_TEST(rules, S179_every_refusal_names_its_own_operation)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct op ops[32];
	size_t i;

	memset(p->local.iov[0].iov_base, 0x31, 64);
	for (i = 0; i < 32; i++)
		post_write(p, r, r->base[0] + (i % 3 ? 64 * i : PAGE - 8), 16, &ops[i]);
	for (i = 0; i < 32; i++) {
		peer_wait(&p->peer, &ops[i]);
		CHECK(!!ops[i].err == !(i % 3), "write %zu ended with err %d", i, ops[i].err);
		if (i % 3)
			memset(r->image + REGION_GUARD + 64 * i, 0x31, 16);
	}
	remote_verify(p, r);
	live(p);
}

/* A refused injected write has no success to tell, yet its error is told; nothing else is disturbed. */
PAIR_TEST(rules, S179_selective_completion_still_tells_errors)
{
	struct remote *r = remote_reg(p, PAGE, FI_REMOTE_READ);
	struct deadline guard = deadline_start();
	struct op op = { 0 };
	ssize_t rc;

	do
		rc = fi_write(p->peer.ep, p->local.iov[0].iov_base, 16, p->desc, p->to, r->base[0], r->key, &op);
	while (peer_again(&p->peer, rc, &guard));
	CHECK_RC(0, rc);
	peer_wait(&p->peer, &op);
	CHECK(op.err, "a write to a read-only region succeeded");
	CHECK(!peer_is_emu() || cites(p->peer.text, "S29"), "the refusal does not cite S29: %s", p->peer.text);
	remote_verify(p, r);
	live(p);
}

/* S179: the target goes on sending and receiving while it refuses. */
PAIR_TEST(rules, S179_messages_pass_between_refusals)
{
	struct remote *r = remote_reg(p, PAGE, FI_REMOTE_READ);
	uint8_t *mine = p->local.iov[0].iov_base;
	uint32_t i;

	for (i = 0; i < 10; i++) {
		struct op send, write;

		target_post_recv(p);
		post_write(p, r, r->base[0], 64, &write);
		pattern_fill(mine + PAGE, 200, i);
		CHECK_RC(0, peer_send(&p->peer, p->to, mine + PAGE, 200, p->desc, &send));
		peer_wait(&p->peer, &write);
		peer_wait(&p->peer, &send);
		CHECK(write.err && !send.err, "the write ended with err %d, the send with %d", write.err, send.err);
		target_expect_message(p, 200, i);
	}
	remote_verify(p, r);
}

/* ---- the target's log ---- */

/* The target's log has the sentence, and once. */
LONE_TEST(rules, S65_target_logs_the_sentence_once)
{
	const struct peer_want want = { 0 };
	struct pair p = { 0 };
	struct outcome out;
	struct remote *r;
	const char *log, *sentence, *hit;

	if (!peer_is_emu())
		NOT_APPLICABLE("%s has no sentences", peer_provider());
	logged_start(&p.target);
	pair_open(&p, &want, 0);
	r = remote_reg(&p, PAGE, ALL_REMOTE);
	out = deny(&p, RMA_WRITE, r->base[0] + PAGE - 1, r->key, 54, "S65");
	log = logged_text(&p.target);
	sentence = strstr(out.text, ": "); /* what stands before it names the peer */
	CHECK(sentence, "no cause in: %s", out.text);
	hit = strstr(log, sentence);
	CHECK(hit, "the target's log lacks \"%s\"; it holds: %.1500s", sentence, log);
	CHECK(!strstr(hit + 1, sentence), "the target logged more than once: %s", out.text);
	pair_close(&p);
	target_stop(&p.target);
}
