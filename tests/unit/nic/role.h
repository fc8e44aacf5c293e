/* SPDX-License-Identifier: BSD-2-Clause */
/* role.h - the driver role of a test that has no device; see role.c. */
#ifndef EMU_TESTS_UNIT_ROLE_H
#define EMU_TESTS_UNIT_ROLE_H

/* For a test that has a device, and takes its role. */
void role_give_back(void);

#endif
