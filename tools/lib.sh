# SPDX-License-Identifier: BSD-2-Clause
# lib.sh - shared by the scripts: the tree's root, and where the libfabrics are. Sourced, never run.
#
# Two libfabrics matter. The *build* libfabric is the one whose headers the provider is compiled against: LIBFABRIC_ROOT
# if that is set, else the system's. The *new* libfabric is 2.1 or later, for all tests: the build libfabric if it is
# new enough, else the one that tools/setup.sh builds under build/deps.

EMU_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
EMU_DEPS=$EMU_ROOT/build/deps
EMU_FABRIC_MIN=2.1.0
EMU_FABRIC_BUILT=$EMU_DEPS/libfabric-$EMU_FABRIC_MIN
EMU_FABTESTS=$EMU_DEPS/fabtests-$EMU_FABRIC_MIN
EMU_MPI4PY_TESTS=$EMU_DEPS/mpi4py-tests
EMU_PYVERBS_TESTS=$EMU_DEPS/pyverbs-tests
EMU_MOONCAKE=$EMU_DEPS/mooncake
EMU_CRATES=$EMU_DEPS/crates	# programs of the crates that use verbs
EMU_WHEELS=$EMU_DEPS/wheels	# a folder for each client that comes from Python's registry

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# take_help ARG...: if the first argument is --help, prints the comment at the head of the script, and ends; refuses any
# other option, except those in $options.
take_help() {
	local arg

	case ${1:-} in
	-h | --help)
		sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	esac
	for arg; do
		[[ $arg != -* || " ${options:-} " == *" $arg "* ]] || usage_error "unknown option $arg"
	done
}

usage_error() {
	echo "${0##*/}: $*; --help says what there is" >&2
	exit 2
}

# Debian's archive and release on this machine, as the system's apt knows them.
debian_archive() {
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Component: main' |
		awk '$2 !~ /-/ && $1 ~ /debian\/*$/ { print; exit }'
}

# private_apt FOLDER CMD...: apt with sources, lists and cache of its own in that folder, for packages of both architectures.
private_apt() {
	local dir=$1
	shift

	apt-get -qq -o Dir::Etc::SourceList="$dir/apt.sources" -o Dir::Etc::SourceParts=- \
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" -o APT::Sandbox::User=root \
		-o APT::Architectures::=amd64 -o APT::Architectures::=arm64 "$@"
}

# private_lists FOLDER TYPE [SUITE]: makes such a folder, for packages (deb) or sources (deb-src) of that suite; without a suite, of
# the release that is installed.
private_lists() {
	local dir=$1 uri release

	read -r uri release < <(debian_archive) || { echo "apt knows of no Debian archive"; return 1; }
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$2" "$uri" "${3:-$release}" \
		/usr/share/keyrings/debian-archive-keyring.gpg >"$dir/apt.sources"
	private_apt "$dir" update
}

# fetch_package FOLDER SUITE PACKAGE: puts the source of a package of that suite into a folder; without a suite, of the
# release that is installed.
fetch_package() {
	private_lists "$1" deb-src "$2" && (cd "$1" && private_apt "$1" source --download-only --tar-only "$3")
}

# The second of the source, so that one source gives the same packages at any time.
source_epoch() {
	echo "${SOURCE_DATE_EPOCH:-$(git -C "$EMU_ROOT" log -1 --format=%ct 2>/dev/null || stat -c %Y "$EMU_ROOT/CHANGELOG.md")}"
}

# bootstrap SUITE FOLDER [OPTION...]: a Debian with the fewest packages, by debootstrap; as root. Packages come from the
# archive of this machine's apt, through apt's proxy.
bootstrap() {
	local suite=$1 folder=$2 mirror proxy='' script
	shift 2

	read -r mirror _ < <(debian_archive) || { echo "apt knows of no Debian archive"; return 1; }
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	[ -z "$proxy" ] || export http_proxy=$proxy
	[[ $mirror != https:* ]] || set -- "$@" --include=ca-certificates
	# A debootstrap older than the suite has no script for it; all Debian's are the same.
	script=/usr/share/debootstrap/scripts/$suite
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	debootstrap --variant=minbase "$@" "$suite" "$folder" "$mirror" "$script"
}

