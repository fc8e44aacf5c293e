#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dynamic.sh - what the provider asks of the process that it is loaded into, and what it shows to it.
# dynamic.sh LOADER PROVIDER
. "$EMU_SOURCE_DIR/tests/verdict.sh"
loader=$1 provider=$2

needed=$(readelf -dW "$provider" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	grep -vE '^(libc|ld-linux.*|libfabric)\.so' | paste -sd' ')
exported=$(nm -D --defined-only "$provider" | awk '{ print $3 }' | paste -sd' ')
foreign=$(nm -D --undefined-only "$provider" | awk '{ print $2 }' | grep -E '^(uv_|io_uring_|XXH|wire_)' | paste -sd' ')
flags=$(readelf -dW "$provider" | grep -oE 'NODELETE|TEXTREL|RPATH|RUNPATH' | sort -u | paste -sd' ')
stack=$(readelf -lW "$provider" | awk '$1 == "GNU_STACK" { print $7 }')

verdict exports_only_fi_prov_ini "$exported" fi_prov_ini
verdict needs_only_libc_and_libfabric "$needed" ""
verdict binds_libraries_inside "$foreign" ""
verdict stays_loaded_and_has_no_search_path "$flags" NODELETE
verdict stack_is_not_executable "$stack" RW
"$loader" "$provider" || failed=1
exit $failed
