/* SPDX-License-Identifier: BSD-2-Clause */
/* test_local.c - streams between neighbours: when they go by a Unix socket, and when by TCP (WIRE-38). Tests for both are in
 * test_lines.c, which is part of this program. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/link/local.h"
#include "emu/net/os/fork.h"
#include "pairs.h"

enum { SOMEBODY = 65534 }; /* neither root nor, most likely, the user that runs this */

const bool local = true;

static bool stranger; /* the other end of every Unix socket belongs to another user */

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length);

static bool is_listening(int fd)
{
	socklen_t length = sizeof(int);
	int listens = 0;

	return !__real_getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) && listens;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	int err = __real_getsockopt(fd, level, name, value, length);

	if (!err && stranger && level == SOL_SOCKET && name == SO_PEERCRED && !is_listening(fd))
		((struct ucred *)value)->uid++;
	return err;
}

TestSuite(local, .init = open_link, .fini = close_link);

static struct sockaddr_un name_at(const char *text)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s", text);
	return name;
}

static socklen_t name_length(const struct sockaddr_un *name)
{
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name->sun_path + 1));
}

static int unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* 0 or a positive errno. */
static int take_name(int fd, const char *text)
{
	struct sockaddr_un name = name_at(text);

	return bind(fd, (struct sockaddr *)&name, name_length(&name)) ? errno : 0;
}

static int connect_to(int fd, const char *text)
{
	struct sockaddr_un name = name_at(text);

	return connect(fd, (struct sockaddr *)&name, name_length(&name)) ? errno : 0;
}

/* The name of 127.0.0.1 at the listener's port. */
static const char *name_of_listener(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "emu-127.0.0.1:%u", ntohs(((struct sockaddr_in *)&at)->sin_port));
	return text;
}

static void need_another_user(void)
{
	if (geteuid() || seteuid(SOMEBODY) || seteuid(0))
		cr_skip_test("takes root, to be another user");
}

static void expect_tcp(void)
{
	struct conn *one, *two;

	pair(&one, &two);
	cr_assert(!is_unix(one->line) && !is_unix(two->line));
	send_text(one, "by TCP");
	expect_text(two, "by TCP");
}

/* Opens the listener again, at the same port, with the name taken. Returns the socket that has it, bound, not listening. */
static int listen_without_name(void)
{
	int fd = unix_socket();

	tcp_link.unlisten(tcp, listener);
	cr_assert_eq(take_name(fd, name_of_listener()), 0);
	listen_at("127.0.0.1");
	cr_assert_eq(((struct listener *)listener)->local, -1);
	return fd;
}

Test(local, who_listens_without_a_name_is_reached_by_tcp)
{
	tcp->config.local = false;
	tcp_link.unlisten(tcp, listener);
	listen_at("127.0.0.1");
	tcp->config.local = true;
	expect_tcp();
}

Test(local, who_keeps_to_tcp_dials_no_name)
{
	tcp->config.local = false;
	expect_tcp();
}

Test(local, name_that_is_taken_keeps_no_listener_from_opening)
{
	int fd;

	cr_assert_eq(log_lines, 0);
	fd = listen_without_name();
	cr_assert_eq(log_lines, 1, "it is said");
	expect_tcp();
	close(fd);
}

/* The process that has it may be stopped, or may not want any peer. */
Test(local, full_backlog_is_passed_by)
{
	int fd = listen_without_name(), waiting[8], count = 0, err = 0;

	cr_assert_eq(listen(fd, 0), 0);
	while (!err && count < 8) {
		waiting[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		err = connect_to(waiting[count++], name_of_listener());
	}
	cr_assert_eq(err, EAGAIN);
	expect_tcp();
}

Test(local, name_of_another_user_is_not_believed)
{
	stranger = true;
	expect_tcp();
}

/* The same with one that is. */
Test(local, name_of_nobody_is_not_believed_by_root)
{
	int ready[2], fd = unix_socket(), status;
	char byte;
	pid_t child;

	need_another_user();
	tcp_link.unlisten(tcp, listener);
	cr_assert_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		if (setuid(SOMEBODY) || take_name(fd, name_of_listener()) || listen(fd, 8))
			_exit(1);
		close(ready[1]);
		_exit(recv(accept(fd, NULL, NULL), &byte, 1, 0) == 0 ? 0 : 2);
	}
	close(fd);
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 0);
	listen_at("127.0.0.1");
	expect_tcp();
	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "it was tried, and left: %d", WEXITSTATUS(status));
}

