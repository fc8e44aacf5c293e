/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_data.c - the stream is sent and received. */
#include <limits.h>
#include <string.h>
#include <sys/uio.h>

#include "emu/cm/rsocket/rs_dgram.h"

enum {
	SEND_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_WAITALL,
	RECEIVE_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK | MSG_WAITALL | MSG_CMSG_CLOEXEC,
};

/* A place in the memory of a call. */
struct rs_cursor {
	const struct iovec *iov;
	size_t at;   /* in the first one */
	size_t left; /* of all */
};

int rs_check_flags(int flags, int known, const char *call)
{
	return flags & ~known
		       ? vb_refuse(EOPNOTSUPP, call, "flags 0x%x are not supported (rsocket(7)).", (unsigned int)(flags & ~known))
		       : 0;
}

static int cursor_init(struct rs_cursor *cursor, const struct iovec *iov, size_t count)
{
	*cursor = (struct rs_cursor){ .iov = iov };
	if (count > IOV_MAX)
		return EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len > SSIZE_MAX - cursor->left)
			return EINVAL;
		cursor->left += iov[i].iov_len;
	}
	return 0;
}

/* The bytes that are next in one piece. */
static uint8_t *cursor_piece(struct rs_cursor *cursor, size_t *length)
{
	while (cursor->at == cursor->iov->iov_len) {
		cursor->iov++;
		cursor->at = 0;
	}
	*length = cursor->iov->iov_len - cursor->at;
	return (uint8_t *)cursor->iov->iov_base + cursor->at;
}

static void cursor_skip(struct rs_cursor *cursor, size_t length)
{
	cursor->at += length;
	cursor->left -= length;
}

static void cursor_take(void *arg, void *to, uint32_t length)
{
	struct rs_cursor *from = arg;
	uint8_t *at = to;

	while (length) {
		size_t piece;
		const uint8_t *bytes = cursor_piece(from, &piece);
		uint32_t part = rs_least(piece, length);

		memcpy(at, bytes, part);
		cursor_skip(from, part);
		at += part;
		length -= part;
	}
}

static void cursor_give(struct rs_cursor *to, const uint8_t *from, uint32_t length)
{
	while (length) {
		size_t piece;
		uint8_t *bytes = cursor_piece(to, &piece);
		uint32_t part = rs_least(piece, length);

		memcpy(bytes, from, part);
		cursor_skip(to, part);
		from += part;
		length -= part;
	}
}

/* --- sent --- */

int rs_send_error(struct rsocket *rs)
{
	int err = rs->error;

	if (rs->closing)
		return EBADF;
	if (rs->state == RS_FRESH || rs->state == RS_LISTENING)
		return ENOTCONN;
	if (rs->state != RS_OVER)
		return rs->sends_end || rs->leave_heard ? EPIPE : 0;
	rs->error = 0;
	return err ? err : EPIPE;
}

static bool send_need_not_wait(const struct rsocket *rs)
{
	return rs_can_send(rs) || rs->sends_end || rs->leave_heard ||
	       (rs->state != RS_UP && rs->state != RS_ACCEPTED && rs->state != RS_CONNECTING);
}

/* msg_name is where a datagram goes; a stream leaves it out. */
static ssize_t send_msg(int fd, const struct msghdr *msg, int flags, const char *call)
{
	struct rs_cursor from;
	struct rsocket *rs = rs_hold(fd);
	bool blocks;
	size_t whole;
	int err;

	if (!rs)
		return -1;
	err = rs_check_flags(flags, SEND_FLAGS, call);
	if (!err)
		err = cursor_init(&from, msg->msg_iov, msg->msg_iovlen);
	whole = err ? 0 : from.left;
	blocks = !rs->nonblocking && !(flags & MSG_DONTWAIT);
	if (!err && rs->dgram) {
		err = rs_dgram_send(rs, whole, msg->msg_name, msg->msg_namelen, blocks, cursor_take, &from);
		rs_leave(rs);
		return err ? rs_result(err, -1) : (ssize_t)whole;
	}
	if (!err)
		err = rs_send_error(rs);
	while (!err && from.left) {
		err = rs_await(rs, send_need_not_wait, blocks, -1);
		if (!err)
			err = rs_send_error(rs);
		if (!err)
			(void)rs_post(rs, rs_least(from.left, UINT32_MAX), NULL, cursor_take, &from);
	}
	rs_leave(rs);
	if (err && (!whole || from.left == whole)) {
		errno = err;
		return -1;
	}
	return (ssize_t)(whole - (whole ? from.left : 0));
}

static bool is_stream(int fd)
{
	struct rsocket *rs = rs_get(fd);
	bool is = rs && !rs->dgram;

	if (rs)
		rs_put(rs);
	return is;
}

ssize_t rsendto(int fd, const void *buf, size_t length, int flags, const struct sockaddr *to, socklen_t to_length)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = length };
	const struct msghdr msg = { .msg_name = (void *)(uintptr_t)to, .msg_namelen = to_length, .msg_iov = &iov, .msg_iovlen = 1 };

	if ((to || to_length) && is_stream(fd))
		return rs_result(vb_refuse(EISCONN, "rsendto", "a stream takes no address."), -1);
	return send_msg(fd, &msg, flags, to ? "rsendto" : "rsend");
}

ssize_t rsend(int fd, const void *buf, size_t length, int flags)
{
	return rsendto(fd, buf, length, flags, NULL, 0);
}

ssize_t rsendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (msg->msg_control && msg->msg_controllen)
		return vb_absent("rsendmsg", "it sends no control messages (msg_control)."), -1;
	return send_msg(fd, msg, flags, "rsendmsg");
}

