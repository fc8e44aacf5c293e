/* SPDX-License-Identifier: BSD-2-Clause */
/* test_thread.c - the NIC thread's states, over real sockets. The thread's counters say what it did. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/os/monotonic.h"
#include "emu/net/thread/net.h"
#include "emu/net/thread/net_internal.h"
#include "emu/net/wait/wait.h"
#include "echo.h"
#include "fake.h"

static unsigned long counted(const atomic_ulong *counter)
{
	return atomic_load(counter);
}

static enum thread_state state(void)
{
	return (enum thread_state)atomic_load(&net_stats()->state);
}

static void await_state(enum thread_state wanted)
{
	while (state() != wanted)
		sched_yield();
}

static void play(void)
{
	echo_ping();
	echo_pong();
}

Test(thread, serves_while_the_program_does_nothing)
{
	echo_start(false);
	for (int i = 0; i < 100; i++)
		play();
	cr_assert_eq(counted(&net_stats()->samples), 0, "armed: no timer");
	while (counted(&net_stats()->served) < 100)
		sched_yield();
	cr_assert_gt(atomic_load(&fake.settled), 0, "nobody else would send the acknowledgements");
	net_stop();
}

/* Each answer takes as long. */
Test(thread, serves_slowly)
{
	uint64_t begun_ns;

	slow_ns = 20000000;
	echo_start(false);
	begun_ns = monotonic_ns();
	for (int i = 0; i < 5; i++)
		play();
	cr_assert_geq(monotonic_ns() - begun_ns, 4 * slow_ns); /* it may have been about to serve when the first came */
	net_stop();
}

enum { ROUNDS = 3000 };

Test(thread, stands_back_while_the_program_polls)
{
	echo_start(false);
	for (int i = 0; i < ROUNDS; i++) {
		echo_ping();
		do
			driver_poll(driver);
		while (!echo_has_pong());
	}
	/* One wake-up ends ARMED. On a busy machine the program may lose its core for longer than a look: ARMED again. */
	cr_assert_lt(counted(&net_stats()->wakeups), ROUNDS / 20, "%lu useless wake-ups", counted(&net_stats()->wakeups));
	await_state(THREAD_ARMED);
	play();
	net_stop();
}

/* With something to be received, which ends ARMED. */
static void poll_until_it_looks(void)
{
	do {
		echo_ping();
		do
			driver_poll(driver);
		while (!echo_has_pong());
	} while (!atomic_load(&fake.looks));
}

/* Notes wake nobody. */
Test(thread, lets_the_device_look_for_notes_while_the_program_polls)
{
	echo_start(false);
	cr_assert_not(atomic_load(&fake.looks));
	for (int i = 0; i < 3; i++) {
		poll_until_it_looks();
		while (state() != THREAD_ARMED || atomic_load(&fake.looks)) /* the program computes */
			sched_yield();
	}
	net_stop();
}

static bool nothing(void *arg)
{
	(void)arg;
	return false;
}

Test(thread, takes_that_back_for_a_sleep)
{
	struct wait *wait;

	echo_start(false);
	cr_assert_eq(wait_open(&wait), 0);
	for (int i = 0; i < 20; i++) {
		poll_until_it_looks();
		if (i % 2)
			cr_assert_eq(wait_try(wait, true, nothing, NULL), 0);
		else
			cr_assert_geq(wait_sleep(wait, wait_turn(wait), 1), 0);
		cr_assert_not(atomic_load(&fake.looks));
		while (state() == THREAD_OFF)
			sched_yield();
		cr_assert_not(atomic_load(&fake.looks));
	}
	wait_close(wait);
	net_stop();
}

/* Of two threads that count a poll at once one may put the count back to where another has parked. */
Test(thread, takes_that_back_for_who_looks_parked)
{
	struct wait *wait;
	uint64_t parked;

	echo_start(false);
	cr_assert_eq(wait_open(&wait), 0);
	do {
		poll_until_it_looks();
		cr_assert_eq(wait_try(wait, true, nothing, NULL), 0);
		parked = atomic_load(&driver->polls);
		poll_until_it_looks();
		atomic_store(&driver->polls, parked);
		while (state() == THREAD_OFF)
			sched_yield();
	} while (state() != THREAD_PARKED); /* ARMED: we had lost the core for longer than a look */
	while (atomic_load(&fake.looks))
		sched_yield();
	wait_close(wait);
	net_stop();
}

