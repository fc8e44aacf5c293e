/* SPDX-License-Identifier: BSD-2-Clause */
/* short_of.h - the exit status of short_of.c where nothing was short. */
#ifndef TESTS_SHORT_OF_H
#define TESTS_SHORT_OF_H

enum { SHORT_OF_NOTHING = 3 };

#endif
