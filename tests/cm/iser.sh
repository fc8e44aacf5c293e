#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# iser.sh - a disk by iSER: the target of tgt, and programs of libiscsi.
. "$(dirname "$0")/../verbs/sides.sh"
disk=$work/disk
size=16777216
export TGT_IPC_SOCKET=$work/tgtd
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # others free not all that they have

for program in tgtd iscsi-inq iscsi-test-cu; do
	command -v $program >/dev/null || { echo "skip iser no $program on this machine"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skip iser tgtd runs as root alone"; exit 77; }

# MODE WORD...: tells the target.
target() {
	tgtadm --lld iser --mode "$@" >>"$work/server" 2>&1
}

# NAME WANTED PROGRAM OPTION...: it ends well, and prints that.
check() {
	local name=$1 wanted=$2
	shift 2
	if timeout 60 "${run[@]}" "$@" "iser://$server_at:$port/iqn.2026-11.test:disk/1" >"$work/client" 2>&1 &&
		grep -q "$wanted" "$work/client"; then
		echo "ok $name"
	else
		failed "$name"
	fi
}

truncate -s $size "$disk"
# With a port of its own for iSCSI by TCP, which it always serves as well.
"${run[@]}" tgtd -f --iscsi portal=$server_at:$port --iser port=$port,pool_sz_mb=64 >"$work/server" 2>&1 &
tgtd=$!
trap 'kill -9 $tgtd; rm -rf "$work"' EXIT
for ((try = 0; try < 300; try++)); do
	target target --op show && break
	kill -0 $tgtd 2>/dev/null || break
	sleep 0.1
done
# Of iSER it asks for both, the initiator's address and its name.
target target --op new --tid 1 --targetname iqn.2026-11.test:disk &&
	target logicalunit --op new --tid 1 --lun 1 --backing-store "$disk" &&
	target target --op bind --tid 1 --initiator-address ALL &&
	target target --op bind --tid 1 --initiator-name iqn.2026-11.test:client || { failed target; exit 1; }
check inquiry 'Vendor:IET' iscsi-inq -i iqn.2026-11.test:client
check capacity "Total size:$size" iscsi-readcapacity16 -i iqn.2026-11.test:client
tests=(iscsi-test-cu --dataloss -i iqn.2026-11.test:client -I iqn.2026-11.test:client -t)
check read 'return value: 0' "${tests[@]}" SCSI.Read10.Simple
check written 'return value: 0' "${tests[@]}" SCSI.Write10.Simple
if ! cmp -s -n $size "$disk" /dev/zero; then echo "ok on_the_disk"; else failed on_the_disk; fi
check write_and_read 'return value: 0' "${tests[@]}" SCSI.WriteVerify10.Simple
check read_many 'finished' iscsi-perf -i iqn.2026-11.test:client -r -t 1
exit $status
