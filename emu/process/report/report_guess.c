/* SPDX-License-Identifier: BSD-2-Clause */
/* report_guess.c - which mix-up led to a refused access: the likeliest of those that fit.
 * Pure, over a list of open regions. */
#include "emu/process/report/report_regions.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "emu/process/front/process_front.h"

enum { LOOKS = 4096, PAGE = 4096, WORD = 8 };

struct words {
	char *text;
	size_t size;
};

/* Its value is `meant`, for the caller to return. */
__attribute__((format(printf, 3, 4))) static const struct region_facts *say_meant(const struct words *to,
										  const struct region_facts *meant,
										  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(to->text, to->size, format, args);
	va_end(args);
	return meant;
}

static bool inside(uint64_t addr, uint64_t length, uint64_t start, uint64_t size)
{
	return addr >= start && addr - start <= size && length <= size - (addr - start);
}

/* Does the region hold the range, by its own way of addressing? */
static bool holds(const struct region_facts *facts, uint64_t addr, uint64_t length)
{
	return inside(addr, length, facts->virtual_addr ? facts->addr : 0, facts->length);
}

static bool touches_range(const struct region_facts *facts, uint64_t addr, uint64_t length)
{
	return facts->addr <= addr ? addr - facts->addr < facts->length : facts->addr - addr < length;
}

/* The first one that fits, among those that are looked at. */
typedef bool fits_fn(const struct region_facts *facts, const struct region_guess *guess);

static const struct region_facts *first_that(const struct region_facts *facts, const struct region_guess *guess, fits_fn *fits)
{
	for (int looks = 0; facts && looks < LOOKS; facts = facts->next, looks++)
		if ((!guess->pd || facts->pd == guess->pd) && fits(facts, guess))
			return facts;
	return NULL;
}

static bool has_key(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->key == guess->key;
}

static bool is_desc_of(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->desc && facts->desc == guess->key;
}

static bool is_swapped(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->key == guess->addr && inside(guess->key, 0, facts->addr, facts->length);
}

static bool is_address_in(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->addr && inside(guess->key, 1, facts->addr, facts->length);
}

static bool asked_key(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->asked == guess->key && facts->asked != facts->key && facts->access & guess->right;
}

static bool key_is_truncated(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->key > UINT32_MAX && (uint32_t)facts->key == guess->key;
}

static bool key_is_turned(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->key == __builtin_bswap64(guess->key) ||
	       (guess->key <= UINT32_MAX && facts->key == __builtin_bswap32((uint32_t)guess->key));
}

/* An offset fits into most regions, so it says nothing. */
static bool holds_virtual(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->key != guess->key && facts->virtual_addr && (facts->access & guess->right) == guess->right &&
	       holds(facts, guess->addr, guess->length);
}

static bool is_anew(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->key != guess->key && touches_range(facts, guess->addr, guess->length);
}

static const struct region_facts *guess_key(const struct region_facts *open, const struct region_guess *guess,
					    const struct words *to)
{
	const struct {
		fits_fn *fits;
		const char *what;
	} mixups[] = {
		{ is_desc_of, process_front.guesses[GUESS_DESCRIPTOR] },
		{ is_swapped, "Key and address are swapped: the key is an address in this region, and the address is its key. Pass "
			      "them the other way round." },
		{ asked_key, process_front.guesses[GUESS_ASKED] },
		{ key_is_truncated, "The key is the lower half of this region's. Keep keys in 64 bits." },
		{ key_is_turned, "The key is this region's with its bytes in the reverse order. Convert it on one side alone." },
		{ is_address_in, process_front.guesses[GUESS_ADDRESS] },
		{ holds_virtual, "This region holds the range under another key. Send its key with its addresses." },
	};

	for (size_t i = 0; i < sizeof(mixups) / sizeof(mixups[0]); i++) {
		const struct region_facts *meant = first_that(open, guess, mixups[i].fits);

		if (meant)
			return say_meant(to, meant, "%s", mixups[i].what);
	}
	return NULL;
}

