#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# headers.sh - with gcc and clang: each header of include/emu/kfi stands alone.
. "$(dirname "$0")/../../tools/lib.sh"

take_help "$@"
cd "$EMU_ROOT" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

for compiler in gcc clang; do
	if ! command -v $compiler >/dev/null; then
		echo "skip $compiler is not installed"
		continue
	fi
	for header in include/emu/kfi/*.h; do
		name=$(basename "$header")
		echo "#include <$name>" >"$scratch/alone.c"
		if $compiler -std=gnu11 -Wall -Wextra -Wshadow -Werror -Iinclude/emu/kfi -Iinclude/emu/kernel -fsyntax-only \
			"$scratch/alone.c" >"$scratch/said" 2>&1; then
			echo "ok $compiler-$name"
		else
			echo "not ok $compiler-$name $(head -n 3 "$scratch/said" | tr '\n' ' ')"
			failed=1
		fi
	done
done
exit $failed
