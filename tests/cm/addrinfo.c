/* SPDX-License-Identifier: BSD-2-Clause */
/* addrinfo.c - what ids resolve besides: names by events (rdma_resolve_addrinfo()), paths that the program has
 * (RDMA_OPTION_IB_PATH); and events of the program's own (rdma_write_cm_event()). Calls that older headers lack. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <string.h>

#include "tests/cm/meeting.h"

enum { ADDRINFO_RESOLVED = 16, ADDRINFO_ERROR, USER, SA = 0x10, DNS = 0x20, TIMEOUT_MS = 2000 };

#define FAILS(call, error) cr_assert((call) == -1 && errno == (error), #call ": errno %d", errno)

int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service, const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static void begin(void)
{
	channel = rdma_create_event_channel();
	cr_assert(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_UDP));
}

static void end(void)
{
	cr_assert_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

TestSuite(cm_addrinfo, .init = begin, .fini = end);

static void expect(int type, int status)
{
	struct rdma_cm_event *event;

	cr_assert_eq(rdma_get_cm_event(channel, &event), 0);
	cr_assert((int)event->event == type && event->status == status, "%s, status %d", rdma_event_str(event->event),
		  event->status);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
}

Test(cm_addrinfo, a_name_becomes_an_address)
{
	const struct sockaddr_in *at;
	struct rdma_addrinfo *info, *again;

	FAILS(rdma_query_addrinfo(id, &info), EINVAL);
	cr_assert_eq(rdma_resolve_addrinfo(id, "127.0.0.1", "7174", NULL), 0);
	expect(ADDRINFO_RESOLVED, 0);
	cr_assert_eq(rdma_query_addrinfo(id, &info), 0);
	cr_assert_eq(rdma_query_addrinfo(id, &again), 0);
	at = (struct sockaddr_in *)info->ai_dst_addr;
	cr_assert(info->ai_family == AF_INET && ntohs(at->sin_port) == 7174 && at->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	cr_assert(info->ai_port_space == RDMA_PS_UDP && info->ai_qp_type == IBV_QPT_UD && !info->ai_next);
	cr_assert(!memcmp(again->ai_dst_addr, at, sizeof(*at)) && again->ai_dst_addr != info->ai_dst_addr);
	cr_assert_eq(rdma_resolve_addr(id, NULL, info->ai_dst_addr, TIMEOUT_MS), 0);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	rdma_freeaddrinfo(info);
	rdma_freeaddrinfo(again);
}

Test(cm_addrinfo, an_own_address)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE | DNS }, *info;

	cr_assert_eq(rdma_resolve_addrinfo(id, "127.0.0.1", NULL, &hints), 0);
	expect(ADDRINFO_RESOLVED, 0);
	cr_assert_eq(rdma_query_addrinfo(id, &info), 0);
	cr_assert(info->ai_src_len == sizeof(struct sockaddr_in) && !info->ai_dst_len && info->ai_family == AF_INET);
	cr_assert_eq(rdma_bind_addr(id, info->ai_src_addr), 0);
	rdma_freeaddrinfo(info);
}

Test(cm_addrinfo, a_name_that_there_is_not)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *info;

	cr_assert_eq(rdma_resolve_addrinfo(id, "no address", NULL, &hints), 0);
	expect(ADDRINFO_ERROR, -ENOENT);
	FAILS(rdma_query_addrinfo(id, &info), EINVAL);
	cr_assert_eq(rdma_resolve_addrinfo(id, NULL, NULL, NULL), 0);
	expect(ADDRINFO_ERROR, -EINVAL);
}

Test(cm_addrinfo, a_call_that_waits)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *info;
	struct rdma_cm_id *waits;

	cr_assert_eq(rdma_create_id(NULL, &waits, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_resolve_addrinfo(waits, "127.0.0.1", "1", &hints), 0);
	cr_assert_eq(rdma_query_addrinfo(waits, &info), 0);
	cr_assert_eq(info->ai_qp_type, IBV_QPT_RC);
	rdma_freeaddrinfo(info);
	FAILS(rdma_resolve_addrinfo(waits, "no address", "1", &hints), ENOENT);
	cr_assert_eq(rdma_destroy_id(waits), 0);
}

/* Either of node, service and hints is enough. */
Test(cm_addrinfo, hints_without_a_name_and_an_address)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_UDP }, *info;
	struct rdma_cm_id *made;

	FAILS(rdma_getaddrinfo(NULL, NULL, NULL, &info), EINVAL);
	cr_assert_eq(rdma_getaddrinfo(NULL, NULL, &hints, &info), 0);
	cr_assert(info->ai_flags == RAI_PASSIVE && info->ai_port_space == RDMA_PS_UDP && info->ai_qp_type == IBV_QPT_UD);
	cr_assert(!info->ai_src_len && !info->ai_dst_len && !info->ai_next);
	FAILS(rdma_create_ep(&made, info, NULL, NULL), EINVAL);
	rdma_freeaddrinfo(info);
}

