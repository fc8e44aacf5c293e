/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_order.h - findings with their causes first. One thread; nothing fails.
 */
#ifndef REPORT_ORDER_H
#define REPORT_ORDER_H

#include "tools/report/report_model.h"

/*
 * After report_judge(). Puts refusals, misuse and calls in the order of time, and leaks behind them. Objects that a process left
 * open when it exited are no findings of their own if the process had failed before: they become a sentence of that finding, and
 * `after` leads there.
 */
void report_order(struct report_run *run);

#endif
