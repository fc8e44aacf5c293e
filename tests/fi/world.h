/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h - one of each object, in one process, and an endpoint that can address itself. Failures end the test. */
#ifndef TESTS_FI_WORLD_H
#define TESTS_FI_WORLD_H

#include <criterion/criterion.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define EP_SOCK_DGRAM ((enum fi_ep_type)5) /* FI_EP_SOCK_DGRAM and FI_VARIABLE_MSG: libfabric 2.0 took them out */
#define VARIABLE_MSG (1ULL << 48)          /* of its headers */

struct want {
	uint32_t api;             /* 0: 1.17 */
	uint32_t fabric_api;      /* the fabric is opened as by a program of that version; 0: of `api` */
	int mr_mode;              /* offered */
	uint64_t caps;            /* 0: all */
	enum fi_ep_type type;     /* 0: FI_EP_RDM */
	enum fi_cq_format format; /* 0: FI_CQ_FORMAT_TAGGED */
	enum fi_wait_obj wait_obj;
	uint64_t bind; /* added to FI_TRANSMIT | FI_RECV */
	uint64_t av_flags;
	uint64_t op_flags;  /* defaults of the transmit side */
	uint64_t msg_order; /* of both sides */
	uint64_t eq_flags;
	uint64_t tag_format; /* mem_tag_format */
};

struct world {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_av *av;
	struct fid_ep *ep; /* bound to av, cq, cntr (all directions) and eq; enabled by world_open() */
	fi_addr_t self;
};

/* Skips the test where the provider under test is another one. */
void world_need_emu(void);
/* Hints for an endpoint of emu with the wishes; to be freed. */
struct fi_info *world_hints(const struct want *want);
/* fi_getinfo with them: 0 and *info, or what it said. Frees hints. */
int world_getinfo(const struct want *want, struct fi_info *hints, struct fi_info **info);

void world_open(struct world *world, const struct want *want);
void world_open_disabled(struct world *world, const struct want *want);
void world_enable(struct world *world);
void world_close(struct world *world);
/* Is the running libfabric at least this? */
bool world_has(uint32_t api);
/* From here on standard error, where libfabric's log goes, is kept: lines of this level and worse. A descriptor. */
int world_catch_log(const char *level);
/* The log since the last call; valid until the next. */
const char *world_logged(int log);
/* The next completion or error: 1, or -FI_EAVAIL; ends the test if there is none within the hang guard. */
ssize_t world_next(struct world *world, void *entry);

#define RC(want, call)                                                                                         \
	do {                                                                                                   \
		long long rc_ = (long long)(call), want_ = (long long)(want);                                  \
		cr_assert(rc_ == want_, "%s:%d: %s: %lld (%s), expected %lld", __FILE__, __LINE__, #call, rc_, \
			  fi_strerror((int)-rc_), want_);                                                      \
	} while (0)

#endif
