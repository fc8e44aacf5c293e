#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - sets the machine up, builds, and tests in every surrounding: run.sh [--werror | --list] [nightly] [SUITE...]
#
# What passes before a change lands takes less than half an hour on two cores. With `nightly` each suite is whole, which takes
# hours: the table NIGHTLY has what it adds. --werror, which is for developers and for CI, makes an error of whatever a compiler
# warns of. --list prints what a run of builds that are there would run: a line SUITE/TEST for each registered test.
#
# The suites, in the order of running when none is named; behind `nightly:`, what that adds. The last three run one after another
# beside the rest:
#   release    the tests of the release build, with libfabric 2.1 or later; nightly: fabtests and the kit of rules, whole
#   mutants    nightly: wrong decisions, each of which a test must notice (mutate.py tries them all)
#   old        two MPI tests again, with the distribution's libfabric if that is older, which container and user have, too; nightly:
#              rules, process, all of MPI
#   tcp        the process and demo tests again with FI_EMU_LOCAL=tcp: processes of one machine, connected by TCP; nightly: rules
#   asan       the tests that run our code, under the address and undefined-behaviour sanitizers, built with the headers of the
#              newest libfabric that is here; nightly: those that take long
#   tsan       the tests that race threads and the demo, under the thread sanitizer; nightly: unit, rules and process, too
#   container  the rules, process and demo tests with the distribution's libfabric, in a container, as an ordinary user: default
#              profile, no capabilities, 64 KiB of lockable memory, 1,024 descriptors; nightly: soak, order, litmus tests, pyverbs
#   user       the same as an ordinary user, where the suite container did not run
#   debian13   the suite brief in a bare Debian 13, which debian13.sh makes; takes root, and a Docker engine or debootstrap
#   compilers  builds what is installed with clang, with the headers of the newest libfabric that is here; nightly: all
#   fuzz       the fuzz targets, ten seconds each, two at a time; nightly: five minutes each; takes clang
# Run only if named:
#   brief      the unit and demo tests of the release build, of which no other tests are built; nightly: all but mutants
#
# A folder below tests/ registers its tests in its CMakeLists.txt with emu_criterion_test() or emu_script_test(), which
# tools/cmake/EmuTest.cmake describes; the LABEL given there decides which suites run a test. Each case of a test is one
# line of build/results: `pass|fail|skip SUITE/TEST: CASE REASON`.
#
# A line at the end of each suite says how long it took, and a table at the end says so of all. The last line is
# `N passed, N failed, N skipped`; exit status 0 only if none failed.
set -uo pipefail
. "$(dirname "$0")/../tools/lib.sh"

SUITES="release mutants old tcp asan tsan container user debian13 compilers fuzz"
BESIDE='debian13 compilers fuzz'	# they run beside the others: those wait as long as they compute
ELSEWHERE='rules|process|demo'	# labels of the tests that are run again in other surroundings
ASAN='unit|sim|rules|process|tools|demo|bench'

# The labels of the tests of a suite; by day, if those are fewer.
declare -A LABELS=(
	[release]='[a-z]*' [mutants]=mutate [old]='rules|process|mpi' [tcp]=$ELSEWHERE [asan]=$ASAN [tsan]='unit|rules|process|demo'
	[container]=$ELSEWHERE [user]=$ELSEWHERE [brief]='[a-z]*'
)
declare -A DAY_LABELS=([mutants]=none [old]=mpi [tsan]='threads|demo' [brief]='unit|demo')

# What a suite never runs, names as an expression. Mutants have a suite of their own. An older libfabric takes no part in what
# NEW_ALONE tries. Not under the thread sanitizer: it holds signals back, which are what unit_nic is about; process-scarce and
# unit_cq take memory away, which is its own, too; process-soak cuts the provider's sockets behind its back; fi-large needs 24 GiB
# with it, and process-unplugged moves more than it can before the hang guard. process-litmus-many and -forbidden take
# 40 minutes in the release build, and some hours with a sanitizer.
MUTANTS='mutate_.*'
NEW_ALONE='mpi-(.*-8|mpi4py.*|.*-lax|hpcc|.*-nodes-4)'
declare -A NEVER=(
	[release]=$MUTANTS [brief]=$MUTANTS [old]=$NEW_ALONE [asan]='process-litmus-many|process-litmus-forbidden'
	[tsan]='unit_nic|unit_cq|process-(scarce|soak|unplugged)|fi-large'
)

