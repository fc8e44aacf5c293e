/* SPDX-License-Identifier: BSD-2-Clause */
/* ends.h - a passive endpoint, and pairs of connected ones, in one process that is both sides. Failures end the test. */
#ifndef TESTS_FI_ENDS_H
#define TESTS_FI_ENDS_H

#include <netinet/in.h>
#include <string.h>

#include "tests/fi/world.h"

enum { GUARD_MS = 30000, DATA_MAX = 256, BYTES = 100 }; /* a hang guard, no promise of speed */

struct net {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;            /* of all endpoints */
	struct fid_cq *cq;            /* likewise */
	struct fid_pep *pep;          /* NULL: closed by the test */
	struct sockaddr_storage name; /* of the passive endpoint, once it listens */
};

/* An event, with all that may come with it. */
struct event {
	uint32_t kind; /* 0: an error */
	int err;
	fid_t fid;
	struct fi_info *info; /* to be freed */
	size_t length;
	uint8_t data[DATA_MAX];
};

/* An info of FI_EP_MSG with these capabilities (0: all); to be freed. */
struct fi_info *msg_info(uint64_t caps);
/* Everything but listening. */
void net_open(struct net *net);
void net_listen(struct net *net);
void net_close(struct net *net);
/* Bound to the queues, not enabled. */
struct fid_ep *ep_new(struct net *net, struct fi_info *info);
/* The next event, which must be of this kind and about this; `fid` NULL: about any. */
struct event expect(struct net *net, uint32_t kind, const void *fid);
void no_event(struct net *net);
/* Connects two new endpoints: end[0] has asked and end[1] has accepted, each with private data. */
void connected(struct net *net, struct fid_ep *end[2]);
void close_ends(struct fid_ep *end[2]);
/* Waits for one completion, which must have this context; its errno or 0. */
int complete(struct net *net, const void *context);
/* One message, and that it arrives. */
void message(struct net *net, struct fid_ep *from, struct fid_ep *to, uint8_t fill);

#endif
