/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_verbs.h - what an exercise for libibverbs begins with: two processes, each with a NIC and a queue pair, and a line between
 * them (line.h). */
#ifndef LAB_VERBS_H
#define LAB_VERBS_H

#include <errno.h>
#include <infiniband/verbs.h>

#include "line.h"

enum { LAB_LOST_S = 5 };

struct lab {
	enum lab_side side;
	struct lab_line line; /* to the other process */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* its completions */
	struct ibv_qp *qp;
	struct rdma_event_channel *channel; /* with rdma_cm (lab_cm.h) */
};

/* What a queue pair must know of its peer. */
struct lab_place {
	union ibv_gid gid;
	uint32_t qpn, psn; /* its number, and the packet sequence number that its requests begin with */
};

/* The value of a call that returns an object; one that returns 0 or an errno, or, as librdmacm's do, -1 and errno. */
#define NEED(call)                                                         \
	({                                                                 \
		__typeof__(call) need_ = (call);                           \
		need_ ? need_ : (line_die(#call, strerror(errno)), need_); \
	})
#define MUST(call) lab_must(#call, (call))
void lab_must(const char *call, int result);

/* Opens all down to a reliable queue pair, which is in INIT, and draws a PSN. The place is this process's. */
struct lab_place lab_open(struct lab *lab);
/* From INIT to RTR: the peer, and the PSN of the first request that it will send. From RTR to RTS: the PSN of our first one. */
void lab_ready_to_receive(struct lab *lab, const struct lab_place *peer, uint32_t rq_psn);
void lab_ready_to_send(struct lab *lab, uint32_t sq_psn);
/* Closes what lab_open() opened. The initiator waits for the target, and returns 1 if that has failed; for main(). */
int lab_close(struct lab *lab);

/* A region of memory. */
struct ibv_mr *lab_register(struct lab *lab, void *memory, size_t length, unsigned int access);

/* Waits for the next completion. 0: the request, or the receive, is done. Else its status, after printing the reason in words. */
enum ibv_wc_status lab_wait(struct lab *lab);

/* Datagrams: opens all down to a UD queue pair in RTS, in the place of lab_open(). The place has no PSN. */
struct lab_place lab_open_datagrams(struct lab *lab, uint32_t qkey);
/* Waits for the next completion, for LAB_LOST_S at most: a datagram that is lost has none at its receiver. 1: *wc is one, and good.
 * 0: there is none, or it has failed, and the reason is printed. */
int lab_wait_a_while(struct lab *lab, struct ibv_wc *wc);

#endif
