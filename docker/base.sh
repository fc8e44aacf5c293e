#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# base.sh - makes the image that the Dockerfile builds on from Debian packages alone, for where no image registry can be
# reached: base.sh [NAME]   (default emu-base; to be given to docker build as --build-arg BASE=NAME). As root, with
# debootstrap; packages come from where this machine's apt gets them.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../tools/lib.sh"
take_help "$@"
name=${1:-emu-base}
suite=trixie

[ "$(id -u)" = 0 ] || die "debootstrap needs root"
command -v debootstrap >/dev/null || die "please install debootstrap"
root=$(scratch_folder base)
trap 'rm -rf --one-file-system "$root"' EXIT
bootstrap "$suite" "$root/root" --include=ca-certificates >"$root/log" 2>&1 || {
	tail -n 20 "$root/log" >&2
	die "debootstrap failed"
}
rm -rf "$root"/root/var/cache/apt/archives/*.deb "$root"/root/var/lib/apt/lists/*
tar -C "$root/root" -cf - . | docker import - "$name" >/dev/null
echo "$name"