static void expect_turned_away(int fd)
{
	char byte;

	await(tcp_listen_fd(tcp));
	cr_assert(tcp_accept(tcp));
	cr_assert_eq(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
	cr_assert_eq(ep.accepted + ep.refused, 0, "the device is not even asked");
}

Test(local, another_user_is_turned_away)
{
	int fd = unix_socket();

	stranger = true;
	cr_assert_eq(connect_to(fd, name_of_listener()), 0);
	expect_turned_away(fd);
}

/* The same with one that is: a socket's user is the one that connected it. */
Test(local, nobody_is_turned_away_by_root)
{
	int fd = unix_socket();

	need_another_user();
	cr_assert_eq(seteuid(SOMEBODY), 0);
	cr_assert_eq(connect_to(fd, name_of_listener()), 0);
	cr_assert_eq(seteuid(0), 0);
	expect_turned_away(fd);
}

/* A process that has listened as root, and is another user now, is root to its dialling peers: so it must be to itself. */
Test(local, user_is_the_one_who_listened)
{
	struct conn *one, *two;

	need_another_user();
	two = ep.accepts[0] = conn_make(&tcp_link);
	one = dial();
	finish(one);
	cr_assert_eq(seteuid(SOMEBODY), 0);
	await(tcp_listen_fd(tcp));
	cr_assert(tcp_accept(tcp));
	cr_assert_eq(seteuid(0), 0);
	cr_assert(ep.accepted == 1 && is_unix(two->line));
}

/* Of a file that was sent the kernel would close the last copy here, which may take as long as the sender likes. */
Test(local, takes_no_descriptors)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (char[1]){ 0 }, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct conn *one, *two;
	int fd = unix_socket(), value;
	socklen_t length = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, &length))
		cr_skip_test("this kernel lets nobody refuse them");
	pair(&one, &two);
	send_text(two, "with a segment");
	expect_text(one, "with a segment");
	cr_assert(sendmsg(one->line->fd, &message, 0) == -1 && errno == EPERM, "to who accepted");
	cr_assert(sendmsg(two->line->fd, &message, 0) == -1 && errno == EPERM, "to who dialled");
	cr_assert_eq(connect_to(fd, name_of_listener()), 0);
	cr_assert(sendmsg(fd, &message, 0) == -1 && errno == EPERM, "to who has not been accepted yet");
}

/* WIRE-38, to the letter: others may have written the peer. */
Test(local, names)
{
	static const struct {
		const char *address;
		unsigned scope;
		const char *name;
	} of[] = {
		{ "192.0.2.7", 0, "emu-192.0.2.7:4711" },
		{ "fe80::1", 2, "emu-[fe80::1%2]:4711" },
		{ "2001:db8::7", 0, "emu-[2001:db8::7%0]:4711" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", UINT32_MAX,
		  "emu-[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:4711" },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct sockaddr_storage address = { 0 };
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;
		struct sockaddr_in *in = (struct sockaddr_in *)&address;
		bool six = strchr(of[i].address, ':');
		int fd, peer = unix_socket();

		address.ss_family = six ? AF_INET6 : AF_INET;
		inet_pton(address.ss_family, of[i].address, six ? (void *)&in6->sin6_addr : (void *)&in->sin_addr);
		in->sin_port = htons(4711); /* at the same place in both */
		if (six)
			in6->sin6_scope_id = of[i].scope;
		fd = local_listen(&address, 8);
		cr_assert(fd >= 0, "%s: %d", of[i].name, fd);
		cr_assert_eq(local_listen(&address, 8), -EADDRINUSE);
		cr_assert_eq(connect_to(peer, of[i].name), 0, "%s", of[i].name);
		close(fd);
		close(peer);
	}
}