/* A thread that blocks in its read as fi_cq_sread does. */
static void *sleeper(void *arg)
{
	struct wait *wait;

	cr_assert_eq(wait_open(&wait), 0);
	while (!atomic_load((atomic_bool *)arg)) {
		driver_poll(driver);
		cr_assert_geq(wait_sleep(wait, wait_turn(wait), 1000), 0);
	}
	wait_close(wait);
	return NULL;
}

Test(thread, leaves_messages_to_the_sleeper_on_the_sockets)
{
	atomic_bool stop = false;
	pthread_t thread;
	unsigned long wakeups, served;

	echo_start(false);
	cr_assert_eq(pthread_create(&thread, NULL, sleeper, &stop), 0);
	while (state() != THREAD_PARKED) /* it sees that when next it is woken */
		play();
	wakeups = counted(&net_stats()->wakeups);
	served = counted(&net_stats()->served);
	for (int i = 0; i < ROUNDS; i++)
		play();
	/* On a busy machine the sleeper may get its core after the next look only, which then serves in its place. */
	cr_assert_lt(counted(&net_stats()->wakeups) - wakeups, ROUNDS / 2);
	cr_assert_lt(counted(&net_stats()->served) - served, ROUNDS / 2, "the sleeper serves");
	atomic_store(&stop, true);
	echo_ping();
	pthread_join(thread, NULL);
	net_stop();
}

/* A program that says that it sleeps is served by the data that comes, and not by the next look. Polls in between do not count. */
Test(thread, serves_who_dozes_at_once)
{
	unsigned long samples, wakeups;

	echo_start(false);
	poll_until_it_looks();
	net_doze();
	await_state(THREAD_ARMED);
	samples = counted(&net_stats()->samples);
	wakeups = counted(&net_stats()->wakeups);
	for (int i = 0; i < ROUNDS; i++) {
		driver_poll(driver);
		net_doze();
		play();
	}
	cr_assert_lt(counted(&net_stats()->samples) - samples, ROUNDS / 2);
	cr_assert_gt(counted(&net_stats()->wakeups) - wakeups, ROUNDS / 2);
	net_stop();
}

Test(thread, serves_who_said_that_it_sleeps_and_computes)
{
	struct wait *wait;
	unsigned long served;

	echo_start(false);
	cr_assert_eq(wait_open(&wait), 0);
	cr_assert_eq(wait_try(wait, true, never, NULL), 0);
	echo_ping();
	await_state(THREAD_PARKED);
	served = counted(&net_stats()->served);
	echo_pong();
	while (counted(&net_stats()->served) == served)
		sched_yield();
	await_state(THREAD_ARMED);
	wait_close(wait);
	net_stop();
}

/* Until the NIC thread knows that the program sleeps. */
static void sleep_on(struct wait *wait)
{
	while (state() != THREAD_PARKED) {
		echo_ping();
		do
			driver_poll(driver);
		while (!echo_has_pong());
		cr_assert_eq(wait_try(wait, true, never, NULL), 0);
	}
}

Test(thread, stays_parked_while_nothing_comes)
{
	struct wait *wait;
	unsigned long looks;

	echo_start(false);
	cr_assert_eq(wait_open(&wait), 0);
	sleep_on(wait);
	looks = counted(&net_stats()->samples);
	while (counted(&net_stats()->samples) < looks + 5)
		sched_yield();
	cr_assert_eq(state(), THREAD_PARKED);
	wait_close(wait);
	net_stop();
}

Test(thread, serves_what_a_post_left)
{
	echo_start(false);
	await_state(THREAD_ARMED);
	cr_assert(driver_enter(driver));
	atomic_store(&fake.left, true);
	driver_leave(driver);
	cr_assert(!atomic_load(&fake.left), "who lets go looks again");
	await_state(THREAD_ARMED);
	atomic_store(&fake.left, true); /* as if the role had been found taken */
	cr_assert(driver_enter(driver));
	driver_owe(driver);
	driver_leave(driver);
	while (atomic_load(&fake.left))
		sched_yield();
	net_stop();
}

