#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# setup.sh - makes this machine able to build and test emu. Says nothing and changes nothing when all is there.
#
# On Debian as root it installs packages. As another user, or off Debian, it says which are missing. Where the
# distribution's libfabric is older than 2.1, that version is also built, once, below build/deps, from the source
# package of a newer Debian: the system's libraries and its package sources are never touched.
#
# LIBFABRIC_ROOT=prefix in the environment: use that libfabric in the place of the system's.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

FABRIC_SUITE=trixie	# the first Debian release with libfabric 2.1

# What is needed: Debian's package, how to see that it is there, and what it is. A test looks for what the build will
# use, so that something installed by other means will do too.
needs() {
	cat <<-'END'
	gcc|command -v cc|a C compiler
	libc6-dev|has_header stdio.h|the C library's headers
	cmake|command -v cmake|CMake 3.25 or later
	ninja-build|command -v ninja|Ninja
	pkg-config|command -v pkg-config|pkg-config
	libuv1-dev|pkg-config --exists libuv|libuv with headers and static library
	libxxhash-dev|pkg-config --exists libxxhash|xxHash 0.8 or later
	libcriterion-dev|pkg-config --exists criterion|Criterion
	libfabric-dev|build_libfabric_version|libfabric 1.17 or later with headers (or set LIBFABRIC_ROOT)
	libfabric-bin|has_fi_info|libfabric's utilities
	END
	is_debian && needs_built_libfabric || return 0
	cat <<-'END'
	make|command -v make|make, to build libfabric
	autoconf|command -v autoreconf|autoconf, to build libfabric
	automake|command -v automake|automake, to build libfabric
	libtool|command -v libtoolize|libtool, to build libfabric
	xz-utils|command -v xz|xz, to unpack libfabric's source
	END
}

# Wanted only where containers can run: the container test uses them.
docker_needs() {
	cat <<-'END'
	debootstrap|command -v debootstrap|debootstrap, to make a base image
	docker-compose|has_compose|Docker Compose
	END
}

has_header() {
	echo "#include <$1>" | cc -E - 2>/dev/null
}

has_fi_info() {
	[ -n "${LIBFABRIC_ROOT:-}" ] || command -v fi_info
}

has_compose() {
	docker compose version || command -v docker-compose
}

engine_answers() {
	command -v docker >/dev/null && timeout 20 docker info >/dev/null 2>&1
}

# True if a libfabric is to be built: the system's is too old (or not there yet and going to be), and none was built.
needs_built_libfabric() {
	local have

	[ ! -e "$EMU_FABRIC_BUILT/lib/libfabric.so.1" ] || return 1
	have=$(build_libfabric_version) || have=$(apt_version libfabric-dev)
	! version_at_least "$have" "$EMU_FABRIC_MIN"
}

