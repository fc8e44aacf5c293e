/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus_table.c - the tests. What is allowed goes by libfabric's pages; `shows` says where this NIC does it. */
#include "tools/litmus/litmus.h"

enum { A, B, C };

#define TO(side, variable, put) .to = (side), .var = (variable), .value = (put)
#define RE(n, want)                                       \
	{                                                 \
		A_REGISTER, .index = (n), .value = (want) \
	}
#define AT(where, variable, want)                       \
	{                                               \
		A_VARIABLE, (where), (variable), (want) \
	}

#define ORDER "fi_endpoint(3), msg_order"
#define SIZES "fi_endpoint(3), max_order_waw_size"
#define LEVEL "fi_cq(3), Completion Event Semantics"
#define TARGET "fi_cq(3), Target Completion Semantics"
#define FENCE "fi_msg(3), FI_FENCE"
#define INJECTED "fi_msg(3), FI_INJECT"
#define ATOMIC "fi_atomic(3)"
#define NOT_SAID "fi_atomic(3), which says nothing of it"

/* Two operations of A on the same bytes of B, which the bit keeps in their order. */
#define PAIR(bit, words, first, second, outcome)                                                               \
	{                                                                                                      \
#bit, words, ORDER, BY_ORDER, .asks = FI_ORDER_##bit, .shows = WEAK,                           \
					      .steps = { { first, second }, { { .verb = PAUSE } } }, .seen = { \
						      outcome }                                                \
	}
/* The same with a message, which B receives into x. */
#define PAIR_WITH_SEND(bit, words, first, second, outcome)                                               \
	{                                                                                                \
#bit, words, ORDER, BY_ORDER, .asks = FI_ORDER_##bit, .shows = WEAK,                     \
					      .steps = { { first, second }, { { RECEIVE, .var = X } } }, \
							   .seen = {                                     \
								   outcome }                             \
	}
/* Two reads, while B stores. */
#define PAIR_OF_READS(bit, words, first, second)                                                                     \
	{                                                                                                            \
#bit, words, ORDER, BY_ORDER, .asks = FI_ORDER_##bit, .shows = WEAK,                                 \
					      .steps = { { first, second },                                          \
							   { { .verb = PAUSE }, { STORE, .var = X, .value = 1 } } }, \
							     .seen = {                                               \
								     RE(0, 1), RE(1, 0) }                            \
	}

#define WRITE_1                    \
	{                          \
		WRITE, TO(B, X, 1) \
	}
#define WRITE_2                    \
	{                          \
		WRITE, TO(B, X, 2) \
	}
#define PUT_1                    \
	{                        \
		PUT, TO(B, X, 1) \
	}
#define PUT_2                    \
	{                        \
		PUT, TO(B, X, 2) \
	}
#define SEND_1                    \
	{                         \
		SEND, TO(B, X, 1) \
	}
#define SEND_2                    \
	{                         \
		SEND, TO(B, X, 2) \
	}
#define READ_0                    \
	{                         \
		READ, TO(B, X, 0) \
	}
#define READ_1                    \
	{                         \
		READ, TO(B, X, 1) \
	}
#define FETCH_0                    \
	{                          \
		FETCH, TO(B, X, 0) \
	}
#define FETCH_1                    \
	{                          \
		FETCH, TO(B, X, 1) \
	}

/* A writes, waits for the completion, and tells B by another way, which looks. */
#define LEVEL_OF_WRITE(title, words, its_rule, its_caps, level, where)                                                 \
	{                                                                                                              \
		title, words, LEVEL, its_rule,                                                                         \
			.caps = its_caps, .shows = where,                                                              \
			.steps = { { { WRITE, TO(B, X, 1), .flags = level }, { WAIT, .value = 0 }, { .verb = TELL } }, \
				   { { .verb = HEAR }, { LOOK, .var = X, .value = 0 } } },                             \
			.seen = {                                                                                      \
				RE(0, 0)                                                                               \
			}                                                                                              \
	}
