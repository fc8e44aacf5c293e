# SPDX-License-Identifier: BSD-2-Clause
# verdict.sh - for tests that are scripts: what each of them says of one case. Sourced; sets `failed`, with which the script exits.
failed=0

# passed NAME, not_passed NAME [REASON...]
passed() {
	echo "ok $1"
}

not_passed() {
	echo "not ok $*"
	failed=1
}

# verdict NAME IS WANTED
verdict() {
	[ "$2" != "$3" ] || { passed "$1"; return; }
	printf 'is:     %s\nwanted: %s\n' "$2" "$3"
	not_passed "$1"
}

# faultless NAME [FAULT...]: if there is no fault, or an empty one.
faultless() {
	if [ -z "${*:2}" ]; then
		passed "$1"
	else
		not_passed "$@"
	fi
}

# succeeds NAME [COMMAND...]: the command, or the function of that name. What it prints goes to the script's folder `work`, and is
# shown if it fails.
succeeds() {
	if "${@:$(($# > 1 ? 2 : 1))}" >"$work/log" 2>&1; then
		passed "$1"
	else
		cat "$work/log"
		not_passed "$1"
	fi
}

# shows NAME PATTERN COMMAND...: the command prints that, as a basic regular expression.
shows() {
	if "${@:3}" 2>&1 | grep -q -- "$2"; then
		passed "$1"
	else
		not_passed "$1" "no \"$2\" in the output of: ${*:3}"
	fi
}

# has NAME FILE PATTERN: an extended regular expression.
has() {
	if grep -qE -- "$3" "$2"; then
		passed "$1"
	else
		cat "$2"
		not_passed "$1" "no $3"
	fi
}
