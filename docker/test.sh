#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# test.sh - builds the image and runs the four nodes of compose.yml; makes the base image first if none can be fetched.
# Removes its containers and network, and leaves the images for the next time.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tools/lib.sh"
take_help "$@"
base=debian:trixie-slim
project=emu-test-$$

skip() {
	echo "skip four_nodes $*"
	exit 0
}

compose() {
	if docker compose version >/dev/null 2>&1; then
		docker compose -p "$project" -f "$here/compose.yml" "$@"
	else
		docker-compose -p "$project" -f "$here/compose.yml" "$@"
	fi
}

has_image() {
	docker image inspect "$1" >/dev/null 2>&1
}

command -v docker >/dev/null || skip "docker is not installed"
timeout 20 docker info >/dev/null 2>&1 || skip "no Docker engine answers"
docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || skip "Docker Compose is not installed"

if ! has_image $base && ! timeout 120 docker pull -q $base >/dev/null 2>&1; then
	base=emu-base
	echo "no image registry can be reached: the base image comes from Debian packages"
	if ! has_image $base; then
		[ "$(id -u)" = 0 ] || skip "no image registry can be reached, and making a base image needs root"
		command -v debootstrap >/dev/null || skip "no image registry can be reached, and there is no debootstrap"
		"$here/base.sh" $base || { echo "not ok base_image"; exit 1; }
	fi
fi

trap 'compose down >/dev/null 2>&1' EXIT
log=${TMPDIR:-/tmp}/$project.log
build_image() {
	DOCKER_BUILDKIT=0 docker build -f "$here/Dockerfile" -t emu --build-arg BASE=$base \
		--build-arg MIRROR="${EMU_MIRROR:-}" "$@" "$here/.." >"$log" 2>&1
}

# The engine's cache may name a layer that somebody has removed meanwhile: then once more without it.
if ! build_image && ! { grep -q 'unknown parent image' "$log" && build_image --no-cache; }; then
	tail -n 30 "$log"
	echo "not ok image"
	exit 1
fi
rm -f "$log"
echo "ok image"
if compose up --no-build --exit-code-from node0; then
	echo "ok four_nodes"
else
	echo "not ok four_nodes"
	exit 1
fi
