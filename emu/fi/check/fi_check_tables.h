/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_tables.h - the tables of calls that checked objects have in the place of the plain ones. Any thread. */
#ifndef EMU_FI_CHECK_TABLES_H
#define EMU_FI_CHECK_TABLES_H

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

/* Objects that were opened get theirs. An endpoint's posts are watched from then on. */
void check_cq_tables(struct fid_cq *cq);
void check_cntr_tables(struct fid_cntr *cntr);
void check_eq_tables(struct fid_eq *eq);
void check_poll_tables(struct fid_poll *poll);
void check_wait_tables(struct fid_wait *wait);

#endif
