/* SPDX-License-Identifier: BSD-2-Clause */
/* name.h - an endpoint's address as frames carry it, and as a person reads it. Pure. */
#ifndef EMU_NIC_NAME_H
#define EMU_NIC_NAME_H

#include <stddef.h>
#include <sys/socket.h>

struct wire_address_fields;

void name_put(const struct sockaddr_storage *name, struct wire_address_fields *fields);
/* In canonical form (av.h). */
void name_get(const struct wire_address_fields *fields, struct sockaddr_storage *name);
/* "192.0.2.1:4711"; returns text. */
const char *name_text(const struct sockaddr_storage *name, char *text, size_t size);

#endif
