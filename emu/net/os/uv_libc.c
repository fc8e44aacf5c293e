/* SPDX-License-Identifier: BSD-2-Clause */
/* uv_libc.c - stand-ins for three variables of the C library, as libuv sees them.
 *
 * A distribution's static libuv is built for executables and reaches variables of other libraries in a way that a
 * shared library cannot, so the build renames them in its copy (tools/cmake/EmuDeps.cmake). This library calls none of the
 * functions that use the environment or the error stream (process start, uv_print_all_handles). */
#include <netinet/in.h>
#include <stdio.h>

extern char *emu_uv_environ[];
extern FILE *emu_uv_stderr;
extern const struct in6_addr emu_uv_in6addr_any;

char *emu_uv_environ[] = { NULL };
FILE *emu_uv_stderr;
const struct in6_addr emu_uv_in6addr_any = IN6ADDR_ANY_INIT;
