/* SPDX-License-Identifier: BSD-2-Clause */
/* plain.c - a shared object that is no kernel module. */
int plain(void);

int plain(void)
{
	return 0;
}
