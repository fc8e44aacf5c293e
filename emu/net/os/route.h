/* SPDX-License-Identifier: BSD-2-Clause */
/* route.h - has the system a route from one address to another? Any thread; sends nothing. */
#ifndef EMU_NET_ROUTE_H
#define EMU_NET_ROUTE_H

#include <stddef.h>
#include <sys/socket.h>

/* Of addresses of one family, without ports. 0: it has, or nobody knows. Else an errno, and `text` says which is not reached from
 * which, and why. */
int route_missing(const struct sockaddr_storage *from, const struct sockaddr_storage *to, char *text, size_t size);

#endif
