#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build.sh - builds images of the Dockerfile as emu:NAME: build.sh [NAME...]   (runtime, mpi, verbs, lab, dev; default runtime).
# Makes the base image from Debian packages first (base.sh) if none can be fetched, and leaves no image without a name
# behind. EMU_MIRROR: another Debian archive. Exit status 77 where there is nothing to build with, after saying what.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tools/lib.sh"
set -euo pipefail
take_help "$@"
base=debian:trixie-slim

lacks() {
	echo "build.sh: $*" >&2
	exit 77
}

has_image() {
	docker image inspect "$1" >/dev/null 2>&1
}

find_base() {
	if has_image $base || timeout 120 docker pull -q $base >/dev/null 2>&1; then
		return 0
	fi
	base=emu-base
	echo "no image registry can be reached: the base image comes from Debian packages"
	! has_image $base || return 0
	[ "$(id -u)" = 0 ] || lacks "no image registry can be reached, and making a base image needs root"
	command -v debootstrap >/dev/null || lacks "no image registry can be reached, and there is no debootstrap"
	echo "$base is being made: a Debian by debootstrap, a minute or more"
	"$here/base.sh" $base >/dev/null
}

# Where it is, once every ten seconds, since a first build takes minutes: the step of the Dockerfile, from the log.
tell() {
	local name=$1 begin=$SECONDS step

	while sleep 10 >/dev/null 2>&1; do
		step=$(grep -E '^Step [0-9]+/[0-9]+' "$log" | tail -n 1) || true
		echo "emu:$name, $((SECONDS - begin)) s: $(cut -c-100 <<<"${step:-begins}")"
	done
}

# One that is gone already is no error.
end_telling() {
	[ "$teller" ] || return 0
	kill "$teller" 2>/dev/null || true
	wait "$teller" 2>/dev/null || true
	teller=
}

# build NAME [OPTION...]
build() {
	DOCKER_BUILDKIT=0 docker build -f "$here/Dockerfile" --target "$1" -t "emu:$1" --build-arg BASE=$base \
		--build-arg MIRROR="${EMU_MIRROR:-}" "${@:2}" "$here/.." >"$log" 2>&1
}

[ $# -gt 0 ] || set -- runtime
for name; do
	[[ " runtime mpi verbs lab dev " == *" $name "* ]] || usage_error "there is no image $name"
done
command -v docker >/dev/null || lacks "docker is not installed"
timeout 20 docker info >/dev/null 2>&1 || lacks "no Docker engine answers: start it, or join the group docker"
find_base
log=$(mktemp "${TMPDIR:-/tmp}/emu-build.XXXXXX")
teller=
trap 'end_telling; rm -f "$log"' EXIT
# The stage that the others copy from comes first: with a name, it is no leftover.
for name in $(printf '%s\n' dev "$@" | awk '!seen[$0]++'); do
	echo "emu:$name is being built"
	tell "$name" &
	teller=$!
	# The engine's cache may name a layer that somebody has removed meanwhile: then once more without it.
	if ! build "$name" && ! { grep -q 'unknown parent image' "$log" && build "$name" --no-cache; }; then
		tail -n 30 "$log" >&2
		die "emu:$name cannot be built"
	fi
	end_telling
	echo "emu:$name is built"
done
docker image prune -f --filter label=emu.image >/dev/null
