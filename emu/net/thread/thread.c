/* SPDX-License-Identifier: BSD-2-Clause */
/* thread.c - the NIC thread's loop and its states.
 *
 * Only this thread touches the loop's handles; the others set a flag and call uv_async_send(). The three epoll sets
 * of the link are watched as a whole, so that sockets come and go without the loop.
 *
 * driver.polls alone tells whether the program drives: it moves with every post and poll. A program that goes to sleep
 * notes its value (thread_park()); once driver.polls moves, the program counts as awake again. */
#include "emu/net/thread/net_internal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <uv.h>

#include "emu/net/ctl/ctl.h"
#include "emu/net/os/monotonic.h"
#include "emu/net/os/spawn.h"
#include "emu/net/os/spin.h"
#include "emu/net/os/uv_reserve.h"
#include "emu/net/thread/linger.h"
#include "emu/net/thread/nap.h"
#include "emu/nic/base/cancel.h"

enum {
	SAMPLE_OFF_MS = 1,
	SAMPLE_PARKED_MS = 10,
	ACCEPT_PAUSE_MS = 100, /* after running out of descriptors */
	SLICES = 64,           /* at most, before the loop serves its other handles */
};

struct thread {
	struct nic *nic;
	struct driver *driver;
	struct tcp *tcp;
	struct nic_clock clock;
	bool manual;
	int control; /* constant, as are those above */

	/* From any thread. */
	atomic_bool stopping;
	sem_t stop; /* likewise, for waiting threads: posted once, and again by each that it wakes */
	atomic_bool tick_wanted;
	struct nap nap;
	struct thread_stats stats;

	/* The NIC thread's own. */
	pthread_t self;
	bool running;
	uint64_t slow_ns;
	uint64_t polls;    /* driver.polls at the last look */
	bool was_readable; /* PARKED: at the last look */
	struct spin spin;  /* ARMED: awaits the peers' next requests */
	uv_loop_t loop;
	uv_async_t async;
	uv_poll_t data, dials, listeners;
	uv_timer_t sample; /* OFF, PARKED: the next look; ARMED: the device's next timer */
	uv_timer_t accept_pause, tick;
};

static enum thread_state state_of(const struct thread *thread)
{
	return (enum thread_state)atomic_load_explicit(&thread->stats.state, memory_order_relaxed);
}

static uint64_t polls_now(const struct thread *thread)
{
	return atomic_load_explicit(&thread->driver->polls, memory_order_relaxed);
}

static bool is_parked(const struct thread *thread)
{
	return nap_is_parked(&thread->nap, polls_now(thread));
}

static bool is_dozing(const struct thread *thread)
{
	return nap_is_dozing(&thread->nap, polls_now(thread));
}

void thread_park(struct thread *thread)
{
	nap_park(&thread->nap, polls_now(thread));
}

void thread_doze(struct thread *thread)
{
	nap_doze(&thread->nap, polls_now(thread));
	if (atomic_load(&thread->stats.state) == THREAD_OFF)
		thread_wake(thread);
}

