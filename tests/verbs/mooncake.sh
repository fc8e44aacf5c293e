#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mooncake.sh - Mooncake's transfer engine, the wheel without CUDA: a read and a write by RDMA between two processes.
. "$(dirname "$0")/../../tools/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
python=$EMU_MOONCAKE/bin/python
[ -x "$python" ] || { echo "skip mooncake its wheel is not there (tools/setup.sh --programs)"; exit 77; }
"$python" -c 'import mooncake.engine' 2>/dev/null || { echo "skip mooncake its wheel does not load on this machine"; exit 77; }
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkfifo "$work/stop"
"$EMU_ROOT/tools/emurun" --sys "$python" "$here/transfer.py" target <"$work/stop" >"$work/place" 2>"$work/target" &
exec 7>"$work/stop"
until grep -q '^at ' "$work/place" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
read -r segment address < <(sed -n 's/^at //p' "$work/place")
if "$EMU_ROOT/tools/emurun" --sys "$python" "$here/transfer.py" initiator "${segment:-none}" "${address:-0}" \
	>"$work/initiator" 2>&1; then
	echo "ok read_and_write"
else
	echo "not ok read_and_write $(tail -n 3 "$work/initiator" | tr '\n' ' ')"
fi
exec 7>&-
if wait $!; then
	echo "ok bytes_at_the_target"
else
	echo "not ok bytes_at_the_target $(tail -n 3 "$work/target" | tr '\n' ' ')"
fi
