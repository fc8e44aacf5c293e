# SPDX-License-Identifier: BSD-2-Clause
# The folders of `cmake --install`. libfabric looks for providers in one folder only, <its libdir>/libfabric. So unless
# another prefix is chosen, ours is libfabric's own, and `libdir` has the same name as there.
get_filename_component(fabric_prefix ${FABRIC_INCLUDE_DIR} DIRECTORY)
get_filename_component(fabric_libdir ${FABRIC_LIBRARY} DIRECTORY)
file(RELATIVE_PATH fabric_libdir ${fabric_prefix} ${fabric_libdir})

if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
	set(CMAKE_INSTALL_PREFIX ${fabric_prefix} CACHE PATH "Install prefix (default: libfabric's)" FORCE)
endif()
set(CMAKE_INSTALL_LIBDIR ${fabric_libdir} CACHE STRING "Folder of libraries below the prefix (default: as libfabric's)")
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(EMU_PROVIDER_LIBDIR ${CMAKE_INSTALL_LIBDIR}/libfabric)

# To be called once, after all targets.
function(emu_install)
	set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/emu)
	set(template_dir ${CMAKE_SOURCE_DIR}/tools/cmake)

	# The provider is loaded by a libfabric, and has none of its own to look for.
	set_target_properties(emu-fi PROPERTIES SKIP_BUILD_RPATH TRUE)
	if(EMU_SANITIZE) # such a provider cannot be loaded by an ordinary program
		return()
	endif()
	install(TARGETS emu-fi LIBRARY DESTINATION ${EMU_PROVIDER_LIBDIR})
	set_target_properties(emu-cuda PROPERTIES INSTALL_RPATH "$ORIGIN")
	install(TARGETS emu-hmem emu-cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
	install(DIRECTORY ${CMAKE_BINARY_DIR}/emu/cuda/emu-cuda DESTINATION ${CMAKE_INSTALL_LIBDIR})
	set_target_properties(emu-verbs emu-cm emu-sys PROPERTIES SKIP_BUILD_RPATH TRUE)
	install(TARGETS emu-verbs emu-cm emu-sys LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/emu-verbs)
	install(DIRECTORY include/emu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
	install(PROGRAMS tools/emurun DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(TARGETS emu_report emu_trace RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(FILES tools/emurun.1 tools/emu_report.1 tools/emu_trace.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	install(TARGETS emu_insmod RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(DIRECTORY tools/wireshark DESTINATION ${CMAKE_INSTALL_DATADIR}/emu FILES_MATCHING PATTERN "*.lua")
	install(DIRECTORY tools/explore DESTINATION ${CMAKE_INSTALL_DATADIR}/emu FILES_MATCHING PATTERN "*.py")
	install(DIRECTORY tools/expect DESTINATION ${CMAKE_INSTALL_DATADIR}/emu FILES_MATCHING PATTERN "*.expect")
	install(DIRECTORY docker/lab DESTINATION ${CMAKE_INSTALL_DATADIR}/emu USE_SOURCE_PERMISSIONS)
	file(RELATIVE_PATH bin_to_lab /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_DATADIR}/emu/lab/lab)
	file(CREATE_LINK ${bin_to_lab} ${CMAKE_BINARY_DIR}/emu-lab SYMBOLIC)
	install(PROGRAMS ${CMAKE_BINARY_DIR}/emu-lab DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(TARGETS emuctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(FILES tools/emuctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	install(FILES tools/ctl/emuctl.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME emuctl)
	install(FILES tools/emu_hmem.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
	install(FILES tools/fi_emu.7 tools/kfi_emu.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
	install(FILES tools/emu_fault.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
	file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
	set_target_properties(emu_perf PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
	set_target_properties(emu_litmus PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
	install(TARGETS emu_perf emu_litmus RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(FILES tools/emu_perf.1 tools/emu_litmus.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	add_custom_target(installed) # all of this, and no test: what packages build
	add_dependencies(installed emu-fi emu-verbs emu-cm emu-sys)
	add_dependencies(installed emu-hmem emu-cuda emu_report emu_trace emu_insmod emuctl emu_perf emu_litmus)
	if(TARGET emu_rules) # built with the tests
		add_dependencies(installed emu_rules)
		set_target_properties(emu_rules PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
		install(TARGETS emu_rules RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
		install(FILES tools/emu_rules.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	endif()

	configure_package_config_file(${template_dir}/emu-config.cmake.in ${CMAKE_BINARY_DIR}/emu-config.cmake
		INSTALL_DESTINATION ${config_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR EMU_PROVIDER_LIBDIR)
	write_basic_package_version_file(${CMAKE_BINARY_DIR}/emu-config-version.cmake COMPATIBILITY SameMinorVersion)
	install(FILES ${CMAKE_BINARY_DIR}/emu-config.cmake ${CMAKE_BINARY_DIR}/emu-config-version.cmake
		DESTINATION ${config_dir})

	# A way back to the prefix from the folder of emu.pc itself, so that a moved tree stays right.
	file(RELATIVE_PATH EMU_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
	configure_file(${template_dir}/emu.pc.in ${CMAKE_BINARY_DIR}/emu.pc @ONLY)
	install(FILES ${CMAKE_BINARY_DIR}/emu.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

	install(CODE "
		if(NOT CMAKE_INSTALL_PREFIX STREQUAL \"${fabric_prefix}\")
			message(\"libfabric in ${fabric_prefix} does not look in \${CMAKE_INSTALL_PREFIX} by itself: \"
				\"run programs with \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/emurun, or set \"
				\"FI_PROVIDER_PATH=\${CMAKE_INSTALL_PREFIX}/${EMU_PROVIDER_LIBDIR}\")
		endif()")
endfunction()
