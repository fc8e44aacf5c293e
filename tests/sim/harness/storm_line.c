/* SPDX-License-Identifier: BSD-2-Clause */
/* storm_line.c - the line that names a storm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/harness/storm.h"

static const char *const kinds[STORM_KINDS] = {
	[STORM_PLAIN] = "plain",   [STORM_DURABLE] = "durable", [STORM_LIVES] = "lives",   [STORM_ATOMICS] = "atomics",
	[STORM_TAGGED] = "tagged", [STORM_PROVED] = "proved",   [STORM_QUEUES] = "queues", [STORM_HARSH] = "harsh",
};

static const char *const bounds[STORM_BOUNDS] = {
	[STORM_OPS] = "ops",       [STORM_NODES] = "nodes",     [STORM_TWINS] = "twins", [STORM_OPEN] = "open",
	[STORM_BIG] = "big",       [STORM_CUTS] = "cuts",       [STORM_FLIPS] = "flips", [STORM_SCARCE] = "scarce",
	[STORM_DEATHS] = "deaths", [STORM_RETURNS] = "returns", [STORM_DELAY] = "delay", [STORM_DIAL] = "dial",
	[STORM_CHOPS] = "chops",   [STORM_TIGHT] = "tight",     [STORM_SMALL] = "small", [STORM_SLOW] = "slow",
	[STORM_WRONG] = "wrong",   [STORM_SILENT] = "silent",   [STORM_CHURN] = "churn", [STORM_NOTES] = "notes",
};

void storm_init(struct storm *storm, enum storm_kind kind, uint64_t seed)
{
	*storm = (struct storm){ .kind = kind, .seed = seed };
	memset(storm->most, 0xff, sizeof(storm->most));
}

uint64_t storm_least(enum storm_bound bound)
{
	switch (bound) {
	case STORM_OPS:
	case STORM_NODES:
	case STORM_OPEN:
		return 1;
	case STORM_BIG:
		return 64; /* receives of less do not hold what tells messages apart */
	default:
		return 0;
	}
}

void storm_print(const struct storm *storm, char line[STORM_LINE])
{
	int at = snprintf(line, STORM_LINE, "%s:%llu", kinds[storm->kind], (unsigned long long)storm->seed);
	char mark = ':';

	for (int i = 0; i < STORM_BOUNDS; i++) {
		if (storm->most[i] == UINT64_MAX)
			continue;
		at += snprintf(line + at, (size_t)(STORM_LINE - at), "%c%s=%llu", mark, bounds[i],
			       (unsigned long long)storm->most[i]);
		mark = ',';
	}
}

static int name_at(const char *const *names, int count, const char *text, size_t length)
{
	for (int i = 0; i < count; i++)
		if (strlen(names[i]) == length && !strncmp(names[i], text, length))
			return i;
	return -1;
}

/* One NAME=NUMBER; where it ends, or NULL. */
static const char *parse_bound(struct storm *storm, const char *text)
{
	size_t length = strcspn(text, "=");
	int bound = name_at(bounds, STORM_BOUNDS, text, length);
	char *end;

	if (bound < 0 || !text[length])
		return NULL;
	storm->most[bound] = strtoull(text + length + 1, &end, 10);
	if (storm->most[bound] < storm_least((enum storm_bound)bound))
		return NULL;
	return end == text + length + 1 ? NULL : end;
}

bool storm_parse(struct storm *storm, const char *line)
{
	size_t length = strcspn(line, ":");
	int kind = name_at(kinds, STORM_KINDS, line, length);
	char *end;

	if (kind < 0 || !line[length])
		return false;
	storm_init(storm, (enum storm_kind)kind, strtoull(line + length + 1, &end, 10));
	line = end;
	for (char mark = ':'; line && *line == mark; mark = ',')
		line = parse_bound(storm, line + 1);
	return line && !*line && end[-1] != ':';
}
