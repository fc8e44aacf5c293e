/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av.h - address vectors, their authorization keys, and sets of addresses. Any thread. */
#ifndef EMU_FI_AV_H
#define EMU_FI_AV_H

#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/futex_lock.h"
#include "emu/nic/base/limits.h"

struct auth_set;
struct av;
struct av_auth;
struct av_shared;
struct emu_av;
struct emu_domain;
struct emu_eq;
struct sockaddr_storage;

/* --- The address vector object. Map and table are the same to us: an fi_addr_t is an index. Any thread; insertion by name may
 * block in name resolution. --- */

struct emu_av {
	struct fid_av fid;
	struct emu_domain *domain;
	struct av *av;            /* the device's */
	struct av_auth *keys;     /* if the domain was opened with FI_AV_AUTH_KEY, else NULL */
	struct av_shared *shared; /* if it has a name, else NULL */
	struct emu_eq *eq;        /* bound, or NULL */
	bool events;              /* opened with FI_EVENT: insertions report to eq */
};

int emu_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);

/* --- The authorization keys of an address vector (FI_AV_AUTH_KEY). A key's fi_addr_t has a bit that no address has. The table
 * has a leaf lock of its own: any thread. --- */

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

/* --- Address vector sets (fi_av_set(3)): ordered addresses, from which groups are made. A group has a copy, so that a set may
 * change, and be closed, at any time. Any thread. --- */

/* fi_addr_t of groups and of sets, which no address vector gives out, as its indices are small. */
#define COLL_ADDRESS_GROUP (1ull << 62)
#define COLL_ADDRESS_SET (1ull << 61)

struct emu_av_set {
	struct fid_av_set fid;
	struct emu_av *av;
	fi_addr_t address;
	struct futex_lock lock; /* guards those below; a leaf. A set's own: a child has the parent's as they were at the fork */
	size_t count;
	uint64_t member[LIMIT_MEMBERS];
};

int emu_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set, void *context);
/* Copies the members; returns how many there are. */
size_t av_set_members(struct emu_av_set *set, uint64_t members[LIMIT_MEMBERS]);

#endif
