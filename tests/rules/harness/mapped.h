/* SPDX-License-Identifier: BSD-2-Clause */
/* mapped.h - a region of a few pages at the target whose mapping comes and goes under it. */
#ifndef TESTS_RULES_MAPPED_H
#define TESTS_RULES_MAPPED_H

#include "tests/rules/harness/harness.h"

enum { MAPPED_PAGES = 3, MAPPED_LEN = MAPPED_PAGES * PAGE };

/* Reserves the pages, has the first `there` of them mapped and filled, and registers all. Its return value; 0: *key and
 * *addr are how the initiator reaches the first byte. */
int mapped_open(struct pair *p, size_t there, uint64_t *key, uint64_t *addr);
void mapped_close(struct pair *p);

/* In a step: where that page is. */
uint8_t *mapped_page(size_t page);
/* At the target: new pages in the place of page..page+count, untouched; filled with `fill`; gone. */
void mapped_renew(struct pair *p, size_t page, size_t count);
void mapped_fill(struct pair *p, size_t page, size_t count, int fill);
void mapped_drop(struct pair *p, size_t page, size_t count);
/* fi_mr_refresh there: of these bytes, or, with length 0, of the whole. */
int mapped_refresh(struct pair *p, size_t from, size_t length);
/* The bytes there are what this side wrote last. */
void mapped_holds(struct pair *p, size_t from, size_t length);

#endif
