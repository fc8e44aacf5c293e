/* SPDX-License-Identifier: BSD-2-Clause */
/* line.h - two processes, and a line between them to talk on.
 *
 * The initiator is the process that was started; the target is its child. A call that fails ends the process that made it, with
 * the call's name. Nothing waits for longer than LAB_PATIENCE_S. `lab check` reads what happened in the file that LAB_NOTES
 * names. */
#ifndef LAB_LINE_H
#define LAB_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { LAB_BYTES = 4096, LAB_PATIENCE_S = 20 };

enum lab_side { LAB_INITIATOR, LAB_TARGET };

struct lab_line {
	int fd;
	pid_t child; /* the initiator's */
};

/* For the struct lab of either interface, which has a `side` and a `line`. lab_fork() becomes two processes: call it before
 * anything of a NIC. What one process tells, the other hears, in that order and whole. lab_hear() fails when the other is gone. */
#define lab_fork(lab) (memset(lab, 0, sizeof(*(lab))), (lab)->side = line_fork(&(lab)->line))
#define lab_tell(lab, what, length) line_tell(&(lab)->line, what, length)
#define lab_hear(lab, what, length) line_hear(&(lab)->line, what, length)

/* What an initiator must know of a region of the target. */
struct lab_region {
	uint64_t addr, key, length;
};

enum lab_side line_fork(struct lab_line *line);
void line_tell(struct lab_line *line, const void *what, size_t length);
void line_hear(struct lab_line *line, void *what, size_t length);
/* The initiator waits for the target, and returns 1 if that has failed. */
int line_close(struct lab_line *line);

/* Ends the process: what failed, and why. */
_Noreturn void line_die(const char *what, const char *why);
/* A line for `lab check`; what it asks of a region's memory. */
void line_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void line_note_memory(void *memory, size_t length);
/* The call that waits from now on, for `lab check` to name when time is up. Returns the one before. */
const char *line_waits_in(const char *call);

#endif
