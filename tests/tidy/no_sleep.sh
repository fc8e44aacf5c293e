#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# no_sleep.sh - a call that may sleep does not compile where the driver role is held (no_sleep.h): no_sleep.sh CC COMPILE_COMMANDS
set -euo pipefail

here=$(cd "$(dirname "$0")/../.." && pwd)
failed=0

judge() {
	if eval "$2"; then
		echo "ok $1"
	else
		echo "not ok $1 $3"
		failed=1
	fi
}

compiles() {
	"$cc" -D_GNU_SOURCE -include "$here/emu/nic/base/no_sleep.h" -x c -c -o /dev/null - <<<"$1" 2>&1
}

cc=$1 commands=$2
for call in 'close(3)' 'poll(0, 0, 0)' 'pthread_cond_wait(0, 0)' 'printf("x")'; do
	said=$(compiles "int sleeps(void); int sleeps(void) { return $call; }") && said=
	judge "a_slice_cannot_call_${call%%(*}" '[[ $said == *"see no_sleep.h"* ]]' 'it compiles'
done
member='struct link { int (*close)(int); }; int end(struct link *l); int end(struct link *l) { return l->close(3); }'
judge members_keep_their_names 'compiles "$member"' 'no_sleep.h is in the way'

# If emu/nic/CMakeLists.txt did not ask for it, the device would compile as if there were no rule.
all=$(grep -F 'CMakeFiles/emu_nic.dir/' "$commands" | grep -F '"command"')
open=$(grep -vF -e '-include' <<<"$all" | grep -o 'emu/nic/[^ "]*\.c' || true)
judge the_device_cannot_sleep '[ -z "$open" ]' "compiled without it: $open"
exit $failed
