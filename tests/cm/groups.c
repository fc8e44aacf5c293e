/* SPDX-License-Identifier: BSD-2-Clause */
/* groups.c - multicast groups of rdma_cm: joined, heard, sent to and left. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "tests/cm/meeting.h"

enum { TIMEOUT_MS = 2000, GRH = 40, LENGTH = 32, GROUP_QPN = 0xffffff };

#define FAILS(call, error) cr_assert((call) == -1 && errno == (error), #call ": errno %d", errno)

struct member {
	struct meeting meeting; /* of which it has the channel alone */
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct rdma_ud_param ud; /* the group's */
	char bytes[GRH + LENGTH];
};

static union {
	struct sockaddr at;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
} own, group;

/* Addresses of this host and of a group, in both families. */
static void use_ipv4(void)
{
	own.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	group.in = (struct sockaddr_in){ .sin_family = AF_INET };
	cr_assert_eq(inet_pton(AF_INET, "239.77.1.1", &group.in.sin_addr), 1);
}

static void use_ipv6(void)
{
	struct ibv_context **list = rdma_get_devices(NULL);
	struct ibv_gid_entry entry = { 0 };
	uint32_t index = 0;

	own.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	cr_assert(list && list[0]);
	while (!ibv_query_gid_ex(list[0], 1, index, &entry, 0) && IN6_IS_ADDR_V4MAPPED((struct in6_addr *)entry.gid.raw))
		index++;
	rdma_free_devices(list);
	memcpy(&own.in6.sin6_addr, entry.gid.raw, sizeof(own.in6.sin6_addr));
	own.in6.sin6_scope_id = entry.ndev_ifindex;
	if (IN6_IS_ADDR_UNSPECIFIED(&own.in6.sin6_addr) || IN6_IS_ADDR_V4MAPPED(&own.in6.sin6_addr))
		cr_skip("this host has no address of IPv6 but loopback's");
	group.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	cr_assert_eq(inet_pton(AF_INET6, "ff15::77:1", &group.in6.sin6_addr), 1);
}

/* An id for datagrams with a way to the group, and a queue pair that has a receive. */
static void member_open(struct member *member)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_UD, .sq_sig_all = 1 };

	memset(member, 0, sizeof(*member));
	member->meeting.channel = rdma_create_event_channel();
	cr_assert(member->meeting.channel);
	cr_assert_eq(rdma_create_id(member->meeting.channel, &member->id, NULL, RDMA_PS_UDP), 0);
	cr_assert_eq(rdma_bind_addr(member->id, &own.at), 0);
	cr_assert_eq(rdma_resolve_addr(member->id, NULL, &group.at, TIMEOUT_MS), 0);
	cr_assert_eq(meeting_expect(&member->meeting, RDMA_CM_EVENT_ADDR_RESOLVED, NULL), member->id);
	cr_assert_eq(rdma_create_qp(member->id, NULL, &init), 0, "errno %d", errno);
	member->mr = rdma_reg_msgs(member->id, member->bytes, sizeof(member->bytes));
	cr_assert(member->mr);
	cr_assert_eq(rdma_post_recv(member->id, NULL, member->bytes, sizeof(member->bytes), member->mr), 0);
}

static void member_close(struct member *member)
{
	cr_assert_eq(rdma_dereg_mr(member->mr), 0);
	rdma_destroy_qp(member->id);
	cr_assert_eq(rdma_destroy_id(member->id), 0);
	rdma_destroy_event_channel(member->meeting.channel);
}

static void leave(struct member *member)
{
	cr_assert_eq(rdma_leave_multicast(member->id, &group.at), 0, "errno %d", errno);
}

static void take_join(struct member *member)
{
	struct rdma_cm_event *event;

	cr_assert_eq(meeting_expect(&member->meeting, RDMA_CM_EVENT_MULTICAST_JOIN, &event), member->id);
	member->ud = event->param.ud;
	cr_assert(event->status == 0 && event->param.ud.private_data == member);
	cr_assert(member->ud.qp_num == GROUP_QPN && member->ud.qkey == RDMA_UDP_QKEY && member->ud.ah_attr.is_global);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
}

