#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# pyverbs.sh - rdma-core's own tests for Python over the emulated device: pyverbs.sh [whole]. Without `whole` the modules are left
# out of which the table says that nothing runs.
. "$(dirname "$0")/../../tools/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

/usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null || { echo "skip pyverbs python3-pyverbs is not installed"; exit 77; }
[ -e "$EMU_PYVERBS_TESTS/complete" ] || { echo "skip pyverbs its tests are not there (tools/setup.sh --programs)"; exit 77; }
version=$(<"$EMU_PYVERBS_TESTS/complete")
table=$here/${version%%.*}.tsv
[ -e "$table" ] || { echo "skip pyverbs no table says what runs of rdma-core ${version%%.*}"; exit 77; }
# Python frees not all that it has.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 PYTHONDONTWRITEBYTECODE=1
exec "$EMU_ROOT/tools/emurun" --sys /usr/bin/python3 "$here/pyverbs_suite.py" "$EMU_PYVERBS_TESTS" "$table" "$@"
