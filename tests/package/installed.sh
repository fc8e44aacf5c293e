#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# installed.sh - installs, uses and removes the packages of a folder, in a bare Debian that is thrown away: installed.sh FOLDER,
# where FOLDER has packages/*.deb and this tree's tests/package and docker/ci. bare.sh calls it. It changes the whole system.
set -euo pipefail

case ${1:-} in
-h | --help)
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"
	exit 0
	;;
/*) ;;
*)
	echo "usage: installed.sh FOLDER, an absolute path" >&2
	exit 2
	;;
esac
top=$1
names='libemu-dev emu-tools libemu-fi'

verdict() {
	local name=$1
	shift

	"$@" || { echo "not ok $name"; exit 1; }
	echo "ok $name"
}

install_for_users() {
	apt-get -qq install -y libfabric-bin "$top"/packages/libemu-fi_*.deb "$top"/packages/emu-tools_*.deb
}

install_for_developers() {
	apt-get -qq install -y "$top"/packages/libemu-dev_*.deb
}

libfabric_lists_it() {
	fi_info -p emu | grep -q '^provider: emu$'
}

# The one side waits until the other side has come; it is tried again until the first listens.
pingpong_runs() {
	local server tries status=1

	FI_EMU_IFACE=lo fi_pingpong -p emu -e rdm -I 20 >/tmp/server 2>&1 &
	server=$!
	for ((tries = 0; tries < 100 && status; tries++)); do
		status=0
		FI_EMU_IFACE=lo timeout 60 fi_pingpong -p emu -e rdm -I 20 127.0.0.1 >/tmp/client 2>&1 || status=$?
	done
	[ $status = 0 ] || { cat /tmp/server /tmp/client; kill $server; return 1; }
	wait $server && grep -q '^64 ' /tmp/client
}

emurun_runs() {
	emurun --check --allow-none --report /tmp/report.xml fi_info -p emu >/dev/null && grep -q '<testsuite' /tmp/report.xml &&
		emu_rules -p emu -r S27 | grep -q ' 0 FAIL' && emurun emu_perf -t read_lat -D 0.1 --verify >/dev/null &&
		emurun --hmem cuda true && emuctl --help >/dev/null && emu_trace --help >/dev/null
}

# With what emu-tools recommends, which apt installs where it is not told otherwise.
lab_runs() {
	apt-get -qq install -y gcc libc6-dev pkg-config && LAB_WORK=/tmp/lab emu-lab check 1 --solution &&
		emu-lab list | grep -q '^10 '
}

documents_lie_where_they_belong() {
	local page

	for page in man1/emurun.1 man1/emuctl.1 man1/emu_rules.1 man3/emu_hmem.3 man5/emu_fault.5 man7/fi_emu.7 man7/kfi_emu.7; do
		dpkg -S "/usr/share/man/$page.gz" >/dev/null || return 1
	done
	dpkg -S /usr/share/bash-completion/completions/emuctl /usr/share/doc/libemu-dev/examples/example/CMakeLists.txt >/dev/null
}

ci_recipes_run() {
	apt-get -qq install -y python3-yaml
	"$top/tests/package/recipes.py" --all "file://$top/packages" "$top/docker/ci"
}

# Paths that the packages had, and that none has now, are gone; so is all that bears the name and was not there before.
remove_leaves_nothing() {
	local path left=0

	dpkg -L $names | sort -u >/tmp/paths
	dpkg -r $names
	while read -r path; do
		[ ! -e "$path" ] || dpkg -S "$path" >/dev/null 2>&1 || [ "$path" = /. ] || { echo "left: $path"; left=1; }
	done </tmp/paths
	diff /tmp/named_before <(named) || left=1
	[ $left = 0 ] && ! fi_info -p emu >/dev/null 2>&1
}

named() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/cache/apt -o -path "$top" \) -prune -o \
		-regextype posix-extended -regex '.*/(lib|k?fi_)?emu([-_.a-z]*)' -print | sort
}

named >/tmp/named_before
verdict install_for_users install_for_users
verdict libfabric_lists_it libfabric_lists_it
verdict pingpong_runs pingpong_runs
verdict emurun_runs emurun_runs
verdict install_for_developers install_for_developers
verdict lab_runs lab_runs
verdict documents_lie_where_they_belong documents_lie_where_they_belong
verdict remove_leaves_nothing remove_leaves_nothing
verdict ci_recipes_run ci_recipes_run
verdict remove_leaves_nothing_again remove_leaves_nothing