# What a suite runs by `nightly` alone: what takes long, and is much like what runs by day in this suite or in release.
declare -A NIGHTLY=(
	[release]='process-litmus-many|fabtests-(lax-functional|.*-short|strict-.*|checked)|kit-.*|wheel-whole'
	[old]='mpi-(matching|collectives|groups|large|python|(locks|windows)-.*|locks)|emurun_mpi_checked'
	[asan]='sim_(cut|collective|random_fixed|tagged_rma|unreliable|windows|xrc)|unit_.*_(headers|stress)|bench_.*'
	[tcp]='rules-.*|process-litmus-weak'
	[container]='process-litmus.*|process-soak|fi-order|pyverbs-core'
	[user]='process-litmus.*|process-soak|fi-order|pyverbs-core'
	[brief]='unit_.*_stress'
)
NIGHTLY[release]+='|mpi-(.*-8|locks-(lax|on_demand)|hpcc|mpi4py.*)|clients-(.*-lax|mpich-windows-strict)|docker|cluster-containers'
NIGHTLY[release]+='|(pyverbs|(cm|cm-rsocket|verbs)-clients|explore-runs)-whole|cm-iser|verbs-crates|lab_(first|tries)'
NIGHTLY[release]+='|sim_(collective|xrc)|wireshark-live|pyverbs-core|explore-plans'
NIGHTLY[release]+='|bench_(grow|tiny_core|sweep_.*)|process-litmus-forbidden|races-programs-.*'
NIGHTLY[asan]+='|docker_.*|wireshark-.*|trace_page|cluster-hosts|sim_in_order|verbs-(clients|hosts|ucx)|cm-hosts|pyverbs-core'
NIGHTLY[asan]+='|process-litmus-weak'
AT_A_TIME=6			# tests: many wait more than they compute
ORDINARY=65534			# uid and gid of the ordinary user
export EMU_RESULTS=$EMU_ROOT/build/results
building=0			# seconds of the suite that passed in builds
night=				# set by the word `nightly`

say() {
	printf '\n== %s\n' "$*"
}

# result pass|fail|skip NAME [REASON], for what no test reports itself.
result() {
	echo "$*" >>"$EMU_RESULTS"
}

# build NAME [CMAKE_OPTION...]: of the preset of that name, unless options name another. Only `target`, if set.
build() {
	local begin=$SECONDS status

	build_it "$@"
	status=$?
	building=$((building + SECONDS - begin))
	return $status
}

build_it() {
	local name=$1 log=$EMU_ROOT/build/$1.log
	shift

	say "build $name"
	[[ " $*" == *' --preset '* ]] || set -- --preset "$name" "$@"
	(cd "$EMU_ROOT" && cmake "$@" -B "$EMU_ROOT/build/$name" -DEMU_WERROR="${EMU_WERROR:-OFF}" &&
		cmake --build "$EMU_ROOT/build/$name" --target "${target:-all}" -j "$(nproc)") >"$log" 2>&1 && return 0
	grep -E -A5 'error|Error|FAILED' "$log" | head -n 60
	result fail "$name/build: $(grep -m 1 -E 'error|Error|FAILED' "$log"): see $log"
	return 1
}

# choose SUITE: sets labels and left_out, expressions of the tests that it runs.
choose() {
	labels=${LABELS[$1]}
	left_out=${NEVER[$1]:-none}
	if [ -z "$night" ]; then
		labels=${DAY_LABELS[$1]:-$labels}
		left_out+="|${NIGHTLY[$1]:-none}"
	fi
}

# The names of the tests of a build that a suite runs: tests_of SUITE BUILD.
tests_of() {
	local labels left_out of name

	choose "$1"
	while read -r of _ name _; do
		[[ ! $of =~ (^|,)($labels)(,|$) || $name =~ ^($left_out)$ ]] || echo "$name"
	done <"$EMU_ROOT/build/$2/tests.list"
}

# Every test must have left a result: one that hung and was killed did not. missing_results SUITE BUILD
missing_results() {
	local name

	while read -r name; do
		grep -q "^[a-z]* $1/$name: " "$EMU_RESULTS" || result fail "$1/$name: hung, or was killed"
	done < <(tests_of "$1" "$2")
}

# run_ctest SUITE BUILD LIBFABRIC_FOLDER: by name, as CMake's expressions have ten groups at most.
run_ctest() {
	say "$1"
	EMU_SUITE=$1 LD_LIBRARY_PATH=$3 ctest --test-dir "$EMU_ROOT/build/$2" -R "^($(tests_of "$1" "$2" | paste -sd '|'))\$" \
		-j $AT_A_TIME --output-on-failure --no-tests=ignore 2>&1
	missing_results "$1" "$2"
}

