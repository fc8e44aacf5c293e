/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_life.c - rsockets are made, bound, named, shut down and closed. */
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "emu/cm/rsocket/rs_dgram.h"

/* --- made --- */

int rsocket(int domain, int type, int protocol)
{
	struct rsocket *rs;
	int err, number;

	if (domain != AF_INET && domain != AF_INET6) {
		vb_inform("rsocket", "domain %d (EAFNOSUPPORT): rsockets are of PF_INET and PF_INET6.", domain);
		return rs_result(EAFNOSUPPORT, -1);
	}
	/* Also with SOCK_CLOEXEC or SOCK_NONBLOCK, as with rdma-core: then librspreload leaves the program one of the
	 * kernel's. The sockets of emu itself are such ones. */
	if (type != SOCK_STREAM && type != SOCK_DGRAM)
		return vb_absent("rsocket", "type 0x%x (EOPNOTSUPP): it is SOCK_STREAM or SOCK_DGRAM, without flags.",
				 (unsigned int)type),
		       -1;
	if (protocol && protocol != (type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP)) {
		vb_inform("rsocket", "protocol %d (EPROTONOSUPPORT): it is %s or 0.", protocol,
			  type == SOCK_STREAM ? "IPPROTO_TCP" : "IPPROTO_UDP");
		return rs_result(EPROTONOSUPPORT, -1);
	}
	rs = rs_new((sa_family_t)domain);
	if (!rs)
		return vb_refuse(errno, "rsocket", "no memory or no descriptor for an rsocket. Raise RLIMIT_NOFILE."), -1;
	if (type == SOCK_DGRAM)
		err = rs_dgram_open(rs);
	else
		err = rdma_create_id(rs->channel, &rs->id, rs, RDMA_PS_TCP) ? errno : 0;
	number = rs->fd;
	if (err)
		(void)rs_unlist(rs);
	rs_leave(rs);
	return rs_result(err, number);
}

static int set_flag(struct rsocket *rs, int option, int value)
{
	return !value || !rdma_set_option(rs->id, RDMA_OPTION_ID, option, &value, sizeof(value)) ? 0 : errno;
}

static int bind_locked(struct rsocket *rs, const struct sockaddr *at)
{
	int err = set_flag(rs, RDMA_OPTION_ID_REUSEADDR, rs->options.reuse);

	if (!err)
		err = set_flag(rs, RDMA_OPTION_ID_AFONLY, rs->options.v6_only);
	if (!err && rdma_bind_addr(rs->id, (struct sockaddr *)(uintptr_t)at))
		err = errno;
	return err;
}

int rbind(int fd, const struct sockaddr *at, socklen_t length)
{
	struct rsocket *rs = rs_hold(fd);
	int err;

	if (!rs)
		return -1;
	if (!at || length < rs_address_least(rs))
		err = vb_refuse(EINVAL, "rbind", "addr is NULL, or addrlen is not that of an address of the rsocket's domain.");
	else if (at->sa_family != rs->family)
		err = vb_refuse(EAFNOSUPPORT, "rbind", "the address is of family %d, and the rsocket of %d.", at->sa_family,
				rs->family);
	else if (rs->dgram)
		err = rs_dgram_bind(rs, at, length);
	else if (rs->state != RS_FRESH)
		err = vb_refuse(EINVAL, "rbind", "the rsocket listens or connects. Bind it before.");
	else
		err = bind_locked(rs, at);
	rs_leave(rs);
	return rs_result(err, 0);
}

int rlisten(int fd, int backlog)
{
	const struct sockaddr_storage any = { .ss_family = AF_INET6 };
	struct rsocket *rs = rs_hold(fd);
	int err = 0;

	if (!rs)
		return -1;
	if (rs->dgram) {
		err = vb_refuse(EOPNOTSUPP, "rlisten", "the rsocket is one for datagrams.");
	} else if (rs->state == RS_FRESH) {
		if (rs->family == AF_INET6 && !rs->id->route.addr.src_addr.sa_family)
			err = bind_locked(rs, (const struct sockaddr *)&any);
		if (!err)
			err = rdma_listen(rs->id, backlog) ? errno : 0;
		if (!err)
			rs_enter(rs, RS_LISTENING);
	} else if (rs->state != RS_LISTENING) {
		err = vb_refuse(EINVAL, "rlisten", "the rsocket connects, or is connected.");
	}
	rs_leave(rs);
	return rs_result(err, 0);
}

/* --- named --- */

