/* SPDX-License-Identifier: BSD-2-Clause */
/* place.c - names to addresses, and back; see place.h. */
#include "docker/place.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "docker/wait.h"

int place_family(void)
{
	switch (setting("EMU_FAMILY", 4, 6, 0)) {
	case 0:
		return AF_UNSPEC;
	case 4:
		return AF_INET;
	case 6:
		return AF_INET6;
	default:
		give_up("EMU_FAMILY=%s: it takes 4 or 6", getenv("EMU_FAMILY"));
	}
}

bool place_split(char *text, const char **host, const char **port)
{
	char *end = text;

	*host = text;
	if (*text == '[') {
		*host = text + 1;
		end = strchr(text, ']');
		if (!end)
			return false;
		*end++ = '\0';
	} else {
		end += strcspn(text, ":");
	}
	if (*end && *end != ':')
		return false;
	*port = *end ? end + 1 : PLACE_PORT;
	*end = '\0';
	return **host && **port && !(*port)[strspn(*port, "0123456789")];
}

static size_t take_family(const struct addrinfo *found, int family, struct place *out, size_t max)
{
	size_t count = 0;

	for (const struct addrinfo *info = found; info; info = info->ai_next) {
		if (info->ai_family != family)
			continue;
		if (count < max) {
			memset(&out[count], 0, sizeof(out[count]));
			memcpy(&out[count].at, info->ai_addr, info->ai_addrlen);
		}
		count++;
	}
	return count;
}

size_t place_find(const char *host, const char *port, struct place *out, size_t max)
{
	struct addrinfo hints = { .ai_family = place_family(), .ai_socktype = SOCK_STREAM }, *found;
	size_t count;

	if (getaddrinfo(host, port, &hints, &found))
		return 0;
	count = take_family(found, AF_INET, out, max);
	if (!count)
		count = take_family(found, AF_INET6, out, max);
	freeaddrinfo(found);
	return count;
}

socklen_t place_len(const struct place *place)
{
	return place->at.any.sa_family == AF_INET6 ? sizeof(place->at.v6) : sizeof(place->at.v4);
}

char *place_text(const struct place *place, char text[PLACE_TEXT_SIZE])
{
	char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";

	getnameinfo(&place->at.any, place_len(place), host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(text, PLACE_TEXT_SIZE, place->at.any.sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return text;
}

bool place_same(const struct place *a, const struct place *b)
{
	char one[PLACE_TEXT_SIZE], other[PLACE_TEXT_SIZE];

	return !strcmp(place_text(a, one), place_text(b, other));
}

bool place_stands(const struct place *place)
{
	char text[PLACE_TEXT_SIZE], other[PLACE_TEXT_SIZE], *port;
	struct place found[NODES_MAX];
	size_t count;

	place_text(place, text);
	if (!strncmp(text, place->name, sizeof(place->name) - 1))
		return true; /* it has no name that could be looked up */
	port = strrchr(text, ':') + 1;
	count = place_find(place->name, port, found, NODES_MAX);
	for (size_t i = 0; i < count && i < NODES_MAX; i++) {
		if (!strcmp(place_text(&found[i], other), text))
			return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	return strverscmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

void place_name_all(struct place *places, size_t count)
{
	char text[PLACE_TEXT_SIZE], host[NI_MAXHOST];
	bool named = true;

	for (size_t i = 0; i < count; i++) {
		/* A network that has no name for one has none for the others, and may take long to say so. */
		named = named && !getnameinfo(&places[i].at.any, place_len(&places[i]), host, sizeof(host), NULL, 0, NI_NAMEREQD);
		if (named)
			host[strcspn(host, ".")] = '\0';
		snprintf(places[i].name, sizeof(places[i].name), "%.55s", named ? host : place_text(&places[i], text));
	}
	/* Processes of one machine share its name. */
	for (size_t i = 1; i < count; i++) {
		if (!strcmp(places[i].name, places[0].name))
			named = false;
	}
	for (size_t i = 0; i < count && !named; i++)
		snprintf(places[i].name, sizeof(places[i].name), "%.55s", place_text(&places[i], text));
	qsort(places, count, sizeof(*places), compare);
}