Test(thread, serves_the_devices_timers)
{
	echo_start(false);
	await_state(THREAD_ARMED);
	for (unsigned int i = 1; i <= 20; i++) {
		cr_assert(driver_enter(driver));
		atomic_store(&fake.deadline_ns, monotonic_ns() + 3000000);
		fake.owes = 1; /* D3: a new timer */
		driver_owe(driver);
		driver_leave(driver);
		while (atomic_load(&fake.timers) < i)
			sched_yield();
	}
	net_stop();
}

Test(thread, manual_progress_serves_nothing)
{
	unsigned int slices;

	echo_start(true);
	slices = atomic_load(&fake.slices);
	echo_ping();
	cr_assert_eq(poll(&(struct pollfd){ .fd = peer, .events = POLLIN }, 1, 300), 0, "served in the background");
	cr_assert_eq(atomic_load(&fake.slices), slices);
	while (!echo_has_pong())
		driver_poll(driver);
	cr_assert_eq(state(), THREAD_MANUAL);
	net_stop();
}

Test(thread, finishes_a_dial_in_the_background)
{
	echo_start(true);
	echo_dial_itself();
	net_stop();
}

/* /proc/self/task/N/what of the thread with this name, or "". */
static void task_line(const char *name, const char *what, char *out, size_t size)
{
	DIR *tasks = opendir("/proc/self/task");
	char path[300], line[200], mask[200] = "";

	*out = 0;
	for (struct dirent *task; (task = readdir(tasks));) {
		bool found = false;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			found = found || (!strncmp(line, "Name:", 5) && strstr(line, name));
			if (!strncmp(line, what, strlen(what)))
				snprintf(mask, sizeof(mask), "%s", line + strlen(what));
		}
		if (file)
			fclose(file);
		if (found)
			snprintf(out, size, "%s", mask);
	}
	closedir(tasks);
}

Test(thread, blocks_all_signals_but_its_own_faults)
{
	char line[200];
	unsigned long mask;

	task_line("emu-nic", "SigBlk:", line, sizeof(line));
	cr_assert_str_eq(line, "", "no thread before it is needed");
	echo_start(false);
	task_line("emu-nic", "SigBlk:", line, sizeof(line));
	mask = strtoul(line, NULL, 16);
	for (int i = 1; i < 32; i++) {
		bool fault = i == SIGSEGV || i == SIGBUS || i == SIGFPE || i == SIGILL || i == SIGTRAP || i == SIGABRT;

		if (i != SIGKILL && i != SIGSTOP)
			cr_assert_eq(mask >> (i - 1) & 1, !fault, "signal %d", i);
	}
	net_stop();
	task_line("emu-nic", "SigBlk:", line, sizeof(line));
	cr_assert_str_eq(line, "", "joined");
}

/* Of the files that it inherits a fork's child closes none by the numbers of what is gone. */
static void check_child_keeps_files(void)
{
	int files[64], status, lost = 0;
	pid_t child;

	for (int i = 0; i < 64; i++)
		cr_assert_geq(files[i] = open("/dev/null", O_RDONLY), 0);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 64; i++)
			lost += fcntl(files[i], F_GETFD) < 0;
		_exit(lost);
	}
	cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "%d files lost", WEXITSTATUS(status));
	for (int i = 0; i < 64; i++)
		close(files[i]);
}

Test(thread, start_that_fails_leaves_nothing)
{
	struct net_config config = { 0 };
	pthread_attr_t huge, old;

	fake.fails = true;
	cr_assert_eq(net_start(&nic, &config), -ENOMEM);
	cr_assert(!net_mine());
	fake.fails = false;
	check_child_keeps_files();
	pthread_getattr_default_np(&old);
	pthread_attr_init(&huge);
	cr_assert_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
	cr_assert_eq(pthread_setattr_default_np(&huge), 0);
	cr_assert_neq(net_start(&nic, &config), 0, "no thread");
	cr_assert(!net_mine());
	check_child_keeps_files();
	config.manual = true;
	cr_assert_neq(net_start(&nic, &config), 0, "no thread, and a timer that is closed");
	check_child_keeps_files();
	pthread_setattr_default_np(&old);
	echo_start(false);
	play();
	net_stop();
}

