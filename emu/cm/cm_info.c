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
	hints = hints ? hints : &none;
	if (!node && !service && !hints->ai_src_len && !hints->ai_dst_len)
		return cm_refuse(EINVAL, "rdma_getaddrinfo", "there is no node, no service, and no address in hints.");
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
