/* SPDX-License-Identifier: BSD-2-Clause */
/* net.c - the process's one NIC: made at first use, at rest without users, silenced by the provider's cleanup, not inherited by a
 * fork. A fork's child begins as a process that has used nothing yet (net_forked()). */
#include "emu/net/thread/net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "emu/net/link/tcp.h"
#include "emu/net/memory/uffd.h"
#include "emu/net/os/fork.h"
#include "emu/net/os/monotonic.h"
#include "emu/net/os/worker.h"
#include "emu/net/thread/net_internal.h"
#include "emu/nic/base/cancel.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/memory/pagemap.h"
#include "emu/nic/regions/auth.h"

static struct {
	struct mutex lock; /* net_start(), net_hold(), net_end() and net_stop() */
	unsigned users;
	struct nic *nic;
	struct tcp *tcp;
	struct thread *thread;
	int timer; /* net_timer_fd() */
	struct bound_config bound;
	void (*log)(enum nic_log level, const char *text);
} net = { .lock = MUTEX_INITIALIZER, .timer = -1 };

/* This thread is in net_end(). initial-exec: a signal handler reads it. */
static _Thread_local volatile bool ends __attribute__((tls_model("initial-exec")));

static uint64_t real_now_ns(void *arg)
{
	(void)arg;
	return monotonic_ns();
}

static const struct nic_clock real_clock = { .now_ns = real_now_ns };

static struct net_claim unclaimed;

struct net_claim *_Atomic net_claim = &unclaimed;

static bool owned(void)
{
	return atomic_load_explicit(&atomic_load(&net_claim)->own, memory_order_relaxed);
}

/* There is no NIC, nor anything of one for a fork's child to close. */
static void net_clear(void)
{
	net.timer = -1;
	net.nic = NULL;
	net.tcp = NULL;
	net.thread = NULL;
}

/* In a fork's child. The memory stays as it is, for the objects that the child has inherited. */
static void net_forked(void)
{
	mutex_forked(&net.lock);
	if (net.timer >= 0)
		close(net.timer);
	if (net.thread)
		thread_forget(net.thread);
	ctl_forget();
	net.users = 0;
	net_clear();
	atomic_store(&net_claim, &unclaimed);
	sync_forked();
	auth_forked();
	guard_forked();
	pagemap_forked();
}

static struct fork_reset reset = { .in_child = net_forked };

/* The page stays for good: another thread may be reading it. */
static int net_claim_process(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct net_claim *page;
	int err;

	if (owned())
		return 0;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	err = madvise(page, size, MADV_WIPEONFORK) ? -EOPNOTSUPP : 0;
	if (err) {
		munmap(page, size);
		return err;
	}
	atomic_init(&page->own, true);
	atomic_store_explicit(&net_claim, page, memory_order_release); /* net_mine() acquires */
	return 0;
}

static void net_log_error(enum nic_log level, const char *what, int err)
{
	char text[256];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(-err));
	if (net.log)
		net.log(level, text);
}

/* The role goes with the NIC. */
static void close_nic(void) UNCHECKED
{
	driver_take(nic_driver(net.nic));
	nic_close(net.nic);
}

/* Without one the program does as well. */
static void start_ctl(const struct ctl_config *config)
{
	const char *why;
	char text[160];
	int err = config->folder ? ctl_open(config, thread_loop(net.thread), &why) : 0;

	if (!err || !net.log)
		return;
	snprintf(text, sizeof(text), "no control socket: %s", why);
	net_log_error(NIC_LOG_DEBUG, text, err);
}

static int run_thread(const struct net_config *config)
{
	int err;

	start_ctl(&config->ctl);
	err = thread_run(net.thread, net.nic, net.tcp, &real_clock, config->manual, config->slow_ns);
	if (err)
		ctl_close();
	return err;
}

/* After a time without users. */
static int net_go_on(const struct net_config *config)
{
	int err;

	start_ctl(&config->ctl);
	err = thread_go_on(net.thread);
	if (err)
		net_log_error(NIC_LOG_WARN, "cannot start the NIC thread", err);
	return err;
}

