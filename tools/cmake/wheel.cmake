# SPDX-License-Identifier: BSD-2-Clause
# Toolchain file: builds for an older C library by the compiler and with the libraries below the folder EMU_WHEEL_ROOT, for the
# processor EMU_WHEEL_ARCH; tools/package/wheel.sh makes that folder.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EMU_WHEEL_ROOT EMU_WHEEL_ARCH)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${EMU_WHEEL_ARCH})
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(root ${EMU_WHEEL_ROOT})
set(libdir ${root}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
set(CMAKE_C_COMPILER ${root}/bin/cc)
set(CMAKE_AR ${root}/bin/ar)
set(CMAKE_RANLIB ${root}/bin/ranlib)
set(CMAKE_OBJCOPY ${root}/bin/objcopy)
# Asserts stay on, and a section stays that is named by its bounds alone; symbols are for developers.
set(CMAKE_C_FLAGS_INIT "-UNDEBUG -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build")
foreach(kind EXE SHARED MODULE)
	set(CMAKE_${kind}_LINKER_FLAGS_INIT "-s -Wl,--no-gc-sections")
endforeach()
set(CMAKE_FIND_ROOT_PATH ${root})
foreach(kind LIBRARY INCLUDE)
	set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} ${libdir}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
# What the C library of that age lacks, and what the static libraries need themselves.
set(CMAKE_C_STANDARD_LIBRARIES "-L${libdir} -lold_libc -lelf -lz -llzma -lbz2")
