#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh - the packages of Debian made from what this build installs, put into an empty tree, used from there, and removed; the
# spec of the RPMs; and the recipes of docker/ci with what is installed; all that lintian calls an error fails. bare.sh does all of
# that in bare Debians, and builds as a distribution does. In the environment of runner.sh.
set -uo pipefail
. "$EMU_SOURCE_DIR/tools/lib.sh"
. "$EMU_SOURCE_DIR/tests/verdict.sh"
build=$EMU_BUILD
here=$EMU_SOURCE_DIR/tests/package
work=$(mktemp -d "${TMPDIR:-/tmp}/emu-package.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
version=$(emu_version)
LEFT_OUT=unstripped-binary-or-object,missing-dependency-on-libc
source=$work/source/emu-$version
unset EMU_BUILD FI_PROVIDER FI_PROVIDER_PATH

chapter() {
	awk -v version="$version" '/^## / { mine = index($2, version) == 1 } mine' "$EMU_SOURCE_DIR/CHANGELOG.md"
}

source_has_one_version() {
	"$EMU_SOURCE_DIR/tools/package/source.sh" "$work/source" && tar -tzf "$work/source/emu-$version.tar.gz" >/dev/null &&
		grep -q "^Version: *$version\$" "$source/emu.spec" &&
		head -n 1 "$source/debian/changelog" | grep -q "^emu ($version) " &&
		[ "$(grep -c '^  \* ' "$source/debian/changelog")" = "$(chapter | grep -c '^- ')" ]
}

source_without_a_chapter_is_refused() {
	local said

	sed -i "s/^project(emu VERSION [0-9.]*/project(emu VERSION 99.1/" "$source/CMakeLists.txt"
	said=$("$source/tools/package/source.sh" "$work/refused" 2>&1) && return 1
	grep -q 'no chapter "## 99.1"' <<<"$said"
}

# As debian/rules, but for the build, which is there already.
packages_are_made() {
	printf '%s\n' '#!/usr/bin/make -f' '%:' '	dh $@' \
		'override_dh_auto_configure override_dh_auto_build override_dh_auto_test override_dh_shlibdeps:' \
		'override_dh_auto_install:' "	DESTDIR=$source/debian/tmp cmake --install $build --prefix /usr" \
		'override_dh_strip override_dh_dwz:' 'override_dh_makeshlibs:' '	dh_makeshlibs --noscripts -X/emu-verbs/' \
		'override_dh_builddeb:' '	dh_builddeb -- -Zgzip -z1' >"$source/debian/rules"
	(cd "$source" && dpkg-buildpackage -d -b -us -uc) && mv "$work"/source/*.{deb,changes,buildinfo} "$work"
}

# What lintian calls an error fails, and is said first. Not asked for is what debian/rules does and packages_are_made() leaves out.
lints() {
	local status=0

	lintian --allow-root --fail-on error --suppress-tags "$LEFT_OUT" "$@" >"$work/lintian" 2>&1 || status=$?
	grep '^E: ' "$work/lintian"
	grep -v '^E: ' "$work/lintian"
	return $status
}

# A file where packages have no place for one.
an_error_of_lintian_is_said() {
	local wrong=$work/wrong

	dpkg-deb -R "$work"/libemu-dev_*.deb "$wrong" && mkdir -p "$wrong/usr/local/share" && : >"$wrong/usr/local/share/planted" &&
		dpkg-deb -b -Zgzip -z1 "$wrong" "$work/wrong.deb" >/dev/null || return 1
	! lints "$work/wrong.deb" >"$work/says" && head -n 1 "$work/says" | grep '^E: ' &&
		grep '^E: .*usr/local/share/planted' "$work/says"
}

# Without dependencies, which the empty tree has not.
packages_are_installed() {
	mkdir -p "$work/root/var/lib/dpkg/updates" "$work/root/var/lib/dpkg/info"
	: >"$work/root/var/lib/dpkg/status"
	in_root -i "$work"/*.deb
}

in_root() {
	dpkg --root="$work/root" --force-depends --force-not-root --force-bad-path --no-triggers --log=/dev/null "$@"
}

provider_is_listed() {
	"$work/root/usr/bin/emurun" fi_info -p emu >"$work/says" && grep -q '^provider: emu$' "$work/says" &&
		PATH=$work/root/usr/bin:$PATH emurun --check --allow-none true
}

nothing_is_left() {
	in_root -r libemu-dev emu-tools libemu-fi
	find "$work/root" -path "$work/root/var" -prune -o -mindepth 1 -print >"$work/left"
	cat "$work/left"
	[ ! -s "$work/left" ]
}

# Each file that is installed belongs to a package of the spec, by its lists, and what is not installed to none.
spec_has_every_file() {
	DESTDIR=$work/rpm cmake --install "$build" --prefix /usr >/dev/null || return 1
	sed -n '/^%files/,/^%changelog/p' "$source/emu.spec" | sed -nE "s|^%\{_libdir\}|/usr/lib[^ ]*|p; s|^%\{_bindir\}|/usr/bin|p
		s|^%\{_mandir\}|/usr/share/man|p; s|^%\{_datadir\}|/usr/share|p; s|^%\{_includedir\}|/usr/include|p" |
		sed 's/\./\\./g; s/\([^]]\)\*/\1.*/g; s|$|(/.*)?|; s/^/^/; s/$/$/' >"$work/lists"
	find "$work/rpm" ! -type d -printf '/%P\n' | grep -vEf "$work/lists" && return 1
	grep -vEf "$work/lists" <<</usr/sbin/none >/dev/null
}

# The recipes say skip, or each case by itself.
recipes() {
	cmake --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; failed=1; }
	PATH=$work/prefix/bin:$PATH CMAKE_PREFIX_PATH=$work/prefix "$here/recipes.py" "$EMU_SOURCE_DIR/docker/ci" || failed=1
}

succeeds source_has_one_version
if ! command -v dh >/dev/null || ! command -v dpkg-buildpackage >/dev/null; then
	echo "skip packages debhelper is not installed"
else
	succeeds packages_are_made
	if ! command -v lintian >/dev/null; then
		echo "skip packages_pass_lintian lintian is not installed"
	else
		succeeds packages_pass_lintian lints "$work"/*.changes
		succeeds an_error_of_lintian_is_said
	fi
	if [ "$(id -u)" != 0 ]; then
		echo "skip packages_are_installed dpkg installs for root alone"
	else
		succeeds packages_are_installed
		succeeds provider_is_listed
		succeeds nothing_is_left
	fi
fi
succeeds spec_has_every_file
succeeds source_without_a_chapter_is_refused
recipes
exit $failed