static int give_address(const struct sockaddr_storage *has, sa_family_t family, struct sockaddr *at, socklen_t *length)
{
	const struct sockaddr_storage none = { .ss_family = family };
	socklen_t whole = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

	if (!length || (!at && *length))
		return EFAULT;
	if (at)
		memcpy(at, has->ss_family ? has : &none, rs_least(*length, whole));
	*length = whole;
	return 0;
}

int rgetsockname(int fd, struct sockaddr *at, socklen_t *length)
{
	struct rsocket *rs = rs_hold(fd);
	struct sockaddr_storage own;
	int err;

	if (!rs)
		return -1;
	err = rs->dgram ? rs_dgram_name(rs, &own) : 0;
	if (!err)
		err = give_address(rs->dgram ? &own : &rs->id->route.addr.src_storage, rs->family, at, length);
	rs_leave(rs);
	return rs_result(err, 0);
}

/* Or it was: its peer's name stays. */
static bool is_connected(const struct rsocket *rs)
{
	if (rs->dgram)
		return rs->dgram->connected;
	return rs->state == RS_ACCEPTED || rs->state == RS_UP || (rs->state == RS_OVER && rs->connected);
}

int rgetpeername(int fd, struct sockaddr *at, socklen_t *length)
{
	struct rsocket *rs = rs_hold(fd);
	int err;

	if (!rs)
		return -1;
	rs_look(rs);
	err = is_connected(rs) ? give_address(&rs->peer, rs->family, at, length) : ENOTCONN;
	rs_leave(rs);
	return rs_result(err, 0);
}

int rfcntl(int fd, int command, ...)
{
	struct rsocket *rs = rs_hold(fd);
	int err = 0, value = 0;
	va_list list;
	long arg;

	if (!rs)
		return -1;
	va_start(list, command);
	arg = command == F_SETFL || command == F_SETFD ? va_arg(list, long) : 0;
	va_end(list);
	switch (command) {
	case F_GETFL:
		value = O_RDWR | (rs->nonblocking ? O_NONBLOCK : 0);
		break;
	case F_SETFL:
		rs->nonblocking = arg & O_NONBLOCK;
		break;
	case F_GETFD:
	case F_SETFD:
		value = fcntl(fd, command, (int)arg);
		err = value < 0 ? errno : 0;
		break;
	default:
		err = vb_absent("rfcntl", "command %d: it takes F_GETFL, F_SETFL, F_GETFD and F_SETFD.", command);
		break;
	}
	rs_leave(rs);
	return rs_result(err, value);
}

/* --- shut down --- */

static bool end_is_said(const struct rsocket *rs)
{
	return rs->end_said || rs->leave_heard || rs->state != RS_UP;
}

int rshutdown(int fd, int how)
{
	struct rsocket *rs = rs_hold(fd);
	int err = 0;

	if (!rs)
		return -1;
	rs_look(rs);
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		err = EINVAL;
	else if (!is_connected(rs))
		err = ENOTCONN;
	if (!err) {
		rs->reads_end |= how != SHUT_WR;
		rs->sends_end |= how != SHUT_RD;
		rs_say_due(rs);
		rs_ring(rs);
	}
	if (!err && how != SHUT_RD && !rs->nonblocking)
		err = rs_await(rs, end_is_said, true, -1);
	rs_leave(rs);
	return rs_result(err, 0);
}

/* --- closed --- */

/* All that was sent has arrived, or will not. */
static bool is_drained(const struct rsocket *rs)
{
	return rs->state != RS_ACCEPTED && ((rs->state != RS_UP && !rs->dgram) || !rs->sent_count);
}

static void drain_sends(struct rsocket *rs)
{
	const struct linger *linger = &rs->options.linger;
	int64_t most_ms = linger->l_onoff ? linger->l_linger * INT64_C(1000) : RS_DRAIN_MS;

	if (linger->l_onoff && linger->l_linger <= 0)
		return;
	rs->reads_end = rs->sends_end = true;
	rs_say_due(rs);
	if (rs->state == RS_ACCEPTED)
		(void)rs_await(rs, is_drained, true, most_ms > RS_MEET_MS ? RS_MEET_MS : most_ms);
	if (rs->state == RS_UP || rs->dgram)
		while (rs_await(rs, is_drained, true, most_ms) == EINTR)
			;
}

int rclose(int fd)
{
	struct rsocket *rs = rs_hold(fd);

	if (!rs)
		return -1;
	if (!rs_unlist(rs)) {
		rs_leave(rs);
		return rs_result(EBADF, -1);
	}
	drain_sends(rs);
	rs->closing = true;
	if (rs->connected)
		(void)rdma_disconnect(rs->id);
	rs_ring(rs);
	rs_leave(rs);
	return 0;
}
