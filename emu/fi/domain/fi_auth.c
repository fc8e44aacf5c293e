/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_auth.c - which authorization keys are valid, and the proofs that stand for them. */
#include "emu/fi/domain/fi_auth.h"

#include <rdma/fi_errno.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/regions/auth.h"

bool auth_known(uint32_t api)
{
	return FI_VERSION_GE(api, FI_VERSION(1, 5));
}

bool auth_by_av(uint32_t api, size_t size)
{
	return FI_VERSION_GE(api, FI_VERSION(1, 20)) && size == COMPAT_AV_AUTH_KEY;
}

size_t *auth_ep_keys(uint32_t api, struct fi_domain_attr *attr)
{
	struct compat_domain_attr *as_of_1_20 = (struct compat_domain_attr *)attr;

	if (FI_VERSION_LT(fi_version(), FI_VERSION(1, 20)) || FI_VERSION_LT(api, FI_VERSION(1, 20)))
		return NULL;
#if COMPAT_HEADERS < FI_VERSION(1, 20)
	return &as_of_1_20->max_ep_auth_key;
#else
	return &as_of_1_20->base.max_ep_auth_key;
#endif
}

const char *auth_flaw(const void *key, size_t size, size_t fixed)
{
	if (size > LIMIT_AUTH_KEY)
		return "auth_key_size is above 64, the most there is (S159)";
	if (fixed && size != fixed)
		return "auth_key_size is not the domain's (S159)";
	return key ? NULL : "auth_key_size is given, and auth_key is NULL";
}

int auth_take(const struct emu_domain *domain, const char *what, const void *key, size_t size, uint64_t *auth)
{
	const char *flaw;

	*auth = domain->auth;
	if (!size)
		return 0;
	flaw = domain->av_auth ? "the domain has FI_AV_AUTH_KEY: keys go into address vectors"
			       : auth_flaw(key, size, domain->auth_key_size);
	if (flaw)
		return REFUSE(DOMAIN, -FI_EINVAL, "%s: %s.", what, flaw);
	*auth = auth_proof(key, size);
	if (*auth != AUTH_STRANGE)
		return 0;
	return REFUSE(DOMAIN, -FI_ENOMEM, "%s: %d authorization keys are in use in this process: the limit.", what,
		      LIMIT_AUTH_KEYS);
}
