/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_key.h - local keys: which region an lkey names, for posts. An lkey is a number of 24 bits that tells the place in a table, and
 * 8 bits that change with each region there. One table a process. */
#ifndef EMU_VB_KEY_H
#define EMU_VB_KEY_H

#include <stdbool.h>
#include <stdint.h>

struct vb_pd;

/* Beside the rights: registered with IBV_ACCESS_ON_DEMAND. */
#define VB_KEY_ON_DEMAND (UINT32_C(1) << 30)

/* What an lkey names. Constant while it is open. */
struct vb_key {
	const struct vb_pd *root; /* the PD of its region, no parent domain (vb_pd.h) */
	uint64_t addr, length;    /* as posts address it: from here, so many bytes; SIZE_MAX from 0 is all there is */
	uint64_t shift;           /* from there to where the bytes are, modulo 2^64 */
	uint64_t sink;            /* likewise for writes, if `discards` */
	uint32_t access;          /* local rights of enum mr_access, and VB_KEY_ON_DEMAND */
	bool discards;            /* a null region: writes go elsewhere than reads */
	const void *desc;         /* the device's descriptor; NULL: of a null region, which the device does not know */
};

/* Enters one, whose lkey is not to be `other`, its rkey. 0 and *lkey, which is not 0; ENOMEM: 2^24 are open, or no memory. Any
 * thread. */
int vb_key_open(const struct vb_key *key, uint32_t other, uint32_t *lkey);
/* From now on it names this; for a moment nothing. Any thread. */
void vb_key_change(uint32_t lkey, const struct vb_key *key);
/* From now on it names nothing. Any thread. */
void vb_key_close(uint32_t lkey);

/* Why a buffer of a post is none that its lkey allows. */
enum vb_key_flaw {
	VB_KEY_OK,
	VB_KEY_UNKNOWN,  /* names no region */
	VB_KEY_CLOSED,   /* one that was deregistered */
	VB_KEY_OTHER_PD, /* a region of another PD than the QP's */
	VB_KEY_OUTSIDE,  /* the range is not inside */
	VB_KEY_RIGHT,    /* it was registered without IBV_ACCESS_LOCAL_WRITE */
};

/* A buffer as the device takes it. */
struct vb_buffer {
	void *at;
	const void *desc; /* for post.desc, recv_post.desc */
};

/* Looks a buffer of a post up: by a QP's or SRQ's PD, with `access` of MR_SEND, MR_WRITE, MR_RECV or MR_READ (mr.h), or
 * VB_KEY_ON_DEMAND. VB_KEY_OK and *buffer; a zero length is inside anywhere. Any thread, without a lock: some tens of
 * instructions. */
enum vb_key_flaw vb_key_find(const struct vb_pd *pd, uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access,
			     struct vb_buffer *buffer);
/* A flaw as a sentence with its remedy, without the call. */
enum { VB_KEY_WORDS = 256 };
const char *vb_key_words(enum vb_key_flaw flaw, uint32_t lkey, uint64_t addr, uint64_t length, char text[VB_KEY_WORDS]);
/* The key itself, for those that look closer. False: it names nothing. */
bool vb_key_look(uint32_t lkey, struct vb_key *key);

#endif
