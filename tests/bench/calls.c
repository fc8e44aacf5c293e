/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c - how many system calls an op takes: what latency and rate rest on, told without a clock. emu-calls [tcp]; with `tcp`
 * the neighbours are connected by TCP.
 *
 * This program's own syscall(), and send(), recv() and so on by way of it, take the place of libc's for the provider, too, and
 * count what the thread that posts and polls calls. Another thread's are not counted, nor those that find nothing while the
 * peer has its turn: both depend on the machine. A contended lock's futex does, too. Of sends, receives, wakes of the NIC thread
 * and looks the batch with the fewest is judged: a program that has had no core for a millisecond finds the NIC thread at work,
 * which it must wake, and has its bytes by the socket meanwhile; where the NIC thread then loses its core with the role, the
 * program looks until it has it back. A program that polls in time has the bytes by the ring, without a call; over TCP one send
 * and one receive are for many ops.
 *
 * With as many peers as ops outstanding, each op has another peer than the one before it. The peers are endpoints of one process,
 * and share sends and receives all the same.
 *
 * A program that blocks is to sleep once a round trip, and to be woken by the socket alone: completions that its own calls push
 * for it to read are not signalled. Nor is a timer to end its sleep soon: to set and clear one takes as long as to sleep. */
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "bench.h"
#include "tools/perf/core/fabric.h"

#define TOLD __attribute__((visibility("default")))

enum {
	ROUNDS = 8000,
	WINDOW = 64,
	WINDOWS = 800,
	BATCHES = 400, /* of at most as many ops as most[] allows one call for */
	SLEEPY_BATCHES = 80,
	WORD = 8,
	MANY = 64,
	SLEEPY_ROUNDS = 2000,
	PATIENCE_MS = 1000,
	NAP_MS = 10
};

enum call { SEND, RECEIVE, LOOK, NAP, WAKE, EMPTY, CALLS };

static const char *const call_names[CALLS] = {
	"sends", "receives", "epoll_waits", "short epoll_waits", "wake-ups", "eventfds emptied",
};
static _Thread_local bool counting;
static unsigned long counts[CALLS]; /* of the thread that counts */

static long count(enum call call, long rc)
{
	counts[call] += counting && rc > 0;
	return rc;
}

/* The provider's plain calls, and others' that come this way. As libc's it takes six arguments, whether there are as many or
 * not, which the sanitizer takes for an error. Of looks those count that find nothing, too. */
__attribute__((no_sanitize_address)) TOLD long syscall(long number, ...)
{
	static long (*libc)(long number, ...);
	long arg[6], rc;
	va_list list;

	if (!libc)
		libc = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	rc = libc(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	counts[LOOK] += counting && number == SYS_epoll_pwait;
	counts[NAP] += counting && number == SYS_epoll_pwait && (int)arg[3] > 0 && (int)arg[3] <= NAP_MS;
	if (number == SYS_sendto || number == SYS_sendmsg)
		count(SEND, rc);
	else if (number == SYS_recvfrom || number == SYS_recvmsg)
		count(RECEIVE, rc);
	else if (number == SYS_write) /* an eventfd, or libuv's way to wake its loop */
		count(WAKE, rc);
	else if (number == SYS_read)
		count(EMPTY, rc);
	return rc;
}

TOLD ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return syscall(SYS_sendmsg, fd, message, flags);
}

TOLD ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
	return syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0);
}

TOLD ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return syscall(SYS_recvmsg, fd, message, flags);
}

TOLD ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
	return syscall(SYS_recvfrom, fd, bytes, length, flags, NULL, NULL);
}

TOLD int epoll_wait(int set, struct epoll_event *events, int most, int timeout_ms)
{
	return (int)syscall(SYS_epoll_pwait, set, events, most, timeout_ms, NULL, 8);
}

TOLD int eventfd_write(int fd, eventfd_t value)
{
	return syscall(SYS_write, fd, &value, sizeof(value)) > 0 ? 0 : -1;
}

TOLD int eventfd_read(int fd, eventfd_t *value)
{
	return syscall(SYS_read, fd, value, sizeof(*value)) > 0 ? 0 : -1;
}

TOLD ssize_t write(int fd, const void *bytes, size_t length)
{
	return syscall(SYS_write, fd, bytes, length);
}

static struct fabric *open_world(enum fi_wait_obj wait, unsigned peers)
{
	struct fabric_world world = { .mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
				      .span = SPAN_MIN,
				      .wait = wait,
				      .peers = peers };
	struct fabric *f;
	char why[160];

	if (fabric_open(&f, "emu", &world, why, sizeof(why)))
		errx(1, "%s", why);
	return f;
}

static void show(const struct host *host, struct fabric *f)
{
	struct fabric_card own;

	if (fabric_card(f, &own) || !control_send(host, &own, sizeof(own)))
		errx(1, "an endpoint has no card");
}

static void meet(const struct host *host, struct fabric *f)
{
	struct fabric_card other;

	if (!control_receive(host, &other, sizeof(other)) || fabric_meet(f, &other))
		errx(1, "the two processes did not meet");
}

