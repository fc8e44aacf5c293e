#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# wheel_whole.sh - the wheel that is given away, as tools/package/wheel.sh makes it: the same bytes from two folders, what it asks
# of a system, and its use here, in bare Debians of which the oldest has the C library that it is for, and for arm64 under
# qemu-user. In the environment of runner.sh.
set -uo pipefail
. "$EMU_SOURCE_DIR/tools/lib.sh"
. "$EMU_SOURCE_DIR/tests/verdict.sh"
. "$EMU_SOURCE_DIR/tools/arm64.sh"
here=$EMU_SOURCE_DIR/tests/package build=$EMU_BUILD
out=$build/wheel
stem=emu_rdma-$(emu_version)-py3-none-manylinux_2_31
work=$(mktemp -d "${TMPDIR:-/tmp}/emu-whole.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
arm64=$EMU_DEPS/arm64-runtime
OURS='libemu-[a-z]*\.so|libibverbs\.so\.1|librdmacm\.so\.1'
SYSTEM='lib(c|pthread|dl|rt|m)\.so\.[0-9]*|ld-linux[-a-z0-9_]*\.so\.[0-9]|libfabric\.so\.1'

make_wheel() {
	"$EMU_SOURCE_DIR/tools/package/wheel.sh" --arch "$1" "$out/$2" &&
		cmake --build "$out/$2/build-$1" --target demo-target demo-initiator &&
		mkdir -p "$work/$1" && (cd "$work/$1" && python3 -m zipfile -e "$out/$2/${stem}_$1.whl" .)
}

same_bytes_from_two_folders() {
	rm -rf "$out/other"
	make_wheel x86_64 other && cmp "$out/one/${stem}_x86_64.whl" "$out/other/${stem}_x86_64.whl"
}

# The files of programs and libraries that were unpacked for ARCH.
objects() {
	find "$work/$1" -path '*.data*' -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print
}

# asks_little ARCH: no name of a younger C library, and no other library.
asks_little() {
	local file newest

	[ "$(objects "$1" | wc -l)" -ge 15 ] || return 1
	for file in $(objects "$1"); do
		newest=$(readelf -VW "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
		echo "$file: ${newest:-none}"
		version_at_least 2.31 "$(cut -d_ -f2 <<<"${newest:-GLIBC_2.0}")" || return 1
		readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxE "$OURS|$SYSTEM" && return 1
	done
	return 0
}

# shows_the_same ARCH: the libraries have the names and versions of those that gcc and ld made here. ld also names the versions
# themselves, as absolute symbols.
shows_the_same() {
	local data=$work/$1/emu_rdma-$(emu_version).data/data/lib pair

	for pair in libfabric/libemu-fi.so=emu/fi/libemu-fi.so emu-verbs/libibverbs.so.1=emu/verbs/lib/libibverbs.so.1 \
		emu-verbs/librdmacm.so.1=emu/verbs/lib/librdmacm.so.1 libemu-cuda.so=emu/cuda/libemu-cuda.so; do
		diff <(names "$build/${pair#*=}") <(names "$data/${pair%=*}") || return 1
	done
}

names() {
	nm -D --defined-only --with-symbol-versions "$1" | sed '/ A /d; s/^[0-9a-f]* //' | sort
}

has_licences() {
	local texts=$work/$1/emu_rdma-$(emu_version).dist-info/licenses part

	for part in libuv1-dev liburing-dev libinih-dev libsodium-dev libxxhash-dev libcjson-dev libdw-dev zlib1g-dev; do
		[ -s "$texts/$part" ] && grep -q "^${part}_" "$texts/PARTS" || return 1
	done
	[ -s "$texts/LICENSE" ] && [ -s "$texts/LGPL-3" ] && [ -s "$texts/zig" ]
}

# What the script says of itself counts.
uses_here() {
	"$here/wheel_packed.sh" "$out/one/${stem}_x86_64.whl" "$out/one/build-x86_64/tools/demo" || failed=1
}

uses_in() {
	local lacks

	if lacks=$(bare_lacks "$1"); then
		echo "skip wheel_in_$1 $lacks"
	else
		"$here/wheel_bare.sh" "$1" "$out/one/${stem}_x86_64.whl" "$out/one/build-x86_64/tools/demo" || failed=1
	fi
}

# The programs for arm64 start, find their libraries, and move bytes.
runs_on_arm64() {
	arm64_root "$arm64" $ARM64_RUNTIME && arm64_run "$here/wheel_whole.sh" --inside "$work/aarch64"
}

inside() {
	local place=$arm64/tmp/emu-wheel data

	rm -rf "$place"
	mkdir -p "$place" && data=("$1"/*.data) && cp -r "${data[0]}/data/." "${data[0]}/scripts/" "$place/" &&
		mv "$place/scripts" "$place/bin" && chmod -R a+rx "$place/bin" &&
		in_bare "$arm64" sh -ec 'cd /tmp/emu-wheel/bin
			./emurun fi_info -p emu | grep "^provider: emu$"
			./emurun ./emu_perf -t write_lat -D 0.1 --verify
			./emurun --check --allow-none true
			./emurun ldd /bin/true | grep /tmp/emu-wheel/lib/emu-verbs/libibverbs.so.1'
}

if [ "${1:-}" = --inside ]; then # called by itself, above
	inside "$2"
	exit
fi
if ! /usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null; then
	echo "skip wheel-whole python3-venv is not installed"
	exit 77
fi
succeeds is_made make_wheel x86_64 one
[ $failed = 0 ] || exit 1
succeeds same_bytes_from_two_folders
succeeds asks_little x86_64
succeeds shows_the_same_names shows_the_same x86_64
succeeds has_licences x86_64
uses_here
for suite in bullseye bookworm trixie; do
	uses_in $suite
done
if ! command -v llvm-objcopy >/dev/null && ! command -v aarch64-linux-gnu-objcopy >/dev/null; then
	echo "skip arm64_is_made there is no objcopy for it"
else
	succeeds arm64_is_made make_wheel aarch64 one
	succeeds arm64_asks_little asks_little aarch64
	if lacks=$(arm64_run_lacks); then
		echo "skip arm64_runs $lacks"
	else
		succeeds arm64_runs runs_on_arm64
	fi
fi
exit $failed
