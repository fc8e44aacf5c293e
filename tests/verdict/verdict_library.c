/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict_library.c - a shared library in the middle of a stack. */
#include "tests/verdict/verdict_library.h"

__attribute__((visibility("default"), noinline)) void verdict_through_library(void (*call)(void))
{
	call();               /* the line of verdict_through_library */
	__asm__ volatile(""); /* no tail call */
}
