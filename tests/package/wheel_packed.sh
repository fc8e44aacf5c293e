#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# wheel_packed.sh - a wheel of what is built here: the same bytes twice, installed by an ordinary user into an environment of
# Python, used from there, and removed: wheel_packed.sh [WHEEL DEMO], where those are another wheel, and the folder of programs of
# the demonstration. In the environment of runner.sh.
set -uo pipefail
. "$EMU_SOURCE_DIR/tools/lib.sh"
. "$EMU_SOURCE_DIR/tests/verdict.sh"
ORDINARY=65534
here=$EMU_SOURCE_DIR/tests/package build=$EMU_BUILD
work=$(mktemp -d "${TMPDIR:-/tmp}/emu-packed.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
packed=emu_rdma-$(emu_version)-py3-none-linux_$(uname -m).whl
wheel=${1:-$work/one/$packed} demo=${2:-$build/tools/demo}
user=()

# as_user COMMAND...: in an environment that has nothing of the tests, and the libfabric that this runs with.
as_user() {
	(cd "$work/home" && "${user[@]}" env -i PATH="$work/venv/bin:/usr/local/bin:/usr/bin:/bin" HOME="$work/home" \
		TMPDIR="$work/home" LD_LIBRARY_PATH="$work/fabric" PYTHONDONTWRITEBYTECODE=1 "$@")
}

pip() {
	as_user python -m pip --quiet --no-cache-dir --disable-pip-version-check "$@"
}

# The second time in another zone and for another mask.
same_bytes_twice() {
	"$EMU_SOURCE_DIR/tools/package/wheel.sh" --of "$build" "$work/one" &&
		(umask 077 && TZ=Asia/Tokyo "$EMU_SOURCE_DIR/tools/package/wheel.sh" --of "$build" "$work/two") &&
		cmp "$work/one/$packed" "$work/two/$packed"
}

user_installs_it() {
	as_user /usr/bin/python3 -m venv "$work/venv" && pip install --no-index "$work/wheel/"*.whl &&
		[ "$(as_user sh -c 'command -v emurun')" = "$work/venv/bin/emurun" ]
}

uses() {
	as_user "$work/wheel_use.sh" "$work/demo" || failed=1
}

# From another folder by a link, as tools that install programs for a user make it; and below a prefix, where Debian's Python adds
# a folder `local`.
link_and_prefix_work() {
	as_user ln -s "$work/venv/bin/emurun" "$work/home/emu" &&
		as_user sh -c '"$HOME/emu" --check --allow-none true && "$HOME/emu" ldd /bin/true' | grep -F "$work/venv/" &&
		pip install --ignore-installed --no-index --prefix "$work/home/a prefix" "$work/wheel/"*.whl &&
		as_user sh -c 'cd "$HOME/a prefix/local" || cd "$HOME/a prefix" && bin/emurun --check --allow-none true'
}

user_scheme_works() {
	as_user /usr/bin/python3 -m venv --system-site-packages "$work/home/open" &&
		as_user "$work/home/open/bin/python" -m pip --quiet --no-cache-dir install --user --no-index "$work/wheel/"*.whl &&
		as_user "$work/home/.local/bin/emurun" --check --allow-none true
}

# In other environments than the one above.
recipes_run() {
	as_user env PATH=/usr/local/bin:/usr/bin:/bin /usr/bin/python3 "$work/recipes.py" \
		--wheel "$work/wheel/"*.whl "$work/ci" || failed=1
}

remove_leaves_nothing() {
	pip uninstall -y emu-rdma && ! find "$work/venv" -type f -name '*emu*' | grep .
}

if ! /usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null; then
	echo "skip wheel python3-venv is not installed"
	exit 77
fi
mkdir "$work"/{home,fabric,demo,wheel}
cp "$here/wheel_use.sh" "$EMU_SOURCE_DIR/tests/verdict.sh" "$work/"
cp "$demo"/demo-{target,initiator} "$work/demo/"
for folder in ${LD_LIBRARY_PATH//:/ }; do # which others may not reach
	[ ! -e "$folder/libfabric.so.1" ] || { cp "$folder/libfabric.so.1" "$work/fabric/"; break; }
done
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	chown $ORDINARY:$ORDINARY "$work/home" "$work"
	user=(setpriv --reuid $ORDINARY --regid $ORDINARY --clear-groups)
fi
[ $# = 2 ] || succeeds same_bytes_twice
cp "$wheel" "$work/wheel/" || exit
cp -r "$here/recipes.py" "$EMU_SOURCE_DIR/docker/ci" "$work/"
succeeds user_installs_it
uses
succeeds link_and_prefix_work
succeeds user_scheme_works
recipes_run
succeeds remove_leaves_nothing
exit $failed
