/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_serial.c - the thread that is in a call is noted. Another one that comes meanwhile is told of, and is not noted.
 *
 * The note is a thread's number. A call may end without a leave, by cancellation, longjmp or a fork: the number is then of no
 * thread, or the thread's next call ends the note. */
#include "emu/fi/check/fi_check_impl.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/queues/fi_queues.h"

struct check_object *check_serial_of(const struct emu_domain *domain, const struct emu_cq *cq)
{
	struct check_object *object = check_object_of(&domain->fid.fid);

	if (object && object->threading == FI_THREAD_DOMAIN)
		return object;
	if (object && object->threading == FI_THREAD_COMPLETION && cq)
		return check_object_of(&cq->fid.fid);
	return NULL;
}

static void say_met(const struct check_object *serial, const char *call, int other, const char *others_call)
{
	check_tell(
		&(struct check_finding){ .cause = CHECK_SERIAL, .call = call, .opened = &serial->open.opened, .here = true },
		serial->threading == FI_THREAD_DOMAIN
			? "%s: thread %d is in %s of the same domain, which was opened with FI_THREAD_DOMAIN"
			: "%s: thread %d is in %s by the same completion queue, whose domain was opened with FI_THREAD_COMPLETION",
		call, other, others_call);
}

void check_serial_enter(struct check_object *serial, const char *call)
{
	const char *others_call;
	int me, other = 0;

	if (!serial)
		return;
	me = gettid();
	while (!atomic_compare_exchange_strong(&serial->inside, &other, me) && other != me) {
		if (tgkill(getpid(), other, 0)) { /* it is no more: its note goes */
			(void)atomic_compare_exchange_strong(&serial->inside, &other, 0);
			other = 0;
			continue;
		}
		others_call = atomic_load(&serial->inside_call);
		if (others_call && atomic_load(&serial->inside) == other)
			say_met(serial, call, other, others_call);
		return;
	}
	atomic_store(&serial->inside_call, call);
}

void check_serial_leave(struct check_object *serial)
{
	if (!serial || atomic_load(&serial->inside) != gettid())
		return;
	atomic_store(&serial->inside_call, NULL);
	atomic_store(&serial->inside, 0);
}
