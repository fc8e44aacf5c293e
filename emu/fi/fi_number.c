/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_number.c - what libc and libfabric read as a number is one here only if nothing else stands there. */
#include "emu/fi/fi_number.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

bool number_whole(const char *text, uint64_t *value)
{
	bool hex = !strncasecmp(text, "0x", 2);
	unsigned long long got;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	got = strtoull(text, &end, hex ? 16 : 10);
	if (errno || *end || end == text)
		return false;
	*value = got;
	return true;
}

bool number_rate(const char *text, uint32_t *billionths)
{
	uint32_t unit = 1000000000, value;

	if (*text != '0' && *text != '1')
		return false;
	value = (uint32_t)(*text++ - '0') * unit;
	if (*text == '.' && text[1])
		for (text++; *text >= '0' && *text <= '9'; text++)
			value += (uint32_t)(*text - '0') * (unit /= 10);
	if (*text || value > 1000000000)
		return false;
	*billionths = value;
	return true;
}
