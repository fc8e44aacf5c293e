/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int said = -1;

void verbs_open(struct verbs *verbs)
{
	int count;

	verbs->list = ibv_get_device_list(&count);
	cr_assert_not_null(verbs->list);
	cr_assert_geq(count, 1);
	verbs->context = ibv_open_device(verbs->list[0]);
	cr_assert_not_null(verbs->context);
	verbs->pd = ibv_alloc_pd(verbs->context);
	cr_assert_not_null(verbs->pd);
}

void verbs_close(struct verbs *verbs)
{
	cr_assert_eq(ibv_dealloc_pd(verbs->pd), 0);
	cr_assert_eq(ibv_close_device(verbs->context), 0);
	ibv_free_device_list(verbs->list);
}

void fault_plan(const char *text)
{
	int fd = memfd_create("plan", 0);
	char path[64];

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("FI_EMU_FAULT", path, 1);
}

void said_begin(void)
{
	said = memfd_create("said", 0);
	cr_assert_geq(said, 0);
	dup2(said, STDERR_FILENO);
}

int said_has(const char *text)
{
	static char all[65536];
	ssize_t length = pread(said, all, sizeof(all) - 1, 0);

	cr_assert_geq(length, 0);
	all[length] = '\0';
	return strstr(all, text) != NULL;
}
