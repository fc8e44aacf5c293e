#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# readme.sh - runs what README and the pages for users tell their readers to run: each line of their indented blocks, in this order,
# in one shell. Blocks that are not commands are fenced there. In the environment of runner.sh.
#
# The folder that the commands run in looks like the tree, and has besides the programs that they name: ./server and ./client,
# which are fi_pingpong, ./program, one of MPI, ./test_rma, which does nothing wrong, and ./test_of_error_paths, which is refused
# what refused.expect expects. ./await waits for a port.
folder=$(mktemp -d "${TMPDIR:-/tmp}/emu-readme.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
unset FI_PROVIDER FI_PROVIDER_PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
PERFTEST=18515 # the port of perftest's server, whose client does not wait for it
status=0

# SECURITY.md last: from its secret on, only peers that have it are reached.
PAGES=(README.md emu/USING.md emu/SECURITY.md)

# The commands, a line each: continued lines are joined, what is said of them is taken off. A program is explored 20 times, and not
# for minutes.
commands() {
	sed -nE 's/^    //p' "${PAGES[@]/#/$EMU_SOURCE_DIR/}" |
		sed -E ':more /\\$/ { N; s/ *\\\n */ /; b more }; s/ +# .*//; s/(--explore) [0-9]+m /\1 20 /'
}

make_folder() {
	local name

	for name in tools tests docker include build CMakePresets.json CMakeLists.txt README.md; do
		ln -s "$EMU_SOURCE_DIR/$name" "$folder/$name"
	done
	echo $((20000 + RANDOM % 30000)) >"$folder/port"
	printf '#!/bin/sh\nexec fi_pingpong -p emu -e rdm -I 100 -B "$(cat port)"\n' >"$folder/server"
	cat >"$folder/await" <<-'END'
		#!/bin/bash
		for _ in $(seq 600); do # a server listens at this port
			grep -qs ":$(printf %04X "$1") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && break
			sleep 0.1
		done
	END
	cat >"$folder/client" <<-'END'
		#!/bin/sh
		./await "$(cat port)"
		exec fi_pingpong -p emu -e rdm -I 100 -P "$(cat port)" "$1"
	END
	chmod +x "$folder/server" "$folder/await" "$folder/client"
	printf '#!/bin/sh\nexec "%s" -p emu -t read_lat -s 8 -D 0.05\n' "$EMU_BUILD/tools/perf/emu_perf" >"$folder/test_rma"
	printf '#!/bin/sh\nexec "%s" -p emu --rule S65\n' "$EMU_BUILD/tests/rules/emu_rules" >"$folder/test_of_error_paths"
	echo '* optional' >"$folder/refused.expect"
	chmod +x "$folder/test_rma" "$folder/test_of_error_paths"
	ln -s "$EMU_BUILD/tests/mpi/mpi_collectives" "$folder/program"
}

# Why a command is not run here, or nothing.
reason() {
	case $1 in
	tests/run.sh*) echo "this test is run by it" ;;
	'pip install '*) echo "the test wheel does so" ;;
	*fi_info* | *./test_rma* | *./server* | *./client*)
		command -v fi_pingpong >/dev/null || echo "libfabric's utilities are not installed"
		;;
	*'emurun ibv_'*) command -v ibv_devinfo >/dev/null || echo "ibverbs-utils is not installed" ;;
	*' ib_write_bw '*) command -v ib_write_bw >/dev/null || echo "perftest is not installed" ;;
	*mpirun*' osc rdma '*) open_mpi 4 ;;
	*mpirun*) open_mpi 4 5 ;;
	*docker/test.sh*) echo "the test docker runs it" ;;
	esac
}

# open_mpi VERSION...: nothing if one of these is installed, and what was built with it.
open_mpi() {
	local version

	version=$(mpirun --version 2>/dev/null | sed -n 's/.*Open MPI) \([0-9]*\).*/\1/p')
	[ -x "$folder/program" ] && [[ " $* " == *" $version "* ]] || echo "it is for Open MPI ${*// / or }"
}

for page in "${PAGES[@]}"; do
	grep -q '^    ' "$EMU_SOURCE_DIR/$page" || { echo "not ok '$page' has no command"; status=1; }
done
make_folder
cd "$folder" || exit 1
while read -r command; do
	why=$(reason "$command")
	if [ -n "$why" ]; then
		echo "skip '$command' $why"
		continue
	fi
	# CMake wants the tree itself; what a command leaves running belongs to this shell.
	[[ $command != cmake* ]] || cd "$EMU_SOURCE_DIR" || exit 1
	[[ $command != *ib_write_bw*.1 ]] || ./await "$PERFTEST"
	if eval "$command" >"$folder/out" 2>&1 </dev/null; then
		echo "ok '$command'"
	else
		tail -n 20 "$folder/out"
		echo "not ok '$command' $(tail -n 1 "$folder/out")"
		status=1
	fi
	cd "$folder" || exit 1
done < <(commands)
for job in $(jobs -p); do
	wait "$job" || { echo "not ok 'what runs in the background' exit status $?"; status=1; }
done
exit $status
