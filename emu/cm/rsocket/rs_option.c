/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_option.c - rsetsockopt() and rgetsockopt(), and the defaults that an administrator gives in /etc/rdma/rsocket (rsocket(7)). */
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cm/rsocket/rs_dgram.h"

enum { POLL_US_MOST = 1000 * 1000 };

/* What librdmacm 44 takes, too. */
static struct rs_options defaults = {
	.receive_bytes = 1 << 17,
	.send_bytes = 1 << 17,
	.send_queue = 384,
	.receive_queue = 384,
	.inline_bytes = 64,
	.poll_us = 10,
	.keep_idle = 7200,
	.keep_interval = 75,
	.keep_count = 9,
};

static uint32_t within(int64_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : (uint32_t)value;
}

/* The file's number, if there is one. */
static void default_from(const char *name, uint32_t least, uint32_t most, uint32_t *value)
{
	char path[64];
	FILE *file;
	int number;

	snprintf(path, sizeof(path), "/etc/rdma/rsocket/%s", name);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fscanf(file, "%d", &number) == 1)
		*value = within(number, least, most);
	else
		vb_inform("rsocket", "%s has no number, and is left out.", path);
	fclose(file);
}

static void read_defaults(void)
{
	default_from("mem_default", RS_BUFFER_LEAST, RS_BUFFER_MOST, &defaults.receive_bytes);
	default_from("wmem_default", RS_BUFFER_LEAST, RS_BUFFER_MOST, &defaults.send_bytes);
	default_from("sqsize_default", RS_QUEUE_LEAST, RS_QUEUE_MOST, &defaults.send_queue);
	default_from("rqsize_default", RS_QUEUE_LEAST, RS_QUEUE_MOST, &defaults.receive_queue);
	default_from("inline_default", 0, RS_INLINE_MOST, &defaults.inline_bytes);
	default_from("iomap_size", 0, RS_IOMAPS_MOST, &defaults.iomaps);
	default_from("polling_time", 0, POLL_US_MOST, &defaults.poll_us);
}

void rs_options_init(struct rs_options *options)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_defaults);
	*options = defaults;
}

/* --- numbers --- */

/* A number of an rsocket. What makes its queue pair is set before it connects or accepts, and is brought within its bounds. */
struct rs_number {
	int level, name;
	size_t at;  /* in struct rs_options */
	bool makes; /* else any value is kept, and changes nothing: there is no such thing below */
	uint32_t least, most;
};

#define OPTION(field) offsetof(struct rs_options, field)
static const struct rs_number numbers[] = {
	{ SOL_SOCKET, SO_RCVBUF, OPTION(receive_bytes), true, RS_BUFFER_LEAST, RS_BUFFER_MOST },
	{ SOL_SOCKET, SO_SNDBUF, OPTION(send_bytes), true, RS_BUFFER_LEAST, RS_BUFFER_MOST },
	{ SOL_RDMA, RDMA_SQSIZE, OPTION(send_queue), true, RS_QUEUE_LEAST, RS_QUEUE_MOST },
	{ SOL_RDMA, RDMA_RQSIZE, OPTION(receive_queue), true, RS_QUEUE_LEAST, RS_QUEUE_MOST },
	{ SOL_RDMA, RDMA_INLINE, OPTION(inline_bytes), true, 0, RS_INLINE_MOST },
	{ SOL_RDMA, RDMA_IOMAPSIZE, OPTION(iomaps), true, 0, RS_IOMAPS_MOST },
	{ SOL_SOCKET, SO_REUSEADDR, OPTION(reuse), false, 0, 0 },
	{ SOL_SOCKET, SO_KEEPALIVE, OPTION(keepalive), false, 0, 0 },
	{ SOL_SOCKET, SO_OOBINLINE, OPTION(oob_inline), false, 0, 0 },
	{ IPPROTO_TCP, TCP_NODELAY, OPTION(no_delay), false, 0, 0 },
	{ IPPROTO_TCP, TCP_MAXSEG, OPTION(max_segment), false, 0, 0 },
	{ IPPROTO_TCP, TCP_KEEPIDLE, OPTION(keep_idle), false, 0, 0 },
	{ IPPROTO_TCP, TCP_KEEPINTVL, OPTION(keep_interval), false, 0, 0 },
	{ IPPROTO_TCP, TCP_KEEPCNT, OPTION(keep_count), false, 0, 0 },
	{ IPPROTO_IPV6, IPV6_V6ONLY, OPTION(v6_only), false, 0, 0 },
};

static const struct rs_number *number_find(int level, int name)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].level == level && numbers[i].name == name)
			return &numbers[i];
	return NULL;
}

static int *number_in(struct rsocket *rs, const struct rs_number *number)
{
	return (int *)((char *)&rs->options + number->at);
}

static int set_number(struct rsocket *rs, const struct rs_number *number, const void *value, socklen_t length)
{
	int wanted;

	if (length < sizeof(wanted))
		return EINVAL;
	memcpy(&wanted, value, sizeof(wanted));
	if (!number->makes) {
		*number_in(rs, number) = wanted;
		return 0;
	}
	if (wanted < 0)
		return EINVAL;
	if (rs->dgram ? !rs->dgram->qp : rs->state == RS_FRESH || rs->state == RS_LISTENING) {
		*number_in(rs, number) = (int)within(wanted, number->least, number->most);
		return 0;
	}
	if (number->level == SOL_SOCKET) /* the kernel would take it at any time */
		return 0;
	vb_inform("rsetsockopt", "option %d of SOL_RDMA (EINVAL): it is set before the rsocket connects.", number->name);
	return EINVAL;
}

