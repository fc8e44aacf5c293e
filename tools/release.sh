#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# release.sh - makes a release, and tests what it made: release.sh FOLDER [KEY]. As root, on Debian.
#
# FOLDER, which must be new, gets the source (emu-VERSION.tar.gz), the spec for RPMs (emu.spec), and the packages for Debian 12
# and 13, each release's in a folder of its own with its SHA256SUMS, and wheels for x86-64 and arm64. Packages are built, and then
# installed, used and removed, in bare Debians (tests/package/bare.sh). FOLDER/SHA256SUMS has the sums of all files. With KEY, the
# name of a secret key of gpg, each SHA256SUMS gets a signature SHA256SUMS.asc, which is verified.
#
# A release is made of what is committed: it is refused where git knows of changes.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

sign() {
	local sums

	find . -name SHA256SUMS | while read -r sums; do
		gpg --batch --armor --local-user "$1" --output "$sums.asc" --detach-sign "$sums"
		gpg --batch --quiet --verify "$sums.asc" "$sums"
	done
}

take_help "$@"
[ $# = 1 ] || [ $# = 2 ] || usage_error "it takes a folder, and perhaps a key"
[ ! -e "$1" ] || die "$1 exists: name a new folder"
[ "$(id -u)" = 0 ] || die "the bare Debians that the packages are built in can be made by root alone"
[ -z "$(git -C "$EMU_ROOT" status --porcelain)" ] || die "the tree has changes: commit them first"
[ $# = 1 ] || gpg --batch --list-secret-keys "$2" >/dev/null 2>&1 || die "gpg has no secret key $2"
version=$(emu_version)
mkdir -p "$1"
out=$(cd "$1" && pwd)
SOURCE_DATE_EPOCH=$(git -C "$EMU_ROOT" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
"$EMU_ROOT/tools/package/source.sh" "$out/unpacked"
mv "$out/unpacked/emu-$version.tar.gz" "$out"
# From the source as it is handed out, with what this tree keeps of bare Debians.
tree=$out/unpacked/emu-$version
rm -rf "$out/unpacked"
mkdir "$out/unpacked"
tar -C "$out/unpacked" -xzf "$out/emu-$version.tar.gz"
cp "$tree/emu.spec" "$out"
mkdir -p "$EMU_DEPS" "$tree/build"
ln -s "$EMU_DEPS" "$tree/build/deps"
for suite in bookworm trixie; do
	"$tree/tests/package/bare.sh" $suite "$out"
	rm "$out/$suite/log"
done
for arch in x86_64 aarch64; do
	"$tree/tools/package/wheel.sh" --arch $arch "$tree/build/wheel"
done
mv "$tree"/build/wheel/*.whl "$out"
rm -rf "$out/unpacked"
cd "$out"
find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS
sha256sum --quiet -c SHA256SUMS
[ $# = 1 ] || sign "$2"
echo "emu $version: $out"
