#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# wire_index.sh - in which section of wire/PROTOCOL.md each of its rules is: wire_index.sh --write | --check
#
#   --write   writes the table into the page, between its two marks
#   --check   says so if the table there is another. Exit status 1 then
. "$(dirname "$0")/../../tools/lib.sh"

PAGE=wire/PROTOCOL.md

# A row for each run of numbers that one section has.
table() {
	echo '| WIRE- | section |'
	echo '| --- | --- |'
	sed -nE 's/^## (.*)/section \1/p; s/^\*\*WIRE-([0-9]+)\*\*.*/\1/p' "$PAGE" |
		awk '/^section / { section = substr($0, 9); next } { print $1 "\t" section }' | sort -n |
		awk -F'\t' '
		function row() {
			if (section != "")
				print "| " first (last > first ? " to " last : "") " | " section " |"
		}
		$2 != section || $1 != last + 1 { row(); first = $1; section = $2 }
		{ last = $1 }
		END { row() }'
}

# The page with the table between its marks.
with_table() {
	sed '/^<!-- index of rules: /q' "$PAGE"
	table
	sed -n '/^<!-- end of index -->/,$p' "$PAGE"
}

options='--write --check'
take_help "$@"
[ $# -eq 1 ] || usage_error "one argument is wanted"
cd "$EMU_ROOT" || exit 1
case $1 in
--write)
	page=$(with_table) && printf '%s\n' "$page" >"$PAGE"
	;;
--check)
	with_table | cmp -s - "$PAGE" && exit
	echo "$PAGE has another index of its rules: tests/tidy/wire_index.sh --write"
	exit 1
	;;
*) usage_error "unknown argument $1" ;;
esac
