#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# info.sh - rdma-core's own ibv_devices and ibv_devinfo show the device.
command -v ibv_devinfo >/dev/null || { echo "skip info no ibv_devinfo on this machine"; exit 77; }
run=$EMU_SOURCE_DIR/tools/emurun

check() { # NAME PATTERN COMMAND...
	local name=$1 pattern=$2
	shift 2
	if "$@" 2>&1 | grep -q -- "$pattern"; then
		echo "ok $name"
	else
		echo "not ok $name no \"$pattern\" in the output of: $*"
		status=1
	fi
}

check devices_lists_it '^ *emu0 .*[0-9a-f]\{16\}$' $run ibv_devices
check devinfo_shows_the_port 'PORT_ACTIVE (4)' $run ibv_devinfo
check devinfo_shows_ethernet 'link_layer:.*Ethernet' $run ibv_devinfo
check devinfo_shows_gids 'GID\[.*::ffff:127.0.0.1, RoCE v2' $run ibv_devinfo -v
check devinfo_shows_odp ODP_SUPPORT_IMPLICIT $run ibv_devinfo -v
check devinfo_by_name 'hca_id:.*mlx5_1' env EMU_DEVICES=mlx5_0,mlx5_1 $run ibv_devinfo -d mlx5_1
check devinfo_without_devices 'No IB devices found' env EMU_DEVICES=0 $run ibv_devinfo

# A folder whose name LD_PRELOAD would cut in two.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
ln -s "$EMU_BUILD" "$folder/a build"
check folder_with_a_blank '^ *emu0 ' env EMU_BUILD="$folder/a build" $run ibv_devices
check folder_with_a_blank_and_sys 'has a blank' env EMU_BUILD="$folder/a build" $run --sys ibv_devices
check no_error_of_the_loader 0 sh -c 'EMU_BUILD=$1 "$2" ibv_devices 2>&1 | grep -c ld.so' sh "$folder/a build" "$run"
exit ${status:-0}
