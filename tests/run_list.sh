#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run_list.sh - runs some tests of a build, a few at a time, where there may be no CMake: an ordinary user's copy of the tree, a
# container. run_list.sh BUILD_FOLDER LABELS NAMES, two expressions: the tests with one of the labels, but for those with one of
# the names.
here=$(dirname "$0")
build=$1

AT_A_TIME=6

# one SECONDS NAME KIND COMMAND...
one() {
	local out name=$2

	if out=$("$here/runner.sh" "$build" "$@" 2>&1 </dev/null); then
		echo "$name: passed"
	elif [ $? = 77 ]; then
		echo "$name: skipped"
	else
		printf '%s: FAILED\n%s\n' "$name" "$out"
	fi
}

while read -r labels seconds name kind command; do
	[[ $labels =~ (^|,)($2)(,|$) && ! $name =~ ^($3)$ ]] || continue
	while [ "$(jobs -rp | wc -l)" -ge $AT_A_TIME ]; do
		wait -n
	done
	one "$seconds" "$name" "$kind" $command &	# unquoted: the command's words, as registered
done < <(sort -k 2,2nr "$build/tests.list")	# what may take longest begins first
wait
