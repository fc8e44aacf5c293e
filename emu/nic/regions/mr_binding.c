/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_binding.c - bindings stand in two lists: their region's, which is short, and their other end's, which may be long. */
#include "emu/nic/regions/mr_binding.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/queues/cntr.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/role/driver.h"

struct mr_binding {
	struct mr *mr;
	struct binding_end *end;
	struct mr_binding *next_of_mr;
	struct mr_binding *next, **at; /* among those of the end */
};

bool binding_exists(const struct mr *mr, const struct binding_end *end)
{
	role_assert();
	for (const struct mr_binding *binding = mr->bindings; binding; binding = binding->next_of_mr)
		if (binding->end == end)
			return true;
	return false;
}

bool binding_reaches(const struct mr *mr, const struct binding_end *end)
{
	role_assert();
	return binding_exists(mr, end) || (end && end->whole && binding_exists(mr, end->whole));
}

static bool binding_to(const struct mr *mr, bool counter)
{
	role_assert();
	for (const struct mr_binding *binding = mr->bindings; binding; binding = binding->next_of_mr)
		if (!binding->end->cntr != counter)
			return true;
	return false;
}

bool binding_to_endpoint(const struct mr *mr)
{
	return binding_to(mr, false);
}

bool binding_to_counter(const struct mr *mr)
{
	return binding_to(mr, true);
}

int binding_add(struct mr *mr, struct binding_end *end)
{
	struct mr_binding **last = &mr->bindings, *binding;
	int count = 0;

	role_assert();
	if (binding_exists(mr, end))
		return -EINVAL;
	for (; *last; last = &(*last)->next_of_mr)
		count++;
	binding = count < LIMIT_BINDINGS ? malloc(sizeof(*binding)) : NULL;
	if (!binding)
		return -ENOMEM;
	*binding = (struct mr_binding){ .mr = mr, .end = end, .next = end->first, .at = &end->first };
	if (binding->next)
		binding->next->at = &binding->next;
	end->first = binding;
	*last = binding;
	return 0;
}

static void binding_free(struct mr_binding *binding)
{
	*binding->at = binding->next;
	if (binding->next)
		binding->next->at = binding->at;
	free(binding);
}

void binding_drop_region(struct mr *mr)
{
	struct mr_binding *binding;

	role_assert();
	while ((binding = mr->bindings)) {
		mr->bindings = binding->next_of_mr;
		binding_free(binding);
	}
}

bool binding_drop_slice(struct binding_end *end)
{
	struct mr_binding *binding, **at;

	role_assert();
	for (int i = 0; i < SLICE_BINDINGS && (binding = end->first); i++) {
		for (at = &binding->mr->bindings; *at != binding; at = &(*at)->next_of_mr)
			;
		*at = binding->next_of_mr;
		binding_free(binding);
	}
	return end->first;
}

void binding_count_change(const struct mr *mr, uint64_t length)
{
	role_assert();
	for (const struct mr_binding *binding = mr->bindings; binding; binding = binding->next_of_mr)
		if (binding->end->cntr)
			cntr_event(binding->end->cntr, length);
}
