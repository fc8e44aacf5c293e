/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.h - one libfabric endpoint with all that it stands on, opened by the public API alone.
 * The provider is EMU_TEST_PROVIDER, else FI_PROVIDER, else emu. Every failure fails the test.
 * Thread: one at a time, unless a test says otherwise. */
#ifndef TESTS_RULES_PEER_H
#define TESTS_RULES_PEER_H

#include "tests/rules/harness/check.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* FI_MR_BASIC and FI_MR_SCALABLE: from 2.0 on their names warn at every use. */
enum { PEER_MR_BASIC = 1, PEER_MR_SCALABLE = 2 };

/* FI_REG_MR: likewise. */
#define PEER_REG_MR (1ull << 59)

enum { AUTH_TEXT_MAX = 16 };
#define PEER_TAG 0x1122334455667788ULL
enum { PEER_ADDR_MAX = 128, PEER_TEXT_MAX = 1024, PEER_REMOTE_DATA_MAX = 256 };

/* The requests to fi_getinfo and the queues; zero everywhere is a plain endpoint of FI_MSG, FI_RMA and, where it is
 * offered, FI_TAGGED. Plain bytes: may go to a target. */
struct peer_want {
	uint32_t api;          /* 0: peer_api() */
	enum fi_ep_type type;  /* 0: FI_EP_RDM */
	uint64_t mr_mode;      /* bits that the program offers */
	uint64_t caps;         /* 0: FI_MSG | FI_RMA, and FI_TAGGED if offered */
	uint64_t mode;         /* mode bits beside FI_CONTEXT and FI_CONTEXT2 */
	enum fi_wait_obj wait; /* of the completion queue and the counters */
	size_t cq_size;        /* 0: the provider's choice */
	enum fi_threading threading;
	enum fi_progress progress;
	char auth[AUTH_TEXT_MAX];    /* the domain's authorization key; "": none */
	bool av_auth;                /* FI_AV_AUTH_KEY: `auth` goes into the AV */
	char ep_auth[AUTH_TEXT_MAX]; /* the endpoint's */
	bool counters;               /* bind one counter for what it posts and one for what it receives */
};

/* One posted operation; its address is the operation's context. */
struct op {
	struct fi_context2 ctx; /* the provider may write here: stays first */
	bool done;
	int err, prov_errno; /* err 0: success */
	uint64_t flags, data;
	size_t len;
};

struct peer {
	struct peer_want want;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_av *av;
	fi_addr_t av_key; /* of want.auth, under FI_AV_AUTH_KEY */
	struct fid_cq *cq;
	struct fid_cntr *tx_cntr, *rx_cntr;
	struct fid_ep *ep;
	bool tagged;                                /* messages are sent and received with PEER_TAG */
	uint64_t remote_data[PEER_REMOTE_DATA_MAX]; /* of peers' writes with data, in the order of arrival, then round
						       again */
	size_t remote_data_count;
	char text[PEER_TEXT_MAX]; /* fi_cq_strerror of the newest error completion */
};

/* The API version that tests are written to where they do not say otherwise: the running library's, or `version`. */
uint32_t peer_api(void);
void peer_set_api(uint32_t version);
/* The name asked for, and whether it is the provider that promises all the rules. */
const char *peer_provider(void);
bool peer_is_emu(void);
/* Whether emu is told to pin what is registered under FI_MR_ALLOCATED. */
bool peer_pins(void);

/* fi_getinfo alone: its return value, and the first info (the caller frees it) where that is 0. */
int peer_getinfo(const struct peer_want *want, struct fi_info **info);

void peer_open(struct peer *peer, const struct peer_want *want);
void peer_close(struct peer *peer);
/* The endpoint alone, where that must go first. */
void peer_close_ep(struct peer *peer);

/* The endpoint's own address: PEER_ADDR_MAX bytes, the unused ones zero. */
void peer_name(struct peer *peer, uint8_t name[PEER_ADDR_MAX]);
fi_addr_t peer_insert(struct peer *peer, const uint8_t name[PEER_ADDR_MAX]);

/* Whether the bit came back, or is one that the legacy mode stands for. */
bool peer_has(const struct peer *peer, uint64_t mr_mode_bit);

/* Takes what the queue holds and marks the ops done. Returns how many completions came. */
size_t peer_progress(struct peer *peer);
/* The same with fi_cq_sread; false when it timed out. */
bool peer_progress_wait(struct peer *peer, int timeout_ms);
/* Until the op has completed, with success or error. */
void peer_wait(struct peer *peer, struct op *op);
/* Polls all open peers whose provider makes no progress of its own. True if there are any. */
bool peer_idle(void);

/* After a post that returned rc: true where it said -FI_EAGAIN and is to be made again; completions were taken
 * meanwhile. */
bool peer_again(struct peer *peer, ssize_t rc, const struct deadline *guard);

/* Post, again and again while the provider says -FI_EAGAIN. Returns the first other answer. */
enum rma_dir { RMA_WRITE, RMA_READ };
ssize_t peer_rma(struct peer *peer, enum rma_dir dir, struct fi_msg_rma *msg, uint64_t flags, struct op *op);
ssize_t peer_send(struct peer *peer, fi_addr_t to, const void *buf, size_t len, void *desc, struct op *op);
ssize_t peer_recv(struct peer *peer, void *buf, size_t len, void *desc, struct op *op);

#endif
