/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.h - the little of libfabric that the container node needs: one endpoint that knows its peers by socket
 * addresses, regions, and ops that are waited for one at a time. Any provider that has socket addresses will do.
 * Thread: one. Errors: these print what failed and end the program, unless they say otherwise. */
#ifndef EMU_DOCKER_FABRIC_H
#define EMU_DOCKER_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "docker/place.h"
#include "docker/wait.h"

struct fabric {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	uint64_t caps;                  /* set before fabric_open(): what it takes beside FI_MSG and FI_RMA */
	void (*on_data)(uint64_t data); /* set if peers write with remote CQ data, which this is called for */
	int poll_ms;                    /* how long fabric_poll() waits; 0: WAIT_PAUSE_MS */
};

struct region {
	uint8_t *bytes;
	size_t len;
	struct fid_mr *mr;
	uint64_t key, addr; /* what a peer needs to reach it */
};

/* An op under way; the address of this is its context. */
struct pending {
	struct fi_context2 context; /* first: the provider may write to it */
	enum { PENDING_BUSY, PENDING_DONE, PENDING_FAILED } state;
};

/* Ends the program with the call's name and the error, if there is one. */
void fabric_check(int64_t err, const char *what);

/* Opens an RDM endpoint that listens at `at`. Where that is NULL the provider chooses: an address of the family that
 * EMU_FAMILY asks for, and the port (a number, or NULL for any). */
void fabric_open(struct fabric *fabric, const struct place *at, const char *port);
void fabric_close(struct fabric *fabric);

/* Where the endpoint listens; its name is not filled in. */
void fabric_place(struct fabric *fabric, struct place *out);

/* Makes a peer known. */
fi_addr_t fabric_peer(struct fabric *fabric, const struct place *place);

/* Allocates and registers len bytes; key_wanted is used where the program chooses keys. */
void region_open(struct fabric *fabric, struct region *region, size_t len, uint64_t access, uint64_t key_wanted);
void region_close(struct region *region);

/* Posts; the outcome comes in `pending`. */
void fabric_send(struct fabric *fabric, struct region *from, size_t offset, size_t len, fi_addr_t to, struct pending *pending);
void fabric_recv(struct fabric *fabric, struct region *into, size_t offset, size_t len, struct pending *pending);
void fabric_write(struct fabric *fabric, struct region *from, size_t len, fi_addr_t to, uint64_t addr, uint64_t key,
		  struct pending *pending);
void fabric_read(struct fabric *fabric, struct region *into, size_t len, fi_addr_t from, uint64_t addr, uint64_t key,
		 struct pending *pending);

/* Waits until the op is no longer busy, which the provider sees to; returns 0, or -1 if it failed. */
int fabric_wait(struct fabric *fabric, struct pending *pending);

/* Takes what has completed; returns after a short time if nothing has. */
void fabric_poll(struct fabric *fabric);
/* After a post: true if it is to be tried again, since the queue was full. */
bool fabric_post_again(struct fabric *fabric, ssize_t err, const char *what);

/* Why the last op failed, in the provider's words. */
const char *fabric_why(void);

#endif
