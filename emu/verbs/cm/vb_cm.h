/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_cm.h - connections of rdma_cm, for librdmacm (emu/cm): those that find each other by a number of rdma_cm (service.h), and tell
 * each other what the queue pairs of two programs need (wire/rdma.h).
 *
 * Exported in the node EMU_1, for our librdmacm alone. Any thread, but not with the driver role; calls may wait for it. They return
 * 0 or a positive errno. A call that is refused by something else than its arguments has a line of log. */
#ifndef EMU_VB_CM_H
#define EMU_VB_CM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/verbs/start/vb_abi.h"
#include "wire/rdma.h"

struct check_record;
struct vb_cm;

enum vb_cm_kind {
	VB_CM_SOUGHT,  /* of a number: somebody is about to ask, and hears nothing if this is false; `seeks` names the question */
	VB_CM_ASKED,   /* of a number: somebody asks; to be answered by vb_cm_accept() of a connection, or vb_cm_reject() */
	VB_CM_REPLIED, /* the request was accepted; `said` is the reply */
	VB_CM_FAILED,  /* asking, or replying, has come to nothing; `said` is the rejection, or the answer to a lookup, if there is
		       * one, else `err` says why */
	VB_CM_SAID,    /* the peer's vb_cm_say() */
	VB_CM_HEARD,   /* the peer was told that this side leaves, or cannot take that */
	VB_CM_GONE,    /* the connection has ended: the peer, or its process, is gone */
};

struct vb_manager;

/* Names a request that was heard. */
struct vb_cm_request {
	struct vb_manager *manager;
	struct sockaddr_storage peer;
	uint64_t number;
};

/* Lasts for the call. */
struct vb_cm_told {
	enum vb_cm_kind kind;
	int err; /* positive errno */
	const struct wire_rdma_fields *said;
	const struct vb_cm_request *request; /* ASKED */
	uint64_t seeks;                      /* SOUGHT */
};

/* What a fault plan makes of an event. */
struct vb_cm_planned {
	uint64_t wait_ns; /* it is late */
	bool lost;
	bool replaced; /* by another one: */
	int becomes;   /* enum rdma_cm_event_type */
	int status;
};

/* Runs with the driver role: it may take leaf locks, and calls nothing of this library but vb_events_add(). False: an ASKED is
 * refused. */
typedef bool vb_cm_tell(void *owner, const struct vb_cm_told *told);

#pragma GCC visibility push(default)
/* For vb_events_take(): the NIC thread serves from now on. */
void vb_cm_doze(void);
/* An object of the program's begins and ends, for checked mode, with its name and the call that ends it. May be NULL. */
struct check_record *vb_cm_opened(const char *name, const char *end);
void vb_cm_closed(struct check_record *record);
/* At the head of the calls of rdma_cm that fault plans name: 0; or the errno by which it fails and does nothing, after a line of
 * log. It may sleep, so without locks. */
int vb_cm_fault(const char *call);
/* An event (enum rdma_cm_event_type) is about to be told, or, `sought`, a request is about to be made. False: no plan names it.
 * With the driver role, too, and leaf locks. */
bool vb_cm_plan(int event, bool sought, struct vb_cm_planned *planned);
/* An open device, for the life of the process or until it has failed: the first one, or the one with that place in the list.
 * NULL with errno. */
struct ibv_context *vb_cm_device(unsigned int place);

/* A number at that address, AF_UNSPEC: at all; *number 0: any that is free. It is silent at first. */
int vb_cm_serve(struct ibv_context *context, const struct sockaddr_storage *at, uint16_t *number, vb_cm_tell *tell, void *owner,
		struct vb_cm **out);
void vb_cm_serve_hear(struct vb_cm *cm);
/* Nobody asks it any more, and the number is free; requests may still be answered. */
void vb_cm_serve_end(struct vb_cm *cm);

/* A connection that is to be, of that own address. Its port is a number that no other of this process has meanwhile. */
int vb_cm_open(struct ibv_context *context, const struct sockaddr_storage *at, vb_cm_tell *tell, void *owner, struct vb_cm **out,
	       uint16_t *port);
/* Asks for the number that is the port of that address. */
int vb_cm_ask(struct vb_cm *cm, const struct sockaddr_storage *server, const struct wire_rdma_fields *say);
int vb_cm_accept(struct vb_cm *cm, const struct vb_cm_request *request, const struct wire_rdma_fields *say);
int vb_cm_reject(const struct vb_cm_request *request, const struct wire_rdma_fields *say);
/* READY, LEAVE, or a late REJECT. ENOTCONN, without a line of log: there is no peer. */
int vb_cm_say(struct vb_cm *cm, const struct wire_rdma_fields *say);
/* Ends the connection at once. True: GONE is told, or was. False: there was none yet. */
bool vb_cm_leave(struct vb_cm *cm);
/* A peer that does not know it yet is told so. Nothing is told after this. */
void vb_cm_close(struct vb_cm *cm);
#pragma GCC visibility pop

#endif
