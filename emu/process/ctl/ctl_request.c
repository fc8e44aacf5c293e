/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_request.c - requests: one flat JSON object of strings, true and false.
 *
 * Anything else is refused: numbers, nesting, a member twice, a member that nobody knows, bytes behind the object. Of the escapes
 * in strings \u is taken up to 7f, and not 0. The bytes are not terminated, and any. */
#include <stdlib.h>
#include <string.h>

#include "emu/process/ctl/ctl_answer.h"

static const char not_one[] = "the request is no JSON object of strings, true and false";

struct input {
	const char *at, *end;
};

static bool input_take(struct input *in, char c)
{
	if (in->at == in->end || *in->at != c)
		return false;
	in->at++;
	return true;
}

static void input_skip(struct input *in)
{
	while (in->at < in->end && strchr(" \t\r", *in->at) && *in->at)
		in->at++;
}

static bool input_word(struct input *in, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length))
		return false;
	in->at += length;
	return true;
}

/* \u00HH; false: another one. */
static bool take_code(struct input *in, char *out)
{
	static const char digits[] = "0123456789abcdef";
	unsigned int value = 0;

	for (int i = 0; i < 4; i++) {
		char c = in->at < in->end ? *in->at : '\0';
		const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

		if (!digit)
			return false;
		value = 16 * value + (unsigned int)(digit - digits);
		in->at++;
	}
	*out = (char)value;
	return value > 0 && value < 0x80;
}

static bool take_escape(struct input *in, char *c)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (input_take(in, 'u'))
		return take_code(in, c);
	name = in->at < in->end && *in->at ? strchr(names, *in->at) : NULL;
	if (!name)
		return false;
	*c = values[name - names];
	in->at++;
	return true;
}

/* A string into `out`, terminated; false: it is none, or has no room. */
static bool input_string(struct input *in, char *out, size_t room)
{
	size_t length = 0;

	if (!input_take(in, '"'))
		return false;
	while (in->at < in->end && *in->at != '"') {
		char c = *in->at++;

		if ((unsigned char)c < 0x20 || (c == '\\' && !take_escape(in, &c)) || length + 1 >= room)
			return false;
		out[length++] = c;
	}
	out[length] = '\0';
	return input_take(in, '"');
}

static bool input_bool(struct input *in, bool *value)
{
	*value = input_word(in, "true");
	return *value || input_word(in, "false");
}

enum member { MEMBER_CMD, MEMBER_REVEAL, MEMBER_ON, MEMBER_CLEAR, MEMBER_LEVEL, MEMBER_TEXT, MEMBERS };

/* The plan is no longer than what is left of the request. */
static bool take_text(struct input *in, struct ctl_request *request)
{
	size_t room = (size_t)(in->end - in->at) + 1;

	request->text = malloc(room);
	return request->text && input_string(in, request->text, room);
}

static const char *take_member(struct input *in, struct ctl_request *request, unsigned int *seen)
{
	static const char *const names[MEMBERS] = { "cmd", "reveal", "on", "clear", "level", "text" };
	char name[16];
	unsigned int member;
	bool ok = input_string(in, name, sizeof(name));

	for (member = 0; ok && member < MEMBERS && strcmp(names[member], name); member++)
		;
	if (ok && member == MEMBERS)
		return "the request has a member that this process does not know: it may be of another version than emuctl";
	input_skip(in);
	if (!ok || *seen & 1u << member || !input_take(in, ':'))
		return not_one;
	*seen |= 1u << member;
	input_skip(in);
	switch ((enum member)member) {
	case MEMBER_CMD:
		ok = input_string(in, request->cmd, sizeof(request->cmd));
		break;
	case MEMBER_REVEAL:
		ok = input_bool(in, &request->reveal);
		break;
	case MEMBER_ON:
		ok = input_bool(in, &request->on);
		break;
	case MEMBER_CLEAR:
		ok = input_bool(in, &request->clear);
		break;
	case MEMBER_LEVEL:
		ok = input_string(in, request->level, sizeof(request->level));
		break;
	case MEMBER_TEXT:
		ok = take_text(in, request);
		break;
	case MEMBERS:
		break;
	}
	input_skip(in);
	return ok ? NULL : not_one;
}

static const char *take_object(struct input *in, struct ctl_request *request)
{
	unsigned int seen = 0;
	const char *wrong;

	input_skip(in);
	if (!input_take(in, '{'))
		return not_one;
	do {
		input_skip(in);
		wrong = take_member(in, request, &seen);
		if (wrong)
			return wrong;
	} while (input_take(in, ','));
	if (!input_take(in, '}'))
		return not_one;
	input_skip(in);
	return in->at == in->end && seen & 1u << MEMBER_CMD ? NULL : not_one;
}

const char *ctl_request_read(const char *bytes, size_t length, struct ctl_request *request)
{
	struct input in = { bytes, bytes + length };
	const char *wrong;

	memset(request, 0, sizeof(*request));
	wrong = take_object(&in, request);
	if (wrong) {
		free(request->text);
		request->text = NULL;
	}
	return wrong;
}
