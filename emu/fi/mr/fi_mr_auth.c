/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_auth.c - which authorization keys a region takes: one key's, or those of an address vector. */
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/domain/fi_auth.h"
#include "emu/fi/av/fi_av.h"
#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/provider/fi_compat.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/regions/auth_set.h"
#include "emu/nic/regions/mr.h"

static int mr_auth_refuse(const char *what)
{
	return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: %s.", what);
}

/* S165: one peer with its key, or all peers that show one key. An address that was inserted without a key allows all keys. */
static int limit_to(struct emu_av *av, fi_addr_t source, bool is_key, struct mr_request *req)
{
	struct sockaddr_storage peer;
	uint64_t proof = 0, stamp;

	if (is_key ? av_auth_proof(av->keys, source, &proof) : av_lookup(av->av, source, &peer, &stamp))
		return mr_auth_refuse("src_addr is not of this address vector (S165)");
	if (!is_key)
		proof = av_shown(av->av, source);
	req->all_keys = !proof;
	req->auths = proof ? auth_set_make(&proof, 1, is_key ? NULL : &peer) : av_auth_all(av->keys, &peer, NULL);
	return req->auths ? 0 : -FI_ENOMEM;
}

int mr_retake_keys(struct emu_mr *mr)
{
	struct mr_parts *parts = mr->parts;
	const struct auth_set *before = mr->mr->auths;
	struct auth_set *set;

	if (!parts || !parts->all_keys)
		return 0;
	set = av_auth_all(parts->av->keys, before->one_peer ? &before->peer : NULL, NULL);
	if (!set)
		return -FI_ENOMEM;
	free(mr->mr->auths);
	mr->mr->auths = set;
	return 0;
}

int mr_take_auth(const struct emu_domain *domain, const struct compat_mr_attr *attr, struct mr_request *req)
{
	const struct compat_mr_auth_key *from;

	if (!auth_known(domain->api))
		return 0;
	if (!domain->av_auth)
		return auth_take(domain, "fi_mr_regattr", attr->auth_key, attr->auth_key_size, &req->auth);
	from = (const struct compat_mr_auth_key *)(const void *)attr->auth_key;
	if (attr->auth_key_size != sizeof(*from))
		return mr_auth_refuse("under FI_AV_AUTH_KEY auth_key_size is that of struct fi_mr_auth_key (S161)");
	if (!from)
		return mr_auth_refuse("under FI_AV_AUTH_KEY auth_key points to a struct fi_mr_auth_key (S162)");
	req->av = (struct emu_av *)from->av;
	if (!req->av || req->av->fid.fid.fclass != FI_CLASS_AV || req->av->domain != domain)
		return mr_auth_refuse("the av of struct fi_mr_auth_key is none of this domain (S163)");
	if (domain->caps & FI_DIRECTED_RECV && from->src_addr != FI_ADDR_UNSPEC)
		return limit_to(req->av, from->src_addr, req->flags & COMPAT_AUTH_KEY, req);
	req->all_keys = true; /* S164, S166 */
	req->auths = av_auth_all(req->av->keys, NULL, NULL);
	return req->auths ? 0 : -FI_ENOMEM;
}