static struct fabric *open_side(const struct host *host, enum fi_wait_obj wait)
{
	struct fabric *f = open_world(wait, 0);

	show(host, f);
	meet(host, f);
	return f;
}

static void must_poll(struct fabric *f, struct patience *patience)
{
	int rc = fabric_poll(f);

	if (rc < 0 || (rc == 0 && !patience_left(patience)))
		errx(1, "no progress: %s", f->why);
}

static void write_word(struct fabric *f, uint64_t word)
{
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (f->pending)
		must_poll(f, &patience);
	memcpy(f->memory + f->span, &word, sizeof(word));
	while (fabric_write(f, 0, 0, sizeof(word)))
		must_poll(f, &patience);
}

static void await_word(struct fabric *f, uint64_t word)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	const _Atomic uint64_t *inbox = (const _Atomic uint64_t *)f->memory;

	while (atomic_load_explicit(inbox, memory_order_acquire) != word)
		must_poll(f, &patience);
}

static void pingpong(struct fabric *f, bool first, uint64_t from, uint64_t rounds)
{
	for (uint64_t word = from; word < from + rounds; word++) {
		if (!first)
			await_word(f, word);
		write_word(f, word);
		if (first)
			await_word(f, word);
	}
}

/* Each op of a window to the next peer. */
static void write_slot(struct fabric *f, size_t slot)
{
	if (f->peers_count > 1)
		fabric_turn(f, (unsigned)(slot % f->peers_count));
	if (fabric_write(f, slot * WORD, slot * WORD, WORD))
		errx(1, "a window of %d writes was not taken", WINDOW);
}

static void windows(struct fabric *f)
{
	for (int i = 0; i < WINDOWS / BATCHES; i++) {
		for (size_t slot = 0; slot < WINDOW; slot++)
			write_slot(f, slot);
		if (fabric_drain(f, HANG_GUARD_NS))
			errx(1, "%s", f->why);
	}
}

typedef int (*sleep_until)(struct fabric *f, int patience_ms);

static const struct {
	const char *name;
	sleep_until sleep;
	unsigned most[CALLS];
} sleeps[] = {
	{ "ping-pong in fi_cq_sread()", fabric_sread, { 110, 200, 120, 10, 2, 10 } },
	{ "ping-pong in poll()", fabric_wait_fd, { 110, 200, 10, 0, 2, 10 } },
};

enum { SLEEPS = sizeof(sleeps) / sizeof(sleeps[0]) };

static void tell_word(struct fabric *f, uint64_t word)
{
	size_t from = (size_t)(word % WINDOW) * WORD;
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (f->pending >= WINDOW / 2) /* no source word is touched again before its completion was read */
		must_poll(f, &patience);
	memcpy(f->memory + f->span + from, &word, sizeof(word));
	while (fabric_write_told(f, from, 0, sizeof(word)))
		must_poll(f, &patience);
}

static void sleep_for_word(struct fabric *f, sleep_until sleep, uint64_t word)
{
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (f->received == f->consumed)
		if (sleep(f, PATIENCE_MS) < 0 || !patience_left(&patience))
			errx(1, "word %llu did not come: %s", (unsigned long long)word, f->why);
	f->consumed++;
	if (memcmp(f->memory, &word, sizeof(word)))
		errx(1, "something else than word %llu came", (unsigned long long)word);
}

static void sleepy_pingpong(struct fabric *f, sleep_until sleep, bool first, uint64_t from, uint64_t rounds)
{
	for (uint64_t word = from; word < from + rounds; word++) {
		if (!first)
			sleep_for_word(f, sleep, word);
		tell_word(f, word);
		if (first)
			sleep_for_word(f, sleep, word);
	}
}

static void answer_asleep(const struct host *host)
{
	struct fabric *f = open_side(host, FI_WAIT_FD);

	for (int i = 0; i < SLEEPS; i++)
		sleepy_pingpong(f, sleeps[i].sleep, false, 1, 2 * SLEEPY_ROUNDS);
	if (fabric_drain(f, HANG_GUARD_NS))
		errx(1, "%s", f->why);
	fabric_close(f);
}

static void answer_many(const struct host *host)
{
	struct block rest = { .host = host };
	struct fabric *f[MANY];

	for (int i = 0; i < MANY; i++) {
		f[i] = open_world(FI_WAIT_NONE, 0);
		show(host, f[i]);
	}
	rest.fabric = f[0];
	meet(host, f[0]); /* the other side has begun */
	if (window_serve(&rest))
		errx(1, "%s", f[0]->why);
	for (int i = 0; i < MANY; i++)
		fabric_close(f[i]);
}

static int answer(const struct host *host)
{
	struct fabric *f = open_side(host, FI_WAIT_NONE);
	struct block rest = { .host = host, .fabric = f };

	pingpong(f, false, 1, 2 * ROUNDS);
	if (fabric_drain(f, HANG_GUARD_NS) || window_serve(&rest))
		errx(1, "%s", f->why);
	fabric_close(f);
	answer_many(host);
	answer_asleep(host);
	return 0;
}

