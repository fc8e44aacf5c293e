#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# arm64.sh - builds everything for arm64 with the cross compiler, and runs the tests of some labels there, under qemu-user:
# arm64.sh [LABELS]   (default unit|rules|demo). As root, on x86-64.
#
# The Debian that it builds against, and runs the tests in, is kept in build/deps/arm64. Results go to EMU_RESULTS, if that is set,
# as of a suite `arm64`. What fails and stands in arm64.tsv counts as skipped, with the reason given there.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tools/lib.sh"
. "$here/../tools/arm64.sh"

LOG=$EMU_ROOT/build/arm64.log

# result pass|fail|skip TEXT
result() {
	echo "$1 arm64/set-up: ${*:2}" | tee -a "${EMU_RESULTS:-/dev/null}"
}

# Inside the mount namespace of arm64_run: the tree and the build have the same paths in the chroot as here.
inside() {
	mkdir -p "$ARM64_ROOT$EMU_ROOT" && mount --rbind "$EMU_ROOT" "$ARM64_ROOT$EMU_ROOT" &&
		in_chroot "$ARM64_ROOT" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 EMU_SUITE=arm64 \
			EMU_RESULTS="$ARM64_BUILD/results" "$here/run_list.sh" "$ARM64_BUILD" "$1"
}

# Failures of which arm64.tsv knows become skips.
judge() {
	awk -F '\t' 'NR == FNR { if (!/^#/) why[$1] = $2; next }
		/^fail / {
			name = $0
			sub(/^fail arm64\//, "", name)
			for (known in why)
				if (name " " ~ "^" known) {
					sub(/: .*/, "", name)
					split($0, word, " ")
					print "skip " word[2] " " word[3] " " why[known]
					next
				}
		}
		{ print }' "$here/arm64.tsv" "$ARM64_BUILD/results"
}

if [ "${1:-}" = --inside ]; then # called by itself, below
	inside "$2"
	exit
fi
take_help "$@"
labels=${1:-unit|rules|demo}
if lacks=$(arm64_lacks); then
	result skip "$lacks"
	exit 77
fi
mkdir -p "$EMU_ROOT/build"
arm64_build >"$LOG" 2>&1 || { result fail "it does not build: see $LOG"; exit 1; }
result pass build
: >"$ARM64_BUILD/results"
arm64_run "$here/arm64.sh" --inside "$labels"
judge | tee -a "${EMU_RESULTS:-/dev/null}" | grep -v '^pass'
echo "$(judge | grep -c ^pass) passed, $(judge | grep -c ^fail) failed, $(judge | grep -c ^skip) skipped"
! judge | grep -q ^fail
