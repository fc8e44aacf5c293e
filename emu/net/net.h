/* SPDX-License-Identifier: BSD-2-Clause */
/* net.h - the process's one NIC with its outside: real clock, TCP link, NIC thread. What emu/fi includes, with wait.h.
 *
 * Any thread; net_start() and net_stop() may sleep, so not while holding the driver role. Errors are negative errnos. */
#ifndef EMU_NET_NET_H
#define EMU_NET_NET_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/nic/nic.h"

struct net_config {
	struct nic_config nic;		/* wake and wake_arg are set by net_start() */
	bool manual;			/* FI_EMU_PROGRESS=manual: the NIC thread connects peers but serves no data */
	uint64_t silence_ns;		/* a connection on which nothing gets through for so long is broken; 0: TIME_SILENCE_NS */
	bool local;			/* peers of this machine and user are reached by Unix sockets (local.h) */
	uint64_t slow_ns;		/* the NIC thread waits so long before each slice that it serves */
	void (*log)(enum nic_log level, const char *text);	/* any thread, NULL: nowhere */
};

/* On a page that a fork's child finds wiped; before the first start one that says no, too. */
struct net_claim {
	atomic_bool own;
	atomic_bool running;	/* cleared by net_stop(); then all that net.c has stays, for who still looks */
};
extern struct net_claim *_Atomic net_claim;

/* The first call makes the NIC and starts its thread; later ones return the same NIC and do not look at config. 0;
 * -ENODEV after net_stop(), and in a fork's child whose NIC is its parent's; or what the system refused. */
int  net_start(struct nic **nic, const struct net_config *config);
/* For the provider's cleanup, at exit: joins the NIC thread whatever is still open, sends what is owed, within
 * TIME_BYE_NS, says BYE, and keeps the driver role for good. Frees nothing, since other threads may be in the middle
 * of a call. Nothing in a fork's child, and nothing before net_start(). */
void net_stop(void);
/* Has this process a NIC of its own? False before net_start(), after net_stop(), and in a fork's child: there every
 * call that would touch the NIC must fail with -FI_ENODEV and no more. A few loads. */
static inline bool net_mine(void)
{
	/* Both acquire: pairs with the releases of net_start(). */
	struct net_claim *claim = atomic_load_explicit(&net_claim, memory_order_acquire);

	return atomic_load_explicit(&claim->running, memory_order_acquire);
}
struct nic *net_nic(void);

/* "From now on the program sleeps on the sockets": wait.c calls it. The next post or poll (whatever moves
 * driver.polls) takes it back by itself. */
void net_park(void);

#endif
