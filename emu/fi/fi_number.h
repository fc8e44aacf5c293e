/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_number.h - numbers in settings, whatever the locale. Pure. False: not such a number, and nothing is written. */
#ifndef EMU_FI_NUMBER_H
#define EMU_FI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal, or hexadecimal after 0x; up to 2^64 - 1. */
bool number_whole(const char *text, uint64_t *value);
/* A decimal fraction from 0 to 1 in billionths; further digits count for nothing. */
bool number_rate(const char *text, uint32_t *billionths);
/* A whole number and its unit, us, ms or s: up to an hour. */
bool number_time(const char *text, uint64_t *ns);

#endif
