#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# clang_tidy.sh - the checks of .clang-tidy hold for every source file of the product. In the environment of runner.sh; takes
# clang-tidy, and a build's compile_commands.json.
cd "$EMU_SOURCE_DIR" || exit 1

if ! command -v clang-tidy >/dev/null; then
	echo "clang-tidy is not installed"
	exit 77
fi
if find emu wire -name '*.c' -print0 | xargs -0 -n 6 -P "$(nproc)" clang-tidy -p "$EMU_BUILD" --quiet \
	--extra-arg=-Wno-error --extra-arg=-Wno-ignored-optimization-argument 2>/dev/null; then
	echo "ok clang_tidy"
else
	echo "not ok clang_tidy"
	exit 1
fi