Test(local, name_goes_with_the_listener)
{
	struct conn *one, *two;
	int fd = unix_socket();

	pair(&one, &two);
	cr_assert(is_unix(two->line));
	cr_assert_eq(take_name(fd, name_of_listener()), EADDRINUSE);
	tcp_link.unlisten(tcp, listener);
	cr_assert_eq(take_name(fd, name_of_listener()), 0, "also while a stream stays that was accepted by it");
	send_text(one, "stays");
	expect_text(two, "stays");
}

static int lowest_free_descriptor(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	close(fd);
	return fd;
}

/* A dial that is refused says where on this machine the port is open. */
Test(local, addresses_with_the_same_port)
{
	struct sockaddr_storage other = at;
	struct sockaddr_in *in = (struct sockaddr_in *)&other;
	int before = lowest_free_descriptor();
	char text[256];

	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	cr_assert(local_elsewhere(&other, text, sizeof(text)));
	cr_assert_str_eq(text, name_of_listener() + strlen("emu-"));
	cr_assert_not(local_elsewhere(&at, text, sizeof(text)), "%s", text);
	cr_assert_eq(inet_pton(AF_INET, "192.0.2.7", &in->sin_addr), 1);
	cr_assert_not(local_elsewhere(&other, text, sizeof(text)), "peers of this machine are not those of another: %s", text);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	in->sin_port = htons(1);
	cr_assert_not(local_elsewhere(&other, text, sizeof(text)), "%s", text);
	cr_assert_eq(lowest_free_descriptor(), before, "a descriptor is left");
}

/* Otherwise a peer that dials would come to a listener that no thread serves. */
Test(local, forks_child_keeps_no_name)
{
	int told[2], up[2], status;
	char byte = 0;
	pid_t child;

	cr_assert(!pipe(told) && !pipe(up) && !fork_open());
	fork_watch(tcp_listen_fd(tcp));
	child = fork();
	if (child == 0) {
		close(told[1]);
		_exit(write(up[1], &byte, 1) == 1 && read(told[0], &byte, 1) == 0 ? 0 : 1);
	}
	cr_assert_eq(read(up[0], &byte, 1), 1);
	tcp_link.unlisten(tcp, listener);
	cr_assert_eq(local_dial(&at), -ECONNREFUSED);
	close(told[1]);
	cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The last descriptor is for TCP, by which every peer can come. */
Test(local, last_descriptor_is_not_for_a_name)
{
	struct rlimit old, limit;
	int next;

	tcp_link.unlisten(tcp, listener);
	next = dup(0);
	close(next);
	getrlimit(RLIMIT_NOFILE, &old);
	limit = (struct rlimit){ (rlim_t)next + 1, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &limit);
	listen_at("127.0.0.1");
	cr_assert_eq(local_dial(&at), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &old);
	cr_assert_eq(((struct listener *)listener)->local, -1);
	expect_tcp();
}

/* Put away, so that 0 is free again. */
static int was_zero(int fd)
{
	int other = dup(0);

	cr_assert_eq(fd, 0);
	close(0);
	return other;
}

/* A daemon has closed it, and a socket gets its number. */
Test(local, works_without_standard_input)
{
	int listening, one;

	close(0);
	cr_assert(is_unix(dial()->line));
	cr_assert_eq(close(0), 0);
	tcp_link.unlisten(tcp, listener);
	errno = ENOENT;
	listening = was_zero(local_listen(&at, 8));
	one = was_zero(local_dial(&at));
	close(was_zero(local_accept(listening)));
	close(one);
	one = was_zero(local_dial(&at));
	stranger = true;
	cr_assert(local_accept(listening) == -1 && errno == ECONNABORTED);
	close(one);
	close(listening);
}

/* Few lines are asked one by one, but not this one: the set would have something for ever. */
Test(local, deaf_line_is_told_that_its_peer_went_away)
{
	struct conn *one, *two;

	pair(&one, &two);
	tcp_link.set_readable(two->line, false);
	tcp_link.close(one->line);
	while (!two->downs)
		next_events();
	cr_assert_eq(two->error, ECONNRESET);
}

/* Sent bytes are with the peer at once, and it reads them when it likes. No exit waits for that, as one does for TCP's answers. */
Test(local, does_not_linger)
{
	struct conn *one, *two;

	pair(&one, &two);
	send_text(one, "read later");
	tcp_link.close(one->line);
	cr_assert_eq(kicks, 0);
	cr_assert_not(tcp_tick(tcp));
	expect_text(two, "read later");
	expect_end(two);
}

static int send_room(int fd)
{
	socklen_t length = sizeof(int);
	int bytes;

	cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &length), 0);
	return bytes;
}

