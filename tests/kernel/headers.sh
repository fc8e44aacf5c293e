#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# headers.sh - with gcc and clang: each header stands alone, a module compiles without a warning, and what cannot be kept does not
# compile.
. "$(dirname "$0")/../../tools/lib.sh"

take_help "$@"
cd "$EMU_ROOT" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

# verdict STATUS NAME
verdict() {
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		echo "not ok $2 $(head -n 3 "$scratch/said" | tr '\n' ' ')"
		failed=1
	fi
}

# compile COMPILER OPTION... FILE
compile() {
	"$1" -std=gnu11 -Wall -Wextra -Werror -Iinclude/emu/kernel -S -o /dev/null "${@:2}" >"$scratch/said" 2>&1
}

headers() {
	(cd include/emu/kernel && ls linux/*.h linux/*/*.h asm/*.h net/*.h emu_*.h)
}

# The line must be what fails: without it the file compiles.
refuses() { # COMPILER NAME INCLUDE LINE
	local header=linux/$3
	[ "${3#net/}" = "$3" ] || header=$3
	printf '#include <%s.h>\n#include <linux/kernel.h>\nvoid f(void);\nvoid f(void)\n{\n}\n' "$header" >"$scratch/refused.c"
	compile "$1" "$scratch/refused.c"
	verdict $? "$1-compiles-without-$2"
	printf '#include <%s.h>\n#include <linux/kernel.h>\nvoid f(void);\n%s\n' "$header" "$4" >"$scratch/refused.c"
	! compile "$1" "$scratch/refused.c"
	verdict $? "$1-refuses-$2"
}

for compiler in gcc clang; do
	if ! command -v $compiler >/dev/null; then
		echo "skip $compiler is not installed"
		continue
	fi
	for header in $(headers); do
		echo "#include <$header>" >"$scratch/alone.c"
		compile $compiler "$scratch/alone.c"
		verdict $? "$compiler-$header"
	done
	compile $compiler -Wshadow -DDEBUG tests/kernel/module_shape.c
	verdict $? "$compiler-module"
	refuses $compiler a-parameter-of-another-type moduleparam 'static int x; module_param(x, long, 0);'
	refuses $compiler a-parameter-with-a-callback moduleparam 'static int x; module_param_cb(x, NULL, &x, 0);'
	refuses $compiler array-size-of-a-pointer kernel 'void f(void) { char *p = NULL; (void)p; (void)ARRAY_SIZE(p); }'
	refuses $compiler container-of-another-type list \
		'struct a { long l; }; struct a *g(int *p); struct a *g(int *p) { return container_of(p, struct a, l); }'
	refuses $compiler read-once-of-a-structure compiler \
		'struct s { long a[4]; }; void g(struct s *s); void g(struct s *s) { struct s t = READ_ONCE(*s); (void)t; }'
	refuses $compiler allocations-without-failure slab 'void f(void) { kfree(kmalloc(1, GFP_KERNEL | __GFP_NOFAIL)); }'
	refuses $compiler physical-addresses mm 'void f(void) { (void)virt_to_phys(NULL); }'
	refuses $compiler flags-of-timers timer 'void f(void) { struct timer_list t; timer_setup(&t, NULL, 1); }'
	refuses $compiler pci-devices pci 'struct pci_dev d;'
	refuses $compiler modules-that-load-modules kmod 'void f(void) { request_module("other"); }'
	refuses $compiler tables-of-sysctl sysctl 'struct ctl_table table[2];'
	refuses $compiler registers-of-devices io 'void f(void) { (void)ioremap(0, 1); }'
	refuses $compiler signals-for-threads sched/signal 'void f(void) { allow_signal(9); }'
	refuses $compiler files-of-the-system fs 'void f(void) { (void)filp_open("/etc/passwd", 0, 0); }'
	refuses $compiler sockets-of-the-kernel net/sock 'struct sock own;'
	refuses $compiler a-false-build-assertion bug 'BUILD_BUG_ON(1 == 1);'
done
exit $failed
