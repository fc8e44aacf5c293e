/* SPDX-License-Identifier: BSD-2-Clause */
/* place.h - where a node listens: its socket address, and the name that people know it by.
 * Thread: one. */
#ifndef EMU_DOCKER_PLACE_H
#define EMU_DOCKER_PLACE_H

#include <stddef.h>
#include <stdbool.h>

#include <netinet/in.h>
#include <sys/socket.h>

enum { NODES_MAX = 64, PLACE_NAME_SIZE = 56, PLACE_TEXT_SIZE = INET6_ADDRSTRLEN + 8 };

#define PLACE_PORT "7471"

struct place {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at;
	char name[PLACE_NAME_SIZE];
};

/* The family that EMU_FAMILY asks for: AF_INET for 4, AF_INET6 for 6, else AF_UNSPEC. */
int place_family(void);

/* Cuts HOST, HOST:PORT or [HOST]:PORT in two, in place; the port is PLACE_PORT if there is none. False: malformed. */
bool place_split(char *text, const char **host, const char **port);

/* The addresses of a host: all of one family, IPv4 if there are any unless EMU_FAMILY says otherwise. Writes at most
 * max and returns how many there are, 0 if the name does not resolve. They have no names yet. */
size_t place_find(const char *host, const char *port, struct place *out, size_t max);

/* Gives each the name that the network has for it, if it has any, else its address; and sorts by that, with numbers in
 * names in the order of numbers. */
void place_name_all(struct place *places, size_t count);

/* False if the name that a place has from the network leads there no longer: the host has ended, or has left. */
bool place_stands(const struct place *place);

bool place_same(const struct place *a, const struct place *b);

socklen_t place_len(const struct place *place);

/* ADDRESS:PORT or [ADDRESS]:PORT. Returns text. */
char *place_text(const struct place *place, char text[PLACE_TEXT_SIZE]);

#endif
