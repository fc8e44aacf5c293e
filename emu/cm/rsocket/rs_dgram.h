/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_dgram.h - a datagram rsocket: a UDP socket of the kernel's, which has its port, and a UD queue pair (README.md).
 *
 * All is with the lock of the rsocket. Functions return 0 or a positive errno unless they say otherwise. */
#ifndef EMU_CM_RS_DGRAM_H
#define EMU_CM_RS_DGRAM_H

#include "emu/cm/rsocket/rs.h"

enum {
	RS_GRH_BYTES = 40,
	RS_UD_BYTES = VB_MAX_DATAGRAM,               /* of a message of the queue pair, with its head; longer ones go by UDP */
	RS_UD_SLOT = RS_GRH_BYTES + VB_MAX_DATAGRAM, /* of a receive */
	RS_UDP_MOST = 65507,                         /* of a message of UDP, with its head */
	RS_PEERS_MOST = 256,                         /* another takes the place of the one that was not sent to for longest */
};

/* Waits for the program to receive it. */
struct rs_message {
	struct rs_message *next;
	struct sockaddr_storage from;
	uint32_t length;
	uint8_t bytes[];
};

/* One that is sent to. */
struct rs_peer {
	struct rs_peer *next;
	struct sockaddr_storage at;
	uint64_t token; /* of ASK */
	int64_t asked_us;
	int64_t told_us; /* when it has said `qpn` */
	uint32_t qpn;    /* 0: it is not known */
	struct ibv_ah *ah;
};

struct rs_dgram {
	int udp;
	bool connected; /* to rs->peer */
	struct ibv_pd *pd;
	struct ibv_qp *qp; /* NULL: it was not sent from yet, nor bound or connected */
	uint16_t port;     /* 0: not known yet */
	uint32_t sends, send_next;
	uint8_t *arrived; /* room for one message of UDP */
	struct rs_message *first, **end;
	size_t waiting;        /* bytes of all */
	struct rs_peer *peers; /* the last one that was sent to first */
};

/* --- rs_dgram.c --- */

/* Makes the rsocket one. */
int rs_dgram_open(struct rsocket *rs);
void rs_dgram_free(struct rsocket *rs);
/* Its own address. */
int rs_dgram_name(const struct rsocket *rs, struct sockaddr_storage *at);
int rs_dgram_bind(struct rsocket *rs, const struct sockaddr *at, socklen_t length);
int rs_dgram_connect(struct rsocket *rs, const struct sockaddr *to, socklen_t length);
/* What waits in the UDP socket. */
void rs_dgram_look(struct rsocket *rs);
void rs_dgram_completed(struct rsocket *rs, const struct ibv_wc *wc);
bool rs_dgram_can_send(const struct rsocket *rs);
/* A message; copy() copies it to memory of the device's. To NULL: to the peer that it is connected to. */
int rs_dgram_send(struct rsocket *rs, size_t length, const struct sockaddr *to, socklen_t to_length, bool blocks,
		  void (*copy)(void *arg, void *to, uint32_t length), void *arg);
/* The program has the first message, which is freed. */
void rs_dgram_received(struct rsocket *rs);

/* --- rs_peer.c --- */

/* The one of that address, new if it must be. NULL: no memory. */
struct rs_peer *rs_peer_get(struct rsocket *rs, const struct sockaddr_storage *at);
/* Has it said lately which queue pair it has? */
bool rs_peer_known(const struct rs_peer *peer);
/* Asks it, if that is due. */
void rs_peer_ask(struct rsocket *rs, struct rs_peer *peer);
void rs_peer_answer(struct rsocket *rs, const struct rs_head *asked, const struct sockaddr_storage *from);
void rs_peer_told(struct rsocket *rs, const struct rs_head *head, const struct sockaddr_storage *from);
void rs_peers_free(struct rsocket *rs);

#endif
