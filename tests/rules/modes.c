/* SPDX-License-Identifier: BSD-2-Clause */
/* modes.c - what becomes of the mr_mode bits that a program offers: S67 to S71, S78; the legacy modes: S86 to S90. */
#include "tests/rules/harness/harness.h"

#include <stdlib.h>

enum { FIRST_BIT = 2, LAST_BIT = 11 }; /* FI_MR_LOCAL .. FI_MR_COLLECTIVE */

/* The bits returned for an offer, or UINT64_MAX where there is no info. */
static uint64_t returned(uint64_t offered, uint64_t caps, uint64_t mode)
{
	struct peer_want want = { .mr_mode = offered, .caps = caps, .mode = mode };
	struct fi_info *info;
	uint64_t got;
	int rc = peer_getinfo(&want, &info);

	CHECK(!rc || rc == -FI_ENODATA, "fi_getinfo: %d (%s)", rc, fi_strerror(-rc));
	if (rc)
		return UINT64_MAX;
	got = (uint64_t)info->domain_attr->mr_mode;
	fi_freeinfo(info);
	return got;
}

static bool strict(void)
{
	const char *personality = getenv("FI_EMU_PERSONALITY");

	return peer_is_emu() && (!personality || !strcmp(personality, "strict"));
}

/* S67: a program that offers nothing gets the scalable rules. */
LONE_TEST(rules, S67_no_bits_mean_scalable)
{
	uint64_t got = returned(0, 0, 0);

	CHECK(got == 0, "mr_mode 0 came back as 0x%llx", (unsigned long long)got);
}

/* S68: a bit that the provider needs stays set. `strict` needs all that is offered and matters; `lax` and others need
 * less. */
LONE_TEST(rules, S68_needed_bits_stay_set)
{
	static const uint64_t bits[] = { FI_MR_LOCAL,    FI_MR_VIRT_ADDR, FI_MR_ALLOCATED,
					 FI_MR_PROV_KEY, FI_MR_ENDPOINT,  FI_MR_RMA_EVENT };
	unsigned int subset;
	size_t i;

	if (!strict())
		NOT_APPLICABLE("which bits stay set is known of emu's personality strict alone");
	for (subset = 0; subset < 64; subset++) {
		uint64_t offered = 0, got;

		for (i = 0; i < 6; i++)
			offered |= subset & (1u << i) ? bits[i] : 0;
		got = returned(offered, WITH_EVENTS, 0);
		CHECK(got == offered, "mr_mode 0x%llx came back as 0x%llx", (unsigned long long)offered, (unsigned long long)got);
	}
}

/* S69, S70: bits come back cleared, never added: the provider imposes nothing that was not offered. */
LONE_TEST(rules, S69_S70_no_bit_is_imposed)
{
	uint64_t offered;

	for (offered = 0; offered < 1ULL << (LAST_BIT + 1); offered += 1ULL << FIRST_BIT) {
		uint64_t got = returned(offered, 0, 0);

		CHECK(got == UINT64_MAX || !(got & ~offered), "mr_mode 0x%llx came back as 0x%llx", (unsigned long long)offered,
		      (unsigned long long)got);
	}
}

/* S69: what does not matter to the capabilities asked for is cleared. */
LONE_TEST(rules, S69_bits_that_do_not_matter_are_cleared)
{
	uint64_t got = returned(FI_MR_LOCAL | FI_MR_BASIC_BITS | FI_MR_RMA_EVENT | FI_MR_ENDPOINT, FI_MSG, 0);

	/* FI_MR_ALLOCATED is about registering, which FI_MR_LOCAL asks for. */
	CHECK(!(got & ~(FI_MR_LOCAL | FI_MR_ALLOCATED)), "without RMA the bits 0x%llx stayed set", (unsigned long long)got);
	got = returned(FI_MR_RMA_EVENT | FI_MR_COLLECTIVE, 0, 0);
	CHECK(!got, "without FI_RMA_EVENT and FI_COLLECTIVE the bits 0x%llx stayed set", (unsigned long long)got);
}

