/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict_library.h - a shared library in the middle of a stack. Any thread; nothing fails. */
#ifndef VERDICT_LIBRARY_H
#define VERDICT_LIBRARY_H

void verdict_through_library(void (*call)(void));

#endif
