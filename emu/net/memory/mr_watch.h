/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_watch.h - makes the tables of known pages (FI_MR_MMU_NOTIFY) forget pages that the program replaces (S108). Without it,
 * where userfaultfd is forbidden or the memory cannot be watched, a page that was replaced and touched since cannot be told
 * from the old one. Any thread that may use the NIC. */
#ifndef EMU_NET_MR_WATCH_H
#define EMU_NET_MR_WATCH_H

#include <stddef.h>
#include <sys/uio.h>

struct mr_pages;

/* Watches the memory of a table of these segments, as far as possible, until mr_pages_close(). Call it before the table
 * learns anything. NULL, or why nothing is ever watched in this process, in words. */
const char *mr_watch(struct mr_pages *pages, const struct iovec *segments, size_t count);

#endif
