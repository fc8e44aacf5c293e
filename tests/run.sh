#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - sets the machine up, builds, and runs every test in every surrounding: run.sh [SUITE...]
#
# The suites, in the order of running when none is named:
#   release    every test of the release build, with libfabric 2.1 or later
#   old        the rules, process and MPI tests again, with the distribution's libfabric if that is older
#   tcp        the rules, process and demo tests again with FI_EMU_LOCAL=tcp: processes of one machine, connected by TCP
#   asan       every test that runs our code, under the address and undefined-behaviour sanitizers
#   tsan       the tests that race threads and the demo, under the thread sanitizer
#   fuzz       the fuzz targets, a minute each, two at a time; takes clang
#   user       the rules, process and demo tests as an ordinary user
#   container  the same in a container: default profile, no capabilities, 64 KiB of lockable memory, 1,024 descriptors
# Run only if named:
#   races      the unit, rules, process and demo tests under the thread sanitizer, which takes ten minutes
#
# A folder below tests/ registers its tests in its CMakeLists.txt with emu_criterion_test() or emu_script_test(), which
# tools/cmake/EmuTest.cmake describes; the LABEL given there decides which suites run a test. Each case of a test is one
# line of build/results: `pass|fail|skip SUITE/TEST: CASE REASON`.
#
# Ends with the line `N passed, N failed, N skipped`; exit status 0 only if none failed.
set -uo pipefail
. "$(dirname "$0")/../tools/lib.sh"

SUITES="release old tcp asan tsan fuzz user container"
# Not under the thread sanitizer: it holds signals back, which are what unit_nic is about; process-scarce and unit_cq take memory
# away, which is its own, too; process-soak cuts the provider's sockets behind its back; fi-large needs 24 GiB with it, and
# process-unplugged moves more than it can before the hang guard.
NOT_RACED='unit_nic|unit_cq|process-(scarce|soak|unplugged)|fi-large'
ELSEWHERE='rules|process|demo'	# labels of the tests that are run again in other surroundings
ORDINARY=65534			# uid and gid of the ordinary user
export EMU_RESULTS=$EMU_ROOT/build/results

say() {
	printf '\n== %s\n' "$*"
}

# result pass|fail|skip NAME [REASON], for what no test reports itself.
result() {
	echo "$*" >>"$EMU_RESULTS"
}

build() {
	local log=$EMU_ROOT/build/$1.log

	say "build $1"
	(cd "$EMU_ROOT" && cmake --preset "$1" && cmake --build --preset "$1" -j "$(nproc)") >"$log" 2>&1 && return 0
	grep -E -A5 'error|Error|FAILED' "$log" | head -n 60
	result fail "$1/build: see $log"
	return 1
}

# Every registered test of a build must have left a result: one that hung and was killed did not.
# missing_results SUITE BUILD LABELS [NAMES]
missing_results() {
	local labels name

	while read -r labels _ name _; do
		[[ $labels =~ (^|,)($3)(,|$) && ! $name =~ ^(${4:-})$ ]] || continue
		grep -q "^[a-z]* $1/$name: " "$EMU_RESULTS" || result fail "$1/$name: hung, or was killed"
	done <"$EMU_ROOT/build/$2/tests.list"
}

# run_ctest SUITE BUILD LABELS LIBFABRIC_FOLDER [NAMES]: the tests with one of the labels, but for those with one of the names.
run_ctest() {
	say "$1"
	EMU_SUITE=$1 LD_LIBRARY_PATH=$4 ctest --test-dir "$EMU_ROOT/build/$2" -L "^($3)\$" -E "^(${5:-})\$" -j 2 \
		--output-on-failure --no-tests=ignore 2>&1
	missing_results "$1" "$2" "$3" "${5:-}"
}

suite_release() {
	build release && run_ctest release release '[a-z]*' "$new_lib"
}

suite_old() {
	local lib

	if ! lib=$(old_libfabric_lib); then
		result skip "old: no libfabric older than $EMU_FABRIC_MIN is installed"
	else
		build release && run_ctest old release 'rules|process|mpi' "$lib"
	fi
}

suite_tcp() {
	build release && FI_EMU_LOCAL=tcp run_ctest tcp release "$ELSEWHERE" "$new_lib"
}

suite_asan() {
	build asan && run_ctest asan asan 'unit|sim|rules|process|demo|bench' "$new_lib"
}

suite_tsan() {
	build tsan && run_ctest tsan tsan "threads|demo" "$new_lib"
}

suite_races() {
	export TSAN_OPTIONS=suppressions=$EMU_ROOT/tests/tsan/programs.supp

	build tsan && run_ctest races tsan 'unit|rules|process|demo' "$new_lib" "$NOT_RACED"
}

