/* SPDX-License-Identifier: BSD-2-Clause */
/* string_step.h - instructions for strings that are repeated upwards: REP MOVS, STOS, LODS. By the trap flag they trap behind each
 * element, thousands of times; so the handler makes what they have to do on a page. Any thread, in the handler of a fault. */
#ifndef EMU_PROCESS_STRING_STEP_H
#define EMU_PROCESS_STRING_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/* The bytes that the interrupted instruction goes over; 1: it is another one. */
size_t string_step_length(const ucontext_t *interrupted);
/* Makes its elements up to the end of the page that it writes to, and of the one that it reads. False: it made none, as it is
 * another instruction, loads alone, goes over bytes of its own, or its memory cannot be had. */
bool string_step_make(ucontext_t *interrupted);

#endif
