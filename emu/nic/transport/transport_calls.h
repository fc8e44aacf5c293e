/* SPDX-License-Identifier: BSD-2-Clause */
/* transport_calls.h - what sessions and connections call of the rooms above, which define it. No table stands between, as frames
 * pass here. Thread: holder of the driver role. */
#ifndef EMU_NIC_TRANSPORT_CALLS_H
#define EMU_NIC_TRANSPORT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/transport/session.h"

struct conn;
struct ep;
struct line;
struct nic;

/* --- requests: what this side asks (requester.c, requester_rx.c) --- */

void requester_init(struct requester *req);
/* Writes the next request frame into the queue; false: nothing may be sent now, or no room. */
bool requester_fill(struct session *session, struct conn *conn);
/* Nothing of this side waits for the peer. */
bool requester_idle(const struct session *session);
bool requester_acked(struct session *session, uint64_t ack);
/* Ends the waits for receivers that are over; req.rnr_until_ns is when to look again. */
void requester_tick(struct session *session, uint64_t now_ns);
/* Of the ops of a queue pair, the first one that pairing_bars() fails, with its cause, and those behind it are cancelled. */
void in_order_bar(struct session *session);
/* The op's own memory could not be read. */
void requester_source_fault(struct session *session, const void *owner);
/* After a cut: goes on behind `seen`. */
MUST_USE bool requester_resume(struct session *session, uint64_t seen);
/* The peer has left, and executed nothing but what it has acknowledged: takes out the posts of which it has executed nothing. Those
 * of the device's own stay. */
MUST_USE struct op_list requester_unbegun(struct session *session);
/* All ops complete with `cause`. */
void requester_flush(struct session *session, enum refusal_cause cause);
/* session_fill(), no faster than the fault plan lets the line be. */
__attribute__((cold, noinline)) bool fault_fill(struct session *session, struct conn *conn);

/* --- requests: what the peer asks (dispatch.c, responder.c, read_response.c, target_write.c) --- */

/* Head and body are here; sets conn->in for the payload. Without payload the frame is executed. */
MUST_USE const char *dispatch_begin(struct conn *conn, const struct wire_head *head);
/* Payload that lies in the scratch buffer. */
void dispatch_payload(struct conn *conn, const uint8_t *bytes, uint32_t length);
/* Payload and trailer are through: executes the frame. */
MUST_USE const char *dispatch_end(struct conn *conn, enum wire_status status);
/* A frame that has waited (conn_waits) goes on: dispatch_payload() and dispatch_end() follow. */
MUST_USE const char *dispatch_go_on(struct conn *conn);
/* The fault plan changes: what was held back by the one before is seen. */
void held_release_all(struct nic *nic);
/* Is the region that the payload under way goes to still the one that was judged? Else the rest is dropped. */
void target_write_recheck(struct conn *conn);
void responder_init(struct responder *rsp);
/* Queues the next frame of this half: a verdict, PULL or RNR; a DATA frame. False: nothing to send, or no room. */
bool responder_fill_control(struct session *session, struct conn *conn);
/* Sends the next segment of the oldest. */
bool read_response_fill(struct session *session, struct conn *conn);
/* The connection is gone: a request half received is undone or will come again. */
void responder_cut(struct session *session, struct conn *conn);
/* On a new one: verdicts above `verdict_seen` are sent again, pulls asked again. False: the peer's word is wrong. */
MUST_USE bool responder_resume(struct session *session, uint64_t verdict_seen);
/* Forgets all; receives that wait for a pull fail with `cause`. */
void responder_flush(struct session *session, enum refusal_cause cause);

/* --- collectives: coll_step.c --- */

/* The session, from which messages are awaited, has ended. */
void coll_peer_lost(struct session *session, enum refusal_cause cause);

/* --- trace: trace.c, while the nic is traced --- */

/* The connection has opened; it is about to close. */
void trace_opened(const struct conn *conn);
void trace_closed(const struct conn *conn);
/* Its bytes go by another line from here on: that is the same one to a reader. */
void trace_moved(const struct conn *conn, const struct line *to);

/* --- endpoint: cm.c --- */

/* May this address have a session here? Asked of every HELLO. */
bool cm_admits(const struct ep *ep, const struct sockaddr_storage *peer);
/* Is this session dialled again although nothing waits for it? */
bool cm_holds(const struct session *session);
/* The session has ended. */
void cm_ended(struct session *session, enum refusal_cause cause);
/* A timer of the session's; when it is due next, UINT64_MAX: none. */
uint64_t cm_tick(struct session *session, uint64_t now_ns);

#endif
