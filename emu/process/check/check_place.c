/* SPDX-License-Identifier: BSD-2-Clause */
/* check_place.c - a ping-pong may have hundreds of receives for one place, and each post asks what the others do there. Those
 * that would all give the same answer form a ring by age, whose oldest one alone is in the tree. */
#include "emu/process/check/check.h"

static bool is_same_place(const struct check_span *a, const struct check_span *b)
{
	const struct check_post *one = a->post, *two = b->post;

	if (a->range.first != b->range.first || a->range.last != b->range.last || one->receive != two->receive)
		return false;
	return one->receive || (one->owner == two->owner && one->dest == two->dest && !one->sources == !two->sources);
}

struct place_search {
	const struct check_span *span;
	struct check_span *oldest; /* NULL: none is there */
};

static int place_see(struct interval *range, void *arg)
{
	struct place_search *search = arg;
	struct check_span *span = (struct check_span *)range;

	if (!is_same_place(span, search->span))
		return 0;
	search->oldest = span;
	return 1;
}

void check_place_add(struct interval_tree *places, struct check_span *span)
{
	struct place_search search = { .span = span };

	interval_tree_find(places, span->range.first, span->range.last, place_see, &search);
	if (!search.oldest) {
		span->newer = span->older = span;
		span->oldest = true;
		interval_tree_add(places, &span->range);
		return;
	}
	span->newer = search.oldest;
	span->older = search.oldest->older;
	span->older->newer = span->newer->older = span;
}

void check_place_remove(struct interval_tree *places, struct check_span *span)
{
	struct check_span *newer = span->newer;

	newer->older = span->older;
	span->older->newer = newer;
	if (!span->oldest)
		return;
	interval_tree_remove(places, &span->range);
	if (newer == span)
		return;
	newer->oldest = true;
	interval_tree_add(places, &newer->range);
}

void check_place_leave_alone(struct check_span *oldest)
{
	struct check_span *span = oldest;

	do {
		check_owned_end(&span->post->fills);
		span = span->newer;
	} while (span != oldest && !span->post->receive);
}
