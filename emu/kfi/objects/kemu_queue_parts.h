/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_queue_parts.h - what the queues are made of: the thread of handlers, events, and lent windows. */
#ifndef EMU_KFI_QUEUE_PARTS_H
#define EMU_KFI_QUEUE_PARTS_H

#include <kfi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fid_eq;
struct kemu_cq;
struct kemu_loan;
struct kemu_personality;
struct kemu_softirq;
struct kemu_window;

/* --- kemu_softirq.c: the thread of a fabric that calls the handlers of its queues, as the kernel's softirq does.
 *
 * A queue with a handler is a source. It watches a descriptor of libfabric's queue, for one wake-up, or is kicked. Then the thread
 * runs it, one source at a time. The thread begins with the first source. --- */

/* Inside of the queue's own structure. All but `run` is kemu_softirq.c's. */
struct kemu_source {
	void (*run)(struct kemu_source *source); /* in the thread; it may watch again */
	struct kemu_softirq *softirq;            /* NULL: it was not added */
	struct kemu_source *next;
	uint64_t id;
	int fd;
	bool kicked;
};

/* 0 or -KFI_ENOMEM. */
int kemu_softirq_open(struct kemu_softirq **softirq);
/* Has no sources any more. Waits for the thread; not from it. */
void kemu_softirq_close(struct kemu_softirq *softirq);

/* Adds a source that has no wake-up yet; fd -1: it is only kicked. 0 or -errno. */
int kemu_softirq_add(struct kemu_softirq *softirq, struct kemu_source *source, int fd);
/* Takes it out. No run is under way afterwards. False: the caller is in a run of it, and nothing changed. */
bool kemu_softirq_remove(struct kemu_source *source);
/* Runs it once, when the descriptor is readable, or now. Any context; never sleep. */
void kemu_softirq_watch(struct kemu_source *source);
void kemu_softirq_kick(struct kemu_source *source);

/* --- kemu_events.c: events of libfabric as kfabric's, in the order of reading. Under the lock of the event queue. --- */

struct kemu_event {
	struct kemu_event *next;
	uint32_t event;
	bool error;            /* `err` is filled, and its err_data is the bytes */
	size_t least, length;  /* bytes; a reader with less room than `least` gets -KFI_ETOOSMALL */
	struct kfi_info *info; /* of KFI_CONNREQ, until it is read */
	struct kfi_eq_err_entry err;
	_Alignas(max_align_t) uint8_t data[];
};

/* An event of these bytes; NULL: no memory. */
struct kemu_event *kemu_event_new(uint32_t event, const void *data, size_t length);
/* An error, with a copy of its err_data; NULL: no memory. */
struct kemu_event *kemu_event_error(const struct kfi_eq_err_entry *error);
void kemu_event_free(struct kemu_event *event);
/* The object that it is of; NULL: of none. */
const struct kfid *kemu_event_fid(const struct kemu_event *event);

/* Takes the next event of libfabric's queue. NULL: there is none, or no memory. *drop: it was one that nobody reads. */
struct kemu_event *kemu_event_take(const struct kemu_personality *personality, struct fid_eq *fi, bool *drop);

/* An event by which a queue of libfabric wakes its readers for what lies in ours. */
enum { KEMU_EVENT_WAKE = 0x6b656d75 };

/* --- kemu_lent.c: windows that operations use until they complete: which context of libfabric stands for which of the client's.
 * Under the lock of the completion queue. --- */

enum { KEMU_LENT_CHAINS = 64 };

struct kemu_lent {
	struct kemu_cq *cq; /* whose it is */
	size_t count;
	struct kemu_loan *chain[KEMU_LENT_CHAINS];
};

/* Returns the context that libfabric gets for the operation. NULL: no memory. */
void *kemu_lent_begin(struct kemu_lent *lent, void *context, struct kemu_window *window, bool silent);
/* The operation was not posted: the window stays. */
void kemu_lent_drop(struct kemu_lent *lent, void *loan);
/* An operation has completed: puts the client's context in the place of libfabric's, and ends the window, if one was lent. False:
 * it was lent silently and has succeeded (`good`), so the client is not to see it. */
bool kemu_lent_end(struct kemu_lent *lent, void **context, void **buf, bool good);
/* Finds the context that libfabric knows for one of the client's. */
void *kemu_lent_find(const struct kemu_lent *lent, void *context);
/* Ends all windows. */
void kemu_lent_fini(struct kemu_lent *lent);

#endif
