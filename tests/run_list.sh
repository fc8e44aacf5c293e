#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run_list.sh - runs a build's tests of some labels one after another, where there may be no CMake: an ordinary user's
# copy of the tree, a container. run_list.sh BUILD_FOLDER LABEL|LABEL...
here=$(dirname "$0")

while read -r labels seconds name kind command; do
	[[ $labels =~ (^|,)($2)(,|$) ]] || continue
	# Unquoted: the command's words, as registered.
	if out=$("$here/runner.sh" "$1" "$seconds" "$name" "$kind" $command 2>&1 </dev/null); then
		echo "$name: passed"
	elif [ $? = 77 ]; then
		echo "$name: skipped"
	else
		printf '%s: FAILED\n%s\n' "$name" "$out"
	fi
done <"$1/tests.list"
