/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_commands.c - the commands of the control socket, and what their answers share. */
#include "emu/process/ctl/ctl_commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/process/ctl/ctl_answer.h"

static const struct ctl_command commands[] = {
	{ "info", ctl_info },   { "ep", ctl_ep },       { "conn", ctl_conn },   { "mr", ctl_mr },
	{ "cq", ctl_cq },       { "stat", ctl_stat },   { "log", ctl_log },     { "watch", ctl_watch },
	{ "trace", ctl_trace }, { "fault", ctl_fault }, { "event", ctl_event },
};

void ctl_line(struct ctl_piece *piece, struct json *json, const char *type, size_t room)
{
	json_open(json, piece->text + piece->length, room);
	json_string(json, "type", type);
}

void ctl_line_end(struct ctl_piece *piece, struct json *json)
{
	piece->length += json_close(json);
}

enum ctl_next ctl_end(struct ctl_piece *piece)
{
	struct json json;

	ctl_line(piece, &json, "end", CTL_LINE);
	ctl_line_end(piece, &json);
	return CTL_END;
}

enum ctl_next ctl_error(struct ctl_piece *piece, const char *sentence)
{
	struct json json;

	ctl_line(piece, &json, "error", CTL_LINE);
	json_string(&json, "text", sentence);
	ctl_line_end(piece, &json);
	return CTL_END;
}

void ctl_key(const struct ctl_answer *answer, struct json *json, const char *name, uint64_t key)
{
	char digits[24], masked[24];

	snprintf(digits, sizeof(digits), "0x%" PRIx64, key);
	/* The first two digits of long keys tell one from another; of a short key they would be half of it. */
	snprintf(masked, sizeof(masked), "%.*s...", strlen(digits) >= 10 ? 4 : 2, digits);
	json_string(json, name, answer->request.reveal ? digits : masked);
}

bool ctl_queue_new(struct ctl_answer *answer, const struct cq *cq)
{
	for (uint32_t i = 0; i < answer->queue_count; i++)
		if (answer->queues[i] == cq)
			return false;
	if (!cq || answer->queue_count == CTL_QUEUES)
		return false;
	answer->queues[answer->queue_count++] = cq;
	return true;
}

static struct ctl_answer *answer_begin(const char *bytes, size_t length)
{
	struct ctl_answer *answer = calloc(1, sizeof(*answer));

	if (!answer)
		return NULL;
	answer->wrong = ctl_request_read(bytes, length, &answer->request);
	for (size_t i = 0; !answer->wrong && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, answer->request.cmd))
			answer->command = &commands[i];
	if (!answer->wrong && !answer->command)
		answer->wrong = "this process knows no such command: it may be of another version than emuctl";
	return answer;
}

static enum ctl_next answer_more(struct ctl_answer *answer, char *text, size_t *length)
{
	struct ctl_piece piece = { .text = text };
	enum ctl_next next;

	next = answer->wrong ? ctl_error(&piece, answer->wrong) : answer->command->more(answer, &piece);
	*length = piece.length;
	return next;
}

static void answer_end(struct ctl_answer *answer)
{
	ctl_watch_end(answer);
	free(answer->request.text);
	free(answer);
}

const struct ctl_ops ctl_answers = {
	.begin = answer_begin,
	.more = answer_more,
	.end = answer_end,
};
