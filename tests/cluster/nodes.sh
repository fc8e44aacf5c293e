# SPDX-License-Identifier: BSD-2-Clause
# nodes.sh - what nodes under traffic (traffic.c) have told, and how they end, wherever they run. Sourced, never run, by a script
# that has a folder `scratch`, prints what node I says into scratch/out/nodeI, and gives these:
#   node            an array: a process for each node, which ends with its status
#   stop SIGNAL I   gives the signal to node I
#   tidy_up         ends all that a case has made
GUARD_S=${GUARD_S:-60} # no wait takes so long, unless something hangs
WHILE=500  # messages from each to each: so long does a state last that is to be seen
status=0
declare -A node

# verdict NAME PASSED
verdict() {
	if [ "$2" = 0 ]; then
		echo "ok $1"
	else
		tail -n 40 "$scratch/out"/* | grep -v '^heard'
		echo "not ok $1"
		status=1
	fi
	tidy_up
}

# await CONDITION...: until it is so.
await() {
	local until=$((SECONDS + GUARD_S))

	until "$@"; do
		((SECONDS < until)) || {
			echo "after $GUARD_S s it is not so: $*" >>"$scratch/out/cluster"
			return 1
		}
		sleep 0.1
	done
}

# says I SENTENCE [COUNT]: it has printed that, at least so often.
says() {
	[ "$(grep -c -e "$2" "$scratch/out/node$1")" -ge "${3:-1}" ]
}

# heard I J: how many messages I has from J.
heard() {
	local counts

	read -ra counts <<<"$(grep '^heard' "$scratch/out/node$1" | tail -n 1)"
	echo "${counts[$2 + 1]:-0}"
}

has_heard() {
	[ "$(heard "$1" "$2")" -ge "$3" ]
}

# moved COUNT I...: each of them has got so many messages more from each other one.
moved() {
	local count=$1 i j wanted=()
	shift

	for i; do
		for j; do
			[ "$i" = "$j" ] || wanted+=("$i $j $(($(heard "$i" "$j") + count))")
		done
	done
	for i in "${wanted[@]}"; do
		await has_heard $i || return 1
	done
}

# ended I: has it ended well?
ended() {
	local got=0

	wait "${node[$1]}" || got=$?
	unset "node[$1]"
	[ $got = 0 ] && tail -n 1 "$scratch/out/node$1" | grep -qx 'all right'
}

gone() {
	local pid=${node[$1]}

	stop "$2" "$1"
	wait "$pid" 2>/dev/null
	unset "node[$1]"
}

# finish: all nodes end together, and each has found all right.
finish() {
	local i good=0

	for i in "${!node[@]}"; do
		stop TERM "$i"
	done
	for i in "${!node[@]}"; do
		ended "$i" || good=1
	done
	! grep -q '^WRONG' "$scratch"/out/node* || good=1
	return $good
}