static void join(struct member *member)
{
	cr_assert_eq(rdma_join_multicast(member->id, &group.at, member), 0, "errno %d", errno);
	take_join(member);
}

static void join_to_send(struct member *member)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = &group.at,
	};

	cr_assert_eq(rdma_join_multicast_ex(member->id, &attr, member), 0, "errno %d", errno);
	take_join(member);
}

/* To the group, or to a queue pair. */
static void send_from(struct member *from, uint32_t qpn, union ibv_gid to, const char *text)
{
	static char bytes[LENGTH];
	struct ibv_ah_attr way = from->ud.ah_attr;
	struct ibv_mr *mr = rdma_reg_msgs(from->id, bytes, LENGTH);
	struct ibv_ah *ah;
	struct ibv_wc wc;

	way.grh.dgid = to;
	ah = ibv_create_ah(from->id->pd, &way);
	cr_assert(mr && ah);
	strcpy(bytes, text);
	cr_assert_eq(rdma_post_ud_send(from->id, NULL, bytes, LENGTH, mr, 0, ah, qpn), 0);
	cr_assert(rdma_get_send_comp(from->id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert(!ibv_destroy_ah(ah) && !rdma_dereg_mr(mr));
}

static void hears(struct member *member, const char *text)
{
	struct ibv_wc wc;

	cr_assert(rdma_get_recv_comp(member->id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	cr_assert(wc.byte_len == sizeof(member->bytes) && wc.wc_flags & IBV_WC_GRH);
	cr_assert_str_eq(member->bytes + GRH, text);
	cr_assert_eq(rdma_post_recv(member->id, NULL, member->bytes, sizeof(member->bytes), member->mr), 0);
}

static void group_is_heard(void)
{
	struct member a, b, sends;

	member_open(&a);
	member_open(&b);
	member_open(&sends);
	join(&a);
	join(&b);
	join_to_send(&sends);
	cr_assert(!memcmp(&a.ud.ah_attr.grh.dgid, &sends.ud.ah_attr.grh.dgid, 16));
	send_from(&sends, GROUP_QPN, sends.ud.ah_attr.grh.dgid, "to all");
	hears(&a, "to all");
	hears(&b, "to all");
	leave(&b);
	send_from(&sends, GROUP_QPN, sends.ud.ah_attr.grh.dgid, "to one");
	hears(&a, "to one");
	/* The member that sends only, and the one that has left, have heard nothing else before. */
	send_from(&a, sends.id->qp->qp_num, sends.id->route.addr.addr.ibaddr.sgid, "and back");
	hears(&sends, "and back");
	send_from(&a, b.id->qp->qp_num, b.id->route.addr.addr.ibaddr.sgid, "farewell");
	hears(&b, "farewell");
	leave(&sends);
	member_close(&sends);
	member_close(&b);
	leave(&a);
	member_close(&a);
}

Test(cm_groups, heard_until_left)
{
	use_ipv4();
	group_is_heard();
}

Test(cm_groups, heard_until_left_in_ipv6)
{
	use_ipv6();
	group_is_heard();
}

Test(cm_groups, the_gid_of_a_group)
{
	static const uint8_t ipv4[16] = { [10] = 0xff, 0xff, 239, 77, 1, 1 };
	struct member member;

	use_ipv4();
	member_open(&member);
	join(&member);
	cr_assert_arr_eq(member.ud.ah_attr.grh.dgid.raw, ipv4, sizeof(ipv4));
	leave(&member);
	member_close(&member);
	use_ipv6();
	member_open(&member);
	join(&member);
	cr_assert_arr_eq(member.ud.ah_attr.grh.dgid.raw, &group.in6.sin6_addr, 16);
	leave(&member);
	member_close(&member);
}

/* One that is not read yet is taken back. */
Test(cm_groups, a_join_that_is_left_at_once)
{
	struct member member;

	use_ipv4();
	member_open(&member);
	cr_assert_eq(rdma_join_multicast(member.id, &group.at, NULL), 0);
	leave(&member);
	FAILS(rdma_leave_multicast(member.id, &group.at), EADDRNOTAVAIL);
	join(&member); /* which is the next event */
	leave(&member);
	member_close(&member);
}

/* The queue pair hears it once, and until the last is left. */
Test(cm_groups, joined_twice)
{
	struct member member;

	use_ipv4();
	member_open(&member);
	join(&member);
	join(&member);
	leave(&member);
	send_from(&member, GROUP_QPN, member.ud.ah_attr.grh.dgid, "once");
	hears(&member, "once");
	leave(&member);
	cr_assert_neq(ibv_detach_mcast(member.id->qp, &member.ud.ah_attr.grh.dgid, 0), 0, "it is not attached any more");
	member_close(&member);
}

/* Without a queue pair it is the program's to attach one; and an id that is destroyed has left its groups. */
Test(cm_groups, joined_without_a_queue_pair)
{
	struct member member;

	use_ipv4();
	member_open(&member);
	rdma_destroy_qp(member.id);
	join(&member);
	cr_assert_eq(rdma_dereg_mr(member.mr), 0);
	cr_assert_eq(rdma_destroy_id(member.id), 0);
	rdma_destroy_event_channel(member.meeting.channel);
}

/* The system bounds the groups of a socket (net.ipv4.igmp_max_memberships). */
Test(cm_groups, more_than_the_system_gives)
{
	struct rdma_cm_event *event = NULL;
	struct member member;
	int joined = 0;

	use_ipv4();
	member_open(&member);
	for (; joined < 256; joined++) {
		group.in.sin_addr.s_addr = htonl(0xef4d0200U + (uint32_t)joined);
		cr_assert_eq(rdma_join_multicast(member.id, &group.at, &member), 0);
		cr_assert_eq(rdma_get_cm_event(member.meeting.channel, &event), 0);
		if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN)
			break;
		cr_assert_eq(rdma_ack_cm_event(event), 0);
	}
	if (joined == 256)
		cr_skip("net.ipv4.igmp_max_memberships of this host is above 256");
	cr_assert(event->event == RDMA_CM_EVENT_MULTICAST_ERROR && event->status < 0 && event->param.ud.private_data == &member);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	for (; joined >= 0; joined--) { /* one that has failed is left, too */
		group.in.sin_addr.s_addr = htonl(0xef4d0200U + (uint32_t)joined);
		leave(&member);
	}
	member_close(&member);
}

Test(cm_groups, bad_arguments)
{
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS };
	struct sockaddr_in everywhere = { .sin_family = AF_INET };
	struct rdma_cm_id *id;
	struct member member;

	use_ipv4();
	member_open(&member);
	attr.addr = &group.at;
	FAILS(rdma_join_multicast_ex(member.id, &attr, NULL), EINVAL);
	FAILS(rdma_join_multicast_ex(member.id, NULL, NULL), EINVAL);
	attr.comp_mask |= RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	FAILS(rdma_join_multicast_ex(member.id, &attr, NULL), EINVAL);
	FAILS(rdma_join_multicast(NULL, &group.at, NULL), EINVAL);
	FAILS(rdma_join_multicast(member.id, NULL, NULL), EINVAL);
	FAILS(rdma_join_multicast(member.id, &own.at, NULL), EINVAL);
	FAILS(rdma_leave_multicast(member.id, &group.at), EADDRNOTAVAIL);
	FAILS(rdma_leave_multicast(member.id, NULL), EINVAL);
	cr_assert_eq(rdma_create_id(member.meeting.channel, &id, NULL, RDMA_PS_UDP), 0);
	FAILS(rdma_join_multicast(id, &group.at, NULL), EINVAL);
	cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&everywhere), 0);
	FAILS(rdma_join_multicast(id, &group.at, NULL), EINVAL); /* it has no device */
	cr_assert_eq(rdma_destroy_id(id), 0);
	cr_assert_eq(rdma_create_id(member.meeting.channel, &id, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_bind_addr(id, &own.at), 0);
	FAILS(rdma_join_multicast(id, &group.at, NULL), EINVAL);
	cr_assert_eq(rdma_destroy_id(id), 0);
	member_close(&member);
}
