#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# modules.sh - kernel clients in two processes: modules.sh EMU_INSMOD FOLDER-OF-MODULES
#
# For each module and personality one process serves and another asks it; every byte is compared.
set -u
. "$(dirname "$(readlink -f "$0")")/../../tools/lib.sh"
take_help "$@"
[ $# -eq 2 ] || usage_error "a runner and a folder are needed"
insmod=$1
modules=$2
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
failed=0

# pair NAME MODULE ARG...: a server, and a client that asks it.
pair() {
	name=$1 module=$2
	shift 2
	rm -f "$said/server"
	"$insmod" "$modules/$module.so" node=127.0.0.1 >"$said/server" 2>&1 &
	server=$!
	until grep -qs 'nd: ready' "$said/server"; do
		kill -0 $server 2>/dev/null || break
	done
	service=$(sed -n 's/.*ready at service //p' "$said/server")
	"$insmod" --unload "$modules/$module.so" node=127.0.0.1 peer=127.0.0.1 peer_service="$service" "$@" \
		>"$said/client" 2>&1
	client=$?
	kill -INT $server
	wait $server
	served=$?
	if [ $client -eq 0 ] && [ $served -eq 0 ] && grep -q 'are right' "$said/client"; then
		echo "ok $name"
	else
		echo "not ok $name [client $client: $(tail -n 2 "$said/client" | tr '\n' ' '),
			server $served: $(tail -n 2 "$said/server" | tr '\n' ' ')]" | tr -d '\n\t'
		echo
		failed=1
	fi
}

FI_EMU_CHECK_ATOMIC=1
export FI_EMU_CHECK_ATOMIC
for personality in kfi kcxi; do
	FI_EMU_PERSONALITY=$personality
	export FI_EMU_PERSONALITY
	# lnd_mr closes regions while they are bound, which the page refuses, and HPE's provider does not.
	[ $personality = kcxi ] || export FI_EMU_MR_CLOSE=any
	for module in lnd_mr lnd_tagged; do
		pair ${module}_$personality $module
		pair ${module}_${personality}_one_byte $module size=1
		pair ${module}_${personality}_many_pages $module size=262144 count=10
	done
	pair lnd_mr_${personality}_async lnd_mr async=1
	pair nd_${personality} nd
	unset FI_EMU_MR_CLOSE
done
exit $failed
