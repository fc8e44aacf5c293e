/* SPDX-License-Identifier: BSD-2-Clause */
/* freed.h - memory of code that leaves it to the end of its process, freed after each input. The linker leads the calls that
 * allocate here (CMakeLists.txt). One thread. */
#ifndef TESTS_FUZZ_FREED_H
#define TESTS_FUZZ_FREED_H

/* What is allocated from here on is noted, */
void freed_begin(void);
/* and what is left of it is freed. */
void freed_end(void);

#endif
