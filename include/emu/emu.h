/* SPDX-License-Identifier: BSD-2-Clause */
/* emu.h - what a program may want to know of the emulated NIC at compile time. No program needs it: everything is
 * reached through libfabric. Nothing here is a call, and there is no library to link. */
#ifndef EMU_EMU_H
#define EMU_EMU_H

/* The provider's name, as in FI_PROVIDER, in fi_fabric_attr.prov_name and in fi_info -p. */
#define EMU_PROVIDER "emu"

/* The version of the wire protocol that this release speaks; peers agree on one when they meet. */
#define EMU_PROTOCOL 1

#endif
