/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_softirq.h - the thread of a fabric that calls the handlers of its queues, as the kernel's softirq does.
 *
 * A queue with a handler is a source. It watches a descriptor of libfabric's queue, for one wake-up, or is kicked. Then the thread
 * runs it, one source at a time. The thread begins with the first source. */
#ifndef EMU_KFI_SOFTIRQ_H
#define EMU_KFI_SOFTIRQ_H

#include <stdbool.h>
#include <stdint.h>

struct kemu_softirq;

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

#endif
