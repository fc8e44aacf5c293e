/* SPDX-License-Identifier: BSD-2-Clause */
/* uv_reserve.h - what libuv needs and cannot do without. */
#ifndef EMU_NET_UV_RESERVE_H
#define EMU_NET_UV_RESERVE_H

/* Before any other call of libuv; again is as good as once. 0, or -errno of dup(fd): too few descriptors are left. */
int uv_reserve_check(int fd);

#endif