# The version that apt would install, without Debian's revision; 0 if it knows none.
apt_version() {
	local version

	version=$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p')
	version=${version#*:}
	echo "${version%%-*}" | sed 's/^$/0/;s/^(none)$/0/'
}

# missing TABLE: the lines of a table whose test fails.
missing() {
	local package test what

	"$1" | while IFS='|' read -r package test what; do
		$test >/dev/null 2>&1 </dev/null || echo "$package|$what"
	done
}

is_debian() {
	[ -e /etc/debian_version ] && command -v apt-get >/dev/null
}

list_missing() {
	echo "setup.sh: $1" >&2
	echo "$2" | while IFS='|' read -r package what; do
		printf '  %-18s %s\n' "$package" "$what" >&2
	done
}

fail_with_log() {
	tail -n 20 "$1" >&2
	die "$2; all of it is in $1"
}

install_packages() {
	local lines packages

	# The answer may grow once apt knows what it can install, hence twice.
	apt-get -qq update || die "apt-get update failed"
	for _ in 1 2; do
		lines=$(missing "$1")
		[ -n "$lines" ] || return 0
		packages=$(echo "$lines" | cut -d'|' -f1)
		echo "setup.sh: installing" $packages
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $packages \
			>"$EMU_DEPS/apt.log" 2>&1 </dev/null ||
			fail_with_log "$EMU_DEPS/apt.log" "apt-get install failed"
	done
}

# Where packages cannot be installed from here: says which are missing.
ask_for_packages() {
	local lines

	lines=$(missing needs)
	[ -n "$lines" ] || return 0
	if ! is_debian; then
		list_missing "not Debian: please install these (the names are Debian's) and run this again." "$lines"
		echo "A libfabric in a place of its own is accepted: LIBFABRIC_ROOT=prefix $0," \
			"cmake -DLIBFABRIC_ROOT=prefix." >&2
		exit 1
	elif [ "$(id -u)" != 0 ]; then
		list_missing "not root: please have these packages installed and run this again." "$lines"
		echo "  apt-get install" $(echo "$lines" | cut -d'|' -f1) >&2
		exit 1
	fi
}

have_packages() {
	[ -n "$(missing needs)" ] || return 0
	install_packages needs
	[ -z "$(missing needs)" ] || { list_missing "installed, and yet not found:" "$(missing needs)"; exit 1; }
}

# apt with sources, lists and cache of its own in folder $1.
private_apt() {
	local dir=$1
	shift

	apt-get -qq -o Dir::Etc::SourceList="$dir/apt.sources" -o Dir::Etc::SourceParts=- \
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" -o APT::Sandbox::User=root "$@"
}

# Puts libfabric's source from the newer suite into folder $1; where Debian's archive is, the system's apt knows.
fetch_source() {
	local dir=$1 uri

	uri=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Component: main' |
		awk '$2 !~ /-/ && $1 ~ /debian\/*$/ { print $1; exit }')
	[ -n "$uri" ] || { echo "apt knows of no Debian archive"; return 1; }
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$uri" "$FABRIC_SUITE" \
		/usr/share/keyrings/debian-archive-keyring.gpg >"$dir/apt.sources"
	private_apt "$dir" update
	(cd "$dir" && private_apt "$dir" source --download-only --tar-only libfabric)
	[ -e "$dir/libfabric_$EMU_FABRIC_MIN.orig.tar.xz" ] ||
		{ echo "suite $FABRIC_SUITE has another libfabric:" "$dir"/libfabric_*; return 1; }
}

# All in a folder that is renamed at the very end: an interrupted build leaves nothing that looks finished.
build_libfabric() {
	local work=$1 tarball=libfabric_$EMU_FABRIC_MIN.orig.tar.xz

	if [ ! -e "$EMU_DEPS/$tarball" ]; then
		fetch_source "$work"
		mv "$work/$tarball" "$EMU_DEPS/$tarball"
	fi
	mkdir "$work/source"
	tar -xf "$EMU_DEPS/$tarball" -C "$work/source" --strip-components=1
	cd "$work/source"
	autoreconf -fi
	./configure --prefix="$EMU_FABRIC_BUILT" --libdir="$EMU_FABRIC_BUILT/lib" --disable-static \
		--enable-only --enable-tcp --enable-shm --enable-sockets
	make -j"$(nproc)"
	make install DESTDIR="$work/stage"
	cd /
	rm -rf "$EMU_FABRIC_BUILT"
	mv "$work/stage$EMU_FABRIC_BUILT" "$EMU_FABRIC_BUILT"
}

have_new_libfabric() {
	local work status log=$EMU_DEPS/libfabric-$EMU_FABRIC_MIN.log

	needs_built_libfabric || return 0
	is_debian || die "libfabric $EMU_FABRIC_MIN or later is needed: install one and set LIBFABRIC_ROOT=prefix"
	echo "setup.sh: building libfabric $EMU_FABRIC_MIN for the tests, once (about a minute)"
	rm -rf "$EMU_DEPS"/work.*	# what an interrupted run left; the lock says that none is running
	work=$(mktemp -d "$EMU_DEPS/work.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	set +e	# not `if (...)`: bash ignores errors inside a condition
	(set -e; build_libfabric "$work") >"$log" 2>&1 </dev/null
	status=$?
	set -e
	[ $status = 0 ] || fail_with_log "$log" "could not build libfabric"
	rm -rf "$work"
	trap - EXIT
}

# True if root is to add what the container test needs.
wants_docker_packages() {
	[ "$(id -u)" = 0 ] && is_debian && engine_answers && [ -n "$(missing docker_needs)" ]
}

all_there() {
	[ -z "$(missing needs)" ] && ! needs_built_libfabric && ! wants_docker_packages
}

all_there && exit 0
ask_for_packages
mkdir -p "$EMU_DEPS"
exec 9>"$EMU_DEPS/lock"
flock 9
have_packages
have_new_libfabric
! wants_docker_packages || install_packages docker_needs
