#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hooks.sh - the provider below libfabric's hooks, each of which puts objects of its own before the provider's: hooks.sh PROGRAM...
# runs Criterion programs with the libfabric of libfabric.sh. Left out are hooks that this libfabric does not load (profile, hmem)
# and debug, which takes neither FI_THREAD_SAFE nor queues below FI_CQ_FORMAT_MSG.
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for hook in noop perf trace monitor; do
	for program; do
		name=hook-$hook-${program##*/}
		FI_HOOK=$hook FI_LOG_LEVEL=trace "${0%/*}/libfabric.sh" "$program" --jobs 1 --timeout 120 >"$log" 2>&1
		code=$?
		if [ $code = 77 ]; then
			cat "$log"
			exit 77
		elif [ $code = 0 ] && grep -aq "Installing $hook hook" "$log"; then
			echo "ok $name"
		else
			echo "not ok $name exit status $code, or the hook was not installed"
			grep -a '^\[' "$log"
			status=1
		fi
	done
done
exit ${status:-0}
