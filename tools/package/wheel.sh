#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# wheel.sh - a wheel of Python with all that is installed, for any Linux with glibc 2.31 or later: wheel.sh [--arch ARCH] FOLDER,
# where ARCH is x86_64 (default) or aarch64. One source gives the same bytes each time.
#
# wheel.sh --of BUILD FOLDER packs what is built there, which takes seconds. That wheel runs on this system, and on no older one.
#
# The compiler comes from Python's registry: its version and hash are fixed, and it links for the C library of that age and for both
# processors. The static libraries are those of Debian 12, of which nothing is installed. apt and pip fetch both once, without root,
# to build/deps/glibc-2.31. What is built lies in FOLDER/build-ARCH.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

ZIG=0.17.1
ZIG_SHA256="ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54"	# of its wheels for x86_64
ZIG_SHA256+=" b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e"	# and aarch64
GLIBC=2.31
SUITE=bookworm
STATIC="libuv1-dev liburing-dev libinih-dev libsodium-dev libxxhash-dev libcjson-dev libdw-dev libelf-dev zlib1g-dev liblzma-dev"
STATIC+=" libbz2-dev libbz2-1.0"			# the last has the licence of the one before
HEADERS="libfabric-dev libfabric1 libibverbs-dev librdmacm-dev"	# nothing of them becomes part of the wheel
KEPT=$EMU_DEPS/glibc-$GLIBC
OLD_LIBC=$EMU_ROOT/tools/package/old_libc.c

have_zig() {
	local venv=$KEPT/venv

	[ ! -e "$zig" ] || return 0
	rm -rf "$venv"
	/usr/bin/python3 -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --only-binary :all: --require-hashes -r \
		<(echo "ziglang==$ZIG" $(printf -- '--hash=sha256:%s ' $ZIG_SHA256))
	mv "$venv"/lib/python3*/site-packages/ziglang "$zig"
	rm -rf "$venv"
}

# The renaming of symbols that the build asks for takes one that knows the processor.
find_objcopy() {
	command -v "$arch-linux-gnu-objcopy" || command -v llvm-objcopy ||
		die "no objcopy for $arch: binutils-${arch/_/-}-linux-gnu has one"
}

# tool NAME COMMAND...: makes a program of that name in the folder $part/bin.
tool() {
	printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR=%q ZIG_LOCAL_CACHE_DIR=%q\nexec %s "$@"\n' "$KEPT/cache" "$KEPT/cache" \
		"${*:2}" >"$part/bin/$1"
	chmod +x "$part/bin/$1"
}

# archive NAME SOURCE: makes a static library of one file.
archive() {
	"$part/bin/cc" -O2 -fPIC -D_GNU_SOURCE -fvisibility=hidden -ffile-prefix-map="$part=." -c "$2" -o "$part/$1.o"
	"$part/bin/ar" rcs "$part/$libdir/lib$1.a" "$part/$1.o"
}

