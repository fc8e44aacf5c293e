/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_auth.h - authorization keys as attribute structures give them (fi_domain, fi_endpoint, fi_mr). Any thread. */
#ifndef EMU_FI_AUTH_H
#define EMU_FI_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emu_domain;
struct fi_domain_attr;

/* Do keys count in programs of this API version (S156)? */
bool auth_known(uint32_t api);

/* Is this size FI_AV_AUTH_KEY, which a domain may have instead of a key? */
bool auth_by_av(uint32_t api, size_t size);

/* max_ep_auth_key (1.20), in a structure that the running library made; NULL: the library or the program has no such
 * field. */
size_t *auth_ep_keys(uint32_t api, struct fi_domain_attr *attr);

/* NULL, or what is wrong with a key, whose size is not 0. `fixed`: the size of the domain's keys (0: any size up to the
 * limit). */
const char *auth_flaw(const void *key, size_t size, size_t fixed);

/* If auth_known(): the proof of the key of an object of the domain; without a key, of the domain's own key (S157). 0 and *auth, or
 * -FI_EINVAL after a line of log that names `what`. */
int auth_take(const struct emu_domain *domain, const char *what, const void *key, size_t size, uint64_t *auth);

#endif
