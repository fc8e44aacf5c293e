#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# test_manifests.sh - the files of docker/ that start something elsewhere, without that: those of Kubernetes against its
# schemas, those of Compose and of a swarm as Compose reads them, the script for Slurm with a stand-in for srun, and build.sh with
# one for docker.
# Environment: EMU_SOURCE_DIR.
. "$EMU_SOURCE_DIR/tools/lib.sh"
cd "$EMU_SOURCE_DIR/docker" || exit 1
RELEASES='1.25 1.31 1.37'	# of Kubernetes
status=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-manifests.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

# verdict NAME PASSED
verdict() {
	if [ "$2" = 0 ]; then
		echo "ok $1"
	else
		cat "$scratch/log"
		echo "not ok $1"
		status=1
	fi
}

# A copy with an error in it is refused: so the schema is asked.
kubernetes() {
	local release validate=$EMU_WHEELS/kubernetes/bin/kubernetes-validate

	if [ ! -x "$validate" ]; then
		echo "skip kubernetes its schemas are not there (tools/setup.sh --programs)"
		return
	fi
	for release in $RELEASES; do
		"$validate" --strict -k "$release" k8s/*.yaml >"$scratch/log" 2>&1
		verdict "kubernetes_$release" $?
	done
	sed 's/completionMode/completionmode/' k8s/nodes.yaml >"$scratch/bad.yaml"
	! "$validate" --strict -k "$release" "$scratch/bad.yaml" >"$scratch/log" 2>&1
	verdict kubernetes_refuses $?
}

compose_config() {
	run_compose "$@" config >"$scratch/out" 2>"$scratch/log"
}

compose() {
	local file

	if ! has_compose; then
		echo "skip compose Docker Compose is not installed"
		return
	fi
	for file in compose*.yml stack.yml; do
		case $file in
		compose.ipv6.yml) compose_config -f compose.yml -f $file ;;	# adds to the other
		*) compose_config -f "$file" ;;
		esac
		verdict "compose_$file" $?
	done
	sed 's/endpoint_mode/endpoint-mode/' stack.yml >"$scratch/bad.yml"
	! compose_config -f "$scratch/bad.yml"
	verdict compose_refuses $?
}

# The ranks get the settings by which Open MPI takes emu, and the arguments as they were.
slurm() {
	printf '#!/bin/sh\necho "srun $OMPI_MCA_mtl_ofi_provider_include:"; printf "<%%s>" "$@"; echo\n' >"$scratch/srun"
	chmod +x "$scratch/srun"
	PATH=$scratch:$PATH bash slurm/mpi.sbatch ./program 'two words' >"$scratch/log" 2>&1 &&
		[ "$(tr -d '\n' <"$scratch/log")" = 'srun emu:<--mpi=pmix><emurun><./program><two words>' ]
	verdict slurm_starts $?
	PATH=$scratch:$PATH bash slurm/mpi.sbatch >"$scratch/log" 2>&1
	[ $? = 2 ] && grep -q '^usage: ' "$scratch/log"
	verdict slurm_usage $?
}

# images STATUS: build.sh ends with it, and leaves no log, where docker's builds do.
images() {
	mkdir -p "$scratch/bin" "$scratch/tmp"
	printf '#!/bin/sh\n[ "$1" != build ] || exit %s\n' "$1" >"$scratch/bin/docker"
	chmod +x "$scratch/bin/docker"
	PATH=$scratch/bin:$PATH TMPDIR=$scratch/tmp ./build.sh mpi >"$scratch/log" 2>&1
	[ $? = "$1" ] && [ -z "$(ls "$scratch/tmp")" ]
	verdict "images_end_with_$1" $?
}

kubernetes
compose
slurm
images 0
images 1
exit $status
