/* SPDX-License-Identifier: BSD-2-Clause */
/* linger.h - a sleep of the NIC thread that its end cuts short. */
#ifndef EMU_NET_LINGER_H
#define EMU_NET_LINGER_H

#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>

/* Until then (CLOCK_MONOTONIC), or until `stop` is posted: that stays, so that later sleeps end at once, too. */
static inline void linger(sem_t *stop, uint64_t end_ns)
{
	struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000), .tv_nsec = (long)(end_ns % 1000000000) };
	int rc;

	do
		rc = sem_clockwait(stop, CLOCK_MONOTONIC, &end);
	while (rc && errno == EINTR);
	if (!rc)
		sem_post(stop);
}

#endif
