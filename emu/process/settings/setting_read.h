/* SPDX-License-Identifier: BSD-2-Clause */
/* setting_read.h - values of settings: out of the environment, numbers in them, and files that they name. Any thread. */
#ifndef EMU_PROCESS_SETTING_READ_H
#define EMU_PROCESS_SETTING_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "emu/nic/base/limits.h"

/* --- Values of settings out of the environment, each of one kind. All return 0, or -EINVAL after a line of log that names the
 * variable; a value stays as it was if its setting is not set. Any thread. --- */

/* The index of the value among `words` (NULL ends them). */
int setting_word(const char *name, const char *const *words, size_t *index);
/* A whole number, and nothing behind it. */
int setting_number(const char *name, uint64_t min, uint64_t max, uint64_t *value);
/* On or off. */
int setting_flag(const char *name, bool *flag);

/* --- numbers in settings, the same in every locale. Pure. False: not such a number, and nothing is written. --- */

/* Decimal, or hexadecimal after 0x; up to 2^64 - 1. */
bool parse_whole(const char *text, uint64_t *value);
/* A decimal fraction from 0 to 1 in billionths; further digits are ignored. */
bool parse_rate(const char *text, uint32_t *billionths);
/* A whole number and its unit, us, ms or s: up to an hour. */
bool parse_time(const char *text, uint64_t *ns);

/* --- FI_EMU_CHECK: on or off, or "races" and more words with commas between. False, and nothing is written, if it is neither. */

struct check_setting {
	bool on;
	bool races;  /* looks for races, too; */
	bool strict; /* memory that is polled is one */
	bool has_seed;
	uint64_t seed;
};

bool parse_check(const char *text, struct check_setting *check);

/* --- Files that settings name. Such a file is a regular one: a pipe would let the program wait, and a device has no end. A
 * reader bounds what it takes all the same. --- */

/* A descriptor to read, and *status; or -1, and *flaw is a phrase that says why. */
int setting_file_open(const char *path, struct stat *status, const char **flaw);

/* --- FI_EMU_SECRET_FILE: the file whose bytes are the shared secret. Any thread. --- */

struct secret_bytes {
	size_t length;
	uint8_t bytes[LIMIT_SECRET + 1]; /* one more, to detect a longer file */
};

/* 0, and then the caller calls secret_forget() as soon as possible. -EINVAL after a line of log: the file does not exist, is no
 * plain file, is accessible to others than its owner, or is too short or long. */
int secret_read(const char *path, struct secret_bytes *secret);
/* Wipes it. */
void secret_forget(struct secret_bytes *secret);

#endif
