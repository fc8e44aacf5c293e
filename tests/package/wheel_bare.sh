#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# wheel_bare.sh - a wheel in a bare Debian that is thrown away: wheel_bare.sh SUITE WHEEL DEMO. As root. An ordinary user installs
# it there and uses it, first without libfabric, then with the distribution's.
set -uo pipefail
. "$(dirname "$0")/../../tools/lib.sh"
suite=$1 wheel=$2 demo=$3 failed=0
root=$(scratch_folder "wheel-$suite") || exit 1
log=$(mktemp) || exit 1
trap 'rm -rf --one-file-system "$root"; rm -f "$log"' EXIT

step() {
	local name=$1
	shift

	"$@" >"$log" 2>&1 || { tail -n 40 "$log"; echo "not ok $suite/$name"; exit 1; }
	echo "ok $suite/$name"
}

furnish() {
	bare_debian "$suite" "$root" && in_bare "$root" sh -ec 'apt-get -qq install -y python3-venv ibverbs-utils perftest procps
		useradd --create-home user' || return
	bare_keep "$suite" "$root"
	mkdir "$root/home/user/demo"
	cp "$wheel" "$EMU_ROOT"/tests/{package/wheel_use,verdict}.sh "$root/home/user/" &&
		cp "$demo"/demo-{target,initiator} "$root/home/user/demo/" && in_bare "$root" chown -R user: /home/user
}

as_user() {
	in_bare "$root" setpriv --reuid user --regid user --init-groups env HOME=/home/user \
		PATH=/home/user/emu/bin:/usr/local/bin:/usr/bin:/bin sh -c "cd && $1"
}

uses() {
	as_user './wheel_use.sh demo' | sed -E "s#^(ok|not ok|skip) #\1 $suite/$1#"
	[ "${PIPESTATUS[0]}" = 0 ] || failed=1
}

install_libfabric() {
	in_bare "$root" apt-get -qq install -y libfabric-bin && bare_keep "$suite" "$root"
}

step furnished furnish
step installed as_user 'python3 -m venv emu && emu/bin/pip install --no-index ./*.whl'
uses ''
step libfabric install_libfabric
uses with_libfabric_
exit $failed
