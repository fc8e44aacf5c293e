#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# documented.sh - each setting, each option of an installed program, each litmus test and each cause is on its page.
# In the environment of runner.sh.
cd "$EMU_SOURCE_DIR" || exit 1
. "$EMU_SOURCE_DIR/tests/verdict.sh"

# The words of a page, without what makes them bold or a hyphen a minus.
page() {
	sed -E 's/\\-/-/g; s/\\f[A-Z]//g; s/\\\(aq/'"'"'/g' "$1"
}

# missing PAGE WORD...: those that the page does not have.
missing() {
	local words word

	words=$(page "$1")
	shift
	for word; do
		grep -qE -e "(^|[^A-Za-z0-9_-])$word([^A-Za-z0-9_-]|\$)" <<<"$words" || echo "$word"
	done
}

# As fi_info -e names them.
settings() {
	sed -nE '/settings_(known|own)\[\] = \{/,/^};/s/^	\{ "([a-z_]+)".*/FI_EMU_\U\1/p' \
		emu/process/start/settings.c emu/fi/personality/fi_settings.c
}

# The long options that a program's --help names.
options() {
	"$1" --help | grep -oE -e '(^|[^A-Za-z0-9-])--[a-z][a-z-]*' | grep -oE -e '--[a-z-]*' | sort -u
}

# In the tree or among what was built.
program() {
	find tools "$EMU_BUILD/tools" "$EMU_BUILD/tests/rules" -name "$1" -type f -perm /u+x | head -n 1
}

# Refusals of refusal_name(), and what checked mode tells.
causes() {
	sed -nE 's/.*\[REFUSAL_[A-Z_]+\] = "([a-z-]+)".*/\1/p' emu/nic/regions/refusal_name.c
	sed -nE 's/^	\[CHECK_[A-Z_]+\] = \{ "([a-z-]+)".*/\1/p' emu/process/check/check_tell.c
}

mapfile -t missed < <(missing tools/fi_emu.7 $(settings))
faultless settings "${missed[@]/#/not on its page: }"
for name in emurun emu_report emuctl emu_trace emu_perf emu_litmus emu_rules emu_insmod; do
	at=$(program $name)
	manual=tools/$name.1
	[ $name != emu_insmod ] || manual=tools/kfi_emu.7
	[ "$at" ] || continue
	mapfile -t missed < <(missing $manual $(options "$at"))
	faultless "options_of_$name" "${missed[@]/#/not on its page: }"
done
mapfile -t missed < <("$(program emu_litmus)" --table | grep -vxFf docker/lab/ORDER.md)
faultless litmus_tests "${missed[@]/%/ is not in docker/lab/ORDER.md, which has the lines of emu_litmus --table}"
mapfile -t missed < <(for cause in $(causes); do grep -q "^### \`$cause\`" emu/ERRORS.md || echo "$cause"; done)
faultless causes "${missed[@]/#/not on its page: }"
mapfile -t missed < <(for manual in tools/*.[1-8]; do grep -q "$manual" tools/cmake/EmuInstall.cmake || echo "$manual"; done)
faultless installed "${missed[@]/#/not on its page: }"
exit $failed
