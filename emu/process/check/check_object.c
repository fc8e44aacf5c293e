/* SPDX-License-Identifier: BSD-2-Clause */
/* check_object.c - all posts, and the objects that are open by records of their own. */
#include "emu/process/check/check_object.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "emu/net/os/fork.h"
#include "emu/nic/ops/op.h"
#include "emu/nic/ops/watch.h"
#include "emu/process/check/check.h"
#include "emu/process/front/process_front.h"
#include "emu/process/report/report.h"

struct check_record {
	struct check_open open; /* first */
	struct check_what what;
	struct interval span;
};

static atomic_bool on;

static void check_forked(void)
{
	check_alloc_forked();
	check_posts_forked();
	check_races_forked();
	check_open_forked();
}

static struct fork_reset reset = { .in_child = check_forked };

int check_start(void)
{
	if (fork_register(&reset))
		return ENOMEM;
	call_stack_prime();
	atomic_store(&on, true);
	return 0;
}

const struct trigger *check_posts(void)
{
	static const struct trigger at_once; /* and watched */

	return atomic_load(&on) || report_on() ? &at_once : NULL;
}

void check_settle(void)
{
	if (atomic_load(&on))
		check_posts_settle();
}

void check_settle_told(void)
{
	check_settle();
	check_told();
}

/* --- posts --- */

/* Where the device writes what a post brings. */
static size_t results_of(const struct post *from, const struct iovec **results)
{
	if (from->kind == OP_READ) {
		*results = from->iov;
		return from->iov_count;
	}
	*results = from->atomic ? from->atomic->result : NULL;
	return from->atomic ? from->atomic->result_count : 0;
}

static void *note_post(void *owner, const struct post *from)
{
	const struct iovec *results;
	size_t count = results_of(from, &results);
	struct check_post *post = NULL;

	if (!count && from->flags & POST_INJECT)
		check_post_copied(process_front.calls[from->kind], from->iov, from->iov_count);
	else /* an atomic's operands are copied, too */
		post = check_post_new(owner, process_front.calls[from->kind], false);
	if (!post)
		return NULL;
	if (from->kind == OP_READ)
		check_post_reads(post, from->remote[0].key, from->remote[0].addr);
	post->fenced = from->flags & POST_FENCE;
	post->in_order = post->behind_writes = true;
	if (count) {
		check_post_buffers(post, results, count);
		check_post_vector(post, results, count);
	} else {
		check_post_buffers(post, from->iov, from->iov_count);
		check_post_stays(post);
	}
	check_post_enter(post, results, count);
	return post;
}

static void *note_receive(void *owner, const struct recv_post *from)
{
	const char *call = owner ? process_front.receive_call : process_front.shared_receive_call;
	struct check_post *post = check_post_new(owner, call, true);

	if (!post)
		return NULL;
	check_post_buffers(post, from->iov, from->iov_count);
	check_post_stays(post);
	check_post_vector(post, from->iov, from->iov_count);
	check_post_enter(post, NULL, 0);
	return post;
}

static void note_tried(void *owner, int err)
{
	(void)owner;
	(void)err;
}

static const struct watch_ops watch = {
	.post = note_post,
	.receive = note_receive,
	.drop = check_post_drop,
	.posted = note_tried,
	.place = check_post_place,
	.cancelled = check_post_place,
	.end = check_post_end,
};

const struct watch_ops *check_watch_posts(void)
{
	return atomic_load(&on) ? &watch : NULL;
}

/* --- objects --- */

struct check_record *check_opened(const struct check_what *what)
{
	struct check_record *record = atomic_load(&on) ? check_alloc(sizeof(*record)) : NULL;

	if (!record)
		return NULL;
	call_stack_take(&record->open.opened);
	record->what = *what;
	record->span = (struct interval){ .first = (uintptr_t)what->at, .last = (uintptr_t)what->at + what->length - 1 };
	check_open_add(&record->open);
	if (what->written)
		check_remote_add(&record->span, 1);
	return record;
}

void check_closed(struct check_record *record)
{
	if (!record)
		return;
	if (record->what.written) {
		check_posts_unsure(&record->span, 1);
		check_remote_remove(&record->span, 1, record->open.forks);
	}
	check_open_remove(&record->open);
	check_free(record);
}

void check_overran(const struct check_record *queue, size_t size)
{
	check_tell(&(struct check_finding){ .cause = CHECK_CQ_OVERRUN, .opened = &queue->open.opened },
		   "a completion queue of %zu entries is full, and loses what comes on top", size);
}

static bool find_outer(struct check_open *open, void *least)
{
	unsigned int outer = ((const struct check_record *)open)->what.outer;

	if (outer < *(unsigned int *)least)
		*(unsigned int *)least = outer;
	return false;
}

static bool tell_left_open(struct check_open *open, void *least)
{
	const struct check_record *record = (struct check_record *)open;
	const struct check_what *what = &record->what;

	if (what->outer > *(unsigned int *)least)
		return false;
	if (what->key)
		check_tell_region(open, &record->span, what->length != 0, what->key, what->written, what->pinned);
	else
		check_tell(&(struct check_finding){ .cause = CHECK_OBJECT_OPEN, .opened = &open->opened },
			   "a%s %s is open at exit: %s was not called", strchr("aeiX", *what->name) ? "n" : "", what->name,
			   what->end);
	return false;
}

void check_exits(void)
{
	unsigned int least = UINT32_MAX;

	if (!atomic_load(&on) || check_inside || report_inside())
		return;
	check_posts_settle();
	check_races_exit();
	(void)check_open_find(find_outer, &least);
	(void)check_open_find(tell_left_open, &least);
}
