# SPDX-License-Identifier: BSD-2-Clause
# One set of warnings and one set of sanitizer flags for every target.
add_compile_options(
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
	-Wpointer-arith -Wundef -Wvla -Wwrite-strings -Wold-style-definition
	-fno-strict-aliasing -fno-common)
if(EMU_WERROR)
	add_compile_options(-Werror)
endif()
add_compile_definitions(_GNU_SOURCE)
include_directories(${CMAKE_SOURCE_DIR})

# Locks that are not given back, or not taken, are found (thread_safety.h).
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
	add_compile_options(-Wthread-safety)
endif()

# Asserts guard our own invariants and stay on in every build type.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

# Calls without the driver role that they need are found (driver.h).
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
	add_compile_definitions(EMU_ROLE_CHECKS)
endif()

if(EMU_SANITIZE)
	add_compile_options(-fsanitize=${EMU_SANITIZE} -fno-omit-frame-pointer)
	add_link_options(-fsanitize=${EMU_SANITIZE})
	if(EMU_SANITIZE MATCHES "undefined")
		add_compile_options(-fno-sanitize-recover=all)
	endif()
endif()

if(EMU_FUZZ)
	add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# The provider and libibverbs are each optimised as one program (an op passes some sixty small functions of forty files). The
# objects hold ordinary code, too: tests that link the libraries below it would take long to link otherwise.
if(CMAKE_BUILD_TYPE MATCHES "^Rel" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT EMU_SANITIZE)
	set(EMU_LTO -flto=auto)
	set(whole "$<STREQUAL:$<TARGET_PROPERTY:NAME>,emu-fi>,$<STREQUAL:$<TARGET_PROPERTY:NAME>,emu-verbs>")
	add_link_options("$<$<NOT:$<OR:${whole}>>:-fno-lto>")
endif()

# emu_lto(TARGET): its objects take part.
function(emu_lto target)
	if(EMU_LTO)
		target_compile_options(${target} PRIVATE ${EMU_LTO} -ffat-lto-objects)
	endif()
endfunction()

# emu_no_sleep(TARGET [MAY_SLEEP SOURCE...]): calls that may sleep are errors (no_sleep.h) in all of its sources but those named.
# To be called in the folder that makes the target.
function(emu_no_sleep target)
	cmake_parse_arguments(arg "" "" "MAY_SLEEP" ${ARGN})
	get_target_property(sources ${target} SOURCES)
	foreach(source ${arg_MAY_SLEEP})
		if(NOT source IN_LIST sources)
			message(FATAL_ERROR "emu_no_sleep(${target}): there is no ${source}")
		endif()
	endforeach()
	list(REMOVE_ITEM sources ${arg_MAY_SLEEP})
	set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -include ${CMAKE_SOURCE_DIR}/emu/nic/base/no_sleep.h)
endfunction()

# The environment of floating-point arithmetic, which the device sets for atomics; on x86-64 by instructions of its own.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
	link_libraries(m)
endif()
