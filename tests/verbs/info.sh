#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# info.sh - rdma-core's own ibv_devices and ibv_devinfo show the device.
command -v ibv_devinfo >/dev/null || { echo "skip info no ibv_devinfo on this machine"; exit 77; }
. "$EMU_SOURCE_DIR/tests/verdict.sh"
run=$EMU_SOURCE_DIR/tools/emurun

shows devices_lists_it '^ *emu0 .*[0-9a-f]\{16\}$' $run ibv_devices
shows devinfo_shows_the_port 'PORT_ACTIVE (4)' $run ibv_devinfo
shows devinfo_shows_ethernet 'link_layer:.*Ethernet' $run ibv_devinfo
shows devinfo_shows_gids 'GID\[.*::ffff:127.0.0.1, RoCE v2' $run ibv_devinfo -v
shows devinfo_shows_odp ODP_SUPPORT_IMPLICIT $run ibv_devinfo -v
shows devinfo_by_name 'hca_id:.*mlx5_1' env EMU_DEVICES=mlx5_0,mlx5_1 $run ibv_devinfo -d mlx5_1
shows devinfo_without_devices 'No IB devices found' env EMU_DEVICES=0 $run ibv_devinfo

# A folder whose name LD_PRELOAD would cut in two.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
ln -s "$EMU_BUILD" "$folder/a build"
shows folder_with_a_blank '^ *emu0 ' env EMU_BUILD="$folder/a build" $run ibv_devices
shows folder_with_a_blank_and_sys 'has a blank' env EMU_BUILD="$folder/a build" $run --sys ibv_devices
shows no_error_of_the_loader 0 sh -c 'EMU_BUILD=$1 "$2" ibv_devices 2>&1 | grep -c ld.so' sh "$folder/a build" "$run"
exit $failed
