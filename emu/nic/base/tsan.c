/* SPDX-License-Identifier: BSD-2-Clause */
/* tsan.c - the object by which the thread sanitizer knows the order of posts and completions. */
#include "emu/nic/base/tsan.h"

#if !TSAN_BUILD
char tsan_order;
#endif
