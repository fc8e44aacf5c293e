/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_rules.h - what may be registered, bound, enabled and closed. The front ends ask here, and say it in their own words.
 *
 * Thread: holder of the driver role for each call that takes a region; any for the others. None changes anything. */
#ifndef EMU_NIC_MR_RULES_H
#define EMU_NIC_MR_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct binding_end;
struct mr;
struct mr_bind;
struct mr_window;

/* The rule that a call breaks. */
enum mr_rule {
	MR_RULE_NONE,
	/* registering */
	MR_RULE_NO_SEGMENT,       /* S11 */
	MR_RULE_MANY_SEGMENTS,    /* S10 */
	MR_RULE_EMPTY,            /* a segment has no bytes (S3) */
	MR_RULE_WRAPS,            /* a segment goes past the end of the address space */
	MR_RULE_TOO_LONG,         /* the segments together do */
	MR_RULE_COLLECTIVE_ALONE, /* a buffer of collectives is sent or filled (S184) */
	/* binding and enabling */
	MR_RULE_NO_EVENTS,       /* registered without MR events, and is to be bound to a counter (S91) */
	MR_RULE_NOT_BY_ENDPOINT, /* the region belongs to its domain, and not to endpoints */
	MR_RULE_ENABLED,         /* S94, S95 */
	MR_RULE_BOUND,           /* to that end already */
	MR_RULE_UNBOUND,         /* to no endpoint, and is to be reached by endpoints only (S102) */
	/* closing */
	MR_RULE_HAS_REGIONS,  /* regions are open within it (S126) */
	MR_RULE_REFRESHES,    /* a refresh is at work */
	MR_RULE_HAS_BINDINGS, /* an end that it is bound to is open (S180, S181) */
	/* binding a memory window */
	MR_RULE_NO_WINDOW,      /* no window of this protection domain has the key */
	MR_RULE_WINDOW_BOUND,   /* it is to be invalidated first */
	MR_RULE_WINDOW_EMPTY,   /* it is invalidated in another way than by a bind of no bytes */
	MR_RULE_NO_REGION,      /* no region of this protection domain, or one that was invalidated */
	MR_RULE_NO_WINDOWS,     /* one to which no windows may be bound */
	MR_RULE_WINDOW_WRITES,  /* peers are to write what the program itself may not */
	MR_RULE_WINDOW_OUTSIDE, /* the range is not inside the region */
	MR_RULES,               /* the number of rules */
};

/* May these segments be a region? `most`: segments of a region. `may_be_empty`: a segment may have no bytes. A segment may end at
 * the end of the address space, and (NULL, SIZE_MAX) is all of it. */
enum mr_rule mr_may_hold(const struct iovec *iov, size_t count, size_t most, bool may_be_empty);
/* May a region have these rights (enum mr_access)? */
enum mr_rule mr_may_grant(uint32_t access);
/* Is memory written by what these rights allow, or only read? */
bool mr_rights_write(uint32_t access);
/* May a region of these segments be registered within `base`, which covers all of them (S122)? */
bool mr_may_lie_within(const struct mr *base, const struct iovec *iov, size_t count);

/* May it be bound there? `events_asked`: whether it is to be bound to counters is told when it is registered. */
enum mr_rule mr_may_bind(const struct mr *mr, const struct binding_end *end, bool events_asked);
enum mr_rule mr_may_enable(const struct mr *mr);
/* May the window be bound so to the region? Either may be NULL: there is none. */
enum mr_rule mr_may_bind_window(const struct mr_window *window, const struct mr *mr, const struct mr_bind *bind);
/* `bindings_hold`: it stays open as long as what it is bound to. */
enum mr_rule mr_may_close(const struct mr *mr, bool bindings_hold);

#endif