/* A sends and waits for the completion; B says in y that it posts its receive now. */
#define LEVEL_OF_SEND(title, words, its_rule, level, where)                                                                \
	{                                                                                                                  \
		title, words, LEVEL, its_rule,                                                                             \
			.shows = where,                                                                                    \
			.steps = { { { SEND, TO(B, X, 1), .flags = level }, { WAIT, .value = 0 }, { PEEK, TO(B, Y, 0) } }, \
				   { { .verb = PAUSE }, { STORE, .var = Y, .value = 1 }, { RECEIVE, .var = X } } },        \
			.seen = {                                                                                          \
				RE(0, 0)                                                                                   \
			}                                                                                                  \
	}
/* Message passing: A writes x, and then y, which B polls. */
#define PASSING(title, words, its_source, its_rule, bits, where, ...)                                                   \
	{                                                                                                               \
		title, words, its_source, its_rule,                                                                     \
			.also = bits, .shows = where,                                                                   \
			.steps = { { __VA_ARGS__ }, { { POLL, .var = Y }, { LOOK, .var = X, .value = 0 } } }, .seen = { \
				RE(0, 0)                                                                                \
			}                                                                                               \
	}
/* Store buffering: each writes, and looks for what the other has written. */
#define BUFFERING(title, words, its_rule, where, level, ...)                                                                \
	{                                                                                                                   \
		title, words, LEVEL, its_rule,                                                                              \
			.shows = where,                                                                                     \
			.steps = { { { WRITE, TO(B, X, 1), .flags = level }, __VA_ARGS__{ LOOK, .var = Y, .value = 0 } },   \
				   { { WRITE, TO(A, Y, 1), .flags = level }, __VA_ARGS__{ LOOK, .var = X, .value = 1 } } }, \
			.seen = {                                                                                           \
				RE(0, 0),                                                                                   \
				RE(1, 0)                                                                                    \
			}                                                                                                   \
	}
/* A writes to C and sends to B, which writes to C, too. */
#define RELAY(title, words, its_rule, where, level)                                                                         \
	{                                                                                                                   \
		title, words, TARGET, its_rule,                                                                             \
			.shows = where,                                                                                     \
			.steps = { { { WRITE, TO(C, X, 1), .flags = level }, { WAIT, .value = 0 }, { SEND, TO(B, X, 1) } }, \
				   { { RECEIVE, .var = X }, { WAIT, .value = 0 }, { WRITE, TO(C, Y, 1) } },                 \
				   { { POLL, .var = Y }, { LOOK, .var = X, .value = 0 } } },                                \
			.seen = {                                                                                           \
				RE(0, 0)                                                                                    \
			}                                                                                                   \
	}

