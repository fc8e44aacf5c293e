/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_receive.c - buffers of receives, while messages may come. */
#include <string.h>

#include "tests/races/fi/fi_kit.h"

enum { RECEIVER, SENDER, ROOM = 4 * SIZE };

static void send_one(uint64_t tag)
{
	if (tag)
		KIT_POST(
			fi_tsend(kit_ends[0].ep, kit_area + SOURCE, SIZE, fi_mr_desc(kit_mr), kit_address[RECEIVER][0], tag, NULL));
	else
		kit_send(RECEIVER, SOURCE, SIZE, 0);
	kit_sent(1);
}

/* Between the post and the completion. How: 0 loads, 1 stores. */
static void receive_touched(unsigned round)
{
	if (race_self == SENDER) {
		race_hear(RECEIVER);
		send_one(0);
		return;
	}
	kit_receive(INBOX, SIZE);
	race_tell(SENDER);
	if (!racy())
		kit_came(1);
	race_compute();
	if (race_this->how)
		race_store(kit_area + INBOX, (uint8_t)round);
	else
		(void)race_load(kit_area + INBOX);
	if (racy())
		kit_came(1);
}

/* Beside it, on its page. */
static void receive_left(unsigned round)
{
	if (race_self == SENDER) {
		race_hear(RECEIVER);
		send_one(0);
		return;
	}
	kit_receive(INBOX + SIZE, SIZE);
	race_tell(SENDER);
	race_compute();
	race_store(kit_area + INBOX, (uint8_t)round);
	(void)race_load(kit_area + INBOX + 2 * SIZE);
	kit_came(1);
}

/* Of two buffers of one receive the second one; right: what lies between. */
static void second_part(unsigned round)
{
	struct iovec parts[] = { { kit_area + INBOX, SIZE / 2 }, { kit_area + INBOX + SIZE, SIZE } };
	void *desc[] = { fi_mr_desc(kit_mr), fi_mr_desc(kit_mr) };

	(void)round;
	if (race_self == SENDER) {
		race_hear(RECEIVER);
		send_one(0);
		return;
	}
	KIT_POST(fi_recvv(kit_ends[0].ep, parts, desc, 2, FI_ADDR_UNSPEC, NULL));
	race_tell(SENDER);
	race_compute();
	(void)race_load(kit_area + INBOX + SIZE - !racy());
	kit_came(1);
}

static void post_tagged(uint64_t tag)
{
	void *at = kit_area + INBOX + tag * KIT_PAGE;

	KIT_POST(fi_trecv(kit_ends[0].ep, at, SIZE, fi_mr_desc(kit_mr), FI_ADDR_UNSPEC, tag, 0, at));
}

/* Two receives: the completion of the second one is here, and the first one's buffer is used. */
static void other_message(unsigned round)
{
	(void)round;
	if (race_self == SENDER) {
		race_hear(RECEIVER);
		send_one(2);
		race_compute();
		send_one(1);
		return;
	}
	post_tagged(1);
	post_tagged(2);
	race_tell(SENDER);
	kit_came_of(INBOX + 2 * KIT_PAGE);
	(void)race_load(kit_area + INBOX + (racy() ? 1 : 2) * KIT_PAGE);
	kit_came(1);
}

