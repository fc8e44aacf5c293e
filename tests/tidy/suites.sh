#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# suites.sh - what tests/run.sh says of its suites: how long each took, and what came of it; and that each registered test is in
# those that it runs by default, or in those of `nightly`. In the environment of runner.sh.
#
# In a tree with nothing but run.sh and what it calls for the suite debian13, which builds nothing itself.
failed=0
tree=$(mktemp -d "${TMPDIR:-/tmp}/emu-suites.XXXXXX") || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/tests" "$tree/tools"
cp "$EMU_SOURCE_DIR/tests/run.sh" "$tree/tests"
cat >"$tree/tools/lib.sh" <<END
. "$EMU_SOURCE_DIR/tools/lib.sh"
EMU_ROOT=$tree
new_libfabric_lib() { echo /nowhere; }
END
printf '#!/bin/sh\n' >"$tree/tools/setup.sh"
chmod +x "$tree/tools/setup.sh"

# run BODY: run.sh, where the suite debian13 is a script of this body. It runs beside mutants, which is skipped.
run() {
	printf '#!/bin/sh\n%s\n' "$1" >"$tree/tests/debian13.sh"
	chmod +x "$tree/tests/debian13.sh"
	said=$(env -u EMU_RESULTS "$tree/tests/run.sh" mutants debian13 2>&1)
	status=$?
}

# verdict NAME WANTED: a line that run.sh said, as an expression.
verdict() {
	if grep -qE "^$2\$" <<<"$said"; then
		echo "ok $1"
	else
		printf 'said:   %s\nwanted: %s\n' "$said" "$2"
		echo "not ok $1"
		failed=1
	fi
}

run 'end=$(($(date +%s) + 2)); while [ "$(date +%s)" -lt $end ]; do :; done
	echo "pass a: b" >>"$EMU_RESULTS"; echo "pass a: c" >>"$EMU_RESULTS"; echo "skip a: d why" >>"$EMU_RESULTS"'
verdict seconds_of_a_suite 'debian13 took [1-9] s'
verdict table_of_times 'debian13 +[1-9] +0 +2 +0 +1'
verdict row_of_the_suite_beside 'mutants +0 +0 +0 +0 +1'
verdict sum '2 passed, 0 failed, 2 skipped'
said=$status
verdict good 0

run 'echo "fail a: b why" >>"$EMU_RESULTS"'
verdict failure_in_the_table 'debian13 +[0-9] +0 +0 +1 +0'
said=$status
verdict bad 1

# listed [nightly]: the lines SUITE/TEST of run.sh --list, sorted.
listed() {
	"$tree/tests/run.sh" --list "$@" | sort
}

# none NAME WHAT: good if nothing was said.
none() {
	if [ -z "$said" ]; then
		echo "ok $1"
	else
		echo "not ok $1 $2" $said
		failed=1
	fi
}

mkdir -p "$tree/build"/{release,asan,tsan}
for build in release asan tsan; do
	cp "$EMU_BUILD/tests.list" "$tree/build/$build"
done
said=$(comm -23 <(awk '{ print $3 }' "$EMU_BUILD/tests.list" | sort) <({ listed; listed nightly; } | sed 's|.*/||' | sort -u))
none each_test_runs_by_default_or_by_night 'no suite runs'
said=$(comm -23 <(listed) <(listed nightly))
none what_runs_by_default_runs_by_night 'nightly leaves out'
exit $failed
