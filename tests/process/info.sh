#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# info.sh - libfabric's own fi_info shows the provider, and its settings with their help.
provider=${EMU_TEST_PROVIDER:-emu}
export FI_PROVIDER=$provider
run=
[ "$provider" != emu ] || run=$EMU_SOURCE_DIR/tools/emurun # a provider with sanitizers needs it
command -v fi_info >/dev/null || { echo "skip info no fi_info on this machine"; exit 77; }
. "$EMU_SOURCE_DIR/tests/verdict.sh"

shows info_shows_the_provider "provider: $provider" $run fi_info -p "$provider"
shows info_shows_rdm FI_EP_RDM $run fi_info -p "$provider" -t FI_EP_RDM
shows info_shows_rma FI_REMOTE_WRITE $run fi_info -p "$provider" -t FI_EP_RDM -v
if [ "$provider" = emu ]; then
	shows info_shows_dgram FI_EP_DGRAM $run fi_info -p emu -t FI_EP_DGRAM
	for setting in PERSONALITY IFACE PROGRESS DIGEST MR_CACHE DGRAM_LOSS DGRAM_SEED SECRET_FILE; do
		shows "info_lists_FI_EMU_$setting" "FI_EMU_$setting" $run fi_info -e
	done

	# What is wrong with a secret's file is said, and no file of a secret is passed over.
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
	head -c 32 /dev/urandom >"$dir/good"
	head -c 15 /dev/urandom >"$dir/short"
	head -c 4097 /dev/urandom >"$dir/long"
	cp "$dir/good" "$dir/open"
	mkfifo "$dir/pipe"
	chmod 600 "$dir"/*
	chmod 604 "$dir/open"
	secret() { # NAME PATTERN FILE
		shows "info_secret_$1" "$2" env FI_LOG_LEVEL=warn FI_EMU_SECRET_FILE="$3" $run fi_info -p emu
	}
	secret good "provider: emu" "$dir/good"
	secret short "secret_file: .*short.*16 to 4096 bytes" "$dir/short"
	secret long "secret_file: .*long.*16 to 4096 bytes" "$dir/long"
	secret open_to_others "secret_file: .*open.*chmod 600" "$dir/open"
	secret pipe "secret_file: .*pipe.*not a regular file" "$dir/pipe"
	secret folder "secret_file: .*not a regular file" "$dir"
	cp "$dir/good" "$dir/anothers"
	if chown $(($(id -u) + 1)) "$dir/anothers" 2>/dev/null; then
		secret anothers "secret_file: .*anothers.*another user's" "$dir/anothers"
	else
		echo "skip info_secret_anothers needs root, to make a file another user's"
	fi
	secret missing "secret_file: .*none.*No such file" "$dir/none"
	secret empty "secret_file: .*No such file" ""
fi
exit $failed