/* --- others --- */

static int set_linger(struct rsocket *rs, const void *value, socklen_t length)
{
	if (length < sizeof(rs->options.linger))
		return EINVAL;
	memcpy(&rs->options.linger, value, sizeof(rs->options.linger));
	return 0;
}

/* Path records of InfiniBand. The way of RoCE is the kernel's: what counts of the first one is its traffic class. */
static int set_route(struct rsocket *rs, const void *value, socklen_t length)
{
	struct ibv_path_data path;

	if (rs->state != RS_FRESH || !length || length % sizeof(path))
		return vb_refuse(EINVAL, "rsetsockopt", "RDMA_ROUTE is an array of struct ibv_path_data, set before rconnect().");
	memcpy(&path, value, sizeof(path));
	rs->options.traffic_class = path.path.tclass;
	return 0;
}

static bool is_of_streams(int level, int name)
{
	return level == IPPROTO_TCP || (level == SOL_RDMA && (name == RDMA_ROUTE || name == RDMA_IOMAPSIZE));
}

int rsetsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	const struct rs_number *number = number_find(level, name);
	struct rsocket *rs = rs_hold(fd);
	int err = ENOPROTOOPT;

	if (!rs)
		return -1;
	if (!value)
		err = EFAULT;
	else if (number && !(rs->dgram && is_of_streams(level, name)))
		err = set_number(rs, number, value, length);
	else if (level == SOL_SOCKET && name == SO_LINGER)
		err = set_linger(rs, value, length);
	else if (level == SOL_RDMA && name == RDMA_ROUTE && !rs->dgram)
		err = set_route(rs, value, length);
	rs_leave(rs);
	if (err == ENOPROTOOPT)
		vb_inform("rsetsockopt", "option %d of level 0x%x (ENOPROTOOPT) is none of rsocket(7).", name, (unsigned int)level);
	return rs_result(err, 0);
}

static int give_value(void *to, socklen_t *length, const void *value, socklen_t whole)
{
	*length = rs_least(*length, whole);
	memcpy(to, value, *length);
	return 0;
}

static int give_number(void *to, socklen_t *length, int value)
{
	return give_value(to, length, &value, sizeof(value));
}

/* The path record of a connection, as struct ibv_path_data has it. */
static int give_route(const struct rsocket *rs, void *to, socklen_t *length)
{
	struct ibv_path_data data = { .flags = IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_OUTBOUND | IBV_PATH_FLAG_INBOUND };
	const struct ibv_sa_path_rec *path = rs->id->route.path_rec;

	if (!path)
		return ENOTCONN;
	if (*length < sizeof(data))
		return EINVAL;
	data.path.dgid = path->dgid;
	data.path.sgid = path->sgid;
	data.path.dlid = path->dlid;
	data.path.slid = path->slid;
	data.path.flowlabel_hoplimit = htobe32(be32toh(path->flow_label) << 8 | path->hop_limit);
	data.path.tclass = path->traffic_class;
	data.path.reversible_numpath = (uint8_t)(path->reversible << 7 | path->numb_path);
	data.path.pkey = path->pkey;
	data.path.mtu = (uint8_t)(path->mtu_selector << 6 | path->mtu);
	data.path.rate = (uint8_t)(path->rate_selector << 6 | path->rate);
	data.path.packetlifetime = (uint8_t)(path->packet_life_time_selector << 6 | path->packet_life_time);
	return give_value(to, length, &data, sizeof(data));
}

/* That of a path, in bytes. */
static int segment_of(const struct rsocket *rs)
{
	const struct ibv_sa_path_rec *path = rs->id->route.path_rec;

	return path ? 128 << path->mtu : 2048;
}

static int get_option(struct rsocket *rs, int level, int name, void *to, socklen_t *length)
{
	const struct rs_number *number = number_find(level, name);
	int err = rs->error;

	if (rs->dgram && is_of_streams(level, name))
		return ENOPROTOOPT;
	if (level == IPPROTO_TCP && name == TCP_MAXSEG)
		return give_number(to, length, segment_of(rs));
	if (number)
		return give_number(to, length, *number_in(rs, number));
	if (level == SOL_RDMA && name == RDMA_ROUTE)
		return give_route(rs, to, length);
	if (level != SOL_SOCKET)
		return ENOPROTOOPT;
	switch (name) {
	case SO_ERROR:
		rs->error = 0;
		return give_number(to, length, err);
	case SO_LINGER:
		return give_value(to, length, &rs->options.linger, sizeof(rs->options.linger));
	case SO_TYPE:
		return give_number(to, length, rs->dgram ? SOCK_DGRAM : SOCK_STREAM);
	case SO_DOMAIN:
		return give_number(to, length, rs->family);
	case SO_PROTOCOL:
		return give_number(to, length, rs->dgram ? IPPROTO_UDP : IPPROTO_TCP);
	case SO_ACCEPTCONN:
		return give_number(to, length, rs->state == RS_LISTENING);
	default:
		return ENOPROTOOPT;
	}
}

int rgetsockopt(int fd, int level, int name, void *to, socklen_t *length)
{
	struct rsocket *rs = rs_hold(fd);
	int err;

	if (!rs)
		return -1;
	rs_look(rs);
	err = to && length ? get_option(rs, level, name, to, length) : EFAULT;
	rs_leave(rs);
	if (err == ENOPROTOOPT)
		vb_inform("rgetsockopt", "option %d of level 0x%x (ENOPROTOOPT) is none of rsocket(7).", name, (unsigned int)level);
	return rs_result(err, 0);
}
