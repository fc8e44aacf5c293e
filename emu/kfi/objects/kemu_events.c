/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_events.c - events of libfabric as kfabric's. */
#include "emu/kfi/objects/kemu_queue_parts.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/provider/kemu_info.h"

#define SAME_EVENT(name) _Static_assert((int)KFI_##name == (int)FI_##name, "KFI_" #name)

SAME_EVENT(NOTIFY);
SAME_EVENT(CONNREQ);
SAME_EVENT(CONNECTED);
SAME_EVENT(SHUTDOWN);
SAME_EVENT(MR_COMPLETE);
SAME_EVENT(AV_COMPLETE);
SAME_EVENT(JOIN_COMPLETE);

enum { EVENT_BYTES = 4096 }; /* more than any event of libfabric's provider has */

struct kemu_event *kemu_event_new(uint32_t event, const void *data, size_t length)
{
	struct kemu_event *made = calloc(1, sizeof(*made) + length);

	if (!made)
		return NULL;
	made->event = event;
	made->least = made->length = length;
	memcpy(made->data, data, length);
	return made;
}

struct kemu_event *kemu_event_error(const struct kfi_eq_err_entry *error)
{
	struct kemu_event *made = kemu_event_new(0, error->err_data ? error->err_data : "", error->err_data_size);

	if (!made)
		return NULL;
	made->error = true;
	made->err = *error;
	made->err.err_data = error->err_data_size ? made->data : NULL;
	return made;
}

void kemu_event_free(struct kemu_event *event)
{
	if (!event)
		return;
	kfi_freeinfo(event->info);
	free(event);
}

/* Each object of libfabric has ours for its context, and ours begin with their handle. */
static struct kfid *handle_of(const struct fid *fid)
{
	return fid ? fid->context : NULL;
}

const struct kfid *kemu_event_fid(const struct kemu_event *event)
{
	struct kfi_eq_entry entry;

	if (event->error)
		return event->err.fid;
	if (event->event != KFI_MR_COMPLETE || event->length != sizeof(entry))
		return NULL;
	memcpy(&entry, event->data, sizeof(entry));
	return entry.fid;
}

static struct kemu_event *take_error(struct fid_eq *fi)
{
	struct fi_eq_err_entry error = { 0 };
	struct kfi_eq_err_entry entry;

	if (fi_eq_readerr(fi, &error, 0) < 0)
		return NULL;
	entry = (struct kfi_eq_err_entry){
		.fid = handle_of(error.fid),
		.context = error.context,
		.data = error.data,
		.err = error.err,
		.prov_errno = error.prov_errno,
		.err_data = error.err_data,
		.err_data_size = error.err_data_size,
	};
	return kemu_event_error(&entry);
}

static struct kemu_event *take_cm(const struct kemu_personality *personality, uint32_t event, void *bytes, size_t length)
{
	struct fi_eq_cm_entry *fi = bytes;
	struct kfi_eq_cm_entry kfi = { .fid = handle_of(fi->fid) };
	size_t more = length - sizeof(*fi);
	struct kemu_event *made;

	if (fi->info) {
		kfi.info = kemu_info_from_fi(personality, fi->info);
		if (kfi.info)
			kfi.info->handle = (kfid_t)fi->info->handle; /* a name for the request, which nobody looks into */
		fi_freeinfo(fi->info);
	}
	memcpy(fi, &kfi, sizeof(kfi)); /* of the same size; the bytes behind it stay */
	made = kemu_event_new(event, fi, sizeof(kfi) + more);
	if (!made) {
		kfi_freeinfo(kfi.info);
		return NULL;
	}
	made->least = sizeof(kfi);
	made->info = kfi.info;
	return made;
}

_Static_assert(sizeof(struct kfi_eq_cm_entry) == sizeof(struct fi_eq_cm_entry), "entries of connections have one layout");

struct kemu_event *kemu_event_take(const struct kemu_personality *personality, struct fid_eq *fi, bool *drop)
{
	_Alignas(max_align_t) uint8_t bytes[EVENT_BYTES];
	struct fi_eq_entry *entry = (struct fi_eq_entry *)bytes;
	struct kfi_eq_entry made;
	uint32_t event;
	ssize_t length = fi_eq_read(fi, &event, bytes, sizeof(bytes), 0);

	*drop = false;
	if (length == -FI_EAVAIL)
		return take_error(fi);
	if (length <= 0)
		return NULL;
	if (event == KEMU_EVENT_WAKE) {
		*drop = true;
		return NULL;
	}
	if (event == FI_CONNREQ || event == FI_CONNECTED || event == FI_SHUTDOWN)
		return take_cm(personality, event, bytes, (size_t)length);
	made = (struct kfi_eq_entry){ .fid = handle_of(entry->fid), .context = entry->context, .data = entry->data };
	return kemu_event_new(event, &made, sizeof(made));
}
