/* SPDX-License-Identifier: BSD-2-Clause */
/* many.h - an endpoint of emu's with many peers, which live in a process of their own: an endpoint each, that has sent a
 * message and has been sent one. Thread: one. A failure ends the program. */
#ifndef BENCH_MANY_H
#define BENCH_MANY_H

#include <sys/socket.h>
#include <sys/types.h>

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

struct side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
};

struct name {
	struct sockaddr_storage addr;
	size_t length;
};

struct peers {
	int from, to; /* pipes */
	int count;
};

void must(long long rc, const char *what);
void put(int fd, const void *bytes, size_t length);
void get(int fd, void *bytes, size_t length);

int many_info(const char *provider, struct fi_info **info);
void side_open(struct side *side, enum fi_wait_obj wait);
struct fid_ep *side_endpoint(struct side *side, struct name *name);
void side_close(struct side *side, struct fid_ep *ep);

/* The process begins here, so libfabric must not have been touched. Each peer waits for peers_meet(). */
pid_t peers_start(struct peers *peers, int count);
void peers_meet(const struct peers *peers, struct side *side, struct fid_ep *ep, const struct name *own);
void peers_stop(const struct peers *peers, pid_t pid);

/* As many descriptors as there may be: two a peer in the process that has them all. */
void raise_descriptors(int peers);

/* The pages of this process that are resident, shared ones among them. */
long resident_kib(void);

#endif
