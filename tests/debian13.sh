#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# debian13.sh - the suite brief of tests/run.sh in a bare Debian 13, which has nothing but what debootstrap calls minbase, and what
# tools/setup.sh installs there: debian13.sh [nightly] [SUITE]. As root. SUITE is run in the place of `brief`.
#
# Where a Docker engine answers it is a container with the default profile, else a chroot. What is fetched is kept in
# build/deps/debian13: the bare tree, the packages, and what set-up builds. The results go to EMU_RESULTS, if that is set, as of
# a suite `debian13`, with a line `skip` where neither can be had; all that is said goes to build/debian13.log, too.
set -o pipefail
. "$(dirname "$0")/../tools/lib.sh"

IMAGE=emu-test-debian13
KEPT=$EMU_DEPS/debian13
LOG=$EMU_ROOT/build/debian13.log

# result pass|skip|fail WHAT
result() {
	echo "$1 debian13/set-up: ${*:2}" | tee -a "${EMU_RESULTS:-/dev/null}"
}

skip() {
	result skip "$@"
	exit 0
}

fail() {
	result fail "$@"
	exit 1
}

engine_answers() {
	command -v docker >/dev/null && timeout 20 docker info >/dev/null 2>&1
}

# The bare tree as a tar file; through a name of its own, so that an interrupted run leaves nothing that looks finished.
make_base() {
	local root

	root=$(scratch_folder debian13-base) || return
	bootstrap trixie "$root/root" && host_apt >"$root/root/etc/apt/apt.conf.d/90host" &&
		tar -C "$root/root" --exclude='./var/cache/apt/archives/*.deb' -cf "$KEPT/base.part" . &&
		mv "$KEPT/base.part" "$KEPT/base.tar"
	rm -rf --one-file-system "$root"
	[ -e "$KEPT/base.tar" ]
}

start_docker() {
	docker import "$KEPT/base.tar" $IMAGE >/dev/null &&
		container=$(docker run -d --init --hostname debian13 $IMAGE sleep infinity)
}

inside_docker() {
	docker exec -i "$container" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
}

stop_docker() {
	[ -z "${container:-}" ] || docker rm -f "$container" >/dev/null
	docker rmi $IMAGE >/dev/null 2>&1
}

start_chroot() {
	root=$(scratch_folder debian13) && tar -C "$root" -xpf "$KEPT/base.tar" &&
		cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
}

inside_chroot() {
	in_chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
}

stop_chroot() {
	rm -rf --one-file-system "${root:?}"
}

# The tree as it is, without what has been built from it, and what an earlier run has kept.
bring() {
	mkdir -p "$KEPT/archives" "$KEPT/deps"
	inside_$place mkdir -p /src/build/deps &&
		tar -C "$EMU_ROOT" --exclude=./build --exclude=./.git -cf - . | inside_$place tar --no-same-owner -C /src -xf - &&
		tar -C "$KEPT/archives" -cf - . | inside_$place tar -C /var/cache/apt/archives -xf - &&
		tar -C "$KEPT/deps" -cf - . | inside_$place tar --no-same-owner -C /src/build/deps -xf -
}

# Packages that apt no longer asks for stay: they are few.
keep() {
	inside_$place sh -c 'cd /var/cache/apt/archives && tar -cf - *.deb' | tar -C "$KEPT/archives" --skip-old-files -xf -
	inside_$place tar -C /src/build/deps --exclude=./lock -cf - . | tar --no-same-owner -C "$KEPT/deps" -xf -
	[ -z "${EMU_RESULTS:-}" ] ||
		inside_$place cat /src/build/results | sed -E "s|^([a-z]+) [a-z]+/|\1 debian13/|" >>"$EMU_RESULTS"
}

take_help "$@"
night=
if [ "${1:-}" = nightly ]; then
	night=nightly
	shift
fi
suite=${1:-brief}
[ "$(id -u)" = 0 ] || skip "a bare Debian 13 can be made by root alone"
place=chroot
! engine_answers || place=docker
[ $place = docker ] || unshare --mount --pid --fork true 2>/dev/null ||
	skip "no Docker engine answers, and a chroot cannot be furnished here"
mkdir -p "$KEPT"
exec 8>"$KEPT/lock"
flock 8
if [ ! -e "$KEPT/base.tar" ]; then
	command -v debootstrap >/dev/null || skip "debootstrap is not installed"
	make_base >"$LOG" 2>&1 || { tail -n 20 "$LOG"; fail "debootstrap failed: see $LOG"; }
fi
trap stop_$place EXIT
start_$place && bring || fail "no $place could be made of $KEPT/base.tar"
# First what is asked of a bare machine: the demonstration, which builds the provider alone. The release build goes on from there,
# in the same folder and with the same options, so that nothing is compiled twice.
inside_$place sh -c 'mkdir /src/build/release && ln -s release /src/build/demo' || fail "no folder for the builds"
if inside_$place EMU_WERROR="${EMU_WERROR:-OFF}" /src/tools/demo.sh 2>&1 | tee "$LOG"; then
	result pass demo
else
	result fail "demo: $(tail -n 1 "$LOG")"
fi
inside_$place /src/tests/run.sh ${EMU_WERROR:+--werror} $night "$suite" 2>&1 | tee -a "$LOG" |
	grep --line-buffered -v '^ *Start'
status=${PIPESTATUS[0]}
keep
[ "$status" = 0 ] || grep -q '^fail debian13' "${EMU_RESULTS:-/dev/null}" || fail "exit status $status: see $LOG"
