/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_handler.c - our places in the chain of handlers.
 *
 * Each time that our handler is put, it is another function, with the action that it displaced. A program's handler that passes
 * on to the action that it found calls the function of an earlier place, which passes on to what stood there before. So the
 * chain goes backwards in time and ends. A program that puts one handler twice may find ours both times, and would pass on to
 * itself for ever: a place that the same fault has come through passes on to the one before it. */
#include "emu/nic/memory/guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"

#define STANDS_TICKS (UINT64_C(1) << 25) /* of guard.c's counter: some 10 ms */

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static const int signals[2] = { SIGSEGV, SIGBUS };
static struct sigaction before[2][LIMIT_HANDLERS]; /* complete before the place is put; the handler reads them without the lock */

static struct {
	unsigned places;                                          /* taken so far */
	bool other;                                               /* a handler of the program's was seen in front, */
	void (*handler)(int sig, siginfo_t *info, void *context); /* this one, */
	uint64_t since;                                           /* at this time for the first time */
} chains[2] GUARDED_BY(lock);
static fault_taker *take; /* constant after the first place is put */
static atomic_bool gave_up, told;

/* What the newest fault of this thread has come through. initial-exec: the handler must not allocate thread-local storage. */
static _Thread_local struct {
	void *context;
	uintptr_t frame; /* of our function that the kernel called: those that handlers call are below it */
	unsigned places;
} passed __attribute__((tls_model("initial-exec")));

/* --- the handler --- */

/* Takes the action that the signal has without us. A fault comes again when the handler returns, and then ends the process
 * with a core dump that shows the right place; a signal that was sent must be sent again. */
static void default_action(int sig, const siginfo_t *info)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	sigaction(sig, &action, NULL);
	if (info->si_code <= 0)
		raise(sig);
}

static void pass_to(struct sigaction *saved, int sig, siginfo_t *info, void *context)
{
	struct sigaction action = *saved;

	if (!(action.sa_flags & SA_SIGINFO)) {
		if (action.sa_handler == SIG_IGN && info->si_code <= 0)
			return;
		if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
			default_action(sig, info);
			return;
		}
	}
	if (action.sa_flags & (int)SA_RESETHAND)
		*saved = (struct sigaction){ .sa_handler = SIG_DFL };
	if (!(action.sa_flags & SA_NODEFER))
		sigaddset(&action.sa_mask, sig);
	pthread_sigmask(SIG_BLOCK, &action.sa_mask, NULL); /* returning from the handler undoes it */
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(sig, info, context);
	else
		action.sa_handler(sig);
}

/* A handler may have left an earlier fault by a jump, and the stack may be used again: so a place counts as passed only
 * below the frame that began. */
static void pass_back(unsigned place, int sig, siginfo_t *info, void *context, uintptr_t frame)
{
	if (context != passed.context || frame >= passed.frame) {
		passed.context = context;
		passed.frame = frame;
		passed.places = 0;
	}
	while (place && passed.places & 1u << place)
		place--;
	if (passed.places & 1u << place) {
		default_action(sig, info);
		return;
	}
	passed.places |= 1u << place;
	pass_to(&before[sig == SIGBUS][place], sig, info, context);
}

static void on_fault(unsigned place, int sig, siginfo_t *info, void *context, uintptr_t frame)
{
	int saved = errno;

	if (!take(info, context))
		pass_back(place, sig, info, context, frame);
	errno = saved;
}

#define PLACE(n)                                                                        \
	static void on_fault_##n(int sig, siginfo_t *info, void *context)               \
	{                                                                               \
		on_fault(n, sig, info, context, (uintptr_t)__builtin_frame_address(0)); \
	}
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)

static void (*const handlers[LIMIT_HANDLERS])(int sig, siginfo_t *info, void *context) = {
	on_fault_0, on_fault_1, on_fault_2, on_fault_3, on_fault_4, on_fault_5, on_fault_6, on_fault_7,
};

/* --- its places --- */

static bool action_is_ours(const struct sigaction *action)
{
	for (unsigned i = 0; action->sa_flags & SA_SIGINFO && i < LIMIT_HANDLERS; i++)
		if (action->sa_sigaction == handlers[i])
			return true;
	return false;
}

static bool signal_is_ours(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && action_is_ours(&now);
}

bool fault_handler_is_first(void)
{
	return signal_is_ours(SIGSEGV) && signal_is_ours(SIGBUS);
}

/* Before `now`. SA_NODEFER: the program's handler brings its own mask. SA_ONSTACK: the program may want to see its stack
 * overflow. If another thread of the program's puts a handler at this moment, what the kernel returns counts. */
static bool handler_put(int which, const struct sigaction *now) REQUIRES(lock)
{
	unsigned place = chains[which].places;
	struct sigaction action = { .sa_sigaction = handlers[place], .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	action.sa_flags |= now->sa_flags & SA_RESTART;
	before[which][place] = *now;
	if (sigaction(signals[which], &action, &before[which][place]))
		return false;
	chains[which].places++;
	return true;
}

bool fault_handler_install(fault_taker *taker)
{
	struct sigaction now;

	mutex_lock(&lock);
	take = taker;
	for (int i = 0; i < 2; i++)
		if (!chains[i].places && !sigaction(signals[i], NULL, &now))
			handler_put(i, &now);
	mutex_unlock(&lock);
	return fault_handler_is_first();
}

/* Has this action of the program's stood in front for long enough? */
static bool stands(int which, const struct sigaction *now, uint64_t ticks) REQUIRES(lock)
{
	if (!chains[which].other || chains[which].handler != now->sa_sigaction) {
		chains[which].other = true;
		chains[which].handler = now->sa_sigaction;
		chains[which].since = ticks;
	}
	return ticks - chains[which].since >= STANDS_TICKS;
}

void fault_handler_return(uint64_t ticks)
{
	struct sigaction now;

	if (!mutex_trylock(&lock))
		return; /* another thread does it */
	for (int i = 0; i < 2 && chains[i].places; i++) {
		if (sigaction(signals[i], NULL, &now))
			continue;
		if (action_is_ours(&now)) {
			chains[i].other = false;
		} else if (stands(i, &now, ticks)) {
			if (chains[i].places == LIMIT_HANDLERS)
				atomic_store(&gave_up, true);
			else
				handler_put(i, &now);
		}
	}
	mutex_unlock(&lock);
}

bool fault_handler_gave_up(void)
{
	return atomic_load_explicit(&gave_up, memory_order_relaxed) && !atomic_exchange(&told, true);
}

void fault_handler_forked(void)
{
	mutex_forked(&lock);
}