/* The nic wakes the thread, and the thread serves the nic: so the thread is made first and run last. */
static int net_start_device(const struct net_config *config)
{
	struct nic_config nic_config = config->nic;
	struct tcp_config tcp_config = { .log = config->log, .kick = thread_tick, .bound = config->bound };
	const char *what = "cannot make the NIC thread's loop";
	int err = fork_register(&reset);

	net.log = config->log;
	net.bound = config->bound;
	if (!err)
		err = thread_open(&net.thread);
	if (err)
		goto fail;
	tcp_config.kick_arg = net.thread;
	tcp_config.silence_ns = config->silence_ns;
	tcp_config.local = config->local;
	what = "cannot make the link to peers";
	err = tcp_open(&net.tcp, &tcp_config);
	if (err)
		goto close_thread;
	nic_config.wake = config->manual ? NULL : thread_wake;
	nic_config.wake_arg = net.thread;
	nic_config.flush = &sync_ops;
	what = "cannot make the NIC";
	err = nic_open(&net.nic, &nic_config, &tcp_link, net.tcp, &real_clock);
	if (err)
		goto close_tcp;
	what = "cannot make a timer";
	net.timer = config->manual ? timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC) : -1;
	err = config->manual && net.timer < 0 ? -errno : 0;
	if (err)
		goto close_nic;
	what = "cannot tell a fork's child from its parent";
	err = net_claim_process();
	if (err)
		goto close_timer;
	what = "cannot start the NIC thread";
	err = run_thread(config);
	if (err)
		goto close_timer;
	fork_watch(tcp_data_fd(net.tcp));
	fork_watch(tcp_dial_fd(net.tcp));
	fork_watch(tcp_listen_fd(net.tcp));
	fork_watch(tcp_linger_fd(net.tcp));
	atomic_store_explicit(&atomic_load(&net_claim)->running, true, memory_order_release); /* likewise */
	return 0;

close_timer:
	if (net.timer >= 0)
		close(net.timer);
close_nic:
	close_nic();
close_tcp:
	tcp_close(net.tcp);
close_thread:
	thread_close(net.thread);
fail:
	net_clear();
	net_log_error(NIC_LOG_WARN, what, err);
	return err;
}

int net_start(struct nic **nic, const struct net_config *config)
{
	int err = 0;

	if (net.nic && !owned())
		return -ENODEV; /* before the lock, which the fork may have caught taken */
	mutex_lock(&net.lock);
	if (!net.nic)
		err = net_start_device(config);
	else if (!net_mine())
		err = -ENODEV;
	else if (!thread_runs(net.thread))
		err = net_go_on(config);
	if (!err) {
		*nic = net.nic;
		net.users++;
	}
	mutex_unlock(&net.lock);
	return err;
}

int net_hold(void)
{
	int err = fork_register(&reset);

	mutex_lock(&net.lock);
	net.users += !err;
	mutex_unlock(&net.lock);
	return err;
}

/* Gives what closed lines have sent the time to arrive. Without the lock: others may begin, and end, meanwhile. */
static void net_linger(void) UNCHECKED
{
	uint64_t end_ns = monotonic_ns() + TIME_BYE_NS;
	bool more;

	for (;;) {
		driver_take(nic_driver(net.nic));
		more = tcp_tick(net.tcp);
		driver_leave(nic_driver(net.nic));
		if (!more || monotonic_ns() >= end_ns)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

void net_end(void)
{
	int state = cancel_off();
	bool last;

	ends = true;
	mutex_lock(&net.lock);
	if (!--net.users)
		worker_end();
	last = !net.users && net_mine();
	if (last)
		uffd_end();
	mutex_unlock(&net.lock);
	if (last) {
		net_linger();
		mutex_lock(&net.lock);
		if (!net.users && net_mine() && thread_runs(net.thread))
			thread_stop(net.thread);
		mutex_unlock(&net.lock);
	}
	ends = false;
	cancel_back(state);
}

/* For TIME_BYE_NS at most: sends what is owed and receives the answers. */
static void net_drain(void) REQUIRES(driver_role)
{
	uint64_t end_ns = monotonic_ns() + TIME_BYE_NS;

	while (!nic_is_drained(net.nic) && monotonic_ns() < end_ns)
		if (!nic_work(net.nic))
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	nic_flush_acks(net.nic);
	nic_say_bye(net.nic);
	end_ns = monotonic_ns() + TIME_BYE_NS;
	while (tcp_tick(net.tcp) && monotonic_ns() < end_ns)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* The worker stops first, while its jobs can still take the role.
 *
 * At exit other threads still run, perhaps in the middle of a post. So the role is taken and kept, and no memory is freed:
 * those threads find the role taken for ever. A caller inside the device or net_end() (exit() in a signal handler) leaves
 * everything to the kernel. */
void net_stop(void) UNCHECKED
{
	if (ends || !net_mine() || driver_mine(nic_driver(net.nic)))
		return;
	mutex_lock(&net.lock);
	if (atomic_exchange(&atomic_load(&net_claim)->running, false)) {
		worker_stop(monotonic_ns() + TIME_BYE_NS);
		thread_stop(net.thread);
		driver_take(nic_driver(net.nic));
		net_drain();
	}
	mutex_unlock(&net.lock);
}

struct nic *net_nic(void)
{
	return net.nic;
}

void net_slow(uint64_t slow_ns)
{
	thread_slow(net.thread, slow_ns);
}

void net_known(struct sockaddr_storage *at)
{
	bound_known(&net.bound, at);
}

int net_data_fd(void)
{
	return tcp_data_fd(net.tcp);
}

int net_control_fd(void)
{
	return thread_control_fd(net.thread);
}

int net_timer_fd(void)
{
	return net.timer;
}

void net_park(void)
{
	thread_park(net.thread);
}

void net_doze(void)
{
	thread_doze(net.thread);
}

const struct thread_stats *net_stats(void)
{
	return thread_stats(net.thread);
}
