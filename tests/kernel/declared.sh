#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# declared.sh - what the headers declare is in the libraries, or does not compile: declared.sh LIBRARY...
#
# A module is linked against nothing, so that a name without code would fail when it is loaded.
. "$(dirname "$0")/../../tools/lib.sh"

take_help "$@"
[ $# -gt 0 ] || usage_error "libraries are needed"
for library; do
	nm --defined-only "$library" 2>/dev/null
done | awk 'NF == 3 { print $3 }' | sort -u >/tmp/declared.$$.there
cd "$EMU_ROOT" || exit 1
scratch=$(mktemp -d) || exit 1
mv /tmp/declared.$$.there "$scratch/there"
trap 'rm -rf "$scratch"' EXIT

(cd include/emu/kernel && find . -name '*.h' | sed 's,^./,,') | sort | sed 's/.*/#include <&>/' >"$scratch/all.c"
(cd include/emu/kfi && ls ./*.h) | sed 's,^./,,; s/.*/#include <&>/' >>"$scratch/all.c"
if ! gcc -std=gnu11 -Iinclude/emu/kfi -Iinclude/emu/kernel -fsyntax-only -aux-info "$scratch/declared" "$scratch/all.c" \
	2>"$scratch/said"; then
	echo "not ok headers_together $(head -n 3 "$scratch/said" | tr '\n' ' ')"
	exit 1
fi
echo "ok headers_together"
# Lines are: /* FILE:LINE:NC */ extern TYPE NAME (ARGUMENTS); C is a declaration.
grep '^/\* include/emu/.*:.C \*/' "$scratch/declared" |
	sed -E 's/ \(\*[^)]*\)//; s/^[^*]*\*[^*]*\*\/ //; s/ \(.*//; s/.*[ *]//; s/;$//' |
	sort -u >"$scratch/names"
grep -rhoE '\w+\([^;]*\)\s+(__attribute__\(\(error|KFI_NO_CODE)' include/emu | sed 's/(.*//' | sort -u >"$scratch/refused"
[ "$(wc -l <"$scratch/names")" -gt 100 ] || { echo "not ok names [only $(wc -l <"$scratch/names") were found]" && exit 1; }
missing=$(comm -23 "$scratch/names" "$scratch/there" | comm -23 - "$scratch/refused" | tr '\n' ' ')
if [ -n "$missing" ]; then
	echo "not ok each_name_has_code [$missing]"
	exit 1
fi
echo "ok each_name_has_code"