static int failed;
static unsigned long seen;         /* sends */
static unsigned long total[CALLS]; /* of the batches so far, or as many times the fewest of any batch */

static bool is_by_fewest(enum call call)
{
	return call == SEND || call == RECEIVE || call == WAKE || call == LOOK;
}

static void batch_over(int nth)
{
	for (enum call call = 0; call < CALLS; call++) {
		unsigned long fewest = total[call] / (nth ? (unsigned)nth : 1);

		if (!nth || counts[call] < fewest)
			fewest = counts[call];
		total[call] = is_by_fewest(call) ? fewest * ((unsigned)nth + 1) : total[call] + counts[call];
	}
	memset(counts, 0, sizeof(counts));
}

/* most: in a hundred ops. */
static void judge(const char *what, unsigned long ops, const unsigned most[CALLS])
{
	for (int call = 0; call < CALLS; call++) {
		bool good = total[call] * 100 <= (unsigned long)most[call] * ops;

		printf("%s %s: %lu %s in %lu ops, at most %u in 100\n", good ? "ok" : "not ok", what, total[call], call_names[call],
		       ops, most[call]);
		failed |= !good;
	}
	seen += total[SEND];
	memset(total, 0, sizeof(total));
}

/* The most system calls that a spinning program may take. */
struct most {
	unsigned pingpong[CALLS], windows[CALLS], many[CALLS];
};

static const struct most most_by_ring = { { 10, 10, 0, 0, 2, 0 }, { 1, 1, 0, 0, 1, 0 }, { 10, 10, 200, 0, 1, 0 } };
static const struct most most_over_tcp = { { 110, 200, 0, 0, 2, 0 }, { 10, 10, 0, 0, 1, 0 }, { 10, 10, 200, 0, 1, 0 } };

static void judge_windows(struct fabric *f, const char *what, const unsigned most[CALLS])
{
	counting = true;
	for (int i = 0; i < BATCHES; i++) {
		windows(f);
		batch_over(i);
	}
	counting = false;
	judge(what, WINDOW * WINDOWS, most);
}

static void judge_many(const struct host *host, const unsigned most[CALLS])
{
	struct fabric *f = open_world(FI_WAIT_NONE, MANY);

	for (int i = 0; i < MANY; i++)
		meet(host, f);
	atomic_store(&host->shared->stop, 0);
	show(host, f);
	windows(f); /* the connections come up */
	judge_windows(f, "64 outstanding writes to 64 endpoints", most);
	atomic_store(&host->shared->stop, 1);
	fabric_close(f);
}

static void judge_awake(const struct host *host, const struct most *most)
{
	struct fabric *f = open_side(host, FI_WAIT_NONE);

	pingpong(f, true, 1, ROUNDS); /* the connection comes up, and the NIC thread has stood back */
	counting = true;
	for (int i = 0; i < BATCHES; i++) {
		pingpong(f, true, 1 + ROUNDS + (uint64_t)i * (ROUNDS / BATCHES), ROUNDS / BATCHES);
		batch_over(i);
	}
	counting = false;
	judge("ping-pong", ROUNDS, most->pingpong);
	judge_windows(f, "64 outstanding writes", most->windows);
	atomic_store(&host->shared->stop, 1);
	fabric_close(f);
}

static void judge_asleep(const struct host *host)
{
	struct fabric *f = open_side(host, FI_WAIT_FD);

	for (int i = 0; i < SLEEPS; i++) {
		sleepy_pingpong(f, sleeps[i].sleep, true, 1, SLEEPY_ROUNDS);
		counting = true;
		for (int batch = 0; batch < SLEEPY_BATCHES; batch++) {
			sleepy_pingpong(f, sleeps[i].sleep, true,
					1 + SLEEPY_ROUNDS + (uint64_t)batch * (SLEEPY_ROUNDS / SLEEPY_BATCHES),
					SLEEPY_ROUNDS / SLEEPY_BATCHES);
			batch_over(batch);
		}
		counting = false;
		judge(sleeps[i].name, SLEEPY_ROUNDS, sleeps[i].most);
	}
	if (fabric_drain(f, HANG_GUARD_NS))
		errx(1, "%s", f->why);
	fabric_close(f);
}

int main(int argc, char **argv)
{
	bool tcp = argc == 2 && !strcmp(argv[1], "tcp");
	struct host ends[2];
	int status;
	pid_t pid;

	if (argc > 1 + tcp)
		errx(2, "usage: emu-calls [tcp]");
	if (setenv("FI_EMU_LOCAL", tcp ? "tcp" : "unix", true))
		err(1, "setenv");
	host_pair(ends);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(answer(&ends[1]));
	}
	judge_awake(&ends[0], tcp ? &most_over_tcp : &most_by_ring);
	judge_many(&ends[0], tcp ? most_over_tcp.many : most_by_ring.many);
	judge_asleep(&ends[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "the other process failed");
	if (!seen)
		errx(1, "the provider's calls are not seen");
	return failed;
}
