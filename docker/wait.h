/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.h - waits that have a limit and say what for, and how the program ends when one was in vain.
 * Thread: one. */
#ifndef EMU_DOCKER_WAIT_H
#define EMU_DOCKER_WAIT_H

#include <stdbool.h>
#include <stdint.h>

enum { WAIT_PAUSE_MS = 100, WAIT_LATER_MS = 3000, WAIT_S_MIN = 1, WAIT_S_MAX = 3600 };

struct wait {
	int64_t until_ms;
	char what[200];
};

/* Prints a message and ends the program with status 1. */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A whole number of the environment; `otherwise` where the variable is empty or not set. Gives up unless it is from min
 * to max. */
int setting(const char *name, int min, int max, int otherwise);

/* Makes SIGTERM and SIGINT end the wait that is under way, with a sentence. */
void wait_setup(void);
/* Has it end WAIT_LATER_MS later. Compose stops all nodes when one has ended: those that stay are not taken for it. */
void wait_stop_later(void);
bool wait_stopped(void);

void wait_begin(struct wait *wait, int seconds, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* True while there is time. Gives up if the program is to stop. */
bool wait_goes_on(const struct wait *wait);
void wait_pause(void);

int64_t clock_ms(void);

#endif
