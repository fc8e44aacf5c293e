/* SPDX-License-Identifier: BSD-2-Clause */
/* call_stack.h - where a program's thread is: taken cheaply as addresses, resolved to files only when it is written down.
 *
 * Any thread, with any lock: taking one locks and allocates nothing, once call_stack_prime() was called, and writing one takes a
 * leaf lock. Neither asks the dynamic loader, whose lock a program's thread may hold while it waits for the driver role. */
#ifndef EMU_PROCESS_CALL_STACK_H
#define EMU_PROCESS_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

enum { CALL_STACK_FRAMES = 16 };

/* Return addresses, the innermost first, without the provider's own frames. */
struct call_stack {
	uint32_t count; /* 0: none was taken */
	uintptr_t frame[CALL_STACK_FRAMES];
};

/* Loads what taking a stack needs. Before the first one, without the driver role; again is harmless. */
void call_stack_prime(void);
void call_stack_take(struct call_stack *stack);
/* In a signal handler: of the code that it interrupts at this address. `deep`: there is stack for the unwinder; without, that
 * address alone. */
void call_stack_take_interrupted(struct call_stack *stack, uintptr_t at, bool deep);
/* A number for the outermost frame that counts: the same for the same place in the program. 0: there is none. */
uint64_t call_stack_place(const struct call_stack *stack);
/* Modules may have come and gone since the last one was written. */
void call_stack_refresh(void);
/* An array of {"file":...,"offset":"0x..."}: the offset is that of the call within the file, as addr2line(1) takes it. Nothing
 * for NULL or an empty one. */
void call_stack_json(struct json *json, const char *name, const struct call_stack *stack);
/* The innermost frame in words, as "/path/file+0x12"; "" for NULL or an empty one. */
void call_stack_text(const struct call_stack *stack, char *text, size_t size);
/* In a fork's child, where it is one thread. */
void call_stack_forked(void);

#endif
