/* SPDX-License-Identifier: BSD-2-Clause */
/* parse.h - numbers in settings, the same in every locale. Pure. False: not such a number, and nothing is written. */
#ifndef EMU_PROCESS_PARSE_H
#define EMU_PROCESS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal, or hexadecimal after 0x; up to 2^64 - 1. */
bool parse_whole(const char *text, uint64_t *value);
/* A decimal fraction from 0 to 1 in billionths; further digits are ignored. */
bool parse_rate(const char *text, uint32_t *billionths);
/* A whole number and its unit, us, ms or s: up to an hour. */
bool parse_time(const char *text, uint64_t *ns);

#endif
