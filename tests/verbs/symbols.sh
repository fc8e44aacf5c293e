#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# symbols.sh - each name of the distribution's libibverbs and librdmacm is in ours, in the same node: a program or library that was
# linked with those loads with these. EMU_RDMA_CORE names more folders with such libraries, with colons between.
command -v nm >/dev/null || { echo "skip symbols no nm on this machine"; exit 77; }
ours=$EMU_BUILD/emu/verbs/lib

# Lines NAME@NODE of what a library defines; which of several nodes is the default makes no difference to programs that are linked.
names() {
	nm -D --defined-only "$1" | awk '$3 ~ /@/ && $2 != "A" { sub(/@@/, "@", $3); print $3 }' | LC_ALL=C sort -u
}

# The names of our maps, and of generations of the private nodes that this machine does not have.
known() {
	local missing

	missing=$(comm -13 <(names "$ours/libibverbs.so.1") <(printf '%s\n' ibv_cmd_reg_mr@IBVERBS_PRIVATE_{34,57,59,64,65} \
		verbs_register_driver_{34,57,59,64,65} | sed -E 's/(.*_driver_)([0-9]+)$/\1\2@IBVERBS_PRIVATE_\2/' | LC_ALL=C sort))
	[ -z "$missing" ] && echo "ok private_nodes" || echo "not ok private_nodes" $missing
}

known
IFS=: read -ra folders <<<"${EMU_RDMA_CORE:-}"
for library in libibverbs.so.1 librdmacm.so.1; do
	theirs=$(ldconfig -p | awk -v name=$library '$1 == name { print $NF; exit }')
	[ -n "$theirs" ] || echo "skip system_$library this machine has none"
	for path in $theirs "${folders[@]/%//$library}"; do
		name=${path//\//_}
		[ -n "$(names "$path")" ] || { echo "not ok $name it has no names"; continue; }
		missing=$(comm -13 <(names "$ours/$library") <(names "$path"))
		[ -z "$missing" ] && echo "ok $name" || echo "not ok $name" $missing
	done
done
