#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# emurun.sh - what tools/emurun gives to a program and what it says when it cannot. In the environment of runner.sh.
emurun=$EMU_SOURCE_DIR/tools/emurun failed=0
unset FI_PROVIDER FI_PROVIDER_PATH

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

# The first line and the exit status of a command.
outcome() {
	local out status

	out=$("$@" 2>&1)
	status=$?
	echo "$(echo "$out" | head -n 1) [$status]"
}

usage='usage: emurun CMD [ARG...]'
verdict help "$(outcome "$emurun" --help)" "$usage [0]"
verdict no_command "$(outcome "$emurun")" "$usage [2]"
verdict unknown_option "$(outcome "$emurun" -x true)" "emurun: unknown option -x [2]"
verdict unknown_program "$(outcome "$emurun" no-such-program)" "emurun: no-such-program: no such program [127]"
verdict exit_status_comes_through "$(outcome "$emurun" sh -c 'exit 42')" " [42]"
verdict no_build "$(EMU_BUILD=/nowhere outcome "$emurun" true)" \
	"emurun: there is no emu/fi/libemu-fi.so in EMU_BUILD=/nowhere [1]"
verdict selects_the_provider "$("$emurun" sh -c 'echo "$FI_PROVIDER $FI_PROVIDER_PATH"')" "emu $EMU_BUILD/emu/fi"
verdict keeps_other_folders "$(FI_PROVIDER_PATH=/a:/b "$emurun" sh -c 'echo "$FI_PROVIDER_PATH"')" \
	"$EMU_BUILD/emu/fi:/a:/b"
verdict keeps_arguments "$("$emurun" printf '<%s>' 'a b' '' '*')" '<a b><><*>'
verdict becomes_the_program "$(sh -c 'echo $$; exec "$0" sh -c "echo \$\$"' "$emurun" | uniq | wc -l)" 1
exit $failed