/* A receive for several messages: after the first one it is still the NIC's behind that. Racy: what lies there is set to 0. */
static void multi_receive(unsigned round)
{
	struct iovec room = { kit_area + INBOX, ROOM };
	void *desc = fi_mr_desc(kit_mr);
	struct fi_msg msg = { &room, &desc, 1, FI_ADDR_UNSPEC, NULL, 0 };

	size_t least = SIZE;
	const uint8_t *first;
	bool released;

	(void)round;
	if (race_self == SENDER) {
		race_hear(RECEIVER);
		for (int i = 0; i < ROOM / SIZE; i++)
			send_one(0);
		return;
	}
	NEED(!fi_setopt(&kit_ends[0].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	KIT_POST(fi_recvmsg(kit_ends[0].ep, &msg, FI_MULTI_RECV));
	race_tell(SENDER);
	first = kit_came_where(&released);
	if (racy())
		memset(kit_area + INBOX + SIZE, 0, ROOM - SIZE);
	else
		(void)race_load(first);
	while (!released)
		kit_came_where(&released);
	race_store(kit_area + INBOX + SIZE, 0);
}

/* The buffer of a receive is the source of a message: an echo that does not wait. */
static void echo(unsigned round)
{
	(void)round;
	if (race_self == SENDER) {
		kit_receive(INBOX, SIZE);
		race_hear(RECEIVER);
		send_one(0);
		kit_came(1);
		return;
	}
	kit_receive(INBOX, SIZE);
	race_tell(SENDER);
	if (!racy())
		kit_came(1);
	kit_send(SENDER, INBOX, SIZE, 0);
	kit_sent(1);
	if (racy())
		kit_came(1);
}

/* A read into the buffer of a receive. */
static void read_into_receive(unsigned round)
{
	(void)round;
	if (race_self == SENDER) {
		race_hear(RECEIVER);
		send_one(0);
		return;
	}
	kit_receive(INBOX, SIZE);
	race_tell(SENDER);
	kit_get(SENDER, racy() ? INBOX : INBOX + SIZE, X, SIZE, 0);
	kit_sent(1);
	kit_came(1);
}

/* The buffers of a ring of receives are used and posted again; racy: posted again, and used then. */
static void posted_again(unsigned round)
{
	(void)round;
	if (race_self == SENDER) {
		race_hear(RECEIVER);
		for (int i = 0; i < 2; i++)
			send_one(0);
		return;
	}
	kit_receive(INBOX, SIZE);
	race_tell(SENDER);
	kit_came(1);
	if (!racy())
		race_store(kit_area + INBOX, race_load(kit_area + INBOX) + 1);
	kit_receive(INBOX, SIZE);
	if (racy())
		race_store(kit_area + INBOX, race_load(kit_area + INBOX) + 1);
	kit_came(1);
}

#define STORED "operation-store|receive-buffer-changed"
#define LOADED "operation-load"
#define MET "operation-operation|receive-buffer-used"
#define WANT_MULTI                                           \
	&(const struct kit_want)                             \
	{                                                    \
		.caps = FI_MULTI_RECV, .order = FI_ORDER_SAS \
	}

static const struct race_case cases[] = {
	RACE("receive-loaded", "receive-buffer", LOADED, 2, receive_touched, .how = 0),
	RACE("receive-stored", "receive-buffer", STORED, 2, receive_touched, .how = 1),
	TWIN("message-then-load", "receive-buffer", 2, receive_touched, .how = 0),
	TWIN("message-then-its-buffer-stored", "receive-buffer", 2, receive_touched, .how = 1),
	TWIN("beside-receive", "receive-buffer", 2, receive_left),
	RACE("second-part-loaded", "several-buffers", LOADED, 2, second_part),
	TWIN("between-parts-loaded", "several-buffers", 2, second_part),
	RACE("other-message", "receive-buffer", LOADED, 2, other_message),
	TWIN("own-message", "receive-buffer", 2, other_message),
	RACE("rest-of-multi-receive-stored", "receive-buffer", STORED, 2, multi_receive, .want = WANT_MULTI),
	TWIN("first-of-multi-receive-loaded", "receive-buffer", 2, multi_receive, .want = WANT_MULTI),
	RACE("echo-early", "receive-buffer", MET, 2, echo),
	TWIN("echo", "receive-buffer", 2, echo),
	RACE("read-into-receive", "receive-buffer", MET, 2, read_into_receive),
	TWIN("read-beside-receive", "receive-buffer", 2, read_into_receive),
	RACE("posted-again-and-used", "receive-buffer", LOADED "|" STORED, 2, posted_again),
	TWIN("used-and-posted-again", "receive-buffer", 2, posted_again),
};

const struct race_set fi_receives = RACE_SET(cases);
