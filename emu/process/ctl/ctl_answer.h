/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_answer.h - an answer that is being made, for the files of emu/process/ctl alone. Thread: the NIC thread. */
#ifndef EMU_PROCESS_CTL_ANSWER_H
#define EMU_PROCESS_CTL_ANSWER_H

#include "emu/net/ctl/ctl.h"
#include "emu/nic/device/view.h"
#include "emu/process/report/json.h"

enum { CTL_LINE = 1024, CTL_QUEUES = 256 /* of which each is told once */ };

/* {"cmd":"mr","reveal":true}: one flat object; members that nobody knows are refused. */
struct ctl_request {
	char cmd[16];
	bool reveal;   /* keys as they are, else all but their first digits are hidden */
	bool on;       /* trace */
	bool clear;    /* fault */
	char level[8]; /* log, watch: "warn", "info" or "debug"; empty: all there is */
	char *text;    /* fault: the plan, event: its name and object; malloc'd; NULL: none */
};

/* NULL; or what is wrong, a sentence, and then there is nothing to free. */
const char *ctl_request_read(const char *bytes, size_t length, struct ctl_request *request);

/* Sums over the sessions and queues, which are looked at in turns. */
struct ctl_sums {
	uint64_t sessions, open, sent, acked, seen, taken, unread, errors, unexpected, unexpected_bytes;
};

struct ctl_answer {
	struct ctl_request request;
	const struct ctl_command *command;
	const char *wrong; /* the request: the sentence */
	struct view_cursor cursor;
	uint32_t step;
	uint64_t number; /* of the last line of log told */
	bool watches;
	struct ctl_sums sums;
	const struct cq *queues[CTL_QUEUES];
	uint32_t queue_count;
	char why[256];
};

/* The text of one piece. */
struct ctl_piece {
	char *text;
	size_t length;
};

/* Begins a line of that type. There is room for CTL_LINE bytes. */
void ctl_line(struct ctl_piece *piece, struct json *json, const char *type, size_t room);
void ctl_line_end(struct ctl_piece *piece, struct json *json);
static inline bool ctl_room(const struct ctl_piece *piece)
{
	return CTL_PIECE - piece->length >= 2 * CTL_LINE; /* one more, and the end */
}
enum ctl_next ctl_end(struct ctl_piece *piece);
enum ctl_next ctl_error(struct ctl_piece *piece, const char *sentence);
/* A key as this request may see it. */
void ctl_key(const struct ctl_answer *answer, struct json *json, const char *name, uint64_t key);
/* Is it the first time that the answer meets this queue? Those past CTL_QUEUES are not told. */
bool ctl_queue_new(struct ctl_answer *answer, const struct cq *cq);

struct ctl_command {
	const char *name;
	enum ctl_next (*more)(struct ctl_answer *answer, struct ctl_piece *piece);
};

enum ctl_next ctl_info(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_ep(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_conn(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_mr(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_cq(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_stat(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_log(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_watch(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_trace(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_fault(struct ctl_answer *answer, struct ctl_piece *piece);
enum ctl_next ctl_event(struct ctl_answer *answer, struct ctl_piece *piece);
/* The answer, which may be one to "watch", ends. */
void ctl_watch_end(struct ctl_answer *answer);

#endif
