/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_connreq.h - connection requests that wait for an answer, named by info->handle of FI_CONNREQ. A handle is searched
 * for and never dereferenced, as a program may keep it too long. Any thread; a leaf lock guards the list. */
#ifndef EMU_FI_CONNREQ_H
#define EMU_FI_CONNREQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rdma/fabric.h>

struct emu_pep;

/* One request. `number` is the peer's name for it; 0: none. */
struct connreq {
	const struct emu_pep *pep;
	struct fid *handle;
	struct sockaddr_storage peer, passive; /* the peer that asks, and the passive endpoint's name */
	uint64_t number;
};

/* Adds one, of which all but the handle is set. Its handle, or NULL: `most` wait at this passive endpoint, or no memory. */
struct fid *connreq_add(const struct connreq *request, unsigned most);
/* The request with this handle, which may be anything; false: none waits. */
bool connreq_find(const struct fid *handle, struct connreq *found);
/* Does it still wait for an answer? [role]: answers are given under the driver role, so the result holds until the caller has tried
 * one. The caller takes the request after that: an answer that could not be sent leaves the request in the list. */
bool connreq_waits(const struct connreq *request);
/* Removes it: the caller alone answers it. False: it was removed before. */
bool connreq_take(const struct connreq *request);
/* In a fork's child, which does not answer the parent's requests. */
void connreq_forked(void);
/* Likewise, any one of a passive endpoint. */
bool connreq_take_any(const struct emu_pep *pep, struct connreq *taken);

#endif