suite_fuzz() {
	if ! command -v clang >/dev/null; then
		result skip "fuzz: clang is not installed"
		return
	fi
	say fuzz
	EMU_SUITE=fuzz "$EMU_ROOT/tests/runner.sh" "$EMU_ROOT/build/fuzz" 900 targets script "$EMU_ROOT/tests/fuzz/run.sh"
}

# Copies what the tests need to a folder that every user can read, whatever the rights on the way to this one.
# Prints its path.
copy_tree() {
	local to

	to=$(mktemp -d /tmp/emu-copy.XXXXXX) || return 1
	tar -C "$EMU_ROOT" --exclude=./.git --exclude='./build/*.log' --exclude='*.o' --exclude='*.a' \
		--exclude='./build/deps/*.tar.xz' --exclude='./build/deps/fabtests-*' --exclude-from=<(other_builds) -cf - . |
		tar -C "$to" -xf - || return 1
	sed -i "s|$EMU_ROOT|$to|g" "$to/build/release/tests.list"
	mkdir "$to/tmp"
	chmod -R a+rX "$to"
	chmod 1777 "$to/tmp"
	echo "$to"
}

other_builds() {
	local path

	for path in "$EMU_ROOT"/build/*; do
		case ${path##*/} in
		release | deps) ;;
		*) echo "./build/${path##*/}" ;;
		esac
	done
}

# The tests of the copy $2 for suite $1, by command "$@" with the command line to run appended. Results come by a
# file in the copy, since the one here is not for others to write.
run_copy() {
	local suite=$1 copy=$2 lib=${new_lib/#$EMU_ROOT/$2}
	shift 2

	"$@" env -i PATH="$PATH" HOME="$copy/tmp" TMPDIR="$copy/tmp" LD_LIBRARY_PATH="$lib" EMU_SUITE="$suite" \
		EMU_RESULTS="$copy/tmp/results" "$copy/tests/run_list.sh" "$copy/build/release" "$ELSEWHERE" 2>&1
	cat "$copy/tmp/results" >>"$EMU_RESULTS"
	missing_results "$suite" release "$ELSEWHERE"
	rm -rf "$copy"
}

suite_user() {
	local copy

	if [ "$(id -u)" != 0 ]; then
		result skip "user: all the other suites ran as an ordinary user"
		return
	fi
	build release && copy=$(copy_tree) || return
	say user
	run_copy user "$copy" setpriv --reuid $ORDINARY --regid $ORDINARY --clear-groups
}

# An image of empty folders and links; this machine's /usr is mounted into it, so that no image has to be fetched.
make_container_image() {
	local root

	root=$(mktemp -d /tmp/emu-image.XXXXXX)
	mkdir "$root"/{dev,etc,proc,sys,tmp,usr,var}
	chmod 1777 "$root/tmp"
	for dir in bin sbin lib lib32 lib64 libx32; do
		[ ! -L "/$dir" ] || ln -s "usr/$dir" "$root/$dir"
	done
	tar -C "$root" -cf - . | docker import - emu-test-host >/dev/null
	rm -rf "$root"
}

container() {
	docker run --rm --user $ORDINARY:$ORDINARY --cap-drop ALL --ulimit memlock=65536 --ulimit nofile=1024 \
		-v /usr:/usr:ro -v /etc/ld.so.cache:/etc/ld.so.cache:ro -v /etc/alternatives:/etc/alternatives:ro \
		-v "$1:$1" emu-test-host "${@:2}"
}

suite_container() {
	local copy

	if ! command -v docker >/dev/null || ! timeout 20 docker info >/dev/null 2>&1; then
		result skip "container: no Docker engine answers"
		return
	fi
	build release && copy=$(copy_tree) || return
	say container
	if ! make_container_image || ! container "$copy" test -x "$copy/tests/run_list.sh"; then
		result skip "container: the Docker engine does not see this machine's files, or runs no container"
	else
		run_copy container "$copy" container "$copy"
		docker rmi emu-test-host >/dev/null
	fi
	rm -rf "$copy"
}

"$EMU_ROOT/tools/setup.sh" --programs || exit 1
new_lib=$(new_libfabric_lib) || die "no libfabric $EMU_FABRIC_MIN"
mkdir -p "$EMU_ROOT/build"
: >"$EMU_RESULTS"
for suite in ${*:-$SUITES}; do
	declare -F "suite_$suite" >/dev/null || die "no suite $suite; there are: $SUITES races"
	"suite_$suite"
done

count() {
	grep -c "^$1 " "$EMU_RESULTS"
}

say summary
grep '^skip' "$EMU_RESULTS"
grep '^fail' "$EMU_RESULTS"
echo "$(count pass) passed, $(count fail) failed, $(count skip) skipped"
[ "$(count fail)" = 0 ] && [ "$(count pass)" != 0 ]
