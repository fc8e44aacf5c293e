/* SPDX-License-Identifier: BSD-2-Clause */
/* sock.h - addresses of sockets. There are no sockets of the kernel. */
#ifndef EMU_KERNEL_NET_SOCK_H
#define EMU_KERNEL_NET_SOCK_H

#include <linux/in.h>
#include <sys/socket.h>

struct sock; /* a name for pointers: a module opens no sockets */
struct socket;

#endif
