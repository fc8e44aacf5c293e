/* SPDX-License-Identifier: BSD-2-Clause */
/* echo.h - for the tests of the NIC thread and of the wait objects: the NIC over real sockets and a fake device that echoes.
 * The peer is a plain blocking socket. */
#ifndef EMU_TESTS_ECHO_H
#define EMU_TESTS_ECHO_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/device/nic.h"
#include "emu/nic/role/driver.h"

extern struct nic *nic;
extern struct driver *driver;
extern int peer;         /* the other end of the connection */
extern uint64_t slow_ns; /* before echo_start(): net_config's */

/* The NIC, a listener, and a peer that the NIC thread lets in. */
void echo_start(bool manual);
void echo_ping(void);
void echo_pong(void); /* blocks */
bool echo_has_pong(void);
/* Dials the NIC's own listener, and returns when the NIC thread has finished both ends. */
void echo_dial_itself(void);
bool never(void *arg); /* for wait_try() */

#endif
