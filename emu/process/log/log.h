/* SPDX-License-Identifier: BSD-2-Clause */
/* log.h - lines of the process's own log, which the front end shows. Any thread, with any lock. */
#ifndef EMU_PROCESS_LOG_H
#define EMU_PROCESS_LOG_H

#include "emu/process/front/process_front.h"

/* One line at warn, without its end; what is longer than 1,023 bytes is cut. */
void log_warn(enum process_subject subject, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

#endif