/* Does the range fit exactly into the region's end, or its start, if it begins `step` bytes earlier, or later? */
static bool slipped(const struct region_facts *own, const struct region_guess *guess, uint64_t step)
{
	uint64_t start = own->virtual_addr ? own->addr : 0, at = guess->addr - start;

	return step && ((holds(own, guess->addr - step, guess->length) && at - step + guess->length == own->length) ||
			(holds(own, guess->addr + step, guess->length) && at + step == 0));
}

static const struct region_facts *guess_range(const struct region_facts *open, const struct region_guess *guess,
					      const struct words *to)
{
	const struct region_facts *own = first_that(open, guess, has_key), *other;

	if (own && !own->virtual_addr && inside(guess->addr, guess->length, own->addr, own->length))
		return say_meant(to, own,
				 "The address is a virtual one, and the region is addressed by offset from 0 (S59). Pass 0x%" PRIx64
				 ".",
				 guess->addr - own->addr);
	if (own && own->virtual_addr && inside(guess->addr, guess->length, 0, own->length))
		return say_meant(to, own,
				 "The address is an offset, and the region is addressed by virtual address (S60). Pass 0x%" PRIx64
				 ".",
				 own->addr + guess->addr);
	other = first_that(open, guess, holds_virtual);
	if (other)
		return say_meant(to, other,
				 "Another region holds the range, and the key is not its own. Use key and address of one "
				 "region.");
	if (own && slipped(own, guess, PAGE))
		return say_meant(to, own, "The range is off by one page. Compute where it begins again.");
	if (own && slipped(own, guess, guess->length))
		return say_meant(to, own, "The range is off by one element of %" PRIu64 " B. Count elements from 0.",
				 guess->length);
	if (own && slipped(own, guess, WORD))
		return say_meant(to, own, "The range is off by 8 B. Compute where it begins again.");
	return NULL;
}

static bool grants_same(const struct region_facts *facts, const struct region_guess *guess)
{
	return facts->key != guess->key && (facts->access & guess->right) == guess->right;
}

/* Another region over the same memory that has the right. */
static const struct region_facts *guess_right(const struct region_facts *open, const struct region_guess *guess,
					      const struct words *to)
{
	const struct region_facts *own = first_that(open, guess, has_key);
	struct region_guess memory = *guess;

	if (!own)
		return NULL;
	memory.addr = own->virtual_addr ? guess->addr : own->addr + guess->addr;
	for (const struct region_facts *facts = open; facts; facts = facts->next)
		if ((!guess->pd || facts->pd == guess->pd) && grants_same(facts, guess) &&
		    inside(memory.addr, memory.length, facts->addr, facts->length))
			return say_meant(to, facts, "This region holds the same bytes and allows it. Send its key.");
	return NULL;
}

/* Looks among the initiator's own regions: the peer has others. */
static const struct region_facts *guess_own(const struct region_facts *open, const struct region_guess *guess,
					    const struct words *to)
{
	const struct region_facts *meant = first_that(open, guess, is_desc_of);

	if (meant)
		return say_meant(to, meant, "%s", process_front.guesses[GUESS_OWN_DESCRIPTOR]);
	meant = first_that(open, guess, has_key);
	if (meant && !guess->range)
		return say_meant(to, meant, "%s", process_front.guesses[GUESS_OWN_KEY]);
	for (meant = open; meant && guess->addr; meant = meant->next)
		if (inside(guess->addr, 1, meant->addr, meant->length))
			return say_meant(to, meant,
					 "The remote address lies in a region of this process. Pass an address of the "
					 "peer's region.");
	return NULL;
}

const struct region_facts *region_guess_in(const struct region_facts *open, const struct region_guess *guess, bool target,
					   char *what, size_t size)
{
	const struct words to = { what, size };
	const struct region_facts *anew;

	if (!target)
		return guess_own(open, guess, &to);
	if (guess->closed) {
		anew = first_that(open, guess, is_anew);
		return anew ? say_meant(&to, anew,
					"The memory was registered anew, and has this key since. Send peers the new key "
					"before they use it.")
			    : NULL;
	}
	if (guess->rights)
		return guess_right(open, guess, &to);
	return guess->range ? guess_range(open, guess, &to) : guess_key(open, guess, &to);
}
