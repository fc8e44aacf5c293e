/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_target.h - the side that serves. Thread: the main one. */
#ifndef PERF_TARGET_H
#define PERF_TARGET_H

#include "tools/perf/perf_side.h"

/* Serves until told to quit. Dies with a sentence if the initiator is gone, but says nothing to one that had started it. */
void target_serve(struct perf_side *side, bool inherited);

#endif
