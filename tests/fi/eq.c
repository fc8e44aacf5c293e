/* SPDX-License-Identifier: BSD-2-Clause */
/* eq.c - event queues. */
#include "tests/fi/world.h"

#include <poll.h>
#include <string.h>

static struct fi_eq_entry entry_of(uint64_t data)
{
	return (struct fi_eq_entry){ .data = data };
}

Test(fi_eq, events_come_in_order_and_can_be_peeked)
{
	struct fi_eq_entry first = entry_of(1), second = entry_of(2), got;
	uint32_t event = 0;
	struct world w;

	world_open(&w, &(struct want){ .eq_flags = FI_WRITE });
	RC(-FI_EAGAIN, fi_eq_read(w.eq, &event, &got, sizeof(got), 0));
	RC(sizeof(first), fi_eq_write(w.eq, FI_NOTIFY, &first, sizeof(first), 0));
	RC(sizeof(second), fi_eq_write(w.eq, FI_SHUTDOWN, &second, sizeof(second), 0));
	RC(-FI_ETOOSMALL, fi_eq_read(w.eq, &event, &got, sizeof(got) - 1, 0));
	RC(sizeof(got), fi_eq_read(w.eq, &event, &got, sizeof(got), FI_PEEK));
	cr_expect(event == FI_NOTIFY && got.data == 1);
	RC(sizeof(got), fi_eq_read(w.eq, &event, &got, sizeof(got), 0));
	cr_expect(event == FI_NOTIFY && got.data == 1);
	RC(sizeof(got), fi_eq_read(w.eq, &event, &got, sizeof(got), 0));
	cr_expect(event == FI_SHUTDOWN && got.data == 2);
	RC(-FI_EAGAIN, fi_eq_readerr(w.eq, &(struct fi_eq_err_entry){ 0 }, 0));
	RC(-FI_EBADFLAGS, fi_eq_read(w.eq, &event, &got, sizeof(got), 1ull << 60));
	RC(-FI_EINVAL, fi_eq_write(w.eq, 0, NULL, 8, 0));
	RC(-FI_EINVAL, fi_eq_write(w.eq, 0, &first, 1 << 20, 0));
	RC(-FI_EINVAL, fi_eq_sread(w.eq, &event, &got, sizeof(got), 0, 0)); /* no wait object */
	world_close(&w);
}

Test(fi_eq, only_a_writable_queue_is_written)
{
	struct fi_eq_entry entry = entry_of(1);
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(-FI_EINVAL, fi_eq_write(w.eq, FI_NOTIFY, &entry, sizeof(entry), 0));
	world_close(&w);
}

Test(fi_eq, overrun_is_said_after_what_was_kept)
{
	struct fi_eq_entry entry = entry_of(1), got;
	struct fi_eq_err_entry error = { 0 };
	size_t written = 0, read = 0;
	uint32_t event;
	struct world w;

	world_open(&w, &(struct want){ .eq_flags = FI_WRITE });
	while (fi_eq_write(w.eq, FI_NOTIFY, &entry, sizeof(entry), 0) == sizeof(entry))
		cr_assert(++written < 1 << 21, "no limit");
	RC(-FI_EOVERRUN, fi_eq_write(w.eq, FI_NOTIFY, &entry, sizeof(entry), 0));
	while (fi_eq_read(w.eq, &event, &got, sizeof(got), 0) == sizeof(got))
		read++;
	cr_expect(read == written);
	RC(-FI_EAVAIL, fi_eq_read(w.eq, &event, &got, sizeof(got), 0));
	RC(sizeof(error), fi_eq_readerr(w.eq, &error, 0));
	cr_expect(error.err == FI_EOVERRUN);
	cr_expect(fi_eq_strerror(w.eq, error.prov_errno, NULL, NULL, 0));
	world_close(&w);
}

Test(fi_eq, the_descriptor_is_readable_while_there_are_events)
{
	struct fi_eq_entry entry = entry_of(1), got;
	struct pollfd pollfd = { .events = POLLIN };
	enum fi_wait_obj obj;
	struct fid *fids[1];
	uint32_t event;
	struct world w;

	world_open(&w, &(struct want){ .eq_flags = FI_WRITE, .wait_obj = FI_WAIT_FD });
	fids[0] = &w.eq->fid;
	RC(0, fi_control(&w.eq->fid, FI_GETWAIT, &pollfd.fd));
	RC(0, fi_control(&w.eq->fid, FI_GETWAITOBJ, &obj));
	cr_expect(obj == FI_WAIT_FD);
	RC(0, fi_trywait(w.fabric, fids, 1));
	RC(0, poll(&pollfd, 1, 0));
	RC(-FI_EAGAIN, fi_eq_sread(w.eq, &event, &got, sizeof(got), 1, 0));
	for (int i = 0; i < 3; i++)
		RC(sizeof(entry), fi_eq_write(w.eq, FI_NOTIFY, &entry, sizeof(entry), 0));
	RC(-FI_EAGAIN, fi_trywait(w.fabric, fids, 1));
	for (int i = 0; i < 3; i++) {
		RC(1, poll(&pollfd, 1, 0));
		RC(sizeof(got), fi_eq_sread(w.eq, &event, &got, sizeof(got), -1, 0));
	}
	RC(0, poll(&pollfd, 1, 0));
	world_close(&w);
}

Test(fi_eq, attributes)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_SET };
	struct fid_eq *eq;
	struct world w;

	world_open(&w, &(struct want){ 0 });
	RC(-FI_EINVAL, fi_eq_open(w.fabric, &attr, &eq, NULL));
	attr = (struct fi_eq_attr){ .wait_obj = 99 };
	RC(-FI_EINVAL, fi_eq_open(w.fabric, &attr, &eq, NULL));
	attr = (struct fi_eq_attr){ .flags = 1 };
	RC(-FI_EBADFLAGS, fi_eq_open(w.fabric, &attr, &eq, NULL));
	RC(-FI_EINVAL, fi_eq_open(w.fabric, NULL, &eq, NULL));
	RC(-FI_EBUSY, fi_close(&w.eq->fid));
	RC(-FI_EBUSY, fi_close(&w.fabric->fid));
	world_close(&w);
}
