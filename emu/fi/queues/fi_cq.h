/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cq.h - the completion queue object: formats, blocking reads, the text of errors. Any thread. */
#ifndef EMU_FI_CQ_H
#define EMU_FI_CQ_H

#include <stdint.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "emu/fi/queues/fi_wait.h"
#include "emu/fi/queues/fi_wait_set.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/queues/cq.h"

struct emu_domain;

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

#endif
