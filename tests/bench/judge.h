/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.h - the figures that emu is held to. One line each: `pass: ...` or `short: ...`, with what was measured. */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include "peer.h"
#include "report.h"

/* Of the benchmarks that were chosen. A figure that cannot be had, for want of what it is compared with, is short. */
void judge_goals(FILE *out, const struct samples *s, const struct pair *pair);

/* With both processes on one core: no benchmark slower than over the provider tcp. */
void judge_one_core(FILE *out, const struct samples *s, const struct pair *pair);

#endif
