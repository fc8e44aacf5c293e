#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# source.sh - the source as packages are made from it: source.sh FOLDER. Leaves there emu-VERSION.tar.gz, with the folder debian/
# and the file emu.spec, and the same unpacked.
#
# The version is that of CMakeLists.txt, and the chapter of CHANGELOG.md with that number becomes the packages' changelog.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

# The chapter's points, a line each.
points() {
	awk -v version="$version" '
		/^## / { mine = index($2, version) == 1 && ($2 == version || $2 == version ","); next }
		!mine { next }
		/^- / { if (point) print point; point = substr($0, 3); next }
		/^  / { if (point) point = point " " substr($0, 3); next }
		{ if (point) print point; point = "" }
		END { if (point) print point }' CHANGELOG.md
}

source_date() {
	date -u -R -d "@$(source_epoch)"
}

changelog() {
	local point

	printf 'emu (%s) unstable; urgency=medium\n\n' "$version"
	points | while read -r point; do
		fold -s -w 74 <<<"$point" | sed '1s/^/  * /; 2,$s/^/    /; s/ *$//'
	done
	printf '\n -- %s  %s\n' "$(sed -n 's/^Maintainer: //p' tools/package/debian/control)" "$(source_date)"
}

take_help "$@"
[ $# = 1 ] || usage_error "it takes a folder"
to=$(realpath -m "$1")
[[ $to/ != "$EMU_ROOT"/* || $to/ == "$EMU_ROOT"/build/* ]] ||
	die "$1 would become part of the source: name a folder elsewhere, or in build"
cd "$EMU_ROOT"
version=$(emu_version)
grep -qE "^## $version(,|\$)" CHANGELOG.md ||
	die "CHANGELOG.md has no chapter \"## $version\", which is the version of CMakeLists.txt"
tree=$to/emu-$version
[ ! -e "$tree" ] || die "$tree exists: name another folder, or remove it"
mkdir -p "$tree"
tar --exclude=./build --exclude=./.git -cf - . | tar --no-same-owner -C "$tree" -xf -
cp -rT tools/package/debian "$tree/debian" # which is there if this is such a source
chmod +x "$tree/debian/rules"
changelog >"$tree/debian/changelog"
sed "s/@VERSION@/$version/" tools/package/emu.spec.in >"$tree/emu.spec"
tar -C "$to" --sort=name --owner=0 --group=0 --numeric-owner --mtime="$(source_date)" -cf - "emu-$version" |
	gzip -n >"$to/emu-$version.tar.gz"