Test(thread, one_nic_that_stops_once)
{
	struct net_config config = { 0 };
	struct nic *again;

	net_stop();
	echo_start(false);
	cr_assert_eq(net_start(&again, &config), 0);
	cr_assert_eq(again, nic);
	cr_assert_eq(net_nic(), nic);
	cr_assert(net_mine());
	cr_assert(driver_enter(driver));
	fake.loud_slices = atomic_load(&fake.slices) + 5;
	driver_leave(driver);
	net_stop(); /* with a listener and a line open */
	cr_assert_geq(atomic_load(&fake.slices), fake.loud_slices, "what was on the way is gone through with");
	cr_assert_eq(fake.goodbyes, 1);
	cr_assert(!net_mine());
	cr_assert_eq(recv(peer, &(char){ 0 }, 1, 0), 0, "the peer sees an orderly end");
	cr_assert_eq(net_start(&again, &config), -ENODEV);
	net_stop();
	cr_assert_eq(fake.goodbyes, 1);
}

/* A thread that was joined may be seen for a moment. */
static void await_no_thread(void)
{
	char line[200];

	do {
		sched_yield();
		task_line("emu-nic", "SigBlk:", line, sizeof(line));
	} while (*line);
}

Test(thread, runs_while_there_are_users)
{
	struct net_config config = { 0 };
	struct nic *again;

	cr_assert_eq(net_hold(), 0);
	net_end();
	cr_assert(!net_mine(), "a user that needs no NIC");
	echo_start(false);
	cr_assert_eq(net_start(&again, &config), 0);
	net_end();
	play();
	net_end();
	await_no_thread();
	cr_assert(net_mine(), "the NIC stays");
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(net_start(&again, &config), 0);
		cr_assert_eq(again, nic);
		play();
		net_end();
	}
	await_no_thread();
	cr_assert_eq(net_start(&again, &config), 0);
	cr_assert_eq(net_hold(), 0);
	net_end();
	play(); /* for the one that holds */
	net_stop();
	cr_assert_eq(fake.goodbyes, 1);
	net_end();
	await_no_thread();
}

Test(thread, start_after_a_rest_that_fails)
{
	struct net_config config = { 0 };
	pthread_attr_t huge, old;

	echo_start(false);
	net_end();
	pthread_getattr_default_np(&old);
	pthread_attr_init(&huge);
	cr_assert_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
	cr_assert_eq(pthread_setattr_default_np(&huge), 0);
	cr_assert_neq(net_start(&nic, &config), 0, "no thread");
	pthread_setattr_default_np(&old);
	cr_assert_eq(net_start(&nic, &config), 0);
	play();
	net_stop();
}

static void *late_poster(void *arg)
{
	atomic_uint *rounds = arg;

	for (;;) { /* as a thread that had passed the look at net_mine() */
		driver_run(driver);
		atomic_fetch_add(rounds, 1);
	}
	return NULL;
}

Test(thread, stop_leaves_callers_their_memory)
{
	static atomic_uint rounds;
	unsigned int slices;
	pthread_t thread;

	echo_start(false);
	cr_assert_eq(pthread_create(&thread, NULL, late_poster, &rounds), 0);
	while (atomic_load(&rounds) < 1000)
		sched_yield();
	net_stop();
	slices = atomic_load(&fake.slices);
	atomic_store(&rounds, 0);
	while (atomic_load(&rounds) < 1000)
		sched_yield();
	cr_assert_eq(atomic_load(&fake.slices), slices, "the role is taken for good");
}

Test(thread, forks_child_has_none_until_it_starts_one)
{
	struct net_config config = { 0 };
	struct net_claim *inherited;
	pid_t child;
	int status;

	echo_start(false);
	inherited = net_claim;
	child = fork();
	if (!child) {
		bool ok = !net_mine() && !net_start(&nic, &config) && net_mine() && !net_runs(inherited);

		net_stop();
		ok = ok && !net_mine();
		_exit(ok ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert(net_mine());
	play();
	net_stop();
}
