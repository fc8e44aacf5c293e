/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_receives.c - buffers that side 0 has posted for messages of side 1: of RC and UD queue pairs, and shared ones. */
#include "tests/races/verbs/verbs_kit.h"

#define WRITE IBV_WR_RDMA_WRITE
#define READ IBV_WR_RDMA_READ
#define SEND IBV_WR_SEND

/* Side 0 touches a receive as soon as it knows that the message was posted. */
static void receive_touched(bool store)
{
	if (!race_self)
		expects(1, 0, BOX, LONG);
	race_meet();
	if (race_self) {
		begin(0, 0, SEND, FROM, 0, LONG);
		race_tell(0);
		finish(0);
		return;
	}
	race_hear(1);
	if (store)
		fill(BOX, WORD, 1);
	else
		look(BOX, LONG);
	received(0);
}

static void receive_loaded(void)
{
	receive_touched(false);
}

static void receive_stored(void)
{
	receive_touched(true);
}

/* Two are posted, and one message has come; right: its buffer alone is read. */
static void one_of_two_received(void)
{
	if (!race_self)
		for (unsigned i = 0; i < 2; i++)
			expects(1, 0, BOX + i * SHORT, SHORT);
	race_meet();
	if (race_self) {
		does(0, 0, SEND, FROM, 0, SHORT);
		race_hear(0);
		does(0, 0, SEND, FROM, 0, SHORT);
		return;
	}
	received(0);
	look(BOX, racy() ? 2 * SHORT : SHORT);
	race_tell(1);
	received(0);
}

/* The completion of the request is taken for that of its reply. */
static void request_completed_reply_loaded(void)
{
	unsigned other = !race_self;

	expects(other, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		does(other, 0, SEND, FROM, 0, SHORT);
		look(BOX, SHORT);
		received(0);
	} else {
		received(0);
		does(other, 0, SEND, FROM, 0, SHORT);
	}
}

/* The buffer is posted again, and then read; right: before. */
static void posted_again(void)
{
	enum { TURNS = 4 };

	if (!race_self)
		expects(1, 0, BOX, SHORT);
	race_meet();
	for (unsigned i = 0; i < TURNS; i++) {
		if (race_self) {
			does(0, 0, SEND, FROM, 0, SHORT);
			continue;
		}
		received(0);
		if (!racy())
			look(BOX, SHORT);
		if (i < TURNS - 1)
			expects(1, 0, BOX, SHORT);
		if (racy())
			look(BOX, SHORT);
	}
}

/* Side 1 writes to a buffer into which a message of side 2 is to come. */
static void write_into_a_receive(void)
{
	if (!race_self)
		expects(2, 0, BOX, LONG);
	race_meet();
	if (race_self == 1)
		does(0, 0, WRITE, FROM, BOX, LONG);
	else if (race_self == 2)
		does(0, 0, SEND, FROM, 0, LONG);
	else
		received(0);
}

/* --- datagrams --- */

/* The first 40 bytes are the device's, too, of which the GRH comes into 20 or 40. */
static void datagram(unsigned at, bool store, bool early)
{
	if (!race_self)
		expects(1, 0, BOX, GRH + SHORT);
	race_meet();
	if (race_self) {
		begin(0, 0, SEND, FROM, 0, SHORT);
		race_tell(0);
		finish(0);
		return;
	}
	race_hear(1);
	if (!early)
		received(0);
	if (store)
		fill(at, SHORT / 2, 1);
	else
		look(at, SHORT / 2);
	if (early)
		received(0);
}

static void header_room_stored(void)
{
	datagram(BOX, true, true);
}

static void datagram_loaded(void)
{
	datagram(BOX + GRH, false, true);
}

static void datagram_source_stored(void)
{
	if (!race_self)
		expects(1, 0, BOX, GRH + SHORT);
	race_meet();
	if (race_self) {
		begin(0, 0, SEND, FROM, 0, SHORT);
		fill(FROM, SHORT, 1);
		finish(0);
	} else {
		received(0);
	}
}

/* --- what is right --- */

static void received_and_loaded(void)
{
	for (unsigned i = 0; i < 4; i++) {
		if (!race_self)
			expects(1, 0, BOX, LONG);
		race_meet();
		if (race_self) {
			does(0, 0, i % 2 ? IBV_WR_SEND_WITH_IMM : SEND, FROM, 0, LONG);
		} else {
			received(0);
			look(BOX, LONG);
			fill(BOX, LONG, i);
		}
	}
}

