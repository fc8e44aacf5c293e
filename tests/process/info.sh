#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# info.sh - libfabric's own fi_info shows the provider, and its settings with their help.
provider=${EMU_TEST_PROVIDER:-emu}
export FI_PROVIDER=$provider
run=
[ "$provider" != emu ] || run=$EMU_SOURCE_DIR/tools/emurun # a provider with sanitizers needs it
command -v fi_info >/dev/null || { echo "skip info no fi_info on this machine"; exit 77; }

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

check info_shows_the_provider "provider: $provider" $run fi_info -p "$provider"
check info_shows_rdm FI_EP_RDM $run fi_info -p "$provider" -t FI_EP_RDM
check info_shows_rma FI_REMOTE_WRITE $run fi_info -p "$provider" -t FI_EP_RDM -v
if [ "$provider" = emu ]; then
	check info_shows_dgram FI_EP_DGRAM $run fi_info -p emu -t FI_EP_DGRAM
	for setting in PERSONALITY IFACE PROGRESS DIGEST MR_CACHE DGRAM_LOSS DGRAM_SEED; do
		check "info_lists_FI_EMU_$setting" "FI_EMU_$setting" $run fi_info -e
	done
fi
exit ${status:-0}
