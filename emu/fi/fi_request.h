/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_request.h - connection requests that wait for an answer: what info->handle of FI_CONNREQ names. A handle is looked
 * for and never followed, as a program may hold it longer than it lasts. Any thread; a leaf lock guards the list. */
#ifndef EMU_FI_REQUEST_H
#define EMU_FI_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rdma/fabric.h>

struct emu_pep;

/* What there is to know of one. `number` is what the peer calls it; 0: none. */
struct request {
	const struct emu_pep *pep;
	struct fid *handle;
	struct sockaddr_storage peer, passive;	/* who asks, and whom: the passive endpoint's name */
	uint64_t number;
};

/* One more, of which all but the handle is set; its handle, or NULL: `most` wait at this passive endpoint, or no memory. */
struct fid *request_add(const struct request *request, unsigned most);
/* The request with this handle, which may be anything; false: none waits. */
bool request_find(const struct fid *handle, struct request *found);
/* It is answered by the caller, and by nobody else. False: it was already. */
bool request_take(const struct request *request);
/* Any of a passive endpoint's, likewise. */
bool request_take_any(const struct emu_pep *pep, struct request *taken);

#endif
