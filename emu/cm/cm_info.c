/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_info.c - names and services become addresses, by libc. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cm/cm_id.h"

void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
	while (info) {
		struct rdma_addrinfo *next = info->ai_next;

		free(info->ai_src_addr);
		free(info->ai_dst_addr);
		free(info->ai_src_canonname);
		free(info->ai_dst_canonname);
		free(info);
		info = next;
	}
}

static bool keep_address(struct sockaddr **to, socklen_t *length, const void *from, socklen_t size)
{
	*to = malloc(size);
	if (!*to)
		return false;
	memcpy(*to, from, size);
	*length = size;
	return true;
}

/* One result, of the first address that libc has; NULL: of what the hints have alone. */
static struct rdma_addrinfo *result_of(const struct addrinfo *found, const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *info = calloc(1, sizeof(*info));
	bool passive = hints->ai_flags & RAI_PASSIVE, kept = true;

	if (!info)
		return NULL;
	info->ai_flags = hints->ai_flags;
	info->ai_family = found ? found->ai_family : hints->ai_src_len ? hints->ai_src_addr->sa_family : hints->ai_family;
	info->ai_port_space = hints->ai_port_space              ? hints->ai_port_space
			      : hints->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP
								: RDMA_PS_TCP;
	info->ai_qp_type = hints->ai_qp_type ? hints->ai_qp_type : info->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	if (found && passive)
		kept = keep_address(&info->ai_src_addr, &info->ai_src_len, found->ai_addr, found->ai_addrlen);
	else if (found)
		kept = keep_address(&info->ai_dst_addr, &info->ai_dst_len, found->ai_addr, found->ai_addrlen);
	if (kept && !info->ai_src_len && hints->ai_src_len)
		kept = keep_address(&info->ai_src_addr, &info->ai_src_len, hints->ai_src_addr, hints->ai_src_len);
	if (kept)
		return info;
	rdma_freeaddrinfo(info);
	return NULL;
}

/* Addresses that the hints have, where there is no name: the peer's, the own one, or both. */
static struct rdma_addrinfo *result_of_hints(const struct rdma_addrinfo *hints)
{
	struct addrinfo found = { .ai_addr = hints->ai_dst_addr, .ai_addrlen = hints->ai_dst_len };

	if (!hints->ai_dst_len || hints->ai_flags & RAI_PASSIVE)
		return result_of(NULL, hints);
	found.ai_family = found.ai_addr->sa_family;
	return result_of(&found, hints);
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo none = { .ai_port_space = RDMA_PS_TCP };
	struct addrinfo asks = { .ai_socktype = SOCK_STREAM }, *found;
	int err;

	if (!res)
		return cm_refuse(EINVAL, "rdma_getaddrinfo", "res is NULL.");
	if (!node && !service && !hints)
		return cm_refuse(EINVAL, "rdma_getaddrinfo", "node, service and hints are NULL. Give one of them.");
	hints = hints ? hints : &none;
	if (!node && !service) {
		*res = result_of_hints(hints);
		return *res ? 0 : cm_refuse(ENOMEM, "rdma_getaddrinfo", "no memory for a result.");
	}
	asks.ai_flags = (hints->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) | (hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
	if (hints->ai_qp_type == IBV_QPT_UD || hints->ai_port_space == RDMA_PS_UDP)
		asks.ai_socktype = SOCK_DGRAM; /* of which a service may have another number */
	asks.ai_family = hints->ai_flags & RAI_FAMILY ? hints->ai_family : AF_UNSPEC;
	err = getaddrinfo(node, service, &asks, &found);
	if (err) /* which gai_strerror() has in words */
		return err;
	*res = result_of(found, hints);
	freeaddrinfo(found);
	return *res ? 0 : cm_refuse(ENOMEM, "rdma_getaddrinfo", "no memory for a result.");
}

/* --- as events --- */

/* The status of an event: -errno. */
static int lookup_errno(int result)
{
	switch (result) {
	case 0:
		return 0;
	case -1:
	case EAI_SYSTEM:
		return -errno;
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_NONAME:
		return -ENOENT;
	default:
		return -EINVAL;
	}
}

static int check_resolving(struct cm_id *id, const char *node, int flags)
{
	const char *call = "rdma_resolve_addrinfo";

	if (!id || ((flags & CM_RAI_SA) && (flags & CM_RAI_DNS || node)))
		return vb_refuse(EINVAL, call,
				 "id is NULL, or ai_flags of hints has RAI_SA, and there is a node, or RAI_DNS, besides.");
	if (!(flags & CM_RAI_SA))
		return 0;
	if (!id->id.verbs)
		return vb_refuse(EINVAL, call, "the id has no device yet. Call rdma_bind_addr() first.");
	vb_inform(call, "RAI_SA (EOPNOTSUPP): a port of Ethernet has no subnet administrator that knows services.");
	return EOPNOTSUPP;
}

/* The name is looked up at once, so the event waits when this returns. */
int rdma_resolve_addrinfo(struct rdma_cm_id *pub, const char *node, const char *service, const struct rdma_addrinfo *hints)
{
	struct cm_id *id = cm_id_of(pub);
	struct rdma_addrinfo own = hints ? *hints : (struct rdma_addrinfo){ 0 }, *info = NULL;
	int err = check_resolving(id, node, own.ai_flags), status;

	if (err)
		return cm_result(err);
	own.ai_port_space = pub->ps;
	own.ai_qp_type = pub->qp_type;
	status = node || service || hints ? lookup_errno(rdma_getaddrinfo(node, service, &own, &info)) : -EINVAL;
	cm_hold();
	if (!status) {
		rdma_freeaddrinfo(id->info);
		id->info = info;
	}
	err = cm_tell(id, (enum rdma_cm_event_type)(status ? CM_EVENT_ADDRINFO_ERROR : CM_EVENT_ADDRINFO_RESOLVED), status);
	cm_let_go();
	return err ? cm_result(err) : cm_complete(id);
}

int rdma_query_addrinfo(struct rdma_cm_id *pub, struct rdma_addrinfo **out)
{
	struct cm_id *id = cm_id_of(pub);
	struct rdma_addrinfo *info = NULL;

	if (!id || !out)
		return cm_refuse(EINVAL, "rdma_query_addrinfo", "id or info is NULL.");
	cm_hold();
	if (id->info)
		info = result_of_hints(id->info);
	cm_let_go();
	if (!info)
		return cm_refuse(id->info ? ENOMEM : EINVAL, "rdma_query_addrinfo",
				 "there is no memory, or no result: call rdma_resolve_addrinfo() before.");
	*out = info;
	return 0;
}
