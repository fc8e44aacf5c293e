/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_pep.h - the passive endpoint object: receives connection requests, and rejects them. fi_cm(3), fi_endpoint(3). */
#ifndef EMU_FI_PEP_H
#define EMU_FI_PEP_H

#include <stdbool.h>
#include <sys/socket.h>

#include <rdma/fi_endpoint.h>

int emu_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep, void *context);
/* Where the passive endpoint listens, or would; false: `handle`, which may be anything, is not an open one. */
bool emu_pep_address(const struct fid *handle, struct sockaddr_storage *at);

#endif
