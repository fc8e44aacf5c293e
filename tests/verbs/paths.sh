#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# paths.sh - emurun --sys: programs find the emulated devices in sysfs and /dev, by any call of the C library.
if ldd "$EMU_BUILD/emu/verbs/lib/libibverbs.so.1" | grep -q 'lib[at]san'; then
	echo "skip paths emurun preloads the run time of a sanitizer, too"
	exit 77
fi
. "$EMU_SOURCE_DIR/tests/verdict.sh"
emurun="$EMU_SOURCE_DIR/tools/emurun --sys" dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export XDG_RUNTIME_DIR=$dir EMU_DEVICES=mlx5_0,mlx5_1

class=/sys/class/infiniband
verdict nothing_is_made_unasked "$($emurun sh -c 'cat /sys/class/net/lo/address' 2>&1; ls -A "$dir")" 00:00:00:00:00:00
verdict ls_lists_the_devices "$($emurun ls $class | paste -sd' ')" 'mlx5_0 mlx5_1'
verdict cat_reads_a_state "$($emurun cat $class/mlx5_0/ports/1/state)" '4: ACTIVE'
verdict shell_reads_a_type "$($emurun sh -c "read -r type <$class/mlx5_1/ports/1/gid_attrs/types/0; echo \$type")" 'RoCE v2'
verdict test_sees_the_device_file "$($emurun test -c /dev/infiniband/uverbs1 && echo there)" there
verdict a_name_that_only_begins_so "$($emurun ls ${class}_other 2>&1 | grep -c 'No such file')" 1
guid=$($emurun ibv_devices 2>/dev/null | awk '$1 == "mlx5_0" { print $2 }')
[ -z "$guid" ] || verdict guids_are_those_of_libibverbs "$($emurun cat $class/mlx5_0/node_guid | tr -d :)" "$guid"
if command -v python3 >/dev/null; then
	verdict python_finds_all "$($emurun python3 -c '
import os
from os import path
root = "/sys/class/infiniband/mlx5_0/"
net = os.listdir(root + "device/net")
print(path.exists(root), path.realpath(root + "device").endswith(root + "device"), len(net) > 0,
	os.stat("/dev/infiniband/uverbs0").st_size, open("/sys/class/infiniband_verbs/uverbs0/ibdev").read().strip(),
	os.access(root + "nothing", os.R_OK))')" \
		'True True True 0 mlx5_0 False'
	verdict calls_of_fortified_programs "$($emurun python3 -c '
import ctypes
c, text = ctypes.CDLL(None), ctypes.create_string_buffer(16)
file, link = b"/sys/class/infiniband/mlx5_0/node_type", b"/dev/infiniband/uverbs0"
print(c.__open_2(file, 0) > 0, c.__open64_2(file, 0) > 0, c.__openat_2(-100, file, 0) > 0, c.__openat64_2(-100, file, 0) > 0,
	c.__readlink_chk(link, text, 16, 16), c.__readlinkat_chk(-100, link, text, 16, 16))')" 'True True True True 9 9'
fi
version=$(sed -n 's/^project(emu VERSION \([^ ]*\).*/\1/p' "$EMU_SOURCE_DIR/CMakeLists.txt")
verdict firmware_has_the_version_of_emu "$($emurun cat $class/mlx5_0/fw_ver)" "$version"
verdict one_tree_a_user "$(ls "$dir/emu-$(id -u)" | wc -l)" 1
FI_EMU_ADVERTISE=192.0.2.7 $emurun ls $class >"$dir/out"
verdict another_tree_for_other_settings "$(ls "$dir/emu-$(id -u)" | wc -l)" 2
for tree in "$dir/emu-$(id -u)"/sys-*$class/mlx5_0; do
	mkdir -p "$tree/device/net/gone0" "$tree/ports/1/gids"
	touch "$tree/device/net/gone0/dev_port" "$tree/ports/1/gids/31" "$tree/ports/1/gid_attrs/ndevs/31"
done
verdict what_went_away_goes "$($emurun ls -d $class/mlx5_0/device/net/gone0 $class/mlx5_0/ports/1/gids/31 \
	$class/mlx5_0/ports/1/gid_attrs/ndevs/31 2>&1 | grep -c 'No such')" 3
gids() { ls "$dir/emu-$(id -u)"/sys-*$class/mlx5_*/{ports/1/gids,device/net}; }
gids >"$dir/had"
for call in ibv_open_device ibv_query_gid; do
	printf '[a]\nfault = call\ncall = %s\nerror = EIO\n' "$call" >"$dir/plan"
	FI_EMU_FAULT=$dir/plan $emurun ls $class >"$dir/out" 2>&1
	gids >"$dir/has"
	verdict "all_stays_without_$call" "$(cmp "$dir/had" "$dir/has" && echo same)" same
done
verdict hidden_without_devices "$(EMU_DEVICES=0 $emurun ls $class 2>&1 | grep -c 'mlx5')" 0
exit $failed
