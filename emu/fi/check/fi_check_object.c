/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_object.c - the open objects, what is to be looked at when one is closed, and those that never are. */
#include "emu/fi/check/fi_check_impl.h"

#include <inttypes.h>
#include <stddef.h>

#include "emu/fi/check/fi_check.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/fi/provider/fi_watched.h"

#define REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)

static int object_close(struct fid *fid);
static int object_control(struct fid *fid, int command, void *arg);

struct check_object *check_object_of(const struct fid *fid)
{
	struct check_object *object;

	if (!fid->ops || fid->ops->close != object_close)
		return NULL;
	object = (struct check_object *)((char *)fid->ops - offsetof(struct check_object, ops));
	return object->fid == fid ? object : NULL; /* an alias has its endpoint's table */
}

static struct fi_ops *plain_of(const struct fid *fid)
{
	return ((struct check_object *)((char *)fid->ops - offsetof(struct check_object, ops)))->plain;
}

static void link_object(struct check_object *object)
{
	check_open_add(&object->open);
	if (object->access & FI_REMOTE_WRITE)
		check_remote_add(object->span, object->spans);
}

static void unlink_object(struct check_object *object)
{
	if (object->access & FI_REMOTE_WRITE)
		check_remote_remove(object->span, object->spans, object->open.forks);
	check_open_remove(&object->open);
}

struct check_object *check_adopt(struct fid *fid, const struct check_object *parent)
{
	struct check_object *object = check_alloc(sizeof(*object));

	if (!object)
		return NULL;
	call_stack_take(&object->open.opened);
	object->fid = fid;
	object->plain = fid->ops;
	object->ops = *fid->ops;
	object->ops.close = object_close;
	object->ops.control = object_control;
	if (parent) {
		object->threading = parent->threading;
		object->manual = parent->manual;
		object->loses = parent->loses;
		object->contexts = parent->contexts;
	}
	fid->ops = &object->ops;
	link_object(object);
	return object;
}

static bool has_table(struct check_open *open, void *ops)
{
	return &((struct check_object *)open)->ops == ops;
}

bool check_has_table(const void *ops)
{
	return check_open_find(has_table, (void *)(uintptr_t)ops);
}

void check_region(struct check_object *region, const struct iovec *iov, size_t count, uint64_t access)
{
	unlink_object(region);
	for (size_t i = 0; i < count && i < LIMIT_IOV; i++) {
		uint64_t first = (uintptr_t)iov[i].iov_base;

		if (iov[i].iov_len)
			region->span[region->spans++] = (struct interval){ .first = first, .last = first + iov[i].iov_len - 1 };
	}
	region->access = access;
	region->key = fi_mr_key((struct fid_mr *)region->fid);
	link_object(region);
}

bool check_wants_accesses(const struct fid_ep *ep)
{
	const struct check_object *object = check_object_of(&ep->fid);

	if (!object || !object->manual)
		return false;
	check_progress_begin(); /* the program may begin to make progress from now on */
	check_progress_end();
	return true;
}

void check_accessed(const struct fid_ep *ep)
{
	struct check_object *object = check_object_of(&ep->fid);

	if (object)
		atomic_store_explicit(&object->accessed, check_progress_mark(), memory_order_relaxed);
}

/* An access that came after the program's last look was served by this NIC's own progress alone. */
static void tell_assumed(const struct check_object *object)
{
	check_tell(&(struct check_finding){ .cause = CHECK_PROGRESS_ASSUMED, .opened = &object->open.opened, .here = true },
		   "fi_close of an endpoint under FI_PROGRESS_MANUAL: a peer's access to its regions was served when no queue or "
		   "counter had been read for %d ms, and none was read after it",
		   CHECK_IDLE_MS);
}

/* Completions in a queue that nobody has tried to read. */
static size_t unread_entries(const struct check_object *object)
{
	struct cq_view view;

	if (object->fid->fclass != FI_CLASS_CQ || atomic_load_explicit(&object->read, memory_order_relaxed) ||
	    check_progress_counts())
		return 0;
	cq_look(((const struct emu_cq *)object->fid)->cq, &view);
	return view.unread;
}

static void tell_unread(const struct check_object *object, size_t entries, bool exits)
{
	check_tell(&(struct check_finding){ .cause = CHECK_UNREAD, .opened = &object->open.opened, .here = !exits },
		   "%s a completion queue that was never read; completions in it: %zu. If nothing else tells the "
		   "program, such as its peer, it cannot know what is done",
		   exits ? "the process exits with" : "fi_close of", entries);
}

