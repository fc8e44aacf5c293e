/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av_sym.c - the n-th name of a symmetric range. */
#include "emu/fi/av/fi_av_impl.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds n to a big-endian number; false if it does not fit. */
static bool add_bytes(uint8_t *bytes, size_t size, size_t n)
{
	size_t carry = n;

	for (size_t i = size; i-- > 0 && carry;) {
		carry += bytes[i];
		bytes[i] = (uint8_t)carry;
		carry >>= 8;
	}
	return !carry;
}

/* Counts up the number at the end, as wide as it was. */
static bool add_suffix(const char *first, size_t n, char *out)
{
	size_t length = strlen(first), digits = 0;
	unsigned long long value;

	while (digits < length && isdigit((unsigned char)first[length - digits - 1]))
		digits++;
	if (digits > 18)
		return false;
	if (!digits)
		return !n && snprintf(out, SYM_NAME_MAX, "%s", first) < SYM_NAME_MAX;
	value = strtoull(first + length - digits, NULL, 10) + n;
	return snprintf(out, SYM_NAME_MAX, "%.*s%0*llu", (int)(length - digits), first, (int)digits, value) < SYM_NAME_MAX;
}

bool sym_node(const char *first, size_t n, char *out)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, first, bytes) == 1)
		return add_bytes(bytes, 4, n) && inet_ntop(AF_INET, bytes, out, SYM_NAME_MAX);
	if (inet_pton(AF_INET6, first, bytes) == 1)
		return add_bytes(bytes, 16, n) && inet_ntop(AF_INET6, bytes, out, SYM_NAME_MAX);
	return add_suffix(first, n, out);
}

bool sym_service(const char *first, size_t n, char *out)
{
	return add_suffix(first, n, out);
}