ssize_t rwrite(int fd, const void *buf, size_t length)
{
	return rsend(fd, buf, length, 0);
}

ssize_t rwritev(int fd, const struct iovec *iov, int count)
{
	const struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = count < 0 ? SIZE_MAX : (size_t)count };

	return send_msg(fd, &msg, 0, "rwritev");
}

/* --- received --- */

bool rs_can_read(const struct rsocket *rs)
{
	if (rs->dgram)
		return rs->dgram->first || rs->reads_end || rs->closing || rs->error;
	return rs->unread || rs->end_heard || rs->reads_end || rs->closing ||
	       (rs->state != RS_UP && rs->state != RS_ACCEPTED && rs->state != RS_CONNECTING);
}

static void read_ring(struct rsocket *rs, struct rs_cursor *to, bool peek)
{
	uint32_t left = rs_least(rs->unread, to->left), at = rs->read_at;

	if (!peek) {
		rs->unread -= left;
		rs->room_owed += left;
		rs->read_at = (rs->read_at + left) % rs->ring_size;
	}
	while (left) {
		uint32_t part = rs_least(left, rs->ring_size - at);

		cursor_give(to, rs->ring + at, part);
		at = (at + part) % rs->ring_size;
		left -= part;
	}
	if (!peek)
		rs_say_due(rs);
}

/* At the end of what may be read: 0 is the end of the stream. */
static int read_end(struct rsocket *rs)
{
	int err = rs->error;

	if (rs->closing)
		return EBADF;
	if (rs->state == RS_FRESH || rs->state == RS_LISTENING || (rs->state == RS_OVER && !rs->connected && !err))
		return ENOTCONN;
	if (rs->state == RS_OVER)
		rs->error = 0;
	return rs->state == RS_OVER ? err : 0;
}

/* Locked: the next one, with its sender's address; what there is no place for is lost. After the end there is one of no bytes. */
static int receive_datagram(struct rsocket *rs, struct rs_cursor *to, struct msghdr *msg, int flags, bool blocks)
{
	const struct rs_message *message;
	int err = rs_await(rs, rs_can_read, blocks, -1);
	uint32_t length;

	message = rs->dgram->first;
	if (!err && !message) {
		err = rs->closing ? EBADF : rs->error;
		rs->error = 0;
	}
	if (err || !message)
		return err;
	length = rs_least(message->length, to->left);
	cursor_give(to, message->bytes, length);
	msg->msg_flags = length < message->length ? MSG_TRUNC : 0;
	if (msg->msg_name)
		memcpy(msg->msg_name, &message->from, rs_least(msg->msg_namelen, rs_address_least(rs)));
	msg->msg_namelen = rs_address_least(rs);
	if (!(flags & MSG_PEEK))
		rs_dgram_received(rs);
	return 0;
}

static ssize_t receive_msg(int fd, struct msghdr *msg, int flags, const char *call)
{
	struct rs_cursor to;
	struct rsocket *rs = rs_hold(fd);
	size_t whole = 0;
	bool ends = false, blocks;
	int err;

	if (!rs)
		return -1;
	err = rs_check_flags(flags, RECEIVE_FLAGS, call);
	if (!err)
		err = cursor_init(&to, msg->msg_iov, msg->msg_iovlen);
	if (!err)
		whole = to.left;
	blocks = !rs->nonblocking && !(flags & MSG_DONTWAIT);
	msg->msg_controllen = 0;
	msg->msg_flags = 0;
	if (!err && rs->dgram) {
		err = receive_datagram(rs, &to, msg, flags, blocks);
		rs_leave(rs);
		return err ? rs_result(err, -1) : (ssize_t)(whole - to.left);
	}
	msg->msg_namelen = 0;
	while (!err && !ends && to.left) {
		err = rs_await(rs, rs_can_read, blocks, -1);
		if (err)
			break;
		ends = !rs->unread || !(flags & MSG_WAITALL) || flags & MSG_PEEK;
		if (rs->unread)
			read_ring(rs, &to, flags & MSG_PEEK);
		else if (to.left == whole)
			err = read_end(rs);
	}
	rs_leave(rs);
	if (err && (!whole || to.left == whole)) {
		errno = err;
		return -1;
	}
	return (ssize_t)(whole - (whole ? to.left : 0));
}

ssize_t rrecv(int fd, void *buf, size_t length, int flags)
{
	struct iovec iov = { .iov_base = buf, .iov_len = length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return receive_msg(fd, &msg, flags, "rrecv");
}

ssize_t rrecvfrom(int fd, void *buf, size_t length, int flags, struct sockaddr *from, socklen_t *from_length)
{
	struct iovec iov = { .iov_base = buf, .iov_len = length };
	bool named = from && from_length;
	struct msghdr msg = {
		.msg_name = named ? from : NULL, .msg_namelen = named ? *from_length : 0, .msg_iov = &iov, .msg_iovlen = 1
	};
	ssize_t n = receive_msg(fd, &msg, flags, "rrecvfrom");

	if (n >= 0 && named && msg.msg_namelen)
		*from_length = msg.msg_namelen;
	else if (n > 0 && named)
		(void)rgetpeername(fd, from, from_length);
	return n;
}

ssize_t rrecvmsg(int fd, struct msghdr *msg, int flags)
{
	return receive_msg(fd, msg, flags, "rrecvmsg");
}

ssize_t rread(int fd, void *buf, size_t length)
{
	return rrecv(fd, buf, length, 0);
}

ssize_t rreadv(int fd, const struct iovec *iov, int count)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = count < 0 ? SIZE_MAX : (size_t)count };

	return receive_msg(fd, &msg, 0, "rreadv");
}
