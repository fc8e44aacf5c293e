/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem_impl.h - the parts of the library of emulated devices. */
#ifndef EMU_HMEM_HMEM_IMPL_H
#define EMU_HMEM_HMEM_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/emu/hmem.h"

/* --- FI_EMU_HMEM and FI_EMU_HMEM_SIZE: which devices there are. --- */

enum { HMEM_DEVICES_MAX = 16 }; /* of an interface */

struct hmem_config {
	int devices[EMU_HMEM_IFACES];
	size_t size; /* bytes of each device, a multiple of EMU_HMEM_PAGE */
};

/* Reads values of the two variables; NULL: not set. False after a line on stderr, and there are no devices. */
bool hmem_config_read(const char *devices, const char *size, struct hmem_config *config);

/* Prints a line on stderr, with the library's name before it. Async-signal-safe but for the conversions of printf. */
void hmem_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- The addresses of one device: which pages belong to which allocation.
 *
 * Owner: hmem.c. Thread: holder of its lock; the fault handler, too: a thread that faults does not hold it. --- */

struct hmem_block {
	char *base;
	size_t size;  /* as asked for */
	size_t pages; /* of EMU_HMEM_PAGE; the one behind them is nobody's, so that an overrun meets no other allocation */
	size_t named; /* pages whose owner it is; a freed block stays until others have taken them, to be told from none */
	int fd;       /* its bytes; -1: freed */
};

struct hmem_space {
	unsigned int iface;
	int device; /* or EMU_HMEM_HOST */
	char *base;
	size_t pages;              /* of addresses: one more than the device's memory has */
	size_t free;               /* pages of memory that no allocation has */
	size_t next;               /* where the search for room begins: freed addresses are used again late */
	struct hmem_block **owner; /* of each page; NULL: none */
};

/* Makes a space of addresses that the caller has reserved. 0 or -ENOMEM. */
int hmem_space_open(struct hmem_space *space, char *base, size_t pages);
/* Finds room and takes it: 0 and *block, without bytes yet; -ENOMEM. */
int hmem_space_take(struct hmem_space *space, size_t size, struct hmem_block **block);
/* Gives it back; its memory is the caller's to end. The block may be gone then. */
void hmem_space_give(struct hmem_space *space, struct hmem_block *block);
/* The block, live or freed, whose pages have this byte of the space; NULL: none. */
struct hmem_block *hmem_space_at(const struct hmem_space *space, const void *addr);

/* --- SIGSEGV of a program that touches a device's memory. --- */

/* Puts the handler over the one that is there, once a process. `tell` prints the line if the address is ours, and whatever it
 * does, the fault goes on to the handler before, or ends the process. 0 or -errno. */
int hmem_fault_install(void (*tell)(const void *addr));

#endif
