#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# help.sh - each program that somebody calls by hand says what it does for --help, refuses an option that it does not know, and
# does nothing else then: it neither installs nor builds. In the environment of runner.sh.
cd "$EMU_SOURCE_DIR" || exit 1
. "$EMU_SOURCE_DIR/tests/verdict.sh"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-help.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

# Called by tests/run.sh and CMake alone, with what only these know.
INTERNAL='tests/(run_list|runner|(check|process|tidy|clients|cm|pyverbs|verbs)/[a-z]*|package/(package|wheel_[a-z]*))\.sh
tests/tidy/(clang_(tidy|format)|no_sleep)\.sh
tests/(mpi/(mpirun|hpcc)|rules/pinned|bench/path|cm/rsocket_clients|process/litmus_words)\.sh
tests/((ctl|process|verbs|wireshark)/[a-z]*|fabtests/walk)\.py
docker/test_(nodes|manifests)\.sh
\.ci/(run|nightly)'

by_hand() {
	find . \( -path ./build -o -path ./.git \) -prune -o -type f -perm /u+x -print | sed 's|^\./||' |
		grep -vxE "$INTERNAL" | sort
}

# In the place of all that would change this machine: says that it was called.
for program in apt-get cmake ninja docker docker-compose debootstrap pip make mpirun; do
	printf '#!/bin/sh\necho "$0 $*" >>%s/called\n' "$scratch" >"$scratch/$program"
	chmod +x "$scratch/$program"
done
: >"$scratch/called"

# ask PROGRAM OPTION: sets status, and leaves what it said in the scratch folder.
ask() {
	PATH=$scratch:$PATH timeout 60 "./$1" "$2" >"$scratch/out" 2>"$scratch/err" </dev/null
	status=$?
}

helps() {
	ask "$1" --help
	[ $status = 0 ] || echo "exit status $status"
	[ ! -s "$scratch/err" ] || echo "says on standard error: $(head -n 1 "$scratch/err")"
	head -n 1 "$scratch/out" | grep -q "${1##*/}" || echo "its name is not in the first line"
	[ ! -s "$scratch/called" ] || echo "calls $(head -n 1 "$scratch/called")"
}

refuses() {
	ask "$1" --no-such-option
	[ $status = 2 ] || echo "exit status $status"
	grep -qE -e '--no-such-option|usage:' "$scratch/err" || echo "says nothing of it"
	[ ! -s "$scratch/called" ] || echo "calls $(head -n 1 "$scratch/called")"
}

for program in $(by_hand); do
	: >"$scratch/called"
	faultless "$program" "$(helps "$program" | paste -sd';')"
	faultless "$program.unknown_option" "$(refuses "$program" | paste -sd';')"
done
exit $failed
