#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# bare.sh - the packages in a bare Debian: bare.sh SUITE FOLDER, where SUITE is bookworm or trixie. As root, where a chroot can be
# furnished.
#
# Builds the packages in what debootstrap calls minbase, asks lintian, and leaves them in FOLDER/SUITE; builds RPMs there, too.
# Then, in another bare Debian: installs the packages, uses them, runs the recipes of docker/ci, removes them, and looks for what
# they left. The bare trees and what apt fetched are kept in build/deps/package.
set -euo pipefail
. "$(dirname "$0")/../../tools/lib.sh"

inside() {
	in_bare "$root" "$@"
}

keep_archives() {
	bare_keep "$suite" "$root"
}

step() {
	local name=$1
	shift

	"$@" >"$log" 2>&1 || { tail -n 40 "$log"; die "$suite: $name failed: see $log"; }
	echo "ok $suite $name"
}

build() {
	inside sh -c "apt-get -qq install -y build-essential fakeroot lintian && cd /build/emu-$version &&
		apt-get -qq build-dep -y ./"
	keep_archives
	inside sh -c "cd /build/emu-$version && DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -us -uc"
}

# What lintian calls an error fails, and is said last; all that it says is in lintian.txt.
lints() {
	inside sh -c 'lintian --allow-root --fail-on error --info /build/*.changes' >"$out/lintian.txt" && return 0
	grep -v '^E: ' "$out/lintian.txt"
	grep '^E: ' "$out/lintian.txt"
	return 1
}

# The packages stay, whatever is said of them later.
packages() {
	rm -f "$out"/*.deb
	cp "$root"/build/*.deb "$out/" && (cd "$out" && sha256sum *.deb >SHA256SUMS)
}

# The spec, by the tools of RPM that Debian has. What it builds is looked at, and not kept: it is for another distribution.
rpm() {
	inside sh -ec 'apt-get -qq install -y rpm rpmlint
		cd /build
		rpmlint emu-*/emu.spec
		libdir=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
		rpmbuild -tb --nodeps --define "_topdir /build/rpm" --define "_libdir /usr/$libdir" --define "_lib $libdir" \
			emu-*.tar.gz
		rpm -qlp rpm/RPMS/*/emu-[0-9]*.rpm | grep -x "/usr/$libdir/libfabric/libemu-fi.so"'
}

use() {
	inside /test/tests/package/installed.sh /test
}

take_help "$@"
[ $# = 2 ] || usage_error "it takes a suite and a folder"
suite=$1
case $suite in
bookworm | trixie) ;;
*) usage_error "no suite $suite: there are bookworm and trixie" ;;
esac
if lacks=$(bare_lacks "$suite"); then
	die "$lacks"
fi
mkdir -p "$2/$suite"
out=$(cd "$2/$suite" && pwd)
log=$out/log version=$(emu_version)
root=$(scratch_folder $suite)
trap 'rm -rf --one-file-system "$root"' EXIT
step base bare_debian $suite "$root"
mkdir "$root/build"
step source "$EMU_ROOT/tools/package/source.sh" "$root/build"
step build build
step packages packages
step lintian lints
step rpm rpm
keep_archives
step base_again bare_debian $suite "$root"
mkdir -p "$root/test/packages"
cp "$out"/*.deb "$out/SHA256SUMS" "$root/test/packages/"
tar -C "$EMU_ROOT" -cf - tests/package docker/ci | tar --no-same-owner -C "$root/test" -xf -
step use use
keep_archives
grep '^ok ' "$log" | sed "s/^ok /ok $suite /"
