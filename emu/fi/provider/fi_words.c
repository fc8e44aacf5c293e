/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_words.c - which names in a sentence are the interface's, and what they become; the bits of an argument in words. */
#include "emu/fi/provider/fi_words.h"

#include <ctype.h>
#include <stdatomic.h>
#include <string.h>
#include <rdma/fi_domain.h>
#include <stdio.h>

#include "emu/fi/provider/fi_compat.h"

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

/* --- the bits of an argument in words --- */

/* fi_tostr() lacks the names of some flags. */
static const struct {
	uint64_t flag;
	const char *name;
} others[] = {
	{ COMPAT_MR_DMABUF, "FI_MR_DMABUF" },           { COMPAT_MR_SINGLE_USE, "FI_MR_SINGLE_USE" },
	{ FI_HMEM_DEVICE_ONLY, "FI_HMEM_DEVICE_ONLY" }, { FI_HMEM_HOST_ALLOC, "FI_HMEM_HOST_ALLOC" },
	{ FI_COMMIT_COMPLETE, "FI_COMMIT_COMPLETE" },   { COMPAT_AUTH_KEY, "FI_AUTH_KEY" },
};

static void bit_name(uint64_t bit, enum fi_type first, char *name, size_t size)
{
	enum fi_type second = first == FI_TYPE_CAPS ? FI_TYPE_OP_FLAGS : FI_TYPE_CAPS;

	fi_tostr_r(name, size, &bit, first);
	for (size_t i = 0; first != FI_TYPE_CAPS && !*name && i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].flag == bit)
			snprintf(name, size, "%s", others[i].name);
	if (!*name)
		fi_tostr_r(name, size, &bit, second);
	if (!*name)
		snprintf(name, size, "bit %d", __builtin_ctzll(bit));
}

const char *flag_names(uint64_t flags, enum fi_type first, char text[FLAG_NAMES_MAX])
{
	size_t length = 0;

	snprintf(text, FLAG_NAMES_MAX, "none");
	for (; flags && length < FLAG_NAMES_MAX; flags &= flags - 1) {
		char name[64];

		bit_name(flags & -flags, first, name, sizeof(name));
		length += (size_t)snprintf(text + length, FLAG_NAMES_MAX - length, "%s%s", length ? ", " : "", name);
	}
	return text;
}