/* Its findings are made before it is closed, and told only if it is: while a group is open, say, fi_close refuses. */
static int object_close(struct fid *fid)
{
	struct check_object *object = check_object_of(fid);
	struct check_left left = { .count = 0 };
	size_t unread;
	bool assumed, watched;
	int err;

	if (!object)
		return plain_of(fid)->close(fid);
	check_posts_settle();
	if (object->access & FI_REMOTE_WRITE)
		check_posts_unsure(object->span, object->spans);
	if (fid->fclass == FI_CLASS_EP || fid->fclass == FI_CLASS_TX_CTX)
		check_posts_left(fid, &left);
	assumed = check_progress_none_since(atomic_load_explicit(&object->accessed, memory_order_relaxed));
	unread = unread_entries(object);
	unlink_object(object);
	watched = check_wait_end(object);
	err = object->plain->close(fid);
	check_posts_settle();
	if (err) {
		link_object(object);
		if (watched)
			check_wait_begin(object);
		return err;
	}
	if (left.count)
		check_posts_dropped(&left, false);
	if (assumed)
		tell_assumed(object);
	if (unread)
		tell_unread(object, unread, false);
	check_free(object);
	return 0;
}

static void raw_key_mapped(const struct fid *domain, uint64_t key)
{
	struct check_object *object = check_alloc(sizeof(*object));

	if (!object)
		return;
	call_stack_take(&object->open.opened);
	object->domain = domain;
	object->key = key;
	link_object(object);
}

static bool is_raw_key(struct check_open *open, void *key)
{
	const struct check_object *object = (struct check_object *)open, *wanted = key;

	return !object->fid && object->domain == wanted->domain && object->key == wanted->key;
}

static void raw_key_unmapped(const struct fid *domain, uint64_t key)
{
	struct check_object wanted = { .domain = domain, .key = key };
	struct check_object *object = (struct check_object *)check_open_find(is_raw_key, &wanted);

	if (!object)
		return;
	unlink_object(object);
	check_free(object);
}

static int object_control(struct fid *fid, int command, void *arg)
{
	struct check_object *object = check_object_of(fid);
	int err = plain_of(fid)->control(fid, command, arg);

	if (!err && object && fid->fclass == FI_CLASS_CQ && command == FI_GETWAIT)
		check_wait_taken(object, arg);
	if (err || fid->fclass != FI_CLASS_DOMAIN)
		return err;
	if (command == FI_MAP_RAW_MR)
		raw_key_mapped(fid, *((const struct fi_mr_map_raw *)arg)->key);
	else if (command == FI_UNMAP_KEY)
		raw_key_unmapped(fid, *(const uint64_t *)arg);
	return 0;
}

/* Only where memory must stay as it is: FI_MR_ALLOCATED, and no FI_MR_MMU_NOTIFY, by which the program would tell of changes. Not
 * when a region is closed: caches of registrations close it once they hear that its memory has gone. */
static void tell_region(const struct check_object *object)
{
	const struct emu_domain *domain = emu_mr(object->fid)->domain;
	bool pinned = domain->rules & FI_MR_ALLOCATED && !(domain->rules & FI_MR_MMU_NOTIFY) && !domain_hmem(domain);

	check_tell_region(&object->open, object->span, object->spans, object->key, object->access & REMOTE, pinned);
}

static bool is_endpoint(const struct fid *fid)
{
	switch (fid->fclass) {
	case FI_CLASS_EP:
	case FI_CLASS_SEP:
	case FI_CLASS_PEP:
	case FI_CLASS_TX_CTX:
	case FI_CLASS_RX_CTX:
	case FI_CLASS_SRX_CTX:
	case FI_CLASS_STX_CTX:
		return true;
	default:
		return false;
	}
}

static bool exits_unread(struct check_open *open, void *arg)
{
	const struct check_object *object = (struct check_object *)open;

	(void)arg;
	if (object->fid && unread_entries(object))
		tell_unread(object, unread_entries(object), true);
	return false;
}

/* All but domains; `*arg`: there are some. */
static bool exits_inner(struct check_open *open, void *arg)
{
	const struct check_object *object = (struct check_object *)open;
	struct check_finding finding = { .cause = CHECK_RAW_KEY_OPEN, .opened = &open->opened };

	if (object->fid && object->fid->fclass == FI_CLASS_MR) {
		tell_region(object);
	} else if (!object->fid) {
		check_tell(&finding, "the raw key that is mapped as %#" PRIx64 " is mapped at exit", object->key);
	} else if (is_endpoint(object->fid)) {
		finding.cause = CHECK_ENDPOINT_OPEN;
		check_tell(&finding, "an endpoint is open at exit");
	} else {
		return false;
	}
	*(bool *)arg = true;
	return false;
}

static bool exits_domain(struct check_open *open, void *arg)
{
	(void)arg;
	if (((struct check_object *)open)->fid->fclass == FI_CLASS_DOMAIN)
		check_tell(&(struct check_finding){ .cause = CHECK_DOMAIN_OPEN, .opened = &open->opened },
			   "a domain is open at exit");
	return false;
}

void check_objects_exit(void)
{
	bool inner = false;

	(void)check_open_find(exits_unread, NULL);
	(void)check_open_find(exits_inner, &inner);
	if (!inner)
		(void)check_open_find(exits_domain, NULL);
}