# The folder with the tools, headers and libraries; it appears when it is whole. Of shared libraries only libfabric's stays, so that
# the linker takes the static ones. Debian has no static cJSON. Criterion is asked for since emu_rules is built with the tests, and
# not used.
have_root() {
	local part=$root.part libdir=usr/lib/$arch-linux-gnu file objcopy

	! cmp -s "$root/recipe" <(recipe) || return 0
	objcopy=$(find_objcopy)	# or ends here
	rm -rf "$root" "$part"
	mkdir -p "$part"/{bin,debs,source}
	private_lists "$part/apt" deb $SUITE
	(cd "$part/debs" && private_apt "$part/apt" download $(printf "%s:$debian " $STATIC $HEADERS))
	for file in "$part"/debs/*.deb; do
		dpkg -x "$file" "$part"
	done
	find "$part/$libdir" -name '*.so' ! -name libfabric.so -delete
	fetch_package "$part/source" $SUITE cjson
	tar -C "$part/source" -xf "$part"/source/cjson_*.orig.tar.* --strip-components=1
	printf 'Name: criterion\nDescription: none\nVersion: 2\n' >"$part/$libdir/pkgconfig/criterion.pc"
	tool cc "$zig/zig" cc -target "$arch-linux-gnu.$GLIBC"
	tool ar "$zig/zig" ar
	tool ranlib "$zig/zig" ranlib
	tool objcopy "$objcopy"
	archive cjson "$part/source/cJSON.c"
	archive old_libc "$OLD_LIBC"
	recipe >"$part/recipe"
	mv "$part" "$root"
}

# What the folder is made of.
recipe() {
	echo $ZIG $GLIBC $SUITE $STATIC $HEADERS
	cat "$0" "$OLD_LIBC"
}

build() {
	cmake -G Ninja -S "$EMU_ROOT" -B "$build" --toolchain "$EMU_ROOT/tools/cmake/wheel.cmake" -DCMAKE_INSTALL_LIBDIR=lib \
		-DEMU_WHEEL_ROOT="$root" -DEMU_WHEEL_ARCH=$arch -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr \
		-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2
	cmake --build "$build" --target installed -j "$(nproc)"
}

# A wheel has no symbolic links. In the place of one to a program stands a script; of one to a library, a library of that name that
# has the same versions and only loads the other. A copy would be loaded beside it.
replace_links() {
	local link target

	find "$tree" -type l | sort | while read -r link; do
		target=$(readlink "$link")
		rm "$link"
		case $link in
		*/bin/*)
			printf '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/%s" "$@"\n' "$target" >"$link"
			chmod 755 "$link"
			;;
		*) stand_in "$link" "$target" ;;
		esac
	done
}

# stand_in PATH TARGET
stand_in() {
	local target=${1%/*}/$2

	LC_ALL=C readelf -VW "$target" | sed -n 's/^.*Rev:.*Flags: none.*Name: \(.*\)$/\1 { };/p' >"$work/stand_in.map"
	: >"$work/empty.c"
	"$cc" -shared -fPIC -nostdlib -s "$work/empty.c" -Wl,-soname,"${1##*/}" -Wl,--no-as-needed "$target" \
		-Wl,-rpath,"\$ORIGIN/$(dirname "$2")" -Wl,--version-script="$work/stand_in.map" -o "$1"
}

# The licences of what became part of the programs, with the texts that they name.
licences() {
	local texts=$work/licences package from

	mkdir "$texts"
	cp "$EMU_ROOT/LICENSE" "$texts/LICENSE"
	[ "$root" ] || return 0
	cp "$zig/LICENSE" "$texts/zig"
	for package in $STATIC; do
		from=$root/usr/share/doc/$package/copyright
		[ ! -e "$from" ] || cp "$from" "$texts/$package"
	done
	cp $(grep -hoE '/usr/share/common-licenses/[A-Z][A-Za-z]*-[0-9.]*[0-9]' "$texts"/* | sort -u) "$texts"
	{
		(cd "$root/debs" && printf '%s\n' *.deb) | grep -E "^(${STATIC// /|})_"
		cat <<-'END'

			These packages of Debian are part of the programs and libraries here, under the licences beside this file.
			Their sources are in Debian's archive under the same versions. emu_report has those of elfutils (libdw and
			libelf), whose licence lets you put another version in their place: emu's source makes the wheel anew, by
			tools/package/wheel.sh.
		END
	} >"$texts/PARTS"
}

options="--arch --of"
take_help "$@"
arch=x86_64 of=
while [[ ${1:-} == --* ]]; do
	[ $# -ge 2 ] || usage_error "$1 takes a value"
	case $1 in
	--arch) arch=$2 ;;
	--of) of=$(realpath "$2") arch=$(uname -m) ;;
	esac
	shift 2
done
[ $# = 1 ] || usage_error "it takes a folder"
case $arch in
x86_64) debian=amd64 ;;
aarch64) debian=arm64 ;;
*) usage_error "no wheel for $arch: there are x86_64 and aarch64" ;;
esac
mkdir -p "$1" "$KEPT"
to=$(realpath "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/emu-wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/tree zig=$KEPT/zig-$ZIG
if [ "$of" ]; then
	build=$of cc=cc root= platform=linux_$arch
else
	root=$KEPT/$arch build=$to/build-$arch cc=$root/bin/cc platform=manylinux_${GLIBC/./_}_$arch
	exec 9>"$KEPT/lock"
	flock 9
	have_zig
	have_root
	flock -u 9
	build
fi
DESTDIR=$tree cmake --install "$build" --prefix /usr >/dev/null
replace_links
licences
/usr/bin/python3 "$EMU_ROOT/tools/package/wheel_pack.py" "$tree/usr" "$work/licences" "$to" "$(emu_version)" $platform \
	"$(source_epoch)"
