#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# runner.sh - runs one registered test: runner.sh BUILD_FOLDER SECONDS NAME criterion|script COMMAND...
# After so many seconds it hangs, and is killed with all that it started.
#
# Gives it this environment:
#   EMU_SOURCE_DIR, EMU_BUILD            the two trees (so emurun takes this build, and demo.sh builds nothing)
#   EMU_PROVIDER_DIR, FI_PROVIDER_PATH   the folder of libemu-fi.so
#   FI_EMU_CTL                           a folder of its own for control sockets
#   FI_PROVIDER                          emu, unless EMU_TEST_PROVIDER names another
# LD_LIBRARY_PATH, by which one of several libfabrics is chosen, comes from the caller.
#
# Appends to the file EMU_RESULTS, if that is set, a line for each case: `pass NAME`, `fail NAME reason`,
# `skip NAME reason`. Exit status: 1 if a case failed, 77 if there was nothing but skips, else 0.

build=$1 seconds=$2 name=$3 kind=$4
shift 4

EMU_SOURCE_DIR=$(cd "$(dirname "$0")/.." && pwd)
export EMU_SOURCE_DIR EMU_BUILD=$build
export EMU_PROVIDER_DIR=$build/emu/fi FI_PROVIDER_PATH=$build/emu/fi FI_PROVIDER=${EMU_TEST_PROVIDER:-emu}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$EMU_SOURCE_DIR/tests/lsan.supp:print_suppressions=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

PID_TAKEN=99 # an exit status that no test has

scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export FI_EMU_CTL=${FI_EMU_CTL:-$scratch/ctl} # killed processes leave their sockets

# Criterion listens on /tmp/criterion_PID.sock, and aborts where another user left that file: a new PID is taken then.
run_criterion() {
	status=$PID_TAKEN
	while [ "$status" = $PID_TAKEN ]; do
		timeout -k 10 "$seconds" sh -c "rm -f /tmp/criterion_\$\$.sock || exit $PID_TAKEN; exec \"\$@\"" sh \
			"$@" --jobs 1 --timeout 120 --tap="$scratch/tap" >"$scratch/out" 2>&1
		status=$?
		cat "$scratch/out"
	done
	[ ! -e "$scratch/tap" ] || criterion_cases <"$scratch/tap" >"$scratch/cases"
}

# Criterion's TAP: `ok - suite::test  (0.01s)`, `ok - suite::test # SKIP reason`, `not ok - suite::test  reason`, or for
# assertions `not ok - suite::test  (0.01s)` and below it, for each, `  - file:line: |+` and its text, indented further.
criterion_cases() {
	awk '
		function finish() {
			if (failed != "")
				print "fail " failed " " (why != "" ? why : "exited before its end, and said nothing")
			failed = why = ""
		}
		/^(not )?ok - / {
			finish()
			name = $1 == "not" ? $4 : $3
			rest = substr($0, index($0, name) + length(name))
			sub(/^ */, "", rest)
		}
		/^(not )?ok - [^ ]+ +# SKIP/ { sub(/^# SKIP */, "", rest); print "skip " name " " rest; next }
		/^ok - / { print "pass " name; next }
		/^not ok - / { failed = name; why = rest ~ /^\([0-9.]+s\)$/ ? "" : rest; next }
		failed == "" { next }
		/^  - .*: \|\+$/ { sub(/^  - /, ""); sub(/ \|\+$/, ""); why = why (why != "" ? "; " : "") $0; next }
		/^      / { sub(/^ +/, ""); why = why " " $0 }
		END { finish() }'
}

run_script() {
	timeout -k 10 "$seconds" "$@" 2>&1 | tee "$scratch/out"
	status=${PIPESTATUS[0]}
	script_cases <"$scratch/out" >"$scratch/cases"
}

# What a script prints for each case; a `not ok` without a reason has it on the lines before, of which the last is taken.
script_cases() {
	tr -d '\000' | awk '
		/^(ok|not ok|skip) +/ {
			verdict = $1 == "ok" ? "pass" : $1 == "not" ? "fail" : "skip"
			sub(/^(ok|not ok|skip) +(- )?/, "")
			if (verdict == "fail" && NF == 1 && said != "")
				$0 = $0 " " said
			print verdict " " $0
			said = ""
			next
		}
		/[[:alnum:]]/ { said = $0 }'
}

# What a program that failed without a verdict said last, in words.
last_words() {
	tr -d '\000' <"$scratch/out" | awk '
		/[Ee]rror|ERR_|[Ff]ail|[Aa]ssert|[Aa]bort|cannot|not found|[Nn]o such/ && !told { told = $0 }
		/[[:alnum:]]/ { last = $0 }
		END { print told != "" ? told : last != "" ? last : "it said nothing" }'
}

: >"$scratch/cases"
"run_$kind" "$@"
if [ "$status" = 77 ] && [ ! -s "$scratch/cases" ]; then
	echo "skip all: $(last_words)" >"$scratch/cases"
elif [ "$status" = 77 ] && ! grep -qv '^skip' "$scratch/cases"; then
	:
elif [ "$status" = 0 ] && [ ! -s "$scratch/cases" ]; then
	echo "pass all" >"$scratch/cases"
elif [ "$status" = 124 ] || [ "$status" = 137 ]; then
	echo "fail hung for $seconds s, or killed: $(last_words)" >>"$scratch/cases"
elif [ "$status" != 0 ] && ! grep -q '^fail' "$scratch/cases"; then
	echo "fail exit status $status: $(last_words)" >>"$scratch/cases"
fi
if [ -n "${EMU_RESULTS:-}" ]; then
	sed -E "s|^([a-z]+) |\1 ${EMU_SUITE:+$EMU_SUITE/}$name: |" "$scratch/cases" >>"$EMU_RESULTS"
fi

grep '^skip' "$scratch/cases"
grep -q '^fail' "$scratch/cases" && exit 1
grep -q '^pass' "$scratch/cases" || exit 77
exit 0
