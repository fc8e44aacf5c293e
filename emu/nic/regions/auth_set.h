/* SPDX-License-Identifier: BSD-2-Clause */
/* auth_set.h - the authorization keys, by their proofs, that a region or an endpoint of an address vector with keys takes
 * (FI_AV_AUTH_KEY). Constant once made. */
#ifndef EMU_NIC_AUTH_SET_H
#define EMU_NIC_AUTH_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/must_use.h"

struct auth_set {
	uint32_t count;
	bool one_peer;                /* of `peer` alone (S165) */
	struct sockaddr_storage peer; /* canonical */
	uint64_t proof[];
};

/* A copy; peer NULL: any. To be freed. NULL without memory. */
MUST_USE struct auth_set *auth_set_make(const uint64_t *proof, uint32_t count, const struct sockaddr_storage *peer);
/* Takes as long whichever proof fits. Without a shown key none fits. */
bool auth_set_fits(const struct auth_set *set, uint64_t shown, const struct sockaddr_storage *peer);

#endif
