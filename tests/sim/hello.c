/* SPDX-License-Identifier: BSD-2-Clause */
/* hello.c - HELLO against all that its receiver may know: which connection stays, which session goes on, and what the others
 * are told. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/cm.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/greeting.h"
#include "tests/sim/harness/words.h"

enum { HEAD = sizeof(struct wire_head), BYE = HEAD + sizeof(struct wire_bye), GREETED = 0, CUT = -1 }; /* else a reason */

/* A device that is dialled by a stranger. It knows of the stranger what the test says. */
struct stage {
	struct bed bed;
	struct words words;
	struct node *node;
	struct ep *ep;
	struct session *session;        /* with the stranger */
	struct wire_hello_fields hello; /* the stranger's */
	struct raw *raw[3];
	int raws;
};

static void stage_open(struct stage *stage, const struct nic_config *config)
{
	struct sockaddr_storage at;

	*stage = (struct stage){ .raws = 0 };
	bed_open(&stage->bed, 1, 1, config, NULL);
	stage->words.bed = &stage->bed;
	stage->node = stage->bed.node[0];
	stage->node->asleep = true;
	stage->ep = stage->bed.party[0]->ep;
	stage->hello = plain_hello(&stage->words);
	address_get(&stage->hello.at, &at);
	node_enter(stage->node);
	stage->session = session_get(stage->ep, &at);
}

static void stage_close(struct stage *stage)
{
	while (stage->raws)
		raw_close(stage->raw[--stage->raws]);
	node_leave(stage->node);
	stage->node->asleep = false;
	bed_close(&stage->bed);
}

static struct conn *dialled(struct stage *stage)
{
	struct nic *nic = stage->node->nic;

	stage->raw[stage->raws++] = raw_dial(stage->bed.world, party_port(stage->bed.party[0]));
	lines_ops.poll(stage->node);
	return nic->conns;
}

static const char *says(struct conn *conn, const struct wire_hello_fields *fields)
{
	uint8_t frame[WIRE_FRAME_MAX];

	wire_put_hello(frame, fields);
	return hello_received(conn, (struct wire_head *)frame);
}

/* How the stranger's HELLO, as it is now, is answered: GREETED, CUT, or why it is sent away. */
static int answer(struct stage *stage)
{
	struct conn *conn = dialled(stage);
	uint8_t heard[BYE];

	cr_assert_null(says(conn, &stage->hello));
	if (conn->state == CONN_OPEN) {
		cr_assert_eq(stage->session->conn, conn);
		cr_assert_eq(stage->session->id, stage->hello.session);
		return GREETED;
	}
	cr_assert_eq(conn->state, CONN_CLOSED);
	stage->bed.world->now_ns += SIM_SECOND;
	if (raw_recv(stage->raw[stage->raws - 1], heard, sizeof(heard)) < sizeof(heard))
		return CUT;
	cr_assert_eq(heard[0], WIRE_BYE);
	return (int)wire_get32(((struct wire_bye *)(heard + HEAD))->reason);
}

/* Of the instance ids the stranger's is the larger, or the smaller. */
static void rank(struct stage *stage, bool larger)
{
	memset(stage->hello.instance, larger ? 0xff : 0, WIRE_ID_LEN);
	stage->hello.instance[WIRE_ID_LEN - 1] = 1;
}

static void expects(struct stage *stage)
{
	memcpy(stage->hello.expected, stage->ep->instance, WIRE_ID_LEN);
}

/* It is known by the name that it gives itself now. */
static void known(struct stage *stage)
{
	stage->session->peer_is = PEER_KNOWN;
	memcpy(stage->session->instance, stage->hello.instance, WIRE_ID_LEN);
}

/* The stranger is connected; the next one comes by another connection. */
static void connected(struct stage *stage, uint64_t epoch)
{
	stage->hello.epoch = epoch;
	cr_assert_eq(answer(stage), GREETED);
	stage->session->peer_is = PEER_STRANGER;
	stage->session->opened = 0;
}

static void anybody(struct stage *stage)
{
	(void)stage;
}

static void means_another(struct stage *stage)
{
	expects(stage);
	stage->hello.expected[0] ^= 1;
}

static void goes_on(struct stage *stage)
{
	expects(stage);
	known(stage);
	stage->session->id = stage->hello.session;
	stage->session->opened = 4;
	stage->hello.epoch = 5;
}