const struct litmus litmus_table[] = {
	PAIR_OF_READS(RAR, "A read and an atomic read: the first finds what is newer.", READ_0, FETCH_1),
	PAIR(RAW, "An atomic read does not find what was written before.", WRITE_1, FETCH_0, RE(0, 0)),
	PAIR_WITH_SEND(RAS, "A read does not find the message that was sent before.", SEND_1, READ_0, RE(0, 0)),
	PAIR(WAR, "A read finds what was put after it.", READ_0, PUT_2, RE(0, 2)),
	PAIR(WAW, "What was written first stays.", WRITE_1, PUT_2, AT(B, X, 1)),
	PAIR_WITH_SEND(WAS, "The message stays, which was sent before the write.", SEND_1, WRITE_2, AT(B, X, 1)),
	PAIR_WITH_SEND(SAR, "A read finds the message that was sent after it.", READ_0, SEND_2, RE(0, 2)),
	PAIR_WITH_SEND(SAW, "The write stays, which was before the message.", WRITE_1, SEND_2, AT(B, X, 1)),
	{ "SAS", "The first receive takes the second message.", ORDER, BY_ORDER, .asks = FI_ORDER_SAS, .shows = WEAK,
	  .steps = { { SEND_1, SEND_2 }, { { RECEIVE, .var = X }, { RECEIVE, .var = Y } } }, .seen = { AT(B, X, 2), AT(B, Y, 1) } },
	PAIR_OF_READS(RMA_RAR, "Two reads: the first finds what is newer.", READ_0, READ_1),
	PAIR(RMA_RAW, "A read does not find what was written before.", WRITE_1, READ_0, RE(0, 0)),
	PAIR(RMA_WAR, "A read finds what was written after it.", READ_0, WRITE_2, RE(0, 2)),
	PAIR(RMA_WAW, "Of two writes the first stays.", WRITE_1, WRITE_2, AT(B, X, 1)),
	PAIR_OF_READS(ATOMIC_RAR, "Two atomic reads: the first finds what is newer.", FETCH_0, FETCH_1),
	PAIR(ATOMIC_RAW, "An atomic read does not find what was put before.", PUT_1, FETCH_0, RE(0, 0)),
	PAIR(ATOMIC_WAR, "An atomic read finds what was put after it.", FETCH_0, PUT_2, RE(0, 2)),
	PAIR(ATOMIC_WAW, "Of two atomic writes the first stays.", PUT_1, PUT_2, AT(B, X, 1)),
	{ "RMA_RAW+atomic", "FI_ORDER_RMA_RAW is not about atomics.", ORDER, ALLOWED, .also = FI_ORDER_RMA_RAW, .shows = WEAK,
	  .steps = { { WRITE_1, FETCH_0 }, { { .verb = PAUSE } } }, .seen = { RE(0, 0) } },
	{ "ATOMIC_RAW+RMA", "FI_ORDER_ATOMIC_RAW is not about writes.", ORDER, ALLOWED, .also = FI_ORDER_ATOMIC_RAW, .shows = WEAK,
	  .steps = { { WRITE_1, FETCH_0 }, { { .verb = PAUSE } } }, .seen = { RE(0, 0) } },
	{ "completions", "The second of two writes completes first.", LEVEL, ALLOWED, .shows = WEAK,
	  .steps = { { WRITE_1, { WRITE, TO(B, Y, 1) } }, { { .verb = PAUSE } } }, .seen = { { AN_END, A, 1, 1 } } },

	{ "reuse", "A source is changed at once, and the target gets the change.", LEVEL, ALLOWED, .shows = WEAK,
	  .steps = { { WRITE_1, { REUSE, .value = 0 } }, { { .verb = PAUSE } } }, .seen = { AT(B, X, 3) } },
	{ "reuse-INJECT", "So it is after FI_INJECT_COMPLETE.", LEVEL, FORBIDDEN,
	  .steps = { { { WRITE, TO(B, X, 1), .flags = FI_INJECT_COMPLETE }, { WAIT, .value = 0 }, { REUSE, .value = 0 } },
		     { { .verb = PAUSE } } },
	  .seen = { AT(B, X, 3) } },
	{ "reuse-at-once", "So it is after a call with FI_INJECT has returned.", INJECTED, FORBIDDEN,
	  .steps = { { { WRITE, TO(B, X, 1), .flags = FI_INJECT }, { REUSE, .value = 0 } }, { { .verb = PAUSE } } },
	  .seen = { AT(B, X, 3) } },
	LEVEL_OF_WRITE("INJECT", "FI_INJECT_COMPLETE, and the target does not see the write.", ALLOWED, 0, FI_INJECT_COMPLETE,
		       RC | WEAK),
	LEVEL_OF_WRITE("TRANSMIT", "FI_TRANSMIT_COMPLETE, and the target does not see the write.", ALLOWED, 0, FI_TRANSMIT_COMPLETE,
		       RC | WEAK),
	LEVEL_OF_WRITE("DELIVERY", "FI_DELIVERY_COMPLETE, and the target does not see the write.", FORBIDDEN, 0,
		       FI_DELIVERY_COMPLETE, 0),
	LEVEL_OF_WRITE("COMMIT", "FI_COMMIT_COMPLETE, and the target does not see the write.", FORBIDDEN, FI_RMA_PMEM,
		       FI_COMMIT_COMPLETE, 0),
	{ "TRANSMIT-atomic", "FI_TRANSMIT_COMPLETE, and the target does not see the atomic.", LEVEL, ALLOWED, .shows = RC | WEAK,
	  .steps = { { { ADD, TO(B, X, 0) }, { WAIT, .value = 0 }, { PEEK, TO(B, X, 0) } }, { { .verb = PAUSE } } },
	  .seen = { RE(0, 0) } },
	LEVEL_OF_SEND("send-INJECT", "A message is complete before its receive is posted.", ALLOWED, FI_INJECT_COMPLETE,
		      STRONG | RC | WEAK),
	LEVEL_OF_SEND("send-TRANSMIT", "So it is with FI_TRANSMIT_COMPLETE.", ALLOWED, FI_TRANSMIT_COMPLETE, STRONG | RC | WEAK),
	LEVEL_OF_SEND("send-DELIVERY", "So it is with FI_DELIVERY_COMPLETE.", ALLOWED, FI_DELIVERY_COMPLETE, STRONG | RC | WEAK),
	LEVEL_OF_SEND("send-MATCH", "So it is with FI_MATCH_COMPLETE.", FORBIDDEN, FI_MATCH_COMPLETE, 0),

	{ "count-TRANSMIT", "A counter tells as much: FI_TRANSMIT_COMPLETE, and the write is not seen.", LEVEL, ALLOWED,
	  .shows = RC | WEAK,
	  .steps = { { { WRITE, TO(B, X, 1), .flags = FI_TRANSMIT_COMPLETE }, { COUNT, .value = 1 }, { PEEK, TO(B, X, 0) } },
		     { { .verb = PAUSE } } },
	  .seen = { RE(0, 0) } },
	{ "count-DELIVERY", "So it is with FI_DELIVERY_COMPLETE.", LEVEL, FORBIDDEN,
	  .steps = { { { WRITE, TO(B, X, 1), .flags = FI_DELIVERY_COMPLETE }, { COUNT, .value = 1 }, { PEEK, TO(B, X, 0) } },
		     { { .verb = PAUSE } } },
	  .seen = { RE(0, 0) } },
	{ "count-remote", "The target's counter of writes has counted one that is not seen.", TARGET, FORBIDDEN,
	  .caps = FI_RMA_EVENT, .steps = { { WRITE_1 }, { { MET, .value = 1 }, { LOOK, .var = X, .value = 0 } } },
	  .seen = { RE(0, 0) } },

	{ "FENCE-read", "A fenced read does not find what was written before.", FENCE, FORBIDDEN,
	  .steps = { { WRITE_1, { READ, TO(B, X, 0), .flags = FI_FENCE } }, { { .verb = PAUSE } } }, .seen = { RE(0, 0) } },
	{ "FENCE-write", "A fenced write is lost to one before.", FENCE, FORBIDDEN,
	  .steps = { { WRITE_1, { WRITE, TO(B, X, 2), .flags = FI_FENCE } }, { { .verb = PAUSE } } }, .seen = { AT(B, X, 1) } },
	{ "FENCE-later", "A read behind a fenced write does not find what was written before both.", FENCE, FORBIDDEN,
	  .steps = { { WRITE_1, { WRITE, TO(B, Y, 1), .flags = FI_FENCE }, { READ, TO(B, X, 0) } }, { { .verb = PAUSE } } },
	  .seen = { RE(0, 0) } },
	{ "FENCE-atomic", "A fenced atomic does not find what was written before.", FENCE, FORBIDDEN,
	  .steps = { { WRITE_1, { FETCH_ADD, TO(B, X, 0), .flags = FI_FENCE } }, { { .verb = PAUSE } } }, .seen = { RE(0, 0) } },
	{ "FENCE-complete", "A fenced write of FI_DELIVERY_COMPLETE is complete, and one before it is not seen.", LEVEL, FORBIDDEN,
	  .steps = { { WRITE_1,
		       { WRITE, TO(B, Y, 1), .flags = FI_FENCE | FI_DELIVERY_COMPLETE },
		       { WAIT, .value = 1 },
		       { PEEK, TO(B, X, 0) } },
		     { { .verb = PAUSE } } },
	  .seen = { RE(0, 0) } },
	{ "FENCE-send", "A fenced message of FI_DELIVERY_COMPLETE is received, and the write before it is not seen.", TARGET,
	  FORBIDDEN,
	  .steps = { { WRITE_1, { SEND, TO(B, Y, 1), .flags = FI_FENCE | FI_DELIVERY_COMPLETE } },
		     { { RECEIVE, .var = Y }, { WAIT, .value = 0 }, { LOOK, .var = X, .value = 0 } } },
	  .seen = { RE(0, 0) } },

	PASSING("MP", "Message passing: the flag is seen, and what was written before it is not.", ORDER, ALLOWED, 0, WEAK, WRITE_1,
		{ WRITE, TO(B, Y, 1) }),
	PASSING("MP-WAW", "So it is with FI_ORDER_WAW, which is about the same bytes.", SIZES, ALLOWED, FI_ORDER_WAW, 0, WRITE_1,
		{ WRITE, TO(B, Y, 1) }),
	PASSING("MP-two", "So it is with two endpoints, whatever they ask.", ORDER, ALLOWED, FI_ORDER_WAW, RC | WEAK, WRITE_1,
		{ WRITE, TO(B, Y, 1), .ep = 1 }),
	PASSING("MP-TRANSMIT", "So it is when the first is complete by FI_TRANSMIT_COMPLETE.", LEVEL, ALLOWED, 0, WEAK, WRITE_1,
		{ WAIT, .value = 0 }, { WRITE, TO(B, Y, 1) }),
	PASSING("MP-DELIVERY", "So it is when the first is complete by FI_DELIVERY_COMPLETE.", LEVEL, FORBIDDEN, 0, 0,
		{ WRITE, TO(B, X, 1), .flags = FI_DELIVERY_COMPLETE }, { WAIT, .value = 0 }, { WRITE, TO(B, Y, 1) }),
	PASSING("MP-FENCE", "So it is when the flag is fenced.", FENCE, ALLOWED, 0, 0, WRITE_1,
		{ WRITE, TO(B, Y, 1), .flags = FI_FENCE }),
	{ "MP-FENCE-send", "A fenced message is received, and the write before it is not seen.", FENCE, ALLOWED,
	  .steps = { { WRITE_1, { SEND, TO(B, Y, 1), .flags = FI_FENCE } },
		     { { RECEIVE, .var = Y }, { WAIT, .value = 0 }, { LOOK, .var = X, .value = 0 } } },
	  .seen = { RE(0, 0) } },
	{ "write-send", "A message is received, and the write before it is not seen.", TARGET, BY_ORDER, .asks = FI_ORDER_SAW,
	  .shows = WEAK,
	  .steps = { { WRITE_1, { SEND, TO(B, Y, 1) } },
		     { { RECEIVE, .var = Y }, { WAIT, .value = 0 }, { LOOK, .var = X, .value = 0 } } },
	  .seen = { RE(0, 0) } },
	{ "data", "CQ data are here, and the write that brought them is not seen.", TARGET, FORBIDDEN,
	  .steps = { { { WRITE, TO(B, X, 1), .flags = FI_REMOTE_CQ_DATA } }, { { .verb = TOLD }, { LOOK, .var = X, .value = 0 } } },
	  .seen = { RE(0, 0) } },
	{ "write-data", "CQ data are here, and the write before them is not seen.", TARGET, BY_ORDER, .asks = FI_ORDER_RMA_WAW,
	  .shows = WEAK,
	  .steps = { { WRITE_1, { WRITE, TO(B, Y, 1), .flags = FI_REMOTE_CQ_DATA } },
		     { { .verb = TOLD }, { LOOK, .var = X, .value = 0 } } },
	  .seen = { RE(0, 0) } },

	BUFFERING("SB", "Store buffering: each has written, and neither sees what the other wrote.", ALLOWED, STRONG | RC | WEAK,
		  FI_TRANSMIT_COMPLETE, ),
	BUFFERING("SB-TRANSMIT", "So it is after FI_TRANSMIT_COMPLETE.", ALLOWED, RC | WEAK, FI_TRANSMIT_COMPLETE,
		  { WAIT, .value = 0 }, ),
	BUFFERING("SB-DELIVERY", "So it is after FI_DELIVERY_COMPLETE.", FORBIDDEN, 0, FI_DELIVERY_COMPLETE,
		  { WAIT, .value = 0 }, ),
	RELAY("relay-TRANSMIT", "A third one is told, writes a flag, and the first write is not seen behind it.", ALLOWED,
	      RC | WEAK, FI_TRANSMIT_COMPLETE),
	RELAY("relay-DELIVERY", "So it is after FI_DELIVERY_COMPLETE.", FORBIDDEN, 0, FI_DELIVERY_COMPLETE),

	{ "atomics", "Two atomic sums of different sides find the same.", ATOMIC, FORBIDDEN,
	  .steps = { { { FETCH_ADD, TO(B, X, 0) } }, { { .verb = PAUSE } }, { { FETCH_ADD, TO(B, X, 1) } } },
	  .seen = { RE(0, 0), RE(1, 0) } },
	{ "atomics-plain", "One of two atomic sums that return nothing is lost.", ATOMIC, FORBIDDEN,
	  .steps = { { { ADD, TO(B, X, 0) } }, { { .verb = PAUSE } }, { { ADD, TO(B, X, 0) } } }, .seen = { AT(B, X, 1) } },
	{ "atomic-write", "A plain write is lost between the look and the store of an atomic sum.", NOT_SAID, ALLOWED,
	  .shows = RC | WEAK, .steps = { { { ADD, TO(B, X, 0) } }, { { .verb = PAUSE } }, { WRITE_2 } }, .seen = { AT(B, X, 1) } },
	{ "atomic-store", "So is a store of the processor.", NOT_SAID, ALLOWED, .shows = RC | WEAK,
	  .steps = { { { ADD, TO(B, X, 0) } }, { { .verb = PAUSE }, { STORE, .var = X, .value = 2 } } }, .seen = { AT(B, X, 1) } },
	{ "tear", "A long write is seen in part.", SIZES, ALLOWED, .shows = RC | WEAK,
	  .steps = { { { WRITE, TO(B, Z, 1) } }, { { POLL, .var = Z }, { LOOK, .var = Z, .value = 0 } } },
	  .seen = { RE(0, LONG_MIXED) } },
	{ "tear-8", "Aligned 8 bytes of a long write are seen in part.", SIZES, ALLOWED,
	  .steps = { { { WRITE, TO(B, Z, 1) } }, { { POLL, .var = Z }, { LOOK, .var = Z, .value = 0 } } },
	  .seen = { RE(0, LONG_TORN) } },
	{ "tear-read", "A long read finds a part of what the target's processor stores meanwhile.", SIZES, ALLOWED,
	  .shows = RC | WEAK, .steps = { { { READ, TO(B, Z, 0) } }, { { .verb = PAUSE }, { STORE, .var = Z, .value = 1 } } },
	  .seen = { RE(0, LONG_MIXED) } },
	{ "tear-data", "A long write is seen in part when its CQ data are here.", TARGET, FORBIDDEN,
	  .steps = { { { WRITE, TO(B, Z, 1), .flags = FI_REMOTE_CQ_DATA } }, { { .verb = TOLD }, { LOOK, .var = Z, .value = 0 } } },
	  .seen = { RE(0, LONG_MIXED) } },
};

const unsigned litmus_count = sizeof(litmus_table) / sizeof(litmus_table[0]);
