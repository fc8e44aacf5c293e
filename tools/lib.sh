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
