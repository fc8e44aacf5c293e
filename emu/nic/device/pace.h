/* SPDX-License-Identifier: BSD-2-Clause */
/* pace.h - the scheduler of slices: which steps a slice takes, and by when the next slice must come. Pure: the caller passes the
 * time, and does what the answer says. Inline, as every post and every poll passes here.
 * Thread: holder of the driver role; any thread may read deadline_ns. */
#ifndef EMU_NIC_PACE_H
#define EMU_NIC_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/limits.h"

struct pace {
	uint64_t now_ns;                  /* nic_now() */
	bool slicing;                     /* in nic_work() or nic_flush_acks() */
	bool clocked;                     /* now_ns has been asked for in this slice */
	bool urgent;                      /* a post found its peer idle: send at once */
	bool keeps;                       /* the link has bytes to send */
	bool stores;                      /* an acknowledgement is to be stored at the end of this slice */
	bool ticking;                     /* between pace_tick_begin() and pace_tick_end(): timers set lower tick_due_ns */
	uint32_t idle_before_ack;         /* after so many slices without work, acknowledgements are sent */
	uint32_t idle_slices;             /* that found nothing to do, in a row */
	uint32_t post_slices;             /* in a row that did no more than take posts */
	uint32_t blind_slices;            /* that had no look at the clock, since the last that had */
	uint64_t guard_check_ns;          /* the first slice from then on looks whether faults still come to the guard */
	atomic_uint_fast64_t deadline_ns; /* timers_ns, or the next look for owed acknowledgements, if that is earlier */
	uint64_t flush_ns;                /* the last deadline that pace_flush_by() has made */
	uint64_t timers_ns;               /* the first of all timers */
	uint64_t tick_due_ns;
};

static inline uint64_t pace_deadline(const struct pace *pace)
{
	return atomic_load_explicit(&pace->deadline_ns, memory_order_relaxed);
}

/* Nothing but timers needs a slice. */
static inline void pace_timers_alone(struct pace *pace)
{
	atomic_store_explicit(&pace->deadline_ns, pace->timers_ns, memory_order_relaxed);
}

static inline void pace_init(struct pace *pace)
{
	*pace = (struct pace){ .idle_before_ack = SLICE_IDLE_ACKS, .timers_ns = UINT64_MAX };
	pace_timers_alone(pace);
}

/* `took`: the slice has taken posts. True: that is all it does, and it does not look at the lines. */
static inline bool pace_posts_alone(struct pace *pace, bool took)
{
	if (took && ++pace->post_slices < SLICE_LAZY_POSTS)
		return true;
	pace->post_slices = 0;
	return false;
}

/* To look at the clock? It can wait for a slice with nothing else to do, but not for ever. */
static inline bool pace_looks(struct pace *pace, bool did)
{
	if (did && ++pace->blind_slices < SLICE_BLIND)
		return false;
	pace->blind_slices = 0;
	return true;
}

/* To send owed acknowledgements at the end of this slice? If polls are rare, the deadline comes due before some polls were in
 * vain. */
static inline bool pace_settles(struct pace *pace, bool did, bool due, bool owing)
{
	pace->idle_slices = did ? 0 : pace->idle_slices + 1;
	return !did && (due || ((owing || pace->idle_before_ack < SLICE_IDLE_ACKS) && pace->idle_slices >= pace->idle_before_ack));
}

/* A timer is set. True: it is earlier than the deadline before. */
static inline bool pace_due(struct pace *pace, uint64_t at_ns)
{
	uint64_t *first = pace->ticking ? &pace->tick_due_ns : &pace->timers_ns;

	*first = at_ns < *first ? at_ns : *first;
	if (pace->ticking || at_ns >= pace_deadline(pace))
		return false;
	atomic_store(&pace->deadline_ns, at_ns); /* seq_cst, as in pace_sooner(), which tells of it inside of a slice */
	return true;
}

/* Around a look at all timers, each of which is set anew. */
static inline void pace_tick_begin(struct pace *pace)
{
	pace->ticking = true;
	pace->tick_due_ns = UINT64_MAX;
}

/* The deadline moves once, here: a thread that goes to sleep meanwhile finds the old one, which is due. */
static inline void pace_tick_end(struct pace *pace)
{
	pace->ticking = false;
	pace->timers_ns = pace->tick_due_ns;
	pace_timers_alone(pace);
}

/* Does what waits for a poll need a deadline? The last one made is not later than one from now on would be: a post need not
 * know the time. */
static inline bool pace_unflushed(const struct pace *pace, bool waits)
{
	return waits && pace_deadline(pace) > pace->flush_ns;
}

static inline void pace_flush_by(struct pace *pace, uint64_t now_ns)
{
	pace->flush_ns = now_ns + TIME_FLUSH_NS;
	if (pace->flush_ns < pace_deadline(pace))
		atomic_store_explicit(&pace->deadline_ns, pace->flush_ns, memory_order_relaxed);
}

/* True: the deadline is earlier than before this slice, and an armed NIC thread must hear of it (D3). */
static inline bool pace_sooner(struct pace *pace, uint64_t before_ns)
{
	uint64_t due_ns = pace_deadline(pace);

	if (due_ns >= before_ns)
		return false;
	/* seq_cst, as the look at `armed`: either that sees the NIC thread armed, or it reads this deadline after driver_arm(). */
	atomic_store(&pace->deadline_ns, due_ns);
	return true;
}

#endif
