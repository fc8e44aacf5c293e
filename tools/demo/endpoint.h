/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint.h - the few calls of libfabric that one-sided transfers need: an endpoint, registered memory, and one transfer
 * at a time. Any failure that the demo does not provoke ends the process with a message. One thread. */
#ifndef DEMO_ENDPOINT_H
#define DEMO_ENDPOINT_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t peer;
	uint64_t keys; /* keys chosen so far, if the provider leaves the choice to us */
};

/* Memory that the NIC may access. */
struct region {
	uint8_t *bytes;
	size_t length;
	struct fid_mr *mr;     /* NULL: closed */
	uint64_t address, key; /* by which a peer names it */
};

enum direction { REMOTE_WRITE, REMOTE_READ };

struct transfer {
	enum direction direction;
	struct region *local;
	size_t local_at; /* offset in the local region */
	size_t length;
	uint64_t address, key; /* of the peer's memory */
};

struct outcome {
	bool good;
	int err, prov_errno; /* of fi_cq_readerr */
	char sentence[512];  /* of fi_cq_strerror */
};

void endpoint_open(struct endpoint *e);
void endpoint_close(struct endpoint *e);
void endpoint_meet(struct endpoint *e, const void *peer_name);

/* Zeroed memory of that length, registered with that access. */
void region_open(struct endpoint *e, struct region *r, size_t length, uint64_t access);
void region_close(struct region *r); /* ends the registration; the bytes stay until region_free() */
void region_free(struct region *r);

/* Posts one transfer and waits for its completion. */
struct outcome transfer(struct endpoint *e, const struct transfer *t);

#endif