static void beside_a_receive_stored(void)
{
	if (!race_self)
		expects(1, 0, BOX + SHORT, SHORT);
	race_meet();
	if (race_self) {
		begin(0, 0, SEND, FROM, 0, SHORT);
		race_tell(0);
		finish(0);
		return;
	}
	race_hear(1);
	fill(BOX, SHORT, 1);
	look(BOX + 2 * SHORT, SHORT);
	received(0);
}

static void reply_received_and_loaded(void)
{
	unsigned other = !race_self;

	expects(other, 0, BOX, SHORT);
	race_meet();
	if (race_self) {
		begin_as(other, 0, IBV_SEND_INLINE, SEND, FROM, 0, SHORT);
		fill(FROM, SHORT, 1);
		received(0);
		look(BOX, SHORT);
		does(other, 0, WRITE, FROM, X, SHORT);
	} else {
		received(0);
		fill(BOX, SHORT, 1);
		does(other, 0, SEND, BOX, 0, SHORT);
	}
}

/* Nobody looks at what comes: all receives have one buffer, as those of measuring programs. */
static void receives_share(void)
{
	enum { MESSAGES = 8 };

	for (unsigned i = 0; !race_self && i < MESSAGES; i++)
		expects(1, 0, BOX, SHORT);
	race_meet();
	for (unsigned i = 0; race_self && i < MESSAGES; i++)
		begin(0, 0, SEND, FROM, 0, SHORT);
	for (unsigned i = 0; i < MESSAGES; i++)
		if (race_self)
			finish(0);
		else
			received(0);
}

static void datagram_received(void)
{
	datagram(BOX, true, false);
}

static void beside_a_datagram_loaded(void)
{
	datagram(BOX + GRH + SHORT, false, true);
}

static const struct race_case receives_cases[] = {
	VERBS_RACE("receive-loaded", "receive-buffer", "operation-load", 2, receive_loaded),
	VERBS_RACE("receive-stored", "receive-buffer", "operation-store|receive-buffer-changed", 2, receive_stored),
	VERBS_RACE("second-receive-loaded", "receive-buffer", "operation-load", 2, one_of_two_received),
	VERBS_RACE("request-completed-reply-loaded", "missing-completion", "operation-load", 2, request_completed_reply_loaded),
	VERBS_RACE("posted-again-too-early", "receive-buffer", "operation-load", 2, posted_again),
	VERBS_RACE("shared-receive-again-too-early", "receive-buffer", "operation-load", 2, posted_again, .srq = true),
	VERBS_RACE("shared-receive-stored", "receive-buffer", "operation-store|receive-buffer-changed", 2, receive_stored,
		   .srq = true),
	VERBS_RACE("write-into-a-receive", "three-processes", "operation-operation", 3, write_into_a_receive),
	VERBS_RACE("header-room-stored", "receive-buffer", "operation-store|receive-buffer-changed", 2, header_room_stored,
		   .type = IBV_QPT_UD),
	VERBS_RACE("datagram-loaded", "receive-buffer", "operation-load", 2, datagram_loaded, .type = IBV_QPT_UD),
	VERBS_RACE("datagram-source-stored", "local-store", "operation-store|send-buffer-changed", 2, datagram_source_stored,
		   .type = IBV_QPT_UD),
	VERBS_TWIN("received-and-loaded", "receive-buffer", 2, received_and_loaded),
	VERBS_TWIN("beside-a-receive-stored", "receive-buffer", 2, beside_a_receive_stored),
	VERBS_TWIN("first-receive-loaded", "receive-buffer", 2, one_of_two_received),
	VERBS_TWIN("reply-received-and-loaded", "missing-completion", 2, reply_received_and_loaded),
	VERBS_TWIN("posted-again-in-time", "receive-buffer", 2, posted_again),
	VERBS_TWIN("shared-receive-again-in-time", "receive-buffer", 2, posted_again, .srq = true),
	VERBS_TWIN("receives-share-a-buffer", "receive-buffer", 2, receives_share),
	VERBS_TWIN("datagram-received", "receive-buffer", 2, datagram_received, .type = IBV_QPT_UD),
	VERBS_TWIN("beside-a-datagram-loaded", "receive-buffer", 2, beside_a_datagram_loaded, .type = IBV_QPT_UD),
};

const struct race_set verbs_receives = RACE_SET(receives_cases);
