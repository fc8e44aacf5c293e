/* SPDX-License-Identifier: BSD-2-Clause */
/* likely.h - marks the common side of a branch on the data path: the compiler lays the other side out of its cache lines. For
 * branches whose other side is no function marked cold, where counting said that it pays. */
#ifndef EMU_NIC_LIKELY_H
#define EMU_NIC_LIKELY_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