suite_release() {
	build release && run_ctest release release "$new_lib"
}

suite_brief() {
	build release -DEMU_TESTS=$([ "$night" ] && echo ON || echo UNIT) && run_ctest brief release "$new_lib"
}

suite_mutants() {
	if [ ! "$night" ]; then
		result skip "mutants: they are tried by nightly"
	else
		build release && run_ctest mutants release "$new_lib"
	fi
}

suite_old() {
	local lib

	if ! lib=$(old_libfabric_lib); then
		result skip "old: no libfabric older than $EMU_FABRIC_MIN is installed"
	else
		build release && run_ctest old release "$lib"
	fi
}

suite_tcp() {
	build release && FI_EMU_LOCAL=tcp run_ctest tcp release "$new_lib"
}

# With the headers of the newest libfabric that is here. The suite release has gcc with those of the build libfabric.
suite_asan() {
	local prefix

	prefix=$(new_libfabric_prefix) || return
	[ "$prefix" != /usr ] || prefix=
	build asan -DLIBFABRIC_ROOT="$prefix" && run_ctest asan asan "$new_lib"
}

suite_tsan() {
	local target=raced

	if [ "$night" ]; then
		target=all
		local -x TSAN_OPTIONS=suppressions=$EMU_ROOT/tests/tsan/programs.supp
	fi
	build tsan && run_ctest tsan tsan "$new_lib"
}

suite_fuzz() {
	if ! command -v clang >/dev/null; then
		result skip "fuzz: clang is not installed"
		return
	fi
	say fuzz
	EMU_SUITE=fuzz "$EMU_ROOT/tests/runner.sh" "$EMU_ROOT/build/fuzz" 3600 targets script "$EMU_ROOT/tests/fuzz/run.sh" \
		$([ "$night" ] && echo 300 || echo 10)
}

# What other suites and labels need of build/deps.
OF_OTHERS=('*.tar.xz' 'fabtests-*' 'arm64*' 'glibc-*' crates debian13 mooncake package wheels)

# Copies what the tests need to a folder that every user can read, whatever the rights on the way to this one.
# Prints its path.
copy_tree() {
	local to

	to=$(mktemp -d /tmp/emu-copy.XXXXXX) || return 1
	tar -C "$EMU_ROOT" --exclude=./.git --exclude=./build -cf - . | tar -C "$to" -xf - &&
		tar -C "$EMU_ROOT" --exclude='*.o' --exclude='*.a' "${OF_OTHERS[@]/#/--exclude=build/deps/}" \
			-cf - build/release build/deps |
		tar -C "$to" -xf - || return 1
	sed -i "s|$EMU_ROOT|$to|g" "$to/build/release/tests.list"
	mkdir "$to/tmp"
	chmod -R a+rX "$to"
	chmod 1777 "$to/tmp"
	echo "$to"
}

