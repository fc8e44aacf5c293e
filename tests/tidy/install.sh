#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# install.sh - cmake --install: that libfabric finds the provider there, and that a project finds the package.
# install.sh LIBDIR, in the environment of runner.sh
set -u
. "$EMU_SOURCE_DIR/tests/verdict.sh"
build=$EMU_BUILD libdir=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/emu-install.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset EMU_BUILD FI_PROVIDER FI_PROVIDER_PATH

# The folder where the libfabric that this was built with looks, by its own word.
default_folder() {
	LD_LIBRARY_PATH='' fi_info -e 2>/dev/null | sed -n 's|.*specific path.*(default: \(/.*\)).*|\1|p'
}

is_where_libfabric_looks() {
	local folder

	DESTDIR=$work/root cmake --install "$build" || return 1
	folder=$(default_folder)
	echo "libfabric looks in ${folder:-?}; there is:"
	find "$work/root" -name 'libemu-fi.so'
	[ -n "$folder" ] && [ -e "$work/root$folder/libemu-fi.so" ]
}

installs_below_a_prefix() {
	cmake --install "$build" --prefix "$work/prefix" && [ -e "$work/prefix/$libdir/libfabric/libemu-fi.so" ] &&
		[ -e "$work/prefix/include/emu/emu.h" ] && [ -x "$work/prefix/bin/emurun" ] &&
		[ -e "$work/prefix/share/man/man5/emu_fault.5" ] &&
		[ -e "$work/prefix/share/man/man1/emurun.1" ] && [ -e "$work/prefix/share/man/man1/emu_report.1" ] &&
		[ -x "$work/prefix/bin/emuctl" ] && [ -e "$work/prefix/share/man/man1/emuctl.1" ] &&
		[ -e "$work/prefix/share/bash-completion/completions/emuctl" ] &&
		[ -e "$work/prefix/share/emu/wireshark/emu.lua" ] &&
		[ -e "$work/prefix/$libdir/emu-verbs/libibverbs.so" ] && [ -e "$work/prefix/$libdir/emu-verbs/librdmacm.so.1" ] &&
		[ -e "$work/prefix/$libdir/emu-cuda/libcudart.so" ] && [ -e "$work/prefix/include/emu/hmem.h" ] &&
		[ -e "$work/prefix/share/man/man3/emu_hmem.3" ]
}

emu_perf_runs_where_it_is_installed() {
	[ -e "$work/prefix/share/man/man1/emu_perf.1" ] &&
		"$work/prefix/bin/emurun" "$work/prefix/bin/emu_perf" -t read_lat -D 0.1 --verify
}

emu_litmus_runs_where_it_is_installed() {
	[ -e "$work/prefix/share/man/man1/emu_litmus.1" ] && "$work/prefix/bin/emurun" "$work/prefix/bin/emu_litmus" -t RAW -n 10
}

the_kit_runs_where_it_is_installed() {
	[ -e "$work/prefix/share/man/man1/emu_rules.1" ] || return 1
	"$work/prefix/bin/emurun" "$work/prefix/bin/emu_rules" -p emu -r S27 | tee "$work/says"
	grep -q ' 0 FAIL' "$work/says"
}

emurun_runs_what_is_installed() {
	"$work/prefix/bin/emurun" sh -c 'echo "$FI_PROVIDER $FI_PROVIDER_PATH"' | tee "$work/says"
	[ "$(cat "$work/says")" = "emu $work/prefix/$libdir/libfabric" ]
}

emurun_checks_where_it_is_installed() {
	"$work/prefix/bin/emurun" --check --allow-none true && "$work/prefix/bin/emurun" emu_report --help
}

emurun_explores_where_it_is_installed() {
	"$work/prefix/bin/emurun" --explore 1 true 2>&1 | tee "$work/says"
	grep -q 'no process of the command opened the NIC' "$work/says"
}

