/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.h - one provider, opened: fabric, domain, completion queue, endpoint, one region, one peer.
 * Thread: the one that opened it. Functions return 0 or a negative fi_errno. */
#ifndef BENCH_FABRIC_H
#define BENCH_FABRIC_H

#include <rdma/fabric.h>
#include <stddef.h>
#include <stdint.h>

struct fabric {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr;
	uint8_t *memory;	/* region: inbox, then outbox */
	void *desc;
	fi_addr_t peer;
	uint64_t peer_base;	/* what the peer's region starts at, in its own addressing */
	uint64_t peer_key;
	unsigned pending;	/* posted, completion not yet read */
	char why[160];		/* the last failure in words */
};

/* What a side must tell the other. */
struct fabric_card {
	uint8_t name[64];
	uint64_t name_size;
	uint64_t base, key;
};

int fabric_open(struct fabric **out, const char *provider, char *why, size_t why_size);
void fabric_close(struct fabric *f);
int fabric_card(struct fabric *f, struct fabric_card *card);
int fabric_meet(struct fabric *f, const struct fabric_card *peer);

/* From our outbox to the peer's inbox; from the peer's outbox to our inbox. -FI_EAGAIN: poll, then again. */
int fabric_write(struct fabric *f, size_t from, size_t to, size_t size);
int fabric_read(struct fabric *f, size_t from, size_t to, size_t size);

/* Completions read (0: none), or a negative fi_errno; drives a provider whose progress is manual. */
int fabric_poll(struct fabric *f);

/* Polls until nothing is pending; -ETIMEDOUT after patience_ns. */
int fabric_drain(struct fabric *f, uint64_t patience_ns);

/* Registers and closes a region over the first size bytes of memory. */
int fabric_register_once(struct fabric *f, void *memory, size_t size);

#endif
