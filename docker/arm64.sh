#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# arm64.sh - makes the image emu:runtime-arm64 on x86-64: the provider and its tools for arm64, by the cross compiler, in a Debian
# 13 for arm64. As root, with debootstrap, gcc-aarch64-linux-gnu and qemu-user-static; needs no image registry. Exit status 77
# where there is nothing to build with, after saying what.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tools/lib.sh"
. "$here/../tools/arm64.sh"
set -euo pipefail
take_help "$@"
name=emu:runtime-arm64
base=$EMU_DEPS/arm64-runtime

if lacks=$(arm64_lacks); then
	echo "arm64.sh: $lacks" >&2
	exit 77
fi
command -v docker >/dev/null && timeout 20 docker info >/dev/null 2>&1 || {
	echo "arm64.sh: no Docker engine answers: start it, or join the group docker" >&2
	exit 77
}
scratch=$(scratch_folder arm64)
root=$scratch/root
trap 'rm -rf --one-file-system "$scratch"' EXIT
make_root() {
	arm64_build && arm64_root "$base" $ARM64_RUNTIME && cp -a "$base" "$root" &&
		rm -rf "$root"/var/lib/apt/lists/* "$root/etc/apt/apt.conf.d/90host" &&
		arm64_run chroot "$root" useradd --uid 1000 --create-home --shell /bin/bash emu &&
		DESTDIR=$root cmake --install "$ARM64_BUILD" --strip &&
		aarch64-linux-gnu-strip -o "$root/usr/bin/emu-node" "$ARM64_BUILD/docker/emu-node"
}
if ! make_root >"$scratch/log" 2>&1; then
	tail -n 30 "$scratch/log" >&2
	die "$name cannot be built"
fi
# As the stage `runtime` of the Dockerfile.
tar -C "$root" -cf - . | docker import --platform linux/arm64 -c 'LABEL emu.image=yes' -c 'USER emu' -c 'WORKDIR /home/emu' \
	-c 'ENV FI_PROVIDER=emu' -c 'HEALTHCHECK --interval=30s --timeout=10s CMD fi_info -p emu >/dev/null' \
	-c 'CMD ["fi_info", "-p", "emu"]' - $name >/dev/null
echo $name
