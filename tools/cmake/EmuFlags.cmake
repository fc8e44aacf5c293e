# SPDX-License-Identifier: BSD-2-Clause
# One set of warnings and one set of sanitizer flags for every target.
add_compile_options(
	-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
	-Wpointer-arith -Wundef -Wvla -Wwrite-strings -Wold-style-definition
	-fno-strict-aliasing -fno-common)
add_compile_definitions(_GNU_SOURCE)
include_directories(${CMAKE_SOURCE_DIR})

# Asserts guard our own invariants and stay on in every build type.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

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