/* S69: `lax` needs nothing. */
LONE_TEST(rules, S69_lax_clears_all_bits)
{
	const char *personality = getenv("FI_EMU_PERSONALITY");
	uint64_t got;

	if (!peer_is_emu() || !personality || strcmp(personality, "lax"))
		NOT_APPLICABLE("which bits are cleared is known of emu's personality lax alone");
	got = returned(FI_MR_LOCAL | FI_MR_BASIC_BITS | FI_MR_RAW | FI_MR_ENDPOINT, 0, 0);
	CHECK(got == 0, "bits 0x%llx stayed set", (unsigned long long)got);
}

/* S78: FI_MR_LOCAL makes the old mode bit FI_LOCAL_MR meaningless. */
LONE_TEST(rules, S78_old_local_mode_bit_is_ignored)
{
	const uint64_t local_mr = 1ULL << 55; /* FI_LOCAL_MR: from 2.0 on its name warns at every use */
	uint64_t with = returned(FI_MR_LOCAL, 0, local_mr), without = returned(FI_MR_LOCAL, 0, 0);

	CHECK(with == without, "mr_mode LOCAL came back as 0x%llx with the mode bit FI_LOCAL_MR, as 0x%llx without",
	      (unsigned long long)with, (unsigned long long)without);
}

/* S86, S89: the legacy modes come back as they were given. S88: alone, or not at all. */
LONE_TEST(rules, S86_S88_S89_legacy_modes)
{
	static const uint64_t legacy[] = { PEER_MR_BASIC, PEER_MR_SCALABLE };
	size_t i;
	int bit;

	for (i = 0; i < 2; i++) {
		uint64_t got = returned(legacy[i], 0, 0);

		CHECK(got == legacy[i], "mr_mode %llu came back as 0x%llx", (unsigned long long)legacy[i], (unsigned long long)got);
		for (bit = FIRST_BIT; bit <= LAST_BIT; bit++) {
			got = returned(legacy[i] | 1ULL << bit, 0, 0);
			CHECK(got == UINT64_MAX, "mr_mode %llu with bit %d came back as 0x%llx", (unsigned long long)legacy[i], bit,
			      (unsigned long long)got);
		}
	}
	CHECK(returned(PEER_MR_BASIC | PEER_MR_SCALABLE, 0, 0) == UINT64_MAX, "both legacy modes at once were accepted");
}

/* S87: FI_MR_BASIC means virtual addresses and the provider's keys. */
LONE_TEST(rules, S87_basic_mode)
{
	struct peer_want want = { .mr_mode = PEER_MR_BASIC };
	struct region_want seven = { .len = { 256 }, .access = ALL_REMOTE, .key = 7, .exact_key = true };
	struct pair p = { 0 };
	struct remote *a, *b;

	target_start(&p.target);
	pair_open(&p, &want, 0);
	a = remote_reg_as(&p, &seven);
	b = remote_reg_as(&p, &seven);
	CHECK(a->base[0] == a->va[0] && a->key != b->key, "not the basic mode");
	ok_write(&p, a, 0, 256);
	ok_read(&p, b, 3, 100);
	deny(&p, RMA_WRITE, 0, a->key, 64, "S60|S65");
	pair_close(&p);
	target_stop(&p.target);
}

/* S90: with FI_MR_BASIC the mode bit FI_LOCAL_MR stands for FI_MR_LOCAL; where it was not offered it is not asked
 * for. */
LONE_TEST(rules, S90_local_mode_bit_of_the_basic_mode)
{
	const uint64_t local_mr = 1ULL << 55;
	struct peer_want with = { .mr_mode = PEER_MR_BASIC, .mode = local_mr }, without = { .mr_mode = PEER_MR_BASIC };
	struct fi_info *info;

	CHECK_RC(0, peer_getinfo(&with, &info));
	CHECK(!strict() || info->mode & local_mr, "strict did not ask for FI_LOCAL_MR, which was offered");
	fi_freeinfo(info);
	CHECK_RC(0, peer_getinfo(&without, &info));
	CHECK(!(info->mode & local_mr), "FI_LOCAL_MR was asked for, and had not been offered");
	fi_freeinfo(info);
}
