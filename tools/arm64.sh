# SPDX-License-Identifier: BSD-2-Clause
# arm64.sh - for scripts that build for arm64 and run what they built; to be sourced after lib.sh. As root, on x86-64.
#
# The programs run under qemu-user. binfmt_misc, which starts it for them, is mounted anew in a mount namespace, so that this
# machine's own is neither needed nor changed: what is registered goes with the last process of arm64_run.
ARM64_QEMU=/usr/bin/qemu-aarch64-static
ARM64_FORMAT=':emu-arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
ARM64_FORMAT+=':\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
ARM64_FORMAT+=":$ARM64_QEMU:FP"
ARM64_RUNTIME='libfabric1 libfabric-bin libcjson1 libdw1t64'	# what the provider and its tools need,
ARM64_DEV="$ARM64_RUNTIME libc6-dev libgcc-14-dev libuv1-dev liburing-dev libinih-dev libsodium-dev libxxhash-dev libcjson-dev
	libdw-dev libfabric-dev libibverbs-dev librdmacm-dev libcriterion-dev python3-minimal procps"	# the build, and the tests
ARM64_ROOT=$EMU_DEPS/arm64	# a Debian with ARM64_DEV, and
ARM64_BUILD=$EMU_ROOT/build/arm64	# the build against it

# arm64_run_lacks: says in words what is missing here to run programs for arm64, and succeeds if something is.
arm64_run_lacks() {
	if [ "$(id -u)" != 0 ]; then
		echo "an arm64 Debian can be made by root alone"
	elif ! command -v debootstrap >/dev/null; then
		echo "debootstrap is not installed"
	elif [ ! -x $ARM64_QEMU ]; then
		echo "qemu-user-static is not installed"
	elif ! arm64_run true 2>/dev/null; then
		echo "binfmt_misc cannot be mounted here"
	else
		return 1
	fi
}

# arm64_lacks: the same for what builds them, too.
arm64_lacks() {
	if ! command -v aarch64-linux-gnu-gcc >/dev/null; then
		echo "gcc-aarch64-linux-gnu is not installed"
	else
		arm64_run_lacks
	fi
}

# arm64_run CMD...: with programs for arm64 started by qemu-user.
arm64_run() {
	unshare --mount bash -c 'formats=/proc/sys/fs/binfmt_misc
		mount -t binfmt_misc none $formats || exit
		[ -e $formats/emu-arm64 ] || printf %s "$0" >$formats/register || exit
		exec "$@"' "$ARM64_FORMAT" "$@"
}

# arm64_root FOLDER PACKAGE...: a Debian 13 for arm64 with these packages. It appears when it is whole.
arm64_root() {
	local root=$1 part=$1.part
	shift

	[ ! -e "$root" ] || return 0
	rm -rf --one-file-system "$part"
	arm64_run bash -c '. "$1/tools/lib.sh" && part=$2 && shift 2 && bootstrap trixie "$part" --arch=arm64 &&
		{ host_apt >"$part/etc/apt/apt.conf.d/90host"; cp -L /etc/resolv.conf /etc/hosts "$part/etc/"; } &&
		in_chroot "$part" apt-get update && in_chroot "$part" apt-get install -y --no-install-recommends "$@" &&
		rm -f "$part"/var/cache/apt/archives/*.deb' arm64_root "$EMU_ROOT" "$part" "$@" && mv "$part" "$root"
}

# arm64_build: everything, in ARM64_BUILD.
arm64_build() {
	arm64_root "$ARM64_ROOT" $ARM64_DEV &&
		EMU_ARM64_ROOT=$ARM64_ROOT cmake -S "$EMU_ROOT" -B "$ARM64_BUILD" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
			-DCMAKE_TOOLCHAIN_FILE="$EMU_ROOT/tools/cmake/arm64.cmake" -DCMAKE_INSTALL_PREFIX=/usr \
			-DCMAKE_INSTALL_LIBDIR=lib/aarch64-linux-gnu -DEMU_WERROR="${EMU_WERROR:-OFF}" &&
		cmake --build "$ARM64_BUILD" -j "$(nproc)"
}
