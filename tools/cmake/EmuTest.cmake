# SPDX-License-Identifier: BSD-2-Clause
# How a folder registers its tests. Both functions make a ctest test that goes through tests/runner.sh, which sets the
# environment (the provider's folder and so on) and reports each case, and enter it in build/.../tests.list, by which
# tests/run.sh runs some of them again in other surroundings, without ctest.
#
# LABEL is one of: unit sim rules kit process tools mpi clients fabtests demo bench mutate tidy install docker. SERIAL: nothing
# else runs beside it. THREADS: it races threads on purpose, and is run under the thread sanitizer in each run of all suites (a
# script test with a program of its own). TIMEOUT: a hang guard in seconds (default 300), doubled under a sanitizer.

# A program of Criterion tests. Each Criterion test counts as one.
#   emu_criterion_test(mr_table LABEL unit SOURCES mr_table.c LIBS emu_nic [SERIAL] [TIMEOUT 600])
function(emu_criterion_test name)
	cmake_parse_arguments(arg "SERIAL" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
	add_executable(${name} ${arg_SOURCES})
	if(EMU_SANITIZE STREQUAL "thread")	# beside which Criterion finds no room for its sandbox
		target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/tsan/runner.c)
		target_include_directories(${name} PRIVATE ${CRITERION_INCLUDE_DIRS})
		target_link_libraries(${name} PRIVATE ${arg_LIBS})
	else()
		target_link_libraries(${name} PRIVATE ${arg_LIBS} PkgConfig::CRITERION)
	endif()
	emu_add_test(${name} criterion $<TARGET_FILE:${name}>)
endfunction()

# A command. It counts by the lines that it prints: `ok NAME`, `not ok NAME [reason]`, `skip NAME reason`; if it prints
# none of these, then as one test by its exit status.
#   emu_script_test(pingpong LABEL process COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/pingpong.sh [SERIAL] [THREADS]
#                   [TIMEOUT 600])
function(emu_script_test name)
	cmake_parse_arguments(arg "SERIAL;THREADS" "LABEL;TIMEOUT" "COMMAND" ${ARGN})
	emu_add_test(${name} script ${arg_COMMAND})
endfunction()

# Shared by both. A macro, so that it sees the caller's arg_*.
macro(emu_add_test name kind)
	set(labels unit sim rules kit process tools mpi clients fabtests demo bench mutate tidy install docker)
	if(NOT arg_LABEL IN_LIST labels)
		message(FATAL_ERROR "test ${name}: LABEL must be one of ${labels}")
	endif()
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 300)
	endif()
	if(EMU_SANITIZE)
		math(EXPR arg_TIMEOUT "2 * ${arg_TIMEOUT}") # which slow a program down by as much, and more
	endif()
	if(arg_THREADS)
		list(APPEND arg_LABEL threads)
	endif()
	add_test(NAME ${name} COMMAND
		${CMAKE_SOURCE_DIR}/tests/runner.sh ${CMAKE_BINARY_DIR} ${arg_TIMEOUT} ${name} ${kind} ${ARGN})
	# The runner does the timing, and cleans up; CTest's limit is only the last resort.
	math(EXPR limit "${arg_TIMEOUT} + 60")
	# What may take longest begins first.
	set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${limit} COST ${limit} SKIP_RETURN_CODE 77)
	if(arg_SERIAL)
		set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
	endif()
	string(REPLACE ";" " " line "${ARGN}")
	string(REPLACE ";" "," labels "${arg_LABEL}")
	set_property(GLOBAL APPEND_STRING PROPERTY EMU_TEST_LIST "${labels} ${arg_TIMEOUT} ${name} ${kind} ${line}\n")
endmacro()

# To be called once, after all tests.
function(emu_write_test_list)
	get_property(list GLOBAL PROPERTY EMU_TEST_LIST)
	file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests.list CONTENT "${list}")
endfunction()
