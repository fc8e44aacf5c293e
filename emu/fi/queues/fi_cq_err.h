/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_cq_err.h - the error side of a completion queue: its entries and their sentences. Any thread. */
#ifndef EMU_FI_CQ_ERR_H
#define EMU_FI_CQ_ERR_H

#include <rdma/fi_eq.h>

ssize_t emu_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags);
/* Returns the sentence in err_data, if that is given; else that of the error read last, if its prov_errno is the same; else the
 * phrase for prov_errno alone. Never NULL. */
const char *emu_cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len);

#endif