static void is_late(struct stage *stage)
{
	goes_on(stage);
	stage->session->opened = 5;
}

static void began_anew_later(struct stage *stage)
{
	is_late(stage);
	stage->session->id++;
}

static void was_never_answered(struct stage *stage)
{
	is_late(stage);
	stage->session->peer_is = PEER_STRANGER;
}

static void knows_what_was_given_up(struct stage *stage)
{
	expects(stage);
	stage->session->id = stage->hello.session + 1;
}

static void begins_where_one_was_given_up(struct stage *stage)
{
	stage->session->id = stage->hello.session + 1;
}

static void forgot(struct stage *stage)
{
	known(stage);
	stage->session->id = stage->hello.session + 1;
}

static void forgot_while_connected(struct stage *stage)
{
	connected(stage, 1);
	forgot(stage);
	stage->session->opened = 5; /* of another session */
	stage->hello.epoch = 2;
}

static void dials_both(struct stage *stage)
{
	rank(stage, false);
	stage->session->state = SESSION_BACKOFF;
	stage->session->peer_is = PEER_GREETED;
	stage->session->id = stage->hello.session + 1;
	stage->session->epoch = stage->hello.epoch;
}

static void dials_both_and_is_larger(struct stage *stage)
{
	dials_both(stage);
	rank(stage, true);
}

static void dials_after(struct stage *stage)
{
	dials_both(stage);
	stage->hello.epoch++;
}

static void dials_the_same(struct stage *stage)
{
	dials_both(stage);
	stage->session->id = stage->hello.session;
}

static void dials_whom_nobody_greeted(struct stage *stage)
{
	dials_both(stage);
	stage->session->peer_is = PEER_STRANGER;
}

static void dials_who_does_not(struct stage *stage)
{
	dials_both(stage);
	stage->session->state = SESSION_IDLE;
}

static void comes_earlier(struct stage *stage)
{
	connected(stage, 7);
	stage->hello.epoch = 6;
}

static void comes_again(struct stage *stage)
{
	rank(stage, true);
	connected(stage, 7);
}

static void comes_later(struct stage *stage)
{
	connected(stage, 7);
	stage->hello.epoch = 8;
}

static void comes_at_once_and_is_larger(struct stage *stage)
{
	comes_again(stage);
	stage->session->conn->state = CONN_GREETING;
}

static void comes_at_once_and_is_smaller(struct stage *stage)
{
	rank(stage, false);
	connected(stage, 7);
	stage->session->conn->state = CONN_GREETING;
}

static void takes_the_place_of_another(struct stage *stage)
{
	connected(stage, 1);
	known(stage);
	stage->session->instance[0] ^= 1;
	stage->hello.epoch = 2;
}

static void comes_after_another(struct stage *stage)
{
	known(stage);
	stage->session->instance[0] ^= 1;
}

static void asks(struct stage *stage)
{
	goes_on(stage);
	stage->hello.features = WIRE_ASKS_ALONE;
	stage->hello.epoch = 9;
}

static void asks_about_another(struct stage *stage)
{
	asks(stage);
	stage->session->peer_is = PEER_STRANGER;
	stage->session->id++;
}

static void asks_first(struct stage *stage)
{
	expects(stage);
	stage->hello.features = WIRE_ASKS_ALONE;
}

static void advertises_the_receiver(struct stage *stage)
{
	address_put(&stage->ep->name, &stage->hello.at);
}

static void comes_in_an_outage(struct stage *stage)
{
	stage->session->fault_until_ns = stage->bed.world->now_ns + 1;
}

static void comes_after_an_outage(struct stage *stage)
{
	stage->session->fault_until_ns = stage->bed.world->now_ns;
}

