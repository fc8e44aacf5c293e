/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_manager.h - managers: endpoints of the device, one for each own address, that say and hear what the connections of this
 * process need (WIRE-184). Each stays open until the process ends, so that a connection costs no endpoint of its own.
 *
 * Thread: holder of the driver role. Calls return 0 or a negative errno. */
#ifndef EMU_VB_MANAGER_H
#define EMU_VB_MANAGER_H

#include "emu/nic/base/hash.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/base/thread_safety.h"
#include "emu/verbs/cm/vb_cm.h"
#include "emu/verbs/device/vb_context.h"

struct ep;
struct service;
struct vb_question;

struct vb_manager {
	struct vb_manager *next;
	struct vb_context *context;
	struct sockaddr_storage at; /* canonical, port 0 */
	struct ep *ep;
	struct hash by_number;
	uint64_t secret[2];
	struct vb_cm *connections; /* all that have a number */
};

enum cm_stage {
	STAGE_NEW,
	STAGE_SEEKS, /* the peer's manager */
	STAGE_ASKS,  /* the request is on its way */
	STAGE_MET,   /* the peer has the request, or this side */
	STAGE_OVER
};

/* A connection, or a number that is served. */
struct vb_cm {
	struct vb_context *context;
	vb_cm_tell *tell;
	void *owner;
	struct vb_manager *manager;
	/* A connection: */
	enum cm_stage stage; /* connection_enter() is the only writer */
	bool asks;           /* else it accepts */
	bool answered;       /* of one that asks: REPLY has come */
	bool gone;           /* GONE was told */
	uint8_t said, heard; /* words, a bit for each kind */
	uint16_t port;       /* own number; 0: none */
	uint64_t number;     /* names it to both managers */
	struct sockaddr_storage peer;
	struct hash_node by_number;
	struct vb_cm *next, **at; /* manager->connections */
	struct vb_question *question;
	struct vb_cm *next_seeking; /* question->first */
	size_t length;              /* the request, until it is said */
	uint8_t request[WIRE_CM_DATA_MAX];
	/* A number: */
	struct service *service;
	struct sockaddr_storage served; /* its family is AF_UNSPEC where it is served at all addresses; the port is the number */
	struct vb_cm *next_served;
};

/* The manager at that address, without port; opened if it is the first use. */
MUST_USE int vb_manager_get(struct vb_context *context, const struct sockaddr_storage *at, struct vb_manager **out)
	REQUIRES(driver_role);
/* The one that any address of this host has. */
MUST_USE int vb_manager_any(struct vb_context *context, struct vb_manager **out) REQUIRES(driver_role);
void vb_managers_forked(void);

/* Requests for the number are told from now on, and no more. */
void vb_manager_serve(struct vb_cm *cm) REQUIRES(driver_role);
void vb_manager_serve_end(struct vb_cm *cm) REQUIRES(driver_role);

void connection_enter(struct vb_cm *cm, enum cm_stage stage) REQUIRES(driver_role);
/* It has a manager, a peer and a number from now on, and no more. */
void connection_add(struct vb_cm *cm, struct vb_manager *manager, const struct sockaddr_storage *peer, uint64_t number)
	REQUIRES(driver_role);
void connection_remove(struct vb_cm *cm) REQUIRES(driver_role);
MUST_USE int connection_say(struct vb_cm *cm, const struct wire_rdma_fields *say) REQUIRES(driver_role);
/* Says the request to the manager there, with a new number. */
MUST_USE int connection_request(struct vb_cm *cm, const struct sockaddr_storage *peer) REQUIRES(driver_role);
/* To the one that has asked. */
MUST_USE int vb_manager_answer(const struct vb_cm_request *request, const struct wire_rdma_fields *say) REQUIRES(driver_role);

/* --- vb_seek.c --- */

/* Seeks the service whose number is that address's port; then the request is said, and until then it may be taken back. Connections
 * that begin to seek one within a moment share a question. */
MUST_USE int connection_seek(struct vb_cm *cm, const struct sockaddr_storage *server) REQUIRES(driver_role);
void connection_seek_end(struct vb_cm *cm) REQUIRES(driver_role);
/* CM_FOUND, or CM_REFUSED with `err`. */
void vb_seek_forked(void);
void question_over(struct vb_question *question, const struct sockaddr_storage *found, int err) REQUIRES(driver_role);

#endif
