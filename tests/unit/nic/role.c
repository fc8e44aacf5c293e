/* SPDX-License-Identifier: BSD-2-Clause */
/* role.c - the driver role, held by a program's first thread from its start: for tests that call what runs under the role, and no
 * device. Criterion runs each test in a process of its own. */
#include "role.h"

#include <assert.h>

#include "emu/nic/role/driver.h"

static struct driver driver;

__attribute__((constructor)) static void take_role(void)
{
	bool taken = driver_enter(&driver);

	assert(taken);
	(void)taken;
}

void role_give_back(void)
{
	driver_fini(&driver);
}
