/* SPDX-License-Identifier: BSD-2-Clause */
/* export.h - exported symbols.
 * A shared object exports all that is not static, unless it is built with -fvisibility=hidden: build modules without it.
 * The macro only sees that the symbol is declared; no license is checked. */
#ifndef EMU_KERNEL_LINUX_EXPORT_H
#define EMU_KERNEL_LINUX_EXPORT_H

#define EXPORT_SYMBOL(symbol) extern __typeof__(symbol) symbol
#define EXPORT_SYMBOL_GPL(symbol) EXPORT_SYMBOL(symbol)

#endif
