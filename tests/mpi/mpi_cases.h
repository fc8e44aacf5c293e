/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi_cases.h - an MPI program that is a list of cases. All ranks run all of them, in order; a case that finds wrong
 * values at any rank fails, and the next one runs. Errors of MPI itself end the program, as MPI has it. */
#ifndef EMU_TESTS_MPI_CASES_H
#define EMU_TESTS_MPI_CASES_H

#include <mpi.h>
#include <stddef.h>

struct mpi_case {
	const char *name;
	long (*run)(void); /* returns how many values were wrong at this rank */
};

/* The program's own; ends with a case that has no name. */
extern const struct mpi_case mpi_cases[];

/* In MPI_COMM_WORLD. */
extern int my_rank, ranks;

/* The ranks after and before this one, in a ring. */
int next_rank(void);
int last_rank(void);

/* Item `i` of what a rank sends: it differs for each rank and nearly each i. */
int value_of(int who, size_t i);

/* Fills and checks `count` items of that rank. check_values() returns how many are wrong. */
void fill_values(int *items, size_t count, int who);
long check_values(const int *items, size_t count, int who);

/* count items, all `with`; ends the program if there is no memory. The caller frees them. */
int *new_ints(size_t count, int with);

#endif