emurun_has_devices_where_it_is_installed() {
	"$work/prefix/bin/emurun" --hmem cuda python3 -c 'from ctypes import CDLL; print(CDLL("libcuda.so.1").cuInit(0))' |
		tee "$work/says"
	[ "$(cat "$work/says")" = 0 ]
}

emurun_has_verbs_where_it_is_installed() {
	"$work/prefix/bin/emurun" python3 -c '
from ctypes import CDLL, byref, c_char_p, c_int, c_void_p, POINTER
verbs, count = CDLL("libibverbs.so"), c_int()
verbs.ibv_get_device_list.restype = POINTER(c_void_p)
verbs.ibv_get_device_name.restype, verbs.ibv_get_device_name.argtypes = c_char_p, [c_void_p]
print(verbs.ibv_get_device_name(verbs.ibv_get_device_list(byref(count))[0]).decode())' | tee "$work/says"
	[ "$(cat "$work/says")" = emu0 ]
}

fi_info_shows_the_provider() {
	"$work/prefix/bin/emurun" fi_info -p emu | tee "$work/says"
	grep -q '^provider: emu$' "$work/says"
}

# What kfi_emu(7) says: two include folders, nothing linked, and the runner finds the provider by itself.
a_kernel_client_runs() {
	[ -e "$work/prefix/share/man/man7/kfi_emu.7" ] || return 1
	cat >"$work/client.c" <<-'END'
	#include <kfabric.h>
	#include <linux/module.h>
	#include <linux/printk.h>
	static int begin(void)
	{
		struct kfi_info *info = NULL;
		int rc = kfi_getinfo(KFI_VERSION(1, 0), NULL, NULL, 0, NULL, &info);
		pr_info("provider %s\n", rc ? "none" : info->fabric_attr->prov_name);
		kfi_freeinfo(info);
		return rc;
	}
	static void end(void)
	{
	}
	module_init(begin);
	module_exit(end);
	END
	cc -shared -fPIC -I "$work/prefix/include/emu/kfi" -I "$work/prefix/include/emu/kernel" -o "$work/client.so" \
		"$work/client.c" && "$work/prefix/bin/emu_insmod" --unload "$work/client.so" 2>&1 | tee "$work/says"
	grep -q 'provider emu$' "$work/says"
}

pkg_config_finds_it() {
	PKG_CONFIG_PATH=$work/prefix/$libdir/pkgconfig
	export PKG_CONFIG_PATH
	echo '#include <emu/emu.h>' >"$work/x.c"
	cc -c -o "$work/x.o" $(pkg-config --cflags emu) "$work/x.c" &&
		[ -e "$(pkg-config --variable=providerdir emu)/libemu-fi.so" ]
}

find_package_finds_it() {
	mkdir "$work/user"
	echo '#include <emu/emu.h>' >"$work/user/x.c"
	cat >"$work/user/CMakeLists.txt" <<-'END'
	cmake_minimum_required(VERSION 3.25)
	project(user LANGUAGES C)
	find_package(emu 0.1 REQUIRED)
	add_library(user OBJECT x.c)
	target_link_libraries(user PRIVATE emu::emu)
	if(NOT EXISTS ${EMU_PROVIDER_DIR}/libemu-fi.so)
		message(FATAL_ERROR "no provider in ${EMU_PROVIDER_DIR}")
	endif()
	END
	cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/prefix" &&
		cmake --build "$work/user/build"
}

succeeds is_where_libfabric_looks
succeeds installs_below_a_prefix
succeeds emurun_runs_what_is_installed
succeeds emurun_checks_where_it_is_installed
succeeds emurun_explores_where_it_is_installed
succeeds emurun_has_devices_where_it_is_installed
succeeds emurun_has_verbs_where_it_is_installed
succeeds emu_perf_runs_where_it_is_installed
succeeds emu_litmus_runs_where_it_is_installed
succeeds the_kit_runs_where_it_is_installed
succeeds fi_info_shows_the_provider
succeeds a_kernel_client_runs
succeeds pkg_config_finds_it
succeeds find_package_finds_it
exit $failed
