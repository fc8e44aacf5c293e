/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_queues.h - completion queues and counters. Any thread. */
#ifndef EMU_FI_QUEUES_H
#define EMU_FI_QUEUES_H

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/fi/queues/fi_wait.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/queues/cntr.h"
#include "emu/nic/queues/cq.h"
#include "emu/nic/regions/mr_binding.h"

struct emu_domain;

/* --- the completion queue object: formats, blocking reads, the text of errors. Any thread. --- */

struct emu_cq {
	struct fid_cq fid;
	struct emu_domain *domain;
	struct cq *cq; /* the device's */
	struct waiter waiter;
	struct wait_member member; /* of its wait set */
	size_t entry_size;         /* of the format */
	struct mutex lock;         /* guards those below: the error read last */
	int last_prov_errno;
	char last_text[LIMIT_ERROR_TEXT];
	struct sockaddr_storage last_source;
};

int emu_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
int emu_cq_trywait(struct emu_cq *cq);

/* --- the error side of a completion queue: its entries and their sentences. Any thread. --- */

ssize_t emu_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags);
/* Returns the sentence in err_data, if that is given; else that of the error read last, if its prov_errno is the same; else the
 * phrase for prov_errno alone. Never NULL. */
const char *emu_cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len);

/* --- the counter object. Any thread. --- */

struct emu_cntr {
	struct fid_cntr fid;
	struct emu_domain *domain;
	struct cntr *cntr; /* the device's */
	struct waiter waiter;
	struct wait_member member;              /* of its wait set */
	struct binding_end bindings;            /* to regions; with the driver role */
	atomic_uint_fast64_t seen, seen_errors; /* the values that the program read last: fi_trywait() looks for a change */
};

int emu_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);
int emu_cntr_trywait(struct emu_cntr *cntr);

#endif
