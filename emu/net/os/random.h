/* SPDX-License-Identifier: BSD-2-Clause */
/* random.h - bytes that nobody can guess, for keys, instance ids and nonces (link.h). The kernel is asked once, when the NIC
 * starts: a program may enter a sandbox without getrandom(2) later. Each call erases the key that the bytes were made of.
 *
 * Owner:  the link. Thread: any; its own lock, a leaf. */
#ifndef EMU_NET_RANDOM_H
#define EMU_NET_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/mutex.h"

enum { RANDOM_KEY = 32 };

struct random {
	struct mutex lock;
	uint8_t key[RANDOM_KEY]; /* of the next call */
};

/* 0, or -errno of getrandom(2): then there are no such bytes. */
int random_open(struct random *random);
void random_bytes(struct random *random, void *bytes, size_t length);
void random_close(struct random *random);

#endif
