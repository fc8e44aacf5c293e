/* SPDX-License-Identifier: BSD-2-Clause */
/* net.h - the process's one NIC with its outside: real clock, TCP link, NIC thread. emu/fi includes this and wait.h.
 *
 * Any thread; net_start(), net_end() and net_stop() may sleep, so not while holding the driver role. Errors are negative errnos.
 *
 * The NIC is made once and stays. Its threads run while it has users: so a program that has closed everything has no thread of
 * ours, which would keep the process when the program's last thread ends, and in which no signal is delivered. */
#ifndef EMU_NET_NET_H
#define EMU_NET_NET_H

#include <stdatomic.h>
#include <stdbool.h>

#include "emu/net/ctl/ctl.h"
#include "emu/net/link/bound.h"
#include "emu/nic/device/nic.h"

struct net_config {
	struct nic_config nic;     /* wake and wake_arg are set by net_start() */
	bool manual;               /* FI_EMU_PROGRESS=manual: the NIC thread connects peers but serves no data */
	uint64_t silence_ns;       /* a connection on which nothing gets through for so long is broken; 0: TIME_SILENCE_NS */
	struct bound_config bound; /* FI_EMU_PORTS, FI_EMU_ADVERTISE */
	bool local;                /* peers of this machine and user are reached by Unix sockets (local.h) */
	uint64_t slow_ns;          /* the NIC thread waits so long before each slice that it serves */
	void (*log)(enum nic_log level, const char *text); /* any thread, NULL: nowhere */
	struct ctl_config ctl;                             /* the control socket; no error if there can be none */
};

/* The identity of a NIC, for the life of the process. It has a page of its own, which is wiped in a fork's child: so the objects
 * that the child inherits stay dead, even when it opens a NIC. Before the first start it is a static one, all false. */
struct net_claim {
	atomic_bool own;
	atomic_bool running; /* cleared by net_stop(); net.c's memory stays then, for threads that still read it */
};
extern struct net_claim *_Atomic net_claim;

/* One more user. The first call makes the NIC and starts its thread; later ones return the same NIC and ignore config but for its
 * control socket. 0; -ENODEV after net_stop(), and in the child of a fork that ran no handlers (_Fork()); or the system's -errno.
 * A fork's child has no NIC until it calls this, and then one of its own. */
int net_start(struct nic **nic, const struct net_config *config);
/* One more user, which needs no NIC, but the threads if there is one. 0 or -ENOMEM. */
int net_hold(void);
/* One user less, in the process that counted it. The last one ends the threads and the control socket, until the next
 * net_start(), within TIME_BYE_NS. */
void net_end(void);
/* For the provider's cleanup, at exit: joins the NIC thread whatever is still open, sends what is owed, within
 * TIME_BYE_NS, says BYE, and keeps the driver role for good. Frees nothing, since other threads may be in the middle
 * of a call. Does nothing in a fork's child or before net_start(). */
void net_stop(void);
/* Does this process run the NIC of this claim, which an object noted when it was opened? False after net_stop(), and in a fork's
 * child: then every call that would touch the NIC must fail with -FI_ENODEV and do no more. A load. */
static inline bool net_runs(const struct net_claim *claim)
{
	return atomic_load_explicit(&claim->running, memory_order_acquire); /* pairs with the release of net_start() */
}
/* Has this process a NIC of its own? False before net_start(), after net_stop(), and in a fork's child that has opened none. */
static inline bool net_mine(void)
{
	return net_runs(atomic_load_explicit(&net_claim, memory_order_acquire)); /* likewise */
}
struct nic *net_nic(void);
/* By the NIC thread alone, that is in struct ctl_ops: net_config.slow_ns from now on. */
void net_slow(uint64_t slow_ns);
/* After net_start(): an address of this process as its peers know it (bound.h). */
void net_known(struct sockaddr_storage *at);

/* "From now on the program sleeps on the sockets": wait.c calls it. The next post or poll moves driver.polls and so takes
 * it back. */
void net_park(void);
/* "From now on the program sleeps on something else, which is signalled when the device is served": so the NIC thread serves at
 * once, and not when it has found for a ms that the program does not poll. After net_start(); any thread; a load and a store if
 * the NIC thread serves already. The next post or poll takes it back. */
void net_doze(void);

#endif
