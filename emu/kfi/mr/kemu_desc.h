/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_desc.h - descriptors of regions that lie in windows. The device knows such a region by the window's addresses, and the
 * client names its own: so operations look here. Any thread; never sleeps. */
#ifndef EMU_KFI_DESC_H
#define EMU_KFI_DESC_H

#include <stdbool.h>
#include <sys/uio.h>

struct kemu_domain;
struct kemu_window;

/* False: no memory. Each is forgotten once, before its window ends. */
bool kemu_desc_add(const struct kemu_domain *domain, const void *desc, const struct kemu_window *window);
void kemu_desc_forget(const struct kemu_window *window);
/* Gives a buffer the address that the device knows for it in the region of `desc`. One that is not in it keeps its own, and the
 * device refuses it. */
void kemu_desc_translate(const struct kemu_domain *domain, const void *desc, struct iovec *buffer);

#endif