/* Ethernet has none of InfiniBand's directories. */
Test(cm_addrinfo, no_subnet_administrator)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_addrinfo hints = { .ai_flags = SA };

	FAILS(rdma_resolve_addrinfo(id, NULL, "0x1", &hints), EINVAL);
	cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&at), 0);
	FAILS(rdma_resolve_addrinfo(id, NULL, "0x1", &hints), EOPNOTSUPP);
	FAILS(rdma_resolve_addrinfo(id, "127.0.0.1", "0x1", &hints), EINVAL);
	hints.ai_flags |= DNS;
	FAILS(rdma_resolve_addrinfo(id, NULL, "0x1", &hints), EINVAL);
}

Test(cm_addrinfo, events_of_the_programs_own)
{
	struct rdma_cm_event *event;
	uint64_t arg;

	FAILS(rdma_write_cm_event(NULL, (enum rdma_cm_event_type)USER, 0, 0), EINVAL);
	FAILS(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0), EINVAL);
	cr_assert_eq(rdma_write_cm_event(id, (enum rdma_cm_event_type)USER, 0x11223344, 0x55667788aabbccdd), 0);
	cr_assert_eq(rdma_get_cm_event(channel, &event), 0);
	memcpy(&arg, &event->param, sizeof(arg));
	cr_assert((int)event->event == USER && event->id == id && event->status == 0x11223344 && arg == 0x55667788aabbccdd);
	cr_assert_str_eq(rdma_event_str(event->event), "RDMA_CM_EVENT_USER");
	cr_assert_eq(rdma_ack_cm_event(event), 0);
}

/* --- paths --- */

static struct ibv_path_data path_to_self(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ibv_path_data data = { .flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL };

	cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, TIMEOUT_MS), 0);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	data.path.sgid = id->route.addr.addr.ibaddr.sgid;
	data.path.dgid = id->route.addr.addr.ibaddr.dgid;
	data.path.pkey = htons(0xffff);
	data.path.tclass = 0x20;
	data.path.flowlabel_hoplimit = htonl(0x12345 << 8 | 7);
	data.path.qosclass_sl = htons(3);
	return data;
}

static int set_path(const void *data, size_t length)
{
	return rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, (void *)(uintptr_t)data, length);
}

Test(cm_addrinfo, a_path_in_the_place_of_a_route)
{
	struct ibv_path_data data[2] = { { .flags = IBV_PATH_FLAG_ALTERNATE } };
	const struct ibv_sa_path_rec *path;

	data[1] = path_to_self();
	cr_assert_eq(set_path(data, sizeof(data)), 0);
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	path = id->route.path_rec;
	cr_assert(id->route.num_paths == 1 && path->traffic_class == 0x20 && path->sl == 3 && path->hop_limit == 7);
	cr_assert(path->flow_label == htonl(0x12345));
	FAILS(rdma_resolve_route(id, TIMEOUT_MS), EINVAL);
	FAILS(set_path(data, sizeof(data)), EINVAL);
	cr_assert_eq(rdma_connect(id, NULL), 0);
	expect(RDMA_CM_EVENT_UNREACHABLE, 1);
}

Test(cm_addrinfo, bad_paths)
{
	struct ibv_path_data good = { .flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL }, bad;

	FAILS(set_path(&good, sizeof(good)), EINVAL); /* before rdma_resolve_addr() */
	good = path_to_self();
	FAILS(set_path(&good, 0), EINVAL);
	FAILS(set_path(&good, sizeof(good) - 1), EINVAL);
	FAILS(set_path(&good, sizeof(good) + 1), EINVAL);
	bad = good, bad.flags = IBV_PATH_FLAG_PRIMARY;
	FAILS(set_path(&bad, sizeof(bad)), EINVAL);
	bad = good, bad.path.dgid.raw[15]++;
	FAILS(set_path(&bad, sizeof(bad)), EINVAL);
	bad = good, bad.path.sgid.raw[15]++;
	FAILS(set_path(&bad, sizeof(bad)), EINVAL);
	bad = good, bad.path.pkey = htons(0x8001);
	FAILS(set_path(&bad, sizeof(bad)), EINVAL);
	FAILS(rdma_set_option(id, RDMA_OPTION_IB, 7, &good, sizeof(good)), ENOSYS);
	cr_assert_eq(set_path(&good, sizeof(good)), 0);
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

Test(cm_addrinfo, a_path_of_rdma_create_ep)
{
	struct ibv_path_data data = path_to_self();
	struct rdma_addrinfo *info;
	struct rdma_cm_id *made;

	cr_assert_eq(rdma_getaddrinfo("127.0.0.1", "1", &(struct rdma_addrinfo){ .ai_port_space = RDMA_PS_UDP }, &info), 0);
	info->ai_route = &data;
	info->ai_route_len = sizeof(data);
	cr_assert_eq(rdma_create_ep(&made, info, NULL, NULL), 0, "errno %d", errno);
	cr_assert(made->event->event == RDMA_CM_EVENT_ROUTE_RESOLVED && made->route.path_rec->sl == 3);
	rdma_destroy_ep(made);
	data.path.dgid.raw[15]++;
	FAILS(rdma_create_ep(&made, info, NULL, NULL), EINVAL);
	info->ai_route = NULL; /* it is not rdma_freeaddrinfo()'s */
	rdma_freeaddrinfo(info);
}
