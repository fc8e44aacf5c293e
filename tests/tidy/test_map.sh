#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# test_map.sh - which tests a source file has: test_map.sh FILE... | --write | --check
#
#   FILE...   prints the command that runs the tests of these files, in the release build
#   --write   writes tests/MAP.md: the table of all files
#   --check   says what is wrong: a source file without tests, or twice in a list; a test that is not there, or that no file
#             has; a tests/MAP.md that is another. Exit status 1 then. Takes a build for the names of the tests
#             (EMU_BUILD, or build/release), and does without
#
# The files that decide are in tests/mutate/targets.tsv, with the tests that must fail when one decides otherwise; the others,
# and tests that mutation has no use for, are in tests/tidy/map.tsv.
. "$(dirname "$0")/../../tools/lib.sh"

LISTS='tests/mutate/targets.tsv tests/tidy/map.tsv'
MAP=tests/MAP.md
MAPPED='unit|sim|rules|process'	# labels of the tests that some source file must have

# Lines `FILE<tab>EXPRESSION[,EXPRESSION]...`, of both lists together.
rows() {
	grep -hv '^#' $LISTS | awk -F'\t' '{ tests[$1] = tests[$1] (tests[$1] != "" ? "," : "") $2 }
		END { for (file in tests) print file "\t" tests[file] }' | LC_ALL=C sort
}

sources() {
	find emu wire tools/litmus tools/perf tools/trace -name '*.c' | LC_ALL=C sort
}

# The page, with the expressions as a reader wants them: ^sim_(cm|cut)$ is sim_{cm,cut}, and ^rules is rules*.
page() {
	cat <<-'EOF'
		# Source files and their tests

		Made by `tests/tidy/test_map.sh --write`. The nearest test of a file stands first. A name with braces stands for
		several tests, one with a star for all that begin so.

		| source file | its tests |
		| --- | --- |
	EOF
	rows | sed -E 's/([^$]),/\1*,/g; s/([^$])$/\1*/; s/[$^]//g; y/(|)/{,}/
		s/,(unit|sim|rules|fi|process|kit|dynamic|cluster)/, \1/g
		s/^([^\t]*)\t(.*)/| \1 | `\2` |/'
}

# Names of the tests with one of the labels; nothing where there is no build.
tests_labelled() {
	local list=${EMU_BUILD:-build/release}/tests.list

	[ ! -e "$list" ] || awk -v want="^($1)\$" '{ sub(/,.*/, "", $1) } $1 ~ want { print $3 }' "$list"
}

expressions() {
	rows | cut -f 2 | tr ',' '\n' | LC_ALL=C sort -u
}

flaws() {
	local expression all list

	comm -23 <(sources) <(rows | cut -f 1) | sed "s|\$| has no tests in ${LISTS/ / or }|"
	comm -13 <(sources) <(rows | cut -f 1) | sed 's/$/ has tests, but is not there/'
	for list in $LISTS; do
		grep -v '^#' "$list" | cut -f 1 | sort | uniq -d | sed "s|\$| is twice in $list|"
	done
	all=$(tests_labelled '[a-z]*')
	if [ -n "$all" ]; then
		for expression in $(expressions); do
			grep -qE "$expression" <<<"$all" || echo "there is no test $expression"
		done
		tests_labelled "$MAPPED" | grep -vEf <(expressions) | sed 's/$/ is a test that no source file has/'
	fi
	diff -q <(page) "$MAP" >/dev/null || echo "$MAP is out of date: tests/tidy/test_map.sh --write"
}

# command_for FILE...
command_for() {
	local file found all=''

	for file; do
		found=$(rows | awk -F'\t' -v file="${file#"$EMU_ROOT/"}" '$1 == file { print $2 }')
		[ -n "$found" ] || die "no tests of $file are known"
		all+=${all:+,}$found
	done
	echo "ctest --preset release -R '$(tr ',' '\n' <<<"$all" | awk '!seen[$0]++' | paste -sd'|')'"
}

options='--write --check'
take_help "$@"
cd "$EMU_ROOT" || exit 1
case ${1:-} in
'') usage_error "no file" ;;
--write)
	page >"$MAP"
	;;
--check)
	said=$(flaws)
	[ -z "$said" ] || { echo "$said"; exit 1; }
	;;
*) command_for "$@" ;;
esac
