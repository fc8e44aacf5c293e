# SPDX-License-Identifier: BSD-2-Clause
# The dependencies. Imported targets: PkgConfig::XXHASH, emu::uv, emu::uring, emu::sodium and emu::inih (static),
# emu::libfabric and PkgConfig::CRITERION.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

find_path(UV_INCLUDE_DIR uv.h REQUIRED)
find_library(UV_STATIC NAMES libuv.a libuv_a.a REQUIRED)
# A distribution may build it for executables: then it reaches variables of the C library in a way that a shared library
# cannot. In our copy they have other names, which emu/net/os/uv_libc.c defines.
set(uv_copy ${CMAKE_BINARY_DIR}/libuv_emu.a)
if(${UV_STATIC} IS_NEWER_THAN ${uv_copy})
	execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym environ=emu_uv_environ --redefine-sym stderr=emu_uv_stderr
		--redefine-sym in6addr_any=emu_uv_in6addr_any ${UV_STATIC} ${uv_copy} COMMAND_ERROR_IS_FATAL ANY)
endif()
add_library(emu::uv STATIC IMPORTED)
set_target_properties(emu::uv PROPERTIES
	IMPORTED_LOCATION ${uv_copy}
	INTERFACE_INCLUDE_DIRECTORIES ${UV_INCLUDE_DIR}
	INTERFACE_LINK_LIBRARIES "uv_libc;Threads::Threads;dl;rt")

# The static library of that name, as emu::TARGET.
function(emu_static target header library)
	find_path(${target}_INCLUDE_DIR ${header} REQUIRED)
	find_library(${target}_STATIC NAMES ${library} REQUIRED)
	add_library(emu::${target} STATIC IMPORTED GLOBAL)
	set_target_properties(emu::${target} PROPERTIES
		IMPORTED_LOCATION ${${target}_STATIC}
		INTERFACE_INCLUDE_DIRECTORIES ${${target}_INCLUDE_DIR})
endfunction()
emu_static(uring liburing.h liburing.a)
emu_static(sodium sodium.h libsodium.a)
emu_static(inih ini.h libinih.a)

if(LIBFABRIC_ROOT)
	find_path(FABRIC_INCLUDE_DIR rdma/fabric.h PATHS ${LIBFABRIC_ROOT}/include NO_DEFAULT_PATH REQUIRED)
	find_library(FABRIC_LIBRARY fabric PATHS ${LIBFABRIC_ROOT}/lib ${LIBFABRIC_ROOT}/lib64 NO_DEFAULT_PATH REQUIRED)
else()
	find_path(FABRIC_INCLUDE_DIR rdma/fabric.h REQUIRED)
	find_library(FABRIC_LIBRARY fabric REQUIRED)
endif()
file(STRINGS ${FABRIC_INCLUDE_DIR}/rdma/fabric.h FABRIC_VERSION REGEX "define FI_(MAJOR|MINOR)_VERSION")
string(REGEX REPLACE "[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" FABRIC_VERSION "${FABRIC_VERSION}")
message(STATUS "libfabric ${FABRIC_VERSION}: ${FABRIC_LIBRARY}")
if(FABRIC_VERSION VERSION_LESS 1.17)
	message(FATAL_ERROR "libfabric 1.17 or later is needed; another one than the system's: -DLIBFABRIC_ROOT=prefix")
endif()
add_library(emu::libfabric SHARED IMPORTED)
set_target_properties(emu::libfabric PROPERTIES
	IMPORTED_LOCATION ${FABRIC_LIBRARY}
	INTERFACE_INCLUDE_DIRECTORIES ${FABRIC_INCLUDE_DIR})

# The headers of rdma-core alone: libibverbs and librdmacm are what is built.
find_path(IBVERBS_INCLUDE_DIR infiniband/verbs.h REQUIRED)
find_path(RDMACM_INCLUDE_DIR rdma/rdma_cma.h REQUIRED)

if(EMU_TESTS)
	pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
endif()