/* At both ends alike, and not what every socket has. */
Test(local, has_a_room_of_its_own)
{
	struct conn *one, *two;
	int fd = unix_socket();

	pair(&one, &two);
	cr_assert_eq(send_room(one->line->fd), send_room(two->line->fd));
	cr_assert_neq(send_room(one->line->fd), send_room(fd));
}

/* As if so many ticks had seen the neighbour take nothing. */
static void pass_silence(struct line *line)
{
	line->stalled_ticks += TIME_SILENCE_NS / TIME_MS(TCP_TICK_MS);
}

static void read_some(struct conn *conn)
{
	static char bytes[128 << 10];

	cr_assert_gt(recv(conn->line->fd, bytes, sizeof(bytes), 0), 0);
}

Test(local, neighbour_who_takes_nothing_is_given_up)
{
	struct conn *one, *two;

	pair(&one, &two);
	fill(one);
	tcp_link.want_write(one->line);
	cr_assert_not(tcp_drop_stuck(tcp), "it has just been seen");
	pass_silence(one->line);
	read_some(two);
	cr_assert_not(tcp_drop_stuck(tcp), "it reads, if slowly");
	pass_silence(one->line);
	cr_assert_eq(one->downs, 0);
	cr_assert(tcp_drop_stuck(tcp));
	cr_assert_eq(one->downs, 1);
	cr_assert_eq(one->error, ETIMEDOUT);
	tcp_link.close(one->line);
	cr_assert_not(tcp_drop_stuck(tcp));
}

/* FI_EMU_TIMEOUT_MS. */
Test(local, silence_may_be_shorter)
{
	struct conn *one, *two;

	pair(&one, &two);
	tcp->config.silence_ns = TIME_MS(2 * TCP_TICK_MS);
	fill(one);
	tcp_link.want_write(one->line);
	cr_assert_not(tcp_drop_stuck(tcp), "from now on");
	cr_assert_not(tcp_drop_stuck(tcp));
	cr_assert(tcp_drop_stuck(tcp));
	cr_assert_eq(one->error, ETIMEDOUT);
}

Test(local, neighbour_may_read_later_what_it_has)
{
	struct conn *one, *two;

	pair(&one, &two);
	tcp->config.silence_ns = 1;
	send_text(one, "no hurry");
	for (int i = 0; i < 3; i++)
		cr_assert_not(tcp_drop_stuck(tcp));
}

/* Time counts while bytes wait, and from then on. */
Test(local, neighbour_for_whom_nothing_waits_may_be_silent)
{
	struct conn *one, *two;
	size_t sent;

	pair(&one, &two);
	sent = fill(one);
	tcp_link.want_write(one->line);
	cr_assert_not(tcp_drop_stuck(tcp));
	pass_silence(one->line);
	drain(two, sent);
	cr_assert_eq(one->writables, 1);
	cr_assert_not(tcp_drop_stuck(tcp));
	fill(one);
	cr_assert_not(tcp_drop_stuck(tcp));
	tcp_link.want_write(one->line);
	cr_assert_not(tcp_drop_stuck(tcp), "a new wait");
	cr_assert_eq(one->downs, 0);
}

/* The link asks for ticks when it needs them, once. */
Test(local, ticks_are_asked_for_while_bytes_wait)
{
	struct conn *one, *two;
	size_t sent;

	pair(&one, &two);
	for (int i = 1; i <= 2; i++) {
		cr_assert_not(tcp_tick(tcp));
		sent = fill(one);
		cr_assert_eq(kicks, i - 1);
		tcp_link.want_write(one->line);
		cr_assert_eq(kicks, i);
		cr_assert(tcp_tick(tcp));
		drain(two, sent);
		sent = fill(one);
		tcp_link.want_write(one->line);
		cr_assert_eq(kicks, i, "the ticks go on");
		drain(two, sent);
	}
}
