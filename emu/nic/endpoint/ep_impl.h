/* SPDX-License-Identifier: BSD-2-Clause */
/* ep_impl.h - what the files of this room share of an endpoint: its sessions and contexts (ep.c), its connection to the one peer
 * (cm.c), its datagrams (dgram.c), its deferred ops (deferred.c). Thread: holder of the driver role, but for deferred ops. */
#ifndef EMU_NIC_EP_IMPL_H
#define EMU_NIC_EP_IMPL_H

#include "emu/nic/base/must_use.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/cm.h"
#include "emu/nic/ops/op.h"
#include "emu/nic/regions/refusal.h"

struct message;
struct port;
struct rx;
struct wire_address_fields;

/* No peer finds it any more: no new connection, no datagram. */
void ep_stop_listening(struct ep *ep);
/* The session for an op, by its AV index; NULL and *cause if there is none. */
struct session *ep_session(struct ep *ep, const struct op *op, enum refusal_cause *cause);
/* A local region is closed: whatever names it by its descriptor (named.h) and has not completed does so now, with
 * REFUSAL_LOCAL_CLOSED, and touches no byte any more (withdraw.c). */
void recall_region(struct nic *nic, uint64_t desc);

/* --- connection-oriented (cm.c) --- */

void cm_init(struct ep *ep);
/* The only writer of the state (cm_state.c). */
void cm_enter(struct ep *ep, enum cm_state state);
/* Tells the owner; not of an endpoint that is being closed. */
bool cm_tell(struct ep *ep, const struct cm_event *event);
/* There will be no connection: down, with an event. */
void cm_fail(struct ep *ep, int err, const void *data, size_t length);
/* Says BYE to this one peer, and ends the session with it. */
void cm_leave(struct session *session);
/* The session with the one peer; NULL: the endpoint is not connected. */
struct session *cm_session(const struct ep *ep);
/* Will nothing be received any more? */
bool cm_over(const struct ep *ep);
/* Gives back all receives that are posted; not those of a shared context, which others may take. */
void cm_flush_receives(struct ep *ep);
/* Likewise, without a word. */
void cm_drop_receives(struct ep *ep);

/* --- queue pairs (pair.c) --- */

/* Numbers it, among those of ep_attr.through. 0; -EADDRINUSE: that has 256 already; -ENOMEM. */
MUST_USE int pairing_open(struct ep *ep);
/* No peer finds it any more. */
void pairing_hide(struct ep *ep);
/* An op was posted: it goes its way, or has ended at once. */
void pairing_post(struct op *op);
/* Goes on with what its failure has begun (in_order.c, pairing_refuse()). */
uint64_t pairing_tick(struct ep *ep, uint64_t now_ns);

/* --- services (service.c) --- */

/* It serves, and asks, no more. */
void services_close(struct ep *ep);
void services_readable(struct ep *ep, const struct port *port);
/* Asks again, and gives up. Returns when it is due next. */
uint64_t service_tick(struct nic *nic);

/* --- unreliable datagrams (dgram.c): WIRE-90 and on ---
 * The endpoint has a port of the link and no sessions. An op ends when its datagram has left, whatever becomes of it. A datagram
 * that arrives takes a posted receive, or is dropped; none is kept or answered. */

/* Opens a port at ep->name, which becomes the real address: 0 or -errno. */
MUST_USE int dgram_open(struct ep *ep);
/* Nothing arrives from here on, and nothing leaves. */
void dgram_close(struct ep *ep);
/* Ends all ops as cancelled. */
void dgram_flush(struct ep *ep);
bool dgram_quiet(const struct dgram *dgram); /* no op waits */
void dgram_post(struct ep *ep, struct op *op) __attribute__((noinline));

/* Steps of it, for those of queue pairs, too. */
void dgram_begin(struct ep *ep); /* its losses are drawn from here on */
/* One more has ended so. */
void dgram_ended(struct ep *ep, enum dgram_end end, const char *detail);
uint16_t dgram_seal(const struct nic *nic); /* WIRE_DG_TAGGED, WIRE_DG_WHOLE or 0 */
/* False: the port takes no more now, and it keeps its draw. Else it has left, or is lost. */
MUST_USE bool dgram_send(struct ep *ep, struct port *port, const struct sockaddr_storage *to, const void *frame, size_t length);
/* Is it tagged as the secret asks, for the receiver `own`? Else it has ended so. */
MUST_USE bool dgram_is_trusted(struct ep *ep, const uint8_t *frame, uint16_t flags, const struct wire_address_fields *own);
/* False: there is no room for its completion. A receive that was posted before the datagram came may wait for this very slice
 * to end. */
