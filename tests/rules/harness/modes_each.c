/* SPDX-License-Identifier: BSD-2-Clause */
/* modes_each.c - the modes that a test runs in. */
#include "tests/rules/harness/harness.h"

#include <stdarg.h>
#include <stdio.h>

/* The modes that a program may offer. The provider answers with the part that it asks for; where that was seen already, or the
 * capabilities are not to be had, the mode is passed over. */
static const struct offer {
	uint64_t mr_mode, caps;
} offers[] = {
	{ 0, 0 },
	{ FI_MR_BASIC_BITS, 0 },
	{ FI_MR_LOCAL, 0 },
	{ FI_MR_LOCAL | FI_MR_BASIC_BITS, 0 },
	{ FI_MR_VIRT_ADDR, 0 },
	{ FI_MR_LOCAL | FI_MR_PROV_KEY, 0 },
	{ FI_MR_RAW, 0 },
	{ FI_MR_MMU_NOTIFY, 0 },
	{ FI_MR_MMU_NOTIFY | FI_MR_ALLOCATED, 0 },
	{ FI_MR_ENDPOINT, 0 },
	{ FI_MR_RMA_EVENT, WITH_EVENTS },
	{ FI_MR_LOCAL | FI_MR_RAW | FI_MR_BASIC_BITS | FI_MR_ENDPOINT | FI_MR_RMA_EVENT | FI_MR_MMU_NOTIFY, WITH_EVENTS },
};
enum { OFFERS = sizeof(offers) / sizeof(*offers) };

uint64_t mode_only;
bool mode_chosen;

static char skipped[256]; /* why the last body was left */
static bool was_skipped;

void mode_skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(skipped, sizeof(skipped), fmt, args);
	va_end(args);
	was_skipped = true;
}

static void label_mode(const struct peer *peer, const char *more)
{
	static const struct {
		uint64_t bit;
		const char *name;
	} names[] = {
		{ FI_MR_LOCAL, "LOCAL" },         { FI_MR_RAW, "RAW" },
		{ FI_MR_VIRT_ADDR, "VIRT_ADDR" }, { FI_MR_ALLOCATED, "ALLOCATED" },
		{ FI_MR_PROV_KEY, "PROV_KEY" },   { FI_MR_MMU_NOTIFY, "MMU_NOTIFY" },
		{ FI_MR_ENDPOINT, "ENDPOINT" },   { FI_MR_RMA_EVENT, "RMA_EVENT" },
	};
	uint64_t mode = (uint64_t)peer->info->domain_attr->mr_mode;
	char text[128] = "";
	size_t i, at = 0;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (mode & names[i].bit)
			at += (size_t)snprintf(text + at, sizeof(text) - at, " %s", names[i].name);
	check_label("[mr_mode%s%s]", mode ? text : " 0", more);
}

/* One walk through the modes. */
struct walk {
	uint64_t modes[OFFERS]; /* those that came back */
	size_t next, count;
	bool spoke; /* some body was not left */
};

/* The next mode that was not there yet; false at the end. */
static bool next_mode(struct walk *walk, struct peer_want *want)
{
	while (walk->next < OFFERS) {
		const struct offer *offer = &offers[walk->next++];
		struct fi_info *info;
		uint64_t mode;
		size_t i = 0;
		int rc;

		*want = (struct peer_want){ .mr_mode = offer->mr_mode, .caps = offer->caps };
		if (mode_chosen) {
			want->mr_mode = mode_only;
			want->caps = mode_only & FI_MR_RMA_EVENT ? WITH_EVENTS : 0;
			walk->next = OFFERS;
		}
		rc = peer_getinfo(want, &info);
		if (rc == -FI_ENODATA)
			continue;
		CHECK_RC(0, rc);
		mode = (uint64_t)info->domain_attr->mr_mode;
		fi_freeinfo(info);
		while (i < walk->count && walk->modes[i] != mode)
			i++;
		if (i < walk->count)
			continue;
		walk->modes[walk->count++] = mode;
		was_skipped = false;
		return true;
	}
	return false;
}

static void end_walk(const struct walk *walk)
{
	check_label("%s", "");
	if (!walk->count)
		NOT_APPLICABLE("%s has no RDM endpoint with FI_MSG and FI_RMA for these mr_mode bits", peer_provider());
	if (!walk->spoke)
		NOT_APPLICABLE("%s", skipped);
}

void peer_each(void (*body)(struct peer *p))
{
	struct walk walk = { .next = 0 };
	struct peer_want want;
	struct peer peer;

	while (next_mode(&walk, &want)) {
		peer_open(&peer, &want);
		label_mode(&peer, "");
		body(&peer);
		walk.spoke |= !was_skipped;
		peer_close(&peer);
	}
	end_walk(&walk);
}

static void run_pair(struct pair *p, const struct peer_want *want, void (*body)(struct pair *p))
{
	static const uint64_t levels[] = { 0, FI_DELIVERY_COMPLETE };
	size_t k;

	for (k = 0; k < 2; k++) {
		pair_open(p, want, levels[k]);
		label_mode(&p->peer, levels[k] ? ", delivery complete" : "");
		body(p);
		pair_close(p);
	}
}

void pair_each(void (*body)(struct pair *p))
{
	struct walk walk = { .next = 0 };
	struct peer_want want;
	struct pair p = { 0 };

	target_start(&p.target);
	while (next_mode(&walk, &want)) {
		run_pair(&p, &want, body);
		walk.spoke |= !was_skipped;
	}
	target_stop(&p.target);
	end_walk(&walk);
}

void pair_each_of(const struct peer_want *wants, size_t count, void (*body)(struct pair *p))
{
	struct pair p = { 0 };
	bool spoke = false;
	struct fi_info *info;
	size_t i;

	mode_skip("%s does not offer the capabilities", peer_provider());
	target_start(&p.target);
	for (i = 0; i < count; i++) {
		if (peer_getinfo(&wants[i], &info))
			continue;
		fi_freeinfo(info);
		was_skipped = false;
		run_pair(&p, &wants[i], body);
		spoke |= !was_skipped;
	}
	target_stop(&p.target);
	check_label("%s", "");
	if (!spoke)
		NOT_APPLICABLE("%s", skipped);
}
