#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# base.sh - makes the image that the Dockerfile builds on from Debian packages alone, for where no image registry can be
# reached: base.sh [NAME]   (default emu-base; to be given to docker build as --build-arg BASE=NAME). As root, with
# debootstrap; packages come from where this machine's apt gets them.
set -euo pipefail
name=${1:-emu-base}
suite=trixie

[ "$(id -u)" = 0 ] || { echo "base.sh: debootstrap needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "base.sh: please install debootstrap" >&2; exit 1; }
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Component: main' |
	awk '$2 !~ /-/ && $1 ~ /debian\/*$/ { print $1; exit }')
[ -n "$mirror" ] || { echo "base.sh: apt knows of no Debian archive" >&2; exit 1; }

root=$(mktemp -d /var/tmp/emu-base.XXXXXX)
trap 'rm -rf "$root"' EXIT
# A debootstrap older than the suite has no script for it; all Debian's are the same.
script=/usr/share/debootstrap/scripts/$suite
[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
debootstrap --variant=minbase --include=ca-certificates "$suite" "$root/root" "$mirror" "$script" >"$root/log" 2>&1 || {
	tail -n 20 "$root/log" >&2
	echo "base.sh: debootstrap failed" >&2
	exit 1
}
rm -rf "$root"/root/var/cache/apt/archives/*.deb "$root"/root/var/lib/apt/lists/*
tar -C "$root/root" -cf - . | docker import - "$name" >/dev/null
echo "$name"
