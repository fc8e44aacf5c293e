/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_words.c - which names in a sentence are the interface's, and what they become. */
#include "emu/fi/provider/fi_words.h"

#include <ctype.h>
#include <stdatomic.h>
#include <string.h>

static atomic_bool kernel;

void words_of_kernel(bool on)
{
	atomic_store_explicit(&kernel, on, memory_order_relaxed);
}

static const struct word {
	const char *prefix, *becomes; /* NULL: stays */
} words[] = {
	{ "FI_EMU_", NULL }, { "FI_LOG_", NULL },   { "FI_PROVIDER", NULL },
	{ "FI_", "KFI_" },   { "EMU_FI_", "KFI_" }, { "fi_", "kfi_" },
};

static const struct word *word_at(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(name, words[i].prefix, strlen(words[i].prefix)))
			return &words[i];
	return NULL;
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

size_t words_put(char *text, size_t size)
{
	size_t length = strnlen(text, size);

	if (!atomic_load_explicit(&kernel, memory_order_relaxed))
		return length;
	for (size_t at = 0; at < length; at++) {
		const struct word *word = at && in_name(text[at - 1]) ? NULL : word_at(text + at);
		size_t was, is, rest;

		if (!word || !word->becomes)
			continue;
		was = strlen(word->prefix);
		is = strlen(word->becomes);
		rest = length - at - was;
		if (at + is + rest >= size) /* a longer name pushes the end out */
			rest = at + is < size ? size - 1 - at - is : 0;
		if (at + is >= size)
			break;
		memmove(text + at + is, text + at + was, rest);
		memcpy(text + at, word->becomes, is);
		length = at + is + rest;
		text[length] = '\0';
	}
	return length;
}