static const struct {
	const char *name;
	void (*prepare)(struct stage *stage);
	int answer;
	bool warns;
} cases[] = {
/* clang-format off */
#define CASE(name, answer) { #name, name, answer, false }
#define WARN(name, answer) { #name, name, answer, true }
	CASE(anybody, GREETED), CASE(means_another, WIRE_BYE_INSTANCE),
	CASE(goes_on, GREETED), CASE(is_late, WIRE_BYE_DUPLICATE), WARN(began_anew_later, WIRE_BYE_SESSION),
	CASE(was_never_answered, GREETED), CASE(knows_what_was_given_up, WIRE_BYE_SESSION),
	CASE(begins_where_one_was_given_up, GREETED), WARN(forgot, WIRE_BYE_DUPLICATE),
	WARN(forgot_while_connected, WIRE_BYE_DUPLICATE),
	CASE(dials_both, WIRE_BYE_DUPLICATE), CASE(dials_both_and_is_larger, GREETED), CASE(dials_after, GREETED),
	CASE(dials_the_same, GREETED), CASE(dials_whom_nobody_greeted, GREETED), CASE(dials_who_does_not, GREETED),
	CASE(comes_earlier, WIRE_BYE_DUPLICATE), CASE(comes_again, WIRE_BYE_DUPLICATE), CASE(comes_later, GREETED),
	CASE(comes_at_once_and_is_larger, GREETED), CASE(comes_at_once_and_is_smaller, WIRE_BYE_DUPLICATE),
	WARN(takes_the_place_of_another, WIRE_BYE_CLAIM), WARN(comes_after_another, WIRE_BYE_CLAIM),
	CASE(asks_about_another, WIRE_BYE_SESSION), CASE(asks_first, WIRE_BYE_SESSION), CASE(asks, WIRE_BYE_DUPLICATE),
	CASE(advertises_the_receiver, WIRE_BYE_PROTOCOL),
	CASE(comes_in_an_outage, CUT), CASE(comes_after_an_outage, GREETED),
#undef WARN
#undef CASE
};
/* clang-format on */

/* WIRE-30, WIRE-31, WIRE-32, WIRE-33, WIRE-34 */
Test(sim_hello, who_dials)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stage stage;
		int told;

		stage_open(&stage, NULL);
		cases[i].prepare(&stage);
		told = answer(&stage);
		cr_expect_eq(told, cases[i].answer, "%s: %d", cases[i].name, told);
		cr_expect_not(stage.session->peer_is == PEER_GREETED && told == GREETED && cases[i].prepare == anybody);
		cr_expect_eq(stage.node->warns, cases[i].warns, "%s", cases[i].name);
		stage_close(&stage);
	}
}

/* Without digests only if both want none; with those of payloads if either does (WIRE-28). */
Test(sim_hello, digests)
{
	static const uint32_t features[] = { 0, WIRE_WANT_PAYLOAD_DIGEST, WIRE_OFFER_NO_DIGEST };

	for (int own = NIC_DIGEST_HEAD; own <= NIC_DIGEST_OFF; own++)
		for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
			const struct nic_config config = { .digest = (enum nic_digest)own };
			const struct conn *conn;
			struct stage stage;

			stage_open(&stage, &config);
			stage.hello.features = features[i];
			cr_assert_eq(answer(&stage), GREETED);
			conn = stage.session->conn;
			cr_expect_eq(conn->head_digest, own != NIC_DIGEST_OFF || features[i] != WIRE_OFFER_NO_DIGEST);
			cr_expect_eq(conn->payload_digest, own == NIC_DIGEST_FULL || features[i] == WIRE_WANT_PAYLOAD_DIGEST);
			stage_close(&stage);
		}
}

static bool heard(void *owner, const struct cm_event *event)
{
	(void)owner;
	(void)event;
	return true;
}

/* One peer is all that it has, or had: for others not even a session is kept. */
Test(sim_hello, to_a_connected_endpoint)
{
	static const struct cm_ops ops = { .event = heard };
	struct stage stage;
	struct cm *cm;

	stage_open(&stage, NULL);
	cm = &stage.ep->cm;
	stage.ep->attr.cm = &ops;
	cm->state = CM_UP;
	cm->peer = stage.session;
	stage.hello.at.port++;
	cr_assert_eq(answer(&stage), WIRE_BYE_LIMIT);
	cr_assert_eq(stage.ep->session_count, 1);
	stage.hello.at.port--;
	connected(&stage, 1);
	forgot(&stage);
	stage.hello.epoch = 2;
	cr_assert_eq(answer(&stage), WIRE_BYE_DUPLICATE);
	cr_assert_eq(cm->state, CM_UP);
	cm->state = CM_DOWN;
	stage.ep->attr.cm = NULL;
	stage_close(&stage);
}

