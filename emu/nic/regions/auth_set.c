/* SPDX-License-Identifier: BSD-2-Clause */
/* auth_set.c - one of several authorization keys, and perhaps of one peer. */
#include "emu/nic/regions/auth_set.h"

#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/regions/auth.h"

struct auth_set *auth_set_make(const uint64_t *proof, uint32_t count, const struct sockaddr_storage *peer)
{
	struct auth_set *set = calloc(1, sizeof(*set) + count * sizeof(*proof));

	if (!set)
		return NULL;
	set->count = count;
	if (count)
		memcpy(set->proof, proof, count * sizeof(*proof));
	set->one_peer = peer;
	if (peer)
		set->peer = *peer;
	return set;
}

bool auth_set_fits(const struct auth_set *set, uint64_t shown, const struct sockaddr_storage *peer)
{
	unsigned int found = 0;

	for (uint32_t i = 0; i < set->count; i++)
		found |= auth_fits(set->proof[i], shown);
	return found & (shown != 0) && (!set->one_peer || (peer && address_same(&set->peer, peer)));
}