static void stat_count(atomic_ulong *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static bool serve_slice(struct thread *thread)
{
	bool did;

	if (thread->slow_ns)
		linger(&thread->stop,
		       monotonic_ns() + thread->slow_ns); /* without the role: a thread that polls meanwhile is served */
	did = driver_serve(thread->driver);
	if (did)
		stat_count(&thread->stats.served);
	return did;
}

static void take_role(struct thread *thread) ACQUIRE(driver_role)
{
	driver_take(thread->driver);
}

/* And sends the acknowledgements owed: no frame is about to go that they could travel with. */
static void stop_polling(struct thread *thread)
{
	take_role(thread);
	nic_set_polling(thread->nic, false);
	nic_flush_acks(thread->nic);
	driver_leave(thread->driver);
}

/* Slices until there is no more work, or SLICES of them. */
static void serve(struct thread *thread)
{
	for (int i = 0; i < SLICES && serve_slice(thread); i++)
		;
	stop_polling(thread);
}

static bool asked_soon(struct thread *thread)
{
	uint64_t until_ns = spin_begin(&thread->spin, monotonic_ns());

	while (polls_now(thread) == thread->polls && monotonic_ns() < until_ns) {
		if (serve_slice(thread)) {
			spin_end(&thread->spin, monotonic_ns());
			return true;
		}
	}
	return false;
}

/* A peer that has its answer may ask again at once. */
static void serve_awake(struct thread *thread)
{
	int rounds = 0;

	do
		serve(thread);
	while (++rounds < SLICES && asked_soon(thread));
}

static void on_sample(uv_timer_t *timer);
static void on_data(uv_poll_t *poll, int status, int events);

static void sample_after_ms(struct thread *thread, uint64_t delay_ms)
{
	uv_update_time(&thread->loop);
	uv_timer_start(&thread->sample, on_sample, delay_ms, 0);
}

/* Called each time that the NIC thread goes to sleep in ARMED. Later work calls thread_wake(). */
static void arm(struct thread *thread)
{
	uint64_t due_ns, now_ns;

	driver_arm(thread->driver);
	due_ns = nic_deadline(thread->nic);
	now_ns = clock_now(&thread->clock);
	if (due_ns == UINT64_MAX)
		uv_timer_stop(&thread->sample);
	else
		sample_after_ms(thread, due_ns > now_ns ? (due_ns - now_ns + 999999) / 1000000 : 0);
}

/* A thread that goes to sleep parks first, then takes the role and turns polling off (wait.c): either we see it parked here, or it
 * turns polling off after us. If the program stops polling without parking, the next sample but one finds it. */
static void allow_polling(struct thread *thread)
{
	if (nic_is_polling(thread->nic))
		return;
	take_role(thread);
	if (!is_parked(thread))
		nic_set_polling(thread->nic, true);
	driver_leave(thread->driver);
}

/* The only writer of the state. */
static void enter_state(struct thread *thread, enum thread_state state)
{
	enum thread_state old = state_of(thread);

	assert(old != THREAD_MANUAL);
	atomic_store(&thread->stats.state, state);
	thread->polls = polls_now(thread);
	if (old == THREAD_ARMED && state != THREAD_ARMED) {
		driver_disarm(thread->driver);
		uv_poll_stop(&thread->data);
	}
	switch (state) {
	case THREAD_OFF:
		allow_polling(thread);
		sample_after_ms(thread, is_dozing(thread) ? 0 : SAMPLE_OFF_MS);
		break;
	case THREAD_PARKED:
		/* Two polls at once may be counted as one (driver.c). Then a sleeper looks parked again after others have polled
		 * and turned polling on. */
		if (nic_is_polling(thread->nic))
			stop_polling(thread);
		thread->was_readable = false;
		sample_after_ms(thread, SAMPLE_PARKED_MS);
		break;
	case THREAD_ARMED:
		serve(thread);
		uv_poll_start(&thread->data, UV_READABLE, on_data);
		arm(thread);
		break;
	case THREAD_MANUAL:
		break;
	}
}

/* Sockets, a timer or left work woke us in ARMED. */
static void woken(struct thread *thread)
{
	if (is_parked(thread)) {
		enter_state(thread, THREAD_PARKED);
	} else if (polls_now(thread) != thread->polls && !is_dozing(thread)) {
		serve_slice(thread);
		enter_state(thread, THREAD_OFF);
	} else {
		thread->polls = polls_now(thread);
		driver_disarm(thread->driver);
		spin_end(&thread->spin, monotonic_ns());
		serve_awake(thread);
		arm(thread);
	}
}

static void sample_off(struct thread *thread)
{
	bool polls_moved = polls_now(thread) != thread->polls;

	if (is_parked(thread)) {
		enter_state(thread, THREAD_PARKED);
	} else if (!polls_moved || is_dozing(thread)) {
		enter_state(thread, THREAD_ARMED);
	} else {
		serve_slice(thread);
		enter_state(thread, THREAD_OFF);
	}
}

static bool has_work(const struct thread *thread)
{
	return tcp_readable(thread->tcp) || driver_left(thread->driver) || nic_deadline(thread->nic) <= clock_now(&thread->clock);
}

/* If work was there for a whole period and the program has not polled, it is not asleep on the sockets after all. */
static void sample_parked(struct thread *thread)
{
	bool slept = polls_now(thread) == thread->polls, readable;

	if (!is_parked(thread)) {
		enter_state(thread, THREAD_OFF);
		return;
	}
	readable = has_work(thread);
	if (slept && readable && thread->was_readable) {
		nap_park(&thread->nap, NAP_NEVER);
		enter_state(thread, THREAD_ARMED);
		return;
	}
	thread->polls = polls_now(thread);
	thread->was_readable = readable;
	sample_after_ms(thread, SAMPLE_PARKED_MS);
}

static void on_sample(uv_timer_t *timer)
{
	struct thread *thread = timer->data;

	switch (state_of(thread)) {
	case THREAD_OFF:
		stat_count(&thread->stats.samples);
		sample_off(thread);
		break;
	case THREAD_PARKED:
		stat_count(&thread->stats.samples);
		sample_parked(thread);
		break;
	case THREAD_ARMED:
		woken(thread);
		break;
	case THREAD_MANUAL:
		break;
	}
}

static void on_data(uv_poll_t *poll, int status, int events)
{
	struct thread *thread = poll->data;

	(void)status;
	(void)events;
	stat_count(&thread->stats.wakeups);
	woken(thread);
}

/* A control event may have left work and timers. No data socket wakes the sleepers for these. */
static void controlled(struct thread *thread) RELEASE(driver_role)
{
	driver_leave(thread->driver);
	(void)!eventfd_write(thread->control, 1); /* fails only when it is full, after centuries */
	atomic_fetch_add(&thread->stats.controls, 1);
	if (state_of(thread) == THREAD_ARMED)
		woken(thread);
}

static void on_dials(uv_poll_t *poll, int status, int events)
{
	struct thread *thread = poll->data;

	(void)status;
	(void)events;
	take_role(thread);
	tcp_finish_dials(thread->tcp);
	controlled(thread);
}

static void on_listeners(uv_poll_t *poll, int status, int events);

static void on_accept_pause(uv_timer_t *timer)
{
	struct thread *thread = timer->data;

	uv_poll_start(&thread->listeners, UV_READABLE, on_listeners);
}

static void on_listeners(uv_poll_t *poll, int status, int events)
{
	struct thread *thread = poll->data;
	bool ok;

	(void)status;
	(void)events;
	take_role(thread);
	ok = tcp_accept(thread->tcp);
	controlled(thread);
	if (ok)
		return;
	uv_poll_stop(&thread->listeners);
	uv_timer_start(&thread->accept_pause, on_accept_pause, ACCEPT_PAUSE_MS, 0);
}

static void on_tick(uv_timer_t *timer)
{
	struct thread *thread = timer->data;
	bool told, more;

	take_role(thread);
	told = tcp_drop_stuck(thread->tcp);
	told |= tcp_read_on(thread->tcp);
	more = tcp_tick(thread->tcp);
	if (told)
		controlled(thread);
	else
		driver_leave(thread->driver);
	if (!more)
		uv_timer_stop(timer);
}

static void on_async(uv_async_t *async)
{
	struct thread *thread = async->data;

	if (atomic_load(&thread->stopping)) {
		uv_stop(&thread->loop);
		return;
	}
	if (atomic_exchange(&thread->tick_wanted, false) && !uv_is_active((uv_handle_t *)&thread->tick))
		uv_timer_start(&thread->tick, on_tick, TCP_TICK_MS, TCP_TICK_MS);
	if (state_of(thread) == THREAD_ARMED)
		woken(thread);
	else if (state_of(thread) == THREAD_OFF && is_dozing(thread))
		enter_state(thread, THREAD_ARMED);
}

/* With the role, too: uv_async_send() is a cancellation point. */
void thread_wake(void *arg)
{
	struct thread *thread = arg;
	int state = cancel_off();

	uv_async_send(&thread->async);
	cancel_back(state);
}

void thread_tick(void *arg)
{
	struct thread *thread = arg;

	atomic_store(&thread->tick_wanted, true); /* before the wake-up, which is a full barrier */
	thread_wake(thread);
}

const struct thread_stats *thread_stats(const struct thread *thread)
{
	return &thread->stats;
}

int thread_control_fd(const struct thread *thread)
{
	return thread->control;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void close_loop(struct thread *thread)
{
	int err;

	uv_walk(&thread->loop, close_handle, NULL);
	uv_run(&thread->loop, UV_RUN_DEFAULT);
	err = uv_loop_close(&thread->loop);
	assert(!err);
	(void)err;
}

int thread_open(struct thread **out)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	int err;

	if (!thread)
		return -ENOMEM;
	thread->control = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	err = thread->control < 0 ? -errno : uv_reserve_check(thread->control);
	err = err ? err : uv_loop_init(&thread->loop); /* libuv's errors are negative errnos here */
	if (err)
		goto free_thread;
	err = uv_async_init(&thread->loop, &thread->async, on_async);
	if (err)
		goto close_loop;
	thread->async.data = thread;
	nap_init(&thread->nap);
	sem_init(&thread->stop, 0, 0);
	*out = thread;
	return 0;

close_loop:
	close_loop(thread);
free_thread:
	if (thread->control >= 0)
		close(thread->control);
	free(thread);
	return err;
}

uv_loop_t *thread_loop(struct thread *thread)
{
	return &thread->loop;
}

void thread_slow(struct thread *thread, uint64_t slow_ns)
{
	thread->slow_ns = slow_ns;
}

static int watch_set(struct thread *thread, uv_poll_t *poll, int fd)
{
	poll->data = thread;
	return uv_poll_init(&thread->loop, poll, fd);
}

static int open_handles(struct thread *thread)
{
	uv_timer_t *timers[] = { &thread->sample, &thread->accept_pause, &thread->tick };
	int err;

	for (int i = 0; i < 3; i++) {
		uv_timer_init(&thread->loop, timers[i]);
		timers[i]->data = thread;
	}
	err = watch_set(thread, &thread->data, tcp_data_fd(thread->tcp));
	err = err ? err : watch_set(thread, &thread->dials, tcp_dial_fd(thread->tcp));
	err = err ? err : watch_set(thread, &thread->listeners, tcp_listen_fd(thread->tcp));
	err = err ? err : uv_poll_start(&thread->dials, UV_READABLE, on_dials);
	err = err ? err : uv_poll_start(&thread->listeners, UV_READABLE, on_listeners);
	return err;
}

/* In a virtual machine a timer costs several times as much as the sample that it is for (RESULTS.md). So a sample may come a period
 * late, together with another timer. */
static void share_timers(void)
{
	(void)prctl(PR_SET_TIMERSLACK, SAMPLE_OFF_MS * 1000000ul);
}

/* One more turn of the loop, so that its handles may be opened again. */
static void end_ctl(struct thread *thread)
{
	ctl_close();
	uv_run(&thread->loop, UV_RUN_NOWAIT);
}

static void *thread_main(void *arg)
{
	struct thread *thread = arg;

	share_timers();
	if (thread->manual)
		atomic_store_explicit(&thread->stats.state, THREAD_MANUAL, memory_order_relaxed);
	else
		enter_state(thread, THREAD_ARMED);
	uv_run(&thread->loop, UV_RUN_DEFAULT);
	end_ctl(thread);
	driver_disarm(thread->driver);
	return NULL;
}

int thread_go_on(struct thread *thread)
{
	int err = spawn(&thread->self, "emu-nic", thread_main, thread);

	thread->running = !err;
	if (err)
		end_ctl(thread);
	return err;
}

int thread_run(struct thread *thread, struct nic *nic, struct tcp *tcp, const struct nic_clock *clock, bool manual,
	       uint64_t slow_ns)
{
	int err;

	thread->nic = nic;
	thread->slow_ns = slow_ns;
	thread->driver = nic_driver(nic);
	thread->tcp = tcp;
	thread->clock = *clock;
	thread->manual = manual;
	err = open_handles(thread);
	return err ? err : thread_go_on(thread);
}

void thread_stop(struct thread *thread)
{
	if (!thread->running)
		return;
	atomic_store(&thread->stopping, true); /* before the wake-up, which is a full barrier */
	sem_post(&thread->stop);
	uv_async_send(&thread->async);
	pthread_join(thread->self, NULL);
	atomic_store(&thread->stopping, false);
	sem_wait(&thread->stop);
	thread->running = false;
}

bool thread_runs(const struct thread *thread)
{
	return thread->running;
}

/* libuv's own close would first take its handles out of the epoll set, which the parent shares. */
void thread_forget(struct thread *thread)
{
	const int copies[] = {
		thread->control,        thread->loop.backend_fd,       thread->loop.async_io_watcher.fd,
		thread->loop.async_wfd, thread->loop.signal_pipefd[0], thread->loop.signal_pipefd[1],
	};

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		if (copies[i] >= 0)
			close(copies[i]);
}

void thread_close(struct thread *thread)
{
	assert(!thread->running);
	close_loop(thread);
	close(thread->control);
	sem_destroy(&thread->stop);
	free(thread);
}