/* WIRE-25, WIRE-65: a session goes on as it was, from where it was. */
Test(sim_hello, goes_on_otherwise)
{
	static const struct {
		uint64_t seen, verdict_seen;
		uint32_t requests, reads;
		const char *says;
	} others[] = {
		{ 1, 0, 0, 0, "WIRE-65" },
		{ 0, 1, 0, 0, "WIRE-65" },
		{ 0, 0, 1, 0, "WIRE-25" },
		{ 0, 0, 0, 1, "WIRE-25" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct stage stage;
		struct conn *conn;

		stage_open(&stage, NULL);
		connected(&stage, 1);
		known(&stage);
		expects(&stage);
		stage.hello.epoch = 2;
		stage.hello.seen = others[i].seen;
		stage.hello.verdict_seen = others[i].verdict_seen;
		stage.hello.requests += others[i].requests;
		stage.hello.reads += others[i].reads;
		conn = dialled(&stage);
		cr_assert_null(says(conn, &stage.hello));
		cr_expect_eq(conn->state, CONN_CLOSED);
		cr_expect(node_logged(stage.node, others[i].says), "%zu: %s", i, stage.node->log[0]);
		stage_close(&stage);
	}
}

/* WIRE-32: dials before it may have been lost on their way. */
Test(sim_hello, skips_epochs)
{
	struct stage stage;

	stage_open(&stage, NULL);
	goes_on(&stage);
	stage.hello.epoch = UINT64_MAX - 1;
	cr_assert_eq(answer(&stage), GREETED);
	stage_close(&stage);
}

/* The dialler's side: the answer is for this very dial, and from the endpoint that was there before. */
Test(sim_hello, who_answers)
{
	static const struct {
		const char *says;
		bool known, other;
		uint64_t session, epoch;
		bool opens, elsewhere; /* it gives another address than was dialled */
	} answers[] = {
		{ NULL, false, false, 0, 0, true, false },
		{ NULL, false, true, 0, 0, true, false },
		{ NULL, true, false, 0, 0, true, false },
		{ "restarted", true, true, 0, 0, false, false },
		{ "another session or dial (WIRE-32)", false, false, 1, 0, false, false },
		{ "another session or dial (WIRE-32)", false, false, 0, 1, false, false },
		{ "addresses are translated on the way. the address to tell", false, false, 0, 0, true, true },
		{ NULL, true, false, 0, 0, true, true }, /* that was said when it became known */
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct wire_hello_fields hello;
		struct words words = { .who = 0 };
		struct session *session;
		struct region *region;
		struct node *node;
		struct conn *conn;
		struct job *job;
		struct raw *raw;
		struct bed bed;

		bed_open(&bed, 2, 2, NULL, NULL);
		node = bed.node[0];
		region = region_open(bed.party[1], 64, 1, BED_BOTH, false, 0);
		bed.node[1]->asleep = true;
		job = job_rma(bed.party[0], region, OP_WRITE, 0, 8, POST_COMPLETE, 1);
		job_may(job, REFUSAL_PEER_GONE);
		cr_assert(!job_post(job));
		while (!(raw = raw_answer(bed.world, party_port(bed.party[1]))))
			cr_assert(world_step(bed.world));
		node->asleep = true;
		node_enter(node);
		conn = node->nic->conns;
		session = conn->session;
		hello = plain_hello(&words);
		hello.session = session->id + answers[i].session;
		hello.epoch = conn->epoch + answers[i].epoch;
		address_put(&session->peer, &hello.at);
		hello.at.addr[0] ^= answers[i].elsewhere;
		session->peer_is = answers[i].known ? PEER_KNOWN : PEER_STRANGER;
		memcpy(session->instance, hello.instance, WIRE_ID_LEN);
		session->instance[0] ^= answers[i].other;
		cr_assert_null(says(conn, &hello));
		cr_expect_eq(conn->state, answers[i].opens ? CONN_OPEN : CONN_CLOSED, "answer %zu", i);
		cr_expect_eq(node->warns, !!answers[i].says, "answer %zu", i);
		cr_expect(!answers[i].says || node_logged(node, answers[i].says), "answer %zu: %s", i, node->log[0]);
		raw_close(raw);
		node_leave(node);
		node->asleep = bed.node[1]->asleep = false;
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}