# scratch_folder NAME: makes a folder in /var/tmp for a bare tree and prints its path, which ends with this process's number.
# Those of this name that processes have left which are gone, as killed ones do, are removed, and nothing else: a release that
# somebody has unpacked there is emu-0.1.0, say.
scratch_folder() {
	local old

	for old in "/var/tmp/emu-$1".*; do
		[[ ${old##*.} =~ ^[0-9]+$ ]] && [ "$old" = "/var/tmp/emu-$1.${old##*.}" ] || continue
		[ ! -d "$old" ] || [ -d "/proc/${old##*.}" ] || rm -rf --one-file-system "$old"
	done
	mkdir -m 755 "/var/tmp/emu-$1.$$" && echo "/var/tmp/emu-$1.$$"
}

# How this machine's apt reaches its archive; and no waiting for the disk, for what is thrown away.
host_apt() {
	apt-config dump | grep -E '^Acquire::(http|https)::(Proxy|[^ ]*::Proxy|CaInfo|Verify)'
	echo 'APT::Install-Recommends "false";'
	echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "true";'
	echo 'DPkg::Options { "--force-unsafe-io"; };'
}

# bare_debian SUITE FOLDER: a Debian with the fewest packages in that folder, anew; as root. The tree, and what apt fetched, stay
# in build/deps/package; through a name of its own, so that an interrupted run leaves nothing that looks finished.
bare_debian() {
	local suite=$1 root=$2 kept=$EMU_DEPS/package

	rm -rf --one-file-system "${root:?}"
	mkdir -m 755 "$root"
	mkdir -p "$kept"
	if [ ! -e "$kept/$suite.tar" ]; then
		bootstrap "$suite" "$root" && host_apt >"$root/etc/apt/apt.conf.d/90host" &&
			tar -C "$root" --exclude='./var/cache/apt/archives/*.deb' -cf "$kept/$suite.part" . &&
			mv "$kept/$suite.part" "$kept/$suite.tar"
		return
	fi
	tar -C "$root" -xpf "$kept/$suite.tar"
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	cp "$kept/archives-$suite"/*.deb "$root/var/cache/apt/archives/" 2>/dev/null || true
	in_bare "$root" apt-get -qq update
}

# bare_keep SUITE FOLDER: keeps what apt fetched there.
bare_keep() {
	mkdir -p "$EMU_DEPS/package/archives-$1"
	cp -n "$2"/var/cache/apt/archives/*.deb "$EMU_DEPS/package/archives-$1/"
}

# bare_lacks SUITE: says in words what is missing here for a bare Debian, and succeeds if something is.
bare_lacks() {
	if [ "$(id -u)" != 0 ]; then
		echo "a bare Debian can be made by root alone"
	elif ! unshare --mount --pid --fork true 2>/dev/null; then
		echo "a chroot cannot be furnished here: unshare(1) may not mount"
	elif [ ! -e "$EMU_DEPS/package/$1.tar" ] && ! command -v debootstrap >/dev/null; then
		echo "debootstrap is not installed"
	else
		return 1
	fi
}

# in_bare ROOT CMD...
in_bare() {
	in_chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${@:2}"
}

# in_chroot ROOT CMD...: with the kernel's file systems, and without what it leaves running.
in_chroot() {
	unshare --mount --pid --fork --kill-child sh -c 'mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
		mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$@"
}

# The version of emu, which stands in the CMakeLists.txt at the top alone.
emu_version() {
	sed -n 's/^project(emu VERSION \([0-9.]*\) .*/\1/p' "$EMU_ROOT/CMakeLists.txt"
}

# version_at_least HAVE WANT
version_at_least() {
	[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# The version of the build libfabric; fails if there is none with headers.
build_libfabric_version() {
	if [ -n "${LIBFABRIC_ROOT:-}" ]; then
		PKG_CONFIG_PATH=$LIBFABRIC_ROOT/lib/pkgconfig:$LIBFABRIC_ROOT/lib64/pkgconfig \
			pkg-config --modversion libfabric 2>/dev/null
	else
		pkg-config --modversion libfabric 2>/dev/null
	fi
}

# The folder of the build libfabric's library.
build_libfabric_lib() {
	if [ -n "${LIBFABRIC_ROOT:-}" ]; then
		PKG_CONFIG_PATH=$LIBFABRIC_ROOT/lib/pkgconfig:$LIBFABRIC_ROOT/lib64/pkgconfig \
			pkg-config --variable=libdir libfabric
	else
		pkg-config --variable=libdir libfabric
	fi
}

# The folder of the new libfabric's library; fails if there is none.
new_libfabric_lib() {
	local have

	have=$(build_libfabric_version) || have=0
	if version_at_least "$have" "$EMU_FABRIC_MIN"; then
		build_libfabric_lib
	elif [ -e "$EMU_FABRIC_BUILT/lib/libfabric.so.1" ]; then
		echo "$EMU_FABRIC_BUILT/lib"
	else
		return 1
	fi
}

# Makes programs find the new libfabric, unless LD_LIBRARY_PATH leads to one already.
find_libfabric() {
	local folder folders

	IFS=: read -ra folders <<<"${LD_LIBRARY_PATH:-}"
	for folder in "${folders[@]}"; do
		[ ! -e "$folder/libfabric.so.1" ] || return 0
	done
	folder=$(new_libfabric_lib) || die "no libfabric $EMU_FABRIC_MIN: run tools/setup.sh first"
	export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# The prefix of the build libfabric.
build_libfabric_prefix() {
	echo "${LIBFABRIC_ROOT:-$(pkg-config --variable=prefix libfabric)}"
}

# The prefix of the new libfabric; fails if there is none.
new_libfabric_prefix() {
	local have

	have=$(build_libfabric_version) || have=0
	if ! version_at_least "$have" "$EMU_FABRIC_MIN"; then
		[ -e "$EMU_FABRIC_BUILT/lib/libfabric.so.1" ] && echo "$EMU_FABRIC_BUILT"
	else
		build_libfabric_prefix
	fi
}

# The folder of the build libfabric's library if that is older than the new one; fails if there is no such thing.
old_libfabric_lib() {
	local have

	have=$(build_libfabric_version) || return 1
	! version_at_least "$have" "$EMU_FABRIC_MIN" || return 1
	build_libfabric_lib
}

# build_target PRESET TARGET: builds one target, silently unless that fails.
build_target() {
	local log=$EMU_ROOT/build/$1-$2.log

	mkdir -p "$EMU_ROOT/build"
	(cd "$EMU_ROOT" && cmake --preset "$1" && cmake --build --preset "$1" --target "$2" -j "$(nproc)") >"$log" 2>&1 ||
		die "could not build $2: see $log"
}

# Docker Compose, of either generation.
has_compose() {
	docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null
}

run_compose() {
	if docker compose version >/dev/null 2>&1; then
		docker compose "$@"
	else
		docker-compose "$@"
	fi
}
