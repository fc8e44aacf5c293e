/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_close_policy.c - the order of closing, as a table. */
#include "emu/fi/personality/fi_attr.h"

#include <assert.h>
#include <stddef.h>

static const struct close_policy policies[] = {
	[CLOSE_ANY] = { "any", false, false },          /* real programs close in any order, and some NICs let them */
	[CLOSE_MR_LAST] = { "mr-last", true, false },   /* fi_mr(3) up to 2.1: no open endpoint or counter */
	[CLOSE_MR_FIRST] = { "mr-first", false, true }, /* fi_mr(3) from 2.2 on: regions before their endpoints */
};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

const char *const close_policy_names[] = { "any", "mr-last", "mr-first", NULL };
static_assert(sizeof(close_policy_names) / sizeof(close_policy_names[0]) == POLICIES + 1, "a name for each policy");

const struct close_policy *close_policy(enum close_order order)
{
	return &policies[order];
}
