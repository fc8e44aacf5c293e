#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# clang_format.sh - every source file is as .clang-format has it. Takes clang-format 14, as others format otherwise. Exit status 77
# where that is not here.
cd "$(dirname "$0")/../.." || exit 1

for format in clang-format-14 clang-format; do
	"$format" --version 2>/dev/null | grep -q 'version 14\.' && break
	format=
done
if [ -z "$format" ]; then
	echo "skip clang_format clang-format 14 is not installed"
	exit 77
fi
if find emu wire include tools tests -name '*.[ch]' -print0 | xargs -0 "$format" --dry-run --Werror; then
	echo "ok clang_format"
else
	echo "not ok clang_format: $format -i mends it"
	exit 1
fi
