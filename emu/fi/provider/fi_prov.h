/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_prov.h - the provider as libfabric's core knows it, and its log. Any thread. */
#ifndef EMU_FI_PROV_H
#define EMU_FI_PROV_H

#include <errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

extern struct fi_provider emu_provider;

/* One line of libfabric's log; FI_LOG_LEVEL selects the lines shown. `subsystem` as in FI_LOG_CORE: CORE, MR, CQ ... */
#define EMU_WARN(subsystem, ...) FI_WARN(&emu_provider, FI_LOG_##subsystem, __VA_ARGS__)
#define EMU_INFO(subsystem, ...) FI_INFO(&emu_provider, FI_LOG_##subsystem, __VA_ARGS__)

#endif
