#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - libfabric's own test suite over the provider under test: run.sh PERSONALITY LIST...
# The lists are those of its script: unit regression functional short standard complex multinode.
#
# The script counts as passed what passes on both sides, and as failed what is not offered (its strict switch), so that
# whatever does not run stands with its reason in a file of exclusions. It ends every process that is named fi_*: so it
# gets namespaces of its own, of processes and, as its tests use fixed ports, of the network. EMU_TEST_PROVIDER names
# another provider, which has no exclusions: its failures are counted, not judged, and what it does not offer is not run.
#
# The last line counts: `# passed N, failed N, not run N, excluded N`. The list complex is one program, fi_ubertest: of it
# configurations are counted, of those in emu.test.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/lib.sh"
take_help "$@"
[ $# -ge 2 ] || usage_error "a personality and a list are wanted"
provider=${EMU_TEST_PROVIDER:-emu}
personality=$1
shift
lists=$(IFS=,; echo "$*")

[ -x "$EMU_FABTESTS/bin/runfabtests.sh" ] || { echo "skip $lists fabtests is not built (tools/setup.sh --programs)"; exit 77; }
spaces=(--pid --fork --mount-proc --net --kill-child)
[ "$(id -u)" = 0 ] || spaces=(--user --map-root-user "${spaces[@]}")
unshare "${spaces[@]}" ip link set lo up 2>/dev/null ||
	{ echo "skip $lists namespaces of processes and network are forbidden here"; exit 77; }

scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-fabtests.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export FI_EMU_PERSONALITY=$personality PATH=$EMU_FABTESTS/bin:$PATH
if [ "$provider" = emu ]; then
	cat "$here/not_built.exclude" "$here/$personality.exclude" >exclude
	judge=-S
else
	echo '^$' >exclude
	judge=
fi
sed "s/prov_name: emu/prov_name: $provider/" "$here/emu.test" >complex.test
if [ "$lists" = complex ] && [ "$provider" != emu ]; then
	unshare "${spaces[@]}" bash -c 'ip link set lo up; exec python3 "$@"' walk "$here/walk.py" complex.test
	exit
fi
case $lists in
*complex*) seconds=7200 ;;	# for all of its configurations
*) seconds=100 ;;
esac

unshare "${spaces[@]}" bash -c 'ip link set lo up; exec bash runfabtests.sh "$@"' run \
	$judge -vvv -t "$lists" -T $seconds -f exclude -u "$PWD/complex.test" "$provider" >out 2>&1

awk -v provider=" -p \"$provider\"" -v judge="$judge" -f "$here/tell.awk" exclude out
grep -q '^# Total Pass' out || { tail -n 20 out; echo "not ok $lists the script did not come to its end"; exit 1; }
[ -z "$judge" ] || ! grep -qE '^  result: (Fail|Notrun)' out
