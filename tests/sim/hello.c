/* SPDX-License-Identifier: BSD-2-Clause */
/* hello.c - HELLO against all that its receiver may know: which connection stays, which session goes on, and what the others
 * are told. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/conn.h"
#include "emu/nic/ep.h"
#include "emu/nic/hello.h"
#include "emu/nic/name.h"
#include "emu/nic/nic_impl.h"
#include "tests/sim/scarce.h"
#include "tests/sim/words.h"

enum { HEAD = sizeof(struct wire_head), BYE = HEAD + sizeof(struct wire_bye), GREETED = 0, CUT = -1 };	/* else a reason */

/* One that is dialled by a stranger, of whom it knows what the test says. */
struct stage {
	struct bed bed;
	struct words words;
	struct node *node;
	struct ep *ep;
	struct session *session;	/* with the stranger */
	struct wire_hello_fields hello;	/* the stranger's */
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
	name_get(&stage->hello.at, &at);
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
	stage->session->known = true;
	memcpy(stage->session->instance, stage->hello.instance, WIRE_ID_LEN);
}

/* The stranger is connected; the next one comes by another connection. */
static void connected(struct stage *stage, uint64_t epoch)
{
	stage->hello.epoch = epoch;
	cr_assert_eq(answer(stage), GREETED);
	stage->session->known = false;
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
	stage->session->known = false;
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
	stage->session->opened = 5;	/* of another session */
	stage->hello.epoch = 2;
}

static void dials_both(struct stage *stage)
{
	rank(stage, false);
	stage->session->state = SESSION_BACKOFF;
	stage->session->greeted = true;
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
	stage->session->greeted = false;
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
} cases[] = {
#define CASE(name, answer) { #name, name, answer }
	CASE(anybody, GREETED), CASE(means_another, WIRE_BYE_INSTANCE),
	CASE(goes_on, GREETED), CASE(is_late, WIRE_BYE_DUPLICATE), CASE(began_anew_later, WIRE_BYE_SESSION),
	CASE(was_never_answered, GREETED), CASE(knows_what_was_given_up, WIRE_BYE_SESSION),
	CASE(begins_where_one_was_given_up, GREETED), CASE(forgot, WIRE_BYE_DUPLICATE),
	CASE(forgot_while_connected, GREETED),
	CASE(dials_both, WIRE_BYE_DUPLICATE), CASE(dials_both_and_is_larger, GREETED), CASE(dials_after, GREETED),
	CASE(dials_the_same, GREETED), CASE(dials_whom_nobody_greeted, GREETED), CASE(dials_who_does_not, GREETED),
	CASE(comes_earlier, WIRE_BYE_DUPLICATE), CASE(comes_again, WIRE_BYE_DUPLICATE), CASE(comes_later, GREETED),
	CASE(comes_at_once_and_is_larger, GREETED), CASE(comes_at_once_and_is_smaller, WIRE_BYE_DUPLICATE),
	CASE(takes_the_place_of_another, WIRE_BYE_DUPLICATE), CASE(comes_after_another, GREETED),
	CASE(comes_in_an_outage, CUT), CASE(comes_after_an_outage, GREETED),
#undef CASE
};

/* WIRE-30 to WIRE-38 */
Test(sim_hello, who_dials)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stage stage;
		int told;

		stage_open(&stage, NULL);
		cases[i].prepare(&stage);
		told = answer(&stage);
		cr_expect_eq(told, cases[i].answer, "%s: %d", cases[i].name, told);
		cr_expect_not(stage.session->greeted && told == GREETED && cases[i].prepare == anybody);
		cr_expect_eq(stage.node->warns, cases[i].prepare == comes_after_another, "%s", cases[i].name);
		stage_close(&stage);
	}
}

/* Without digests only if both want none; with those of payloads if either does. */
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
			cr_expect_eq(conn->payload_digest,
				     own == NIC_DIGEST_FULL || features[i] == WIRE_WANT_PAYLOAD_DIGEST);
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
	cr_assert_eq(answer(&stage), WIRE_BYE_LIMIT, "its session was all");
	cr_assert_eq(cm->state, CM_DOWN);
	stage.ep->attr.cm = NULL;
	stage_close(&stage);
}

/* No connection opens without what it needs. */
Test(sim_hello, no_memory_for_digests)
{
	const struct nic_config config = { .digest = NIC_DIGEST_FULL };
	struct stage stage;
	struct conn *conn;

	stage_open(&stage, &config);
	connected(&stage, 1);
	nic_work(stage.node->nic);
	cr_assert_gt(stage.node->nic->spares.count, 0);	/* the answer finds room */
	stage.hello.epoch = 2;
	conn = dialled(&stage);
	stage.bed.world->weather.scarce_permille = 1000;
	stage.bed.world->weather.scarce_left = 1;
	scarce_begin(stage.bed.world);
	cr_assert_null(says(conn, &stage.hello));
	scarce_end();
	cr_assert_eq(conn->state, CONN_CLOSED);
	stage_close(&stage);
}

/* The dialler's side: what answers is for this very dial, and from whom was there before. */
Test(sim_hello, who_answers)
{
	static const struct { const char *says; bool known, other; uint64_t session, epoch; } answers[] = {
		{ NULL, false, false, 0, 0 }, { NULL, false, true, 0, 0 }, { NULL, true, false, 0, 0 },
		{ "restarted", true, true, 0, 0 }, { "another session or connection", false, false, 1, 0 },
		{ "another session or connection", false, false, 0, 1 },
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
		session->known = answers[i].known;
		memcpy(session->instance, hello.instance, WIRE_ID_LEN);
		session->instance[0] ^= answers[i].other;
		cr_assert_null(says(conn, &hello));
		cr_expect_eq(conn->state, answers[i].says ? CONN_CLOSED : CONN_OPEN, "answer %zu", i);
		cr_expect_eq(node->warns, !!answers[i].says, "answer %zu", i);
		cr_expect(!answers[i].says || node_logged(node, answers[i].says), "answer %zu: %s", i, node->log[0]);
		raw_close(raw);
		node_leave(node);
		node->asleep = bed.node[1]->asleep = false;
		model_end(bed.model, BED_LIMIT_NS);
		bed_close(&bed);
	}
}
