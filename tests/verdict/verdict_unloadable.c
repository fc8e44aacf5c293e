/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict_unloadable.c - a library that wants another which the loader does not find. */
#include "tests/verdict/verdict_library.h"

void *verdict_unloadable(void);
void *verdict_unloadable(void)
{
	return (void *)verdict_through_library;
}
