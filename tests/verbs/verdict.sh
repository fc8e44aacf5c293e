# SPDX-License-Identifier: BSD-2-Clause
# verdict.sh - for tests that are scripts: says of one thing that it is as wanted, or not. Sourced; sets `failed`.
failed=0

# verdict NAME IS WANTED
verdict() {
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		printf 'is:     %s\nwanted: %s\n' "$2" "$3"
		echo "not ok $1"
		failed=1
	fi
}
