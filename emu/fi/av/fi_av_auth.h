/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av_auth.h - the authorization keys of an address vector (FI_AV_AUTH_KEY). A key's fi_addr_t has a bit that no
 * address has. The table has a leaf lock of its own: any thread. */
#ifndef EMU_FI_AV_AUTH_H
#define EMU_FI_AV_AUTH_H

#include <rdma/fi_domain.h>

struct auth_set;
struct av_auth;
struct sockaddr_storage;

int av_auth_open(struct av_auth **keys); /* 0 or -FI_ENOMEM */
void av_auth_close(struct av_auth *keys);

/* 0 and the key's proof, or -FI_EINVAL. */
int av_auth_proof(struct av_auth *keys, fi_addr_t key, uint64_t *proof);
/* 0; -FI_EINVAL; -FI_EBUSY while an endpoint uses it. */
int av_auth_remove(struct av_auth *keys, fi_addr_t key);
/* All keys of now, of that peer alone if `peer` is not NULL; NULL: no memory. If `used` is not NULL, the keys stay until they
 * are given back, and *used says which they are. */
struct auth_set *av_auth_all(struct av_auth *keys, const struct sockaddr_storage *peer, uint64_t *used);
void av_auth_give(struct av_auth *keys, uint64_t used);

/* The calls that struct fi_ops_av has from 1.20 on. */
int emu_av_insert_auth_key(struct fid_av *av, const void *key, size_t size, fi_addr_t *fi_addr, uint64_t flags);
int emu_av_lookup_auth_key(struct fid_av *av, fi_addr_t fi_addr, void *key, size_t *size);

#endif
