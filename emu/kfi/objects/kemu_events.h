/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_events.h - events of libfabric as kfabric's, in the order in which they are read. Under the lock of the event queue. */
#ifndef EMU_KFI_EVENTS_H
#define EMU_KFI_EVENTS_H

#include <kfi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kemu_personality;
struct fid_eq;

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

#endif