MUST_USE bool dgram_find_receive(struct message *message);

/* --- queue pairs for datagrams (dgram_pair.c): WIRE-150 and on ---
 * Those behind one listener share its port, which is opened with the first of them. */

/* Before it has its number. 0 or -errno: -EADDRINUSE, another process has the listener's port for datagrams. */
MUST_USE int dgram_pair_open(struct ep *ep);
void dgram_pair_post(struct ep *ep, struct op *op) __attribute__((noinline));
/* As ep_hold(), ep_go_on(), ep_halt(), ep_reset() say; submit queues are empty. */
void dgram_pair_go_on(struct ep *ep);
void dgram_pair_hold(struct ep *ep, bool held);
void dgram_pair_halt(struct ep *ep);
void dgram_pair_reset(struct ep *ep);
/* Goes on with what nic_overran() has begun, for all of them. */
void dgram_pairs_tick(struct nic *nic);
/* Of the listener's port: */
void dgram_pairs_arrive(struct ep *listener, const uint8_t *frame, size_t length);
void dgram_pairs_writable(struct ep *listener);

/* Groups (dgram_group.c). */
bool group_is(const uint8_t gid[16]);
/* Its address of IPv4: a group of IPv6 has one, too, for networks that have no other (WIRE-154). */
void group_ipv4(const uint8_t gid[16], uint8_t ipv4[4]);
/* The listener's port by which datagrams to the group leave, opened with the first, and the address there; NULL: not to be had. */
struct port *group_way(struct ep *listener, const struct datagram_to *to, struct sockaddr_storage *at);
bool group_has(const struct ep *ep, const uint8_t gid[16]);
void groups_close(struct ep *ep); /* its own, and a listener's ports */

/* The 40 bytes in front of a received message: InfiniBand's GRH, or where both GIDs are IPv4 addresses 20 bytes of zeros and an
 * IPv4 header, as RoCE v2 has them (grh.c). */
enum { GRH_BYTES = 40 };
struct grh_fields {
	uint8_t sgid[16], dgid[16];
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	bool has_data; /* immediate data */
	uint32_t length;
};
void grh_put(uint8_t grh[GRH_BYTES], const struct grh_fields *fields);

/* --- operations, receives, and changes of other counters that were posted and wait for a counter (deferred.c) ---
 * They are kept in the order of thresholds, and of posts where they are equal. When the counter is there, one goes into the submit
 * queue, as if it had been posted then. Any thread; the submit lock guards the list. A counter that something waits for is in
 * use. */

struct deferred {
	struct deferred *next;
	struct trigger when;
	struct ep *ep; /* whose operation or receive; else NULL */
	struct op_list ops;
	struct rx *rx;
	struct deferred_change change; /* cntr NULL: none */
};

/* With the submit lock: a list entry for it. -EAGAIN: LIMIT_DEFERRED wait already, or no memory. */
MUST_USE int deferred_add(struct nic *nic, const struct deferred *what);
/* The counter has changed. Runs the device, unless another thread does, when a deferred op was waiting for that. */
void deferred_reached(struct nic *nic, struct cntr *cntr);
/* All of an endpoint, or of a receive context, goes into the submit queue, whatever its counter says. */
void deferred_release(struct nic *nic, const struct ep *ep, const struct srx *srx);
/* [role] Carries out the changes that have come into the submit queue. */
void deferred_changes(struct deferred *list);
/* [role] One with this context, of an endpoint's operations and receives, or of a receive context: it completes with
 * REFUSAL_CANCELLED. False: there is none. */
bool deferred_cancel(struct nic *nic, const struct ep *ep, const struct srx *srx, const void *context);
/* [role] All that name this region (named.h) complete with REFUSAL_LOCAL_CLOSED. */
void deferred_recall(struct nic *nic, uint64_t desc);

#endif
