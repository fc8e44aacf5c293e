/* SPDX-License-Identifier: BSD-2-Clause */
/* misuse.h - what the cases of misuse.c share: two endpoints of one process, and registered memory. */
#ifndef TESTS_CHECK_MISUSE_H
#define TESTS_CHECK_MISUSE_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGE = 256 * 1024, SMALL = 64, AREA = 4 * LARGE };

#define GOOD(call)                                                                                \
	do {                                                                                      \
		long good_ret = (long)(call);                                                     \
		if (good_ret) {                                                                   \
			fprintf(stderr, "%s:%d: %s: %ld\n", __FILE__, __LINE__, #call, good_ret); \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

struct end {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	fi_addr_t peer, self;
};

/* What a case wants other than the others. */
struct misuse_want {
	uint64_t caps, mode, mr_mode;
	enum fi_resource_mgmt management;
	enum fi_progress progress;
	enum fi_threading threading;
	enum fi_wait_obj wait;
	size_t cq_size, tx_size;
};

extern struct misuse_want want;
extern struct fi_info *info;
extern struct fid_fabric *fabric;
extern struct fid_domain *domain;
extern struct end a, b;
extern char *area; /* AREA bytes, registered */
extern struct fid_mr *area_mr;
extern struct fi_context2 contexts[8];
extern bool wrong; /* else the right twin */

void end_open(struct end *end);
void end_close(struct end *end);
void end_knows(struct end *end, const struct end *other, fi_addr_t *address);
void open_all(void);
void close_all(void);
/* Reads `count` entries, driving both ends. */
void done(struct end *end, int count);
/* A message that is under way until receive_large(). */
void send_large(void);
void receive_large(void);
/* A receive of b: `length` bytes, LARGE + `at` behind the area's begin, with contexts[context]. */
void receive(int at, size_t length, int context);
/* A message from a's first bytes, and its completion. */
void send_small(int context);
/* A region of `owner`'s that its peer may reach. */
struct fid_mr *remote_region(struct end *owner, void *memory, size_t length, uint64_t access);
/* Waits until the queue has an entry, without reading it. Its wait object is a descriptor. */
void wait_ready(struct fid_cq *cq);

/* misuse_threads.c: a thread sleeps in fi_cq_sread. */
void threads_domain(void);     /* this one posts meanwhile; the right twin waits for its end */
void threads_locked(void);     /* two threads take turns by a lock of the program's: right */
void threads_completion(void); /* this one uses the same queue's endpoint, or the other's */

/* misuse_waits.c: messages are waited for on a queue's descriptor, which a wrong program does without fi_trywait. */
void wait_poll(void);
void wait_epoll(void);
void wait_select(void);
void wait_behind(void);    /* for an entry that is in the queue already */
void wait_elsewhere(void); /* not on the descriptor, which the program has; the twin waits by fi_cq_sread: both are right */

#endif
