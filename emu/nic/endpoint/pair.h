/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.h - queue pairs: connected endpoints whose programs name the peers to each other. WIRE-140 and on.
 *
 * A queue pair is opened with ep_attr.through: an endpoint that was opened with ep_attr.pairs, and stays open as long. With
 * ep_attr.datagrams it has no peer: see ep_set_qkey(). All calls but ep_qpn() need the driver role. */
#ifndef EMU_NIC_PAIR_H
#define EMU_NIC_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/base/thread_safety.h"

struct ep;
struct nic;

struct ep_pair {
	struct sockaddr_storage own, peer; /* IP addresses; ports do not count */
	uint32_t peer_qpn;                 /* 24 bits */
	uint32_t rq_psn;                   /* 24 bits: that the peer's first request is to have */
	uint32_t path_mtu;                 /* bytes */
};

/* Its number, for life: 24 bits, no other queue pair of this network namespace has it. Any thread. */
uint32_t ep_qpn(const struct ep *ep);
/* To RTR: answers this peer, and no other; one for datagrams answers all, and looks at no pairing. 0; -EINVAL for an address that
 * is none; or -ENOMEM. */
MUST_USE int ep_pair(struct ep *ep, const struct ep_pair *pair) REQUIRES(driver_role);
/* To RTS: may send, beginning with that packet sequence number. */
void ep_pair_send(struct ep *ep, uint32_t sq_psn) REQUIRES(driver_role);

/* Each queue pair of the nic, by its ep_attr.owner. */
void nic_each_pair(struct nic *nic, void (*each)(void *owner, void *arg), void *arg) REQUIRES(driver_role);

/* The port that they all have is down, or up again. Down, no queue pair has a connection: what is posted uses up its retries,
 * whichever side posts, and goes on when the port is up in time. */
void nic_unplug(struct nic *nic, bool unplugged) REQUIRES(driver_role);

/* Of one for datagrams (ep_attr.datagrams), which hears all peers that show its Q_Key, and whose ops name theirs. */
void ep_set_qkey(struct ep *ep, uint32_t qkey) REQUIRES(driver_role);
/* Attaches one for datagrams to a group, of IPv6 or a mapped one of IPv4, which it hears at these interfaces of the host, by their
 * indexes. 0, also if it is attached already; -EOPNOTSUPP: the link has no groups; -errno: no interface takes the group. */
MUST_USE int ep_attach(struct ep *ep, const uint8_t gid[16], const uint32_t *interfaces, size_t count) REQUIRES(driver_role);
/* 0 or -EINVAL: it is not attached. */
int ep_detach(struct ep *ep, const uint8_t gid[16]) REQUIRES(driver_role);
bool ep_is_attached(const struct ep *ep) REQUIRES(driver_role); /* to any */

/* To SQD: begins none of its ops any more, and tells CM_DRAINED when those that had begun have ended. Back to RTS: goes on. */
void ep_hold(struct ep *ep, bool held) REQUIRES(driver_role);

/* From SQE back to RTS: ops posted from now on are carried out; those posted before are cancelled. */
void ep_go_on(struct ep *ep) REQUIRES(driver_role);
/* To ERR: all ops and receives end as cancelled, and so does what is posted from now on. Requests of the peer are not answered. */
void ep_halt(struct ep *ep) REQUIRES(driver_role);
/* To RESET, from any state: ops and receives are gone without a word, the peer is left. It may be paired again. */
void ep_reset(struct ep *ep) REQUIRES(driver_role);

#endif
