/* SPDX-License-Identifier: BSD-2-Clause */
/* json.h - writes one line of JSON into a buffer of the caller's, which bounds it.
 *
 * A member that does not fit is left out as a whole, and `cut` tells: the line is valid JSON whatever its size. Text that is no
 * UTF-8 is written with '?' in the place of each wrong byte. `name` is NULL in an array. Owner and thread: the caller's. */
#ifndef EMU_PROCESS_JSON_H
#define EMU_PROCESS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	char *text;
	size_t size, length;
	unsigned depth;   /* objects and arrays that are open, the outermost included */
	unsigned skipped; /* likewise, of those that did not fit */
	char ends[16];    /* how each open one ends */
	bool first;       /* the next member is the first of its object or array */
	bool cut;
};

/* Begins the outermost object. `size` is at least 64. */
void json_open(struct json *json, char *text, size_t size);
/* Ends the line, with a line feed; its length. All that was begun is ended. */
size_t json_close(struct json *json);
void json_object(struct json *json, const char *name);
void json_array(struct json *json, const char *name);
/* Ends the innermost object or array. */
void json_end(struct json *json);
/* Nothing for NULL. */
void json_string(struct json *json, const char *name, const char *value);
void json_number(struct json *json, const char *name, uint64_t value);
/* A string such as "0x2a". */
void json_hex(struct json *json, const char *name, uint64_t value);
void json_bool(struct json *json, const char *name, bool value);

#endif
