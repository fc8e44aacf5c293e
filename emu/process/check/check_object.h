/* SPDX-License-Identifier: BSD-2-Clause */
/* check_object.h - checked mode of a front end whose calls tell of its objects, and whose posts all are watched. Any thread.
 *
 * While it is off, check_opened() returns NULL and the rest does nothing. */
#ifndef EMU_PROCESS_CHECK_OBJECT_H
#define EMU_PROCESS_CHECK_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trigger;
struct watch_ops;

/* An open object's record. NULL: the process is not checked, or there was no memory. */
struct check_record;

struct check_what {
	const char *name, *end; /* "completion queue"; the call that ends it */
	unsigned int outer;     /* those that are open in it have less, and are told of in its place */
	const void *at;         /* a region's memory, */
	size_t length;
	uint64_t key;
	bool written, pinned; /* to which peers may write; which is to stay mapped */
};

/* The process is to be checked, from now on. 0 or ENOMEM. */
int check_start(void);
/* For post.when and recv_post.when: it is watched, by checked mode or by reports. NULL: by neither. */
const struct trigger *check_posts(void);
/* For nic_start; NULL: none. */
const struct watch_ops *check_watch_posts(void);
/* The caller has opened it, and closes it. */
struct check_record *check_opened(const struct check_what *what);
void check_closed(struct check_record *record);
/* The completion queue was full. */
void check_overran(const struct check_record *queue, size_t size);
/* The program may know from here on what has ended. */
void check_settle(void);
/* That, where the caller has handed it completions. It may take its time. */
void check_settle_told(void);
/* The process exits, and the NIC still runs. */
void check_exits(void);

#endif
