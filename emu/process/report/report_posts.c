/* SPDX-License-Identifier: BSD-2-Clause */
/* report_posts.c - a table of sets: a post goes into the set of its hash, in the place of the oldest one there. */
#include "emu/process/report/report_impl.h"

#include <stdlib.h>

#include "emu/process/report/call_stack.h"
#include "emu/nic/base/futex_lock.h"

enum { SETS = 2048, WAYS = 4 };

struct entry {
	struct report_post post;
	uint64_t number; /* 0: free */
	struct call_stack stack;
};

static struct {
	struct futex_lock lock;
	struct entry (*sets)[WAYS];
	uint64_t number;
} posts;

void report_posts_open(void)
{
	struct entry(*sets)[WAYS] = calloc(SETS, sizeof(*sets));

	futex_lock(&posts.lock);
	if (!posts.sets) {
		posts.sets = sets;
		sets = NULL;
	}
	futex_unlock(&posts.lock);
	free(sets);
}

/* With the lock. */
static struct entry *set_of(const struct report_post *post)
{
	uint64_t hash = (uintptr_t)post->owner ^ post->kind;

	hash = (hash ^ (uintptr_t)post->context) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ post->key) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ post->addr) * UINT64_C(0x9e3779b97f4a7c15);
	return posts.sets[(hash >> 32) % SETS];
}

static bool same_post(const struct report_post *a, const struct report_post *b)
{
	return a->owner == b->owner && a->context == b->context && a->key == b->key && a->addr == b->addr && a->kind == b->kind;
}

void report_posts_add(const struct report_post *post)
{
	struct call_stack stack;
	struct entry *set, *to;

	call_stack_take(&stack);
	futex_lock(&posts.lock);
	if (posts.sets) {
		set = to = set_of(post);
		for (int i = 1; i < WAYS; i++)
			if (set[i].number < to->number)
				to = &set[i];
		*to = (struct entry){ .post = *post, .number = ++posts.number, .stack = stack };
	}
	futex_unlock(&posts.lock);
}

bool report_posts_find(const struct report_post *post, struct call_stack *stack)
{
	const struct entry *set, *found = NULL;

	futex_lock(&posts.lock);
	set = posts.sets ? set_of(post) : NULL;
	for (int i = 0; set && i < WAYS; i++)
		if (set[i].number && same_post(&set[i].post, post) && (!found || set[i].number > found->number))
			found = &set[i];
	if (found)
		*stack = found->stack;
	futex_unlock(&posts.lock);
	return found;
}

void report_posts_forked(void)
{
	atomic_store(&posts.lock.state, FUTEX_FREE);
}
