# SPDX-License-Identifier: BSD-2-Clause
# Toolchain file: builds for arm64 with Debian's cross compiler. The libraries are those of the arm64 Debian whose root folder the
# environment's EMU_ARM64_ROOT names; tools/arm64.sh makes one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT $ENV{EMU_ARM64_ROOT})
# Debian's cross compiler brings a C library of its own, which may be older: that of the root goes first.
set(CMAKE_C_FLAGS_INIT -B${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