# The tests of the copy $2 for suite $1, by command "$@" with the command line to run appended. Results come by a
# file in the copy, since the one here is not for others to write.
run_copy() {
	local suite=$1 copy=$2 lib labels left_out
	shift 2

	lib=$(old_libfabric_lib) || lib=${new_lib/#$EMU_ROOT/$copy}
	choose "$suite"
	"$@" env -i PATH="$PATH" HOME="$copy/tmp" TMPDIR="$copy/tmp" LD_LIBRARY_PATH="$lib" EMU_SUITE="$suite" \
		EMU_RESULTS="$copy/tmp/results" "$copy/tests/run_list.sh" "$copy/build/release" "$labels" "$left_out" 2>&1
	cat "$copy/tmp/results" >>"$EMU_RESULTS"
	missing_results "$suite" release
	rm -rf "$copy"
}

suite_user() {
	local copy

	if [ "$(id -u)" != 0 ]; then
		result skip "user: all the other suites ran as an ordinary user"
		return
	fi
	if grep -q '^pass container/' "$EMU_RESULTS"; then
		result skip "user: the suite container ran the same tests as an ordinary user"
		return
	fi
	build release && copy=$(copy_tree) || return
	say user
	run_copy user "$copy" setpriv --reuid $ORDINARY --regid $ORDINARY --clear-groups
}

# The suite release has gcc with the headers of the build libfabric, which are the oldest, and the suite asan has it with the
# newest. A name that the oldest lack is missed by every compiler, so clang has the newest alone.
suite_compilers() {
	local prefix tests=OFF what='what is installed'

	prefix=$(new_libfabric_prefix) || return
	[ "$prefix" != /usr ] || prefix=
	if [ "$night" ]; then
		tests=ON what=all
	fi
	if ! command -v clang >/dev/null; then
		result skip "compilers/clang-newest: clang is not installed"
	else
		build compilers-clang-newest --preset dev -DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS_DEBUG= \
			-DLIBFABRIC_ROOT="$prefix" -DEMU_TESTS=$tests &&
			result pass "compilers/clang-newest: $what"
	fi
}

suite_debian13() {
	say debian13
	"$EMU_ROOT/tests/debian13.sh" $night 2>&1
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

# run_suite SUITE: sets `row`, its row of the table of times.
run_suite() {
	local begin=$SECONDS lines took said=''

	lines=$(wc -l <"$EMU_RESULTS")
	building=0
	"suite_$1"
	took=$((SECONDS - begin))
	[ $building = 0 ] || said=" ($building of them to build)"
	printf '\n%s took %s s%s\n' "$1" $took "$said"
	row="$1 $took $building $(tail -n +$((lines + 1)) "$EMU_RESULTS" | awk '{ n[$1]++ }
		END { print n["pass"] + 0, n["fail"] + 0, n["skip"] + 0 }')"
}

is_beside() {
	[[ " $BESIDE " == *" $1 "* ]]
}

# run_beside SUITE...: one after another. What each says, its results and its row are kept, each in a file.
run_beside() {
	local suite kept results=$EMU_RESULTS

	for suite in "$@"; do
		kept=$EMU_ROOT/build/$suite
		EMU_RESULTS=$results.$suite
		: >"$EMU_RESULTS"
		run_suite "$suite" >"$kept.said" 2>&1
		echo "$row" >"$kept.row"
	done
}

# end_beside SUITE...: waits for them, and says what they said.
end_beside() {
	local suite

	wait $beside
	for suite in "$@"; do
		cat "$EMU_ROOT/build/$suite.said"
		cat "$EMU_RESULTS.$suite" >>"$EMU_RESULTS"
		times+=$'\n'$(cat "$EMU_ROOT/build/$suite.row")
	done
}

# list SUITE...: what they would run, of the builds that are there.
list() {
	local suite build name

	for suite in "$@"; do
		[ -n "${LABELS[$suite]:-}" ] || continue
		build=release
		[[ $suite != [at]san ]] || build=$suite
		[ ! -e "$EMU_ROOT/build/$build/tests.list" ] || tests_of "$suite" "$build" | sed "s|^|$suite/|"
	done
}

options='--werror --list'
take_help "$@"
verb=
case ${1:-} in
--werror) export EMU_WERROR=ON; shift ;;
--list) verb=list; shift ;;
esac
if [ "${1:-}" = nightly ]; then
	night=nightly
	shift
fi
for suite in "$@"; do
	declare -F "suite_$suite" >/dev/null || usage_error "no suite $suite; there are: $SUITES brief"
done
if [ "$verb" = list ]; then
	list ${*:-$SUITES}
	exit
fi
programs=--programs		# of others, which the suite brief has no use for by day
[[ "$*" != brief ]] || programs=
[ -z "$night" ] || programs=--crates
"$EMU_ROOT/tools/setup.sh" || exit 1
if [ "$programs" ]; then
	# Fetched beside the first build, which takes none of them.
	"$EMU_ROOT/tools/setup.sh" "$programs" &
	[[ " ${*:-$SUITES} " != *' release '* ]] || build release
	wait $! || exit 1
fi
new_lib=$(new_libfabric_lib) || die "no libfabric $EMU_FABRIC_MIN"
mkdir -p "$EMU_ROOT/build"
: >"$EMU_RESULTS"
times='suite seconds building passed failed skipped'
others=()
for suite in ${*:-$SUITES}; do
	! is_beside "$suite" || others+=("$suite")
done
run_beside "${others[@]}" &
beside=$!
for suite in ${*:-$SUITES}; do
	is_beside "$suite" && continue
	run_suite "$suite"
	times+=$'\n'$row
done
end_beside "${others[@]}"

count() {
	grep -c "^$1 " "$EMU_RESULTS"
}

say summary
grep '^skip' "$EMU_RESULTS"
grep '^fail' "$EMU_RESULTS"
awk '{ printf "%-10s %8s %9s %7s %7s %8s\n", $1, $2, $3, $4, $5, $6 }' <<<"$times"
echo "$(count pass) passed, $(count fail) failed, $(count skip) skipped"
[ "$(count fail)" = 0 ] && [ "$(count pass)" != 0 ]
