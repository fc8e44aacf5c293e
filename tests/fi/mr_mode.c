/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_mode.c - mr_mode as offered and as answered, over the API versions (S67-S70, S78, S86-S90), with both tables. */
#include "tests/fi/world.h"

#include <stdlib.h>

#define LOCAL_MR (1ull << 55) /* FI_LOCAL_MR, whose name warns from 2.0 on */
enum {
	BASIC = 1 << 0,
	SCALABLE = 1 << 1, /* FI_MR_BASIC and FI_MR_SCALABLE, likewise */
	RULES = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
	GATES = FI_MR_RMA_EVENT | FI_MR_ENDPOINT,
	OTHERS = FI_MR_RMA_EVENT | FI_MR_HMEM | 1 << 11, /* FI_MR_COLLECTIVE */
	NONE = -1,
};

struct row {
	uint32_t api;
	uint64_t caps; /* 0: FI_MSG | FI_RMA */
	int offered;
	uint64_t mode;
	int strict, lax;      /* mr_mode of the answer; NONE: no info */
	uint64_t strict_mode; /* mode of the answer of `strict`; of `lax` it is 0 */
};

static const struct row rows[] = {
	/* From 1.5 on: what is asked, of what is offered. */
	{ FI_VERSION(1, 5), 0, 0, 0, 0, 0, 0 },
	{ FI_VERSION(1, 5), 0, RULES, 0, RULES, 0, 0 },
	{ FI_VERSION(1, 17), 0, RULES, 0, RULES, 0, 0 },
	{ FI_VERSION(1, 17), 0, RULES | OTHERS, 0, RULES, 0, 0 },
	{ FI_VERSION(1, 17), 0, OTHERS, 0, 0, 0, 0 },
	{ FI_VERSION(1, 17), 0, FI_MR_PROV_KEY, 0, FI_MR_PROV_KEY, 0, 0 },
	{ FI_VERSION(1, 17), 0, FI_MR_VIRT_ADDR | FI_MR_LOCAL, 0, FI_MR_VIRT_ADDR | FI_MR_LOCAL, 0, 0 },
	{ FI_VERSION(2, 1), 0, RULES | OTHERS, 0, RULES, 0, 0 },
	{ FI_VERSION(2, 1), 0, 0, 0, 0, 0, 0 },
	/* S69: bits that do not matter to the capabilities. */
	{ FI_VERSION(1, 17), FI_MSG, RULES, 0, FI_MR_LOCAL | FI_MR_ALLOCATED, 0, 0 },
	{ FI_VERSION(1, 17), FI_MSG, RULES & ~FI_MR_LOCAL, 0, 0, 0, 0 },
	{ FI_VERSION(1, 17), FI_RMA | FI_READ | FI_WRITE, RULES, 0, FI_MR_LOCAL | FI_MR_ALLOCATED, 0, 0 },
	{ FI_VERSION(1, 17), FI_RMA | FI_REMOTE_READ, RULES, 0, RULES, 0, 0 },
	/* FI_MR_RMA_EVENT matters with the capability alone; both gates stand before remote access. */
	{ FI_VERSION(1, 17), 0, GATES, 0, FI_MR_ENDPOINT, 0, 0 },
	{ FI_VERSION(1, 17), FI_RMA | FI_RMA_EVENT, GATES, 0, GATES, 0, 0 },
	{ FI_VERSION(1, 5), FI_RMA | FI_RMA_EVENT, GATES | RULES, 0, GATES | RULES, 0, 0 },
	{ FI_VERSION(1, 17), FI_MSG, GATES | RULES, 0, FI_MR_LOCAL | FI_MR_ALLOCATED, 0, 0 },
	{ FI_VERSION(1, 17), FI_MSG | FI_RMA | FI_WRITE, GATES, 0, 0, 0, 0 },
	{ FI_VERSION(1, 4), FI_RMA | FI_RMA_EVENT, BASIC, 0, BASIC, BASIC, 0 },
	/* FI_MR_RAW matters to the target and to the initiator. */
	{ FI_VERSION(1, 17), 0, FI_MR_RAW, 0, FI_MR_RAW, 0, 0 },
	{ FI_VERSION(1, 17), FI_RMA | FI_WRITE, FI_MR_RAW, 0, FI_MR_RAW, 0, 0 },
	{ FI_VERSION(1, 17), FI_MSG, FI_MR_RAW | FI_MR_LOCAL, 0, FI_MR_LOCAL, 0, 0 },
	/* S78: the mode bit is no matter beside mr_mode bits. */
	{ FI_VERSION(1, 17), 0, FI_MR_LOCAL, LOCAL_MR, FI_MR_LOCAL, 0, 0 },
	{ FI_VERSION(1, 17), 0, 0, LOCAL_MR, 0, 0, 0 },
	/* S86-S90: the legacy modes, alone. */
	{ FI_VERSION(1, 17), 0, BASIC, 0, BASIC, BASIC, 0 },
	{ FI_VERSION(1, 17), 0, BASIC, LOCAL_MR, BASIC, BASIC, LOCAL_MR },
	{ FI_VERSION(1, 17), 0, SCALABLE, 0, SCALABLE, SCALABLE, 0 },
	{ FI_VERSION(1, 17), 0, BASIC | SCALABLE, 0, NONE, NONE, 0 },
	{ FI_VERSION(1, 17), 0, BASIC | FI_MR_LOCAL, 0, NONE, NONE, 0 },
	{ FI_VERSION(1, 17), 0, BASIC | FI_MR_VIRT_ADDR, 0, NONE, NONE, 0 },
	{ FI_VERSION(1, 17), 0, SCALABLE | FI_MR_LOCAL, 0, NONE, NONE, 0 },
	{ FI_VERSION(2, 1), 0, BASIC, 0, BASIC, BASIC, 0 },
	{ FI_VERSION(2, 1), 0, BASIC | FI_MR_LOCAL, 0, NONE, NONE, 0 },
	/* Before 1.5. */
	{ FI_VERSION(1, 4), 0, 0, 0, BASIC, SCALABLE, 0 },
	{ FI_VERSION(1, 4), 0, 0, LOCAL_MR, BASIC, SCALABLE, LOCAL_MR },
	{ FI_VERSION(1, 4), 0, BASIC, 0, BASIC, BASIC, 0 },
	{ FI_VERSION(1, 4), 0, BASIC, LOCAL_MR, BASIC, BASIC, LOCAL_MR },
	{ FI_VERSION(1, 4), 0, SCALABLE, 0, SCALABLE, SCALABLE, 0 },
	{ FI_VERSION(1, 4), 0, FI_MR_VIRT_ADDR, 0, NONE, NONE, 0 },
	{ FI_VERSION(1, 4), 0, BASIC | FI_MR_LOCAL, 0, NONE, NONE, 0 },
};

static void check_row(size_t at, const struct row *row, bool strict)
{
	struct want want = {
		.api = row->api,
		.caps = row->caps ? row->caps : FI_MSG | FI_RMA,
		.mr_mode = row->offered,
	};
	struct fi_info *hints = world_hints(&want), *info = NULL;
	int expected = strict ? row->strict : row->lax;
	int err;

	hints->mode = row->mode;
	err = world_getinfo(&want, hints, &info);
	if (expected == NONE) {
		cr_expect(err == -FI_ENODATA, "row %zu: %d, expected no info", at, err);
		return;
	}
	cr_assert(!err, "row %zu: %s", at, fi_strerror(-err));
	for (struct fi_info *one = info; one; one = one->next) {
		cr_expect(one->domain_attr->mr_mode == expected, "row %zu: mr_mode %#x, expected %#x", at,
			  one->domain_attr->mr_mode, expected);
		cr_expect(one->mode == (strict ? row->strict_mode : 0), "row %zu: mode %#llx", at, (unsigned long long)one->mode);
	}
	fi_freeinfo(info);
}

static void check_rows(bool strict)
{
	world_need_emu();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (world_has(rows[i].api))
			check_row(i, &rows[i], strict);
	}
}

Test(fi_mr_mode, strict_asks_what_is_offered)
{
	setenv("FI_EMU_PERSONALITY", "strict", 1);
	check_rows(true);
}

Test(fi_mr_mode, lax_asks_nothing)
{
	setenv("FI_EMU_PERSONALITY", "lax", 1);
	check_rows(false);
}

/* The rules follow from the mode that was granted, not from the personality. */
Test(fi_mr_mode, rules_follow_the_grant)
{
	static const struct {
		uint32_t api;
		int offered;
		bool provider_key;
	} modes[] = {
		{ FI_VERSION(1, 17), 0, false },    { FI_VERSION(1, 17), FI_MR_PROV_KEY, true },
		{ FI_VERSION(1, 17), BASIC, true }, { FI_VERSION(1, 17), SCALABLE, false },
		{ FI_VERSION(1, 4), BASIC, true },  { FI_VERSION(1, 4), SCALABLE, false },
	};
	static char buffer[64];

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct fid_mr *first, *second;
		struct world w;

		world_open(&w, &(struct want){ .api = modes[i].api, .mr_mode = modes[i].offered });
		RC(0, fi_mr_reg(w.domain, buffer, 64, FI_REMOTE_READ, 0, 42, 0, &first, NULL));
		if (modes[i].provider_key) { /* S37 */
			RC(0, fi_mr_reg(w.domain, buffer, 64, FI_REMOTE_READ, 0, 42, 0, &second, NULL));
			cr_expect(fi_mr_key(first) != fi_mr_key(second));
			RC(0, fi_close(&second->fid));
		} else { /* S33, S35 */
			RC(-FI_ENOKEY, fi_mr_reg(w.domain, buffer, 64, FI_REMOTE_READ, 0, 42, 0, &second, NULL));
			cr_expect(fi_mr_key(first) == 42);
		}
		RC(-FI_EBUSY, fi_close(&w.domain->fid)); /* S182 */
		RC(0, fi_close(&first->fid));
		world_close(&w);
	}
}

/* S86-S90: what is answered where nobody offers anything. */
Test(fi_mr_mode, without_hints)
{
	static const struct {
		uint32_t api;
		const char *personality;
		bool basic, scalable;
	} answers[] = {
		{ FI_VERSION(1, 4), "strict", true, false },
		{ FI_VERSION(1, 4), "lax", false, true },
		{ FI_VERSION(1, 5), "strict", false, false },
		{ FI_VERSION(1, 17), "lax", false, false },
	};

	world_need_emu();
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct fi_info *info;
		int mr_mode, legacy = (answers[i].basic ? BASIC : 0) | (answers[i].scalable ? SCALABLE : 0);

		setenv("FI_EMU_PERSONALITY", answers[i].personality, 1);
		RC(0, fi_getinfo(answers[i].api, NULL, NULL, 0, NULL, &info));
		mr_mode = info->domain_attr->mr_mode;
		cr_expect_eq(mr_mode & (BASIC | SCALABLE), legacy, "row %zu: mr_mode %#x", i, mr_mode);
		cr_expect(!legacy || mr_mode == legacy, "row %zu: mr_mode %#x", i, mr_mode);
		fi_freeinfo(info);
	}
}

/* A program changes what it was given: before 1.5 to FI_MR_UNSPEC, which is none of the bits, or to a bit that came later. */
Test(fi_mr_mode, a_domain_for_an_old_program)
{
	struct fid_domain *domain;
	struct world w;

	world_open(&w, &(struct want){ .api = FI_VERSION(1, 4), .mr_mode = SCALABLE });
	w.info->domain_attr->mr_mode = 0;
	RC(0, fi_domain(w.fabric, w.info, &domain, NULL));
	RC(0, fi_close(&domain->fid));
	w.info->domain_attr->mr_mode = FI_MR_VIRT_ADDR;
	RC(-FI_EINVAL, fi_domain(w.fabric, w.info, &domain, NULL));
	w.info->domain_attr->mr_mode = SCALABLE;
	world_close(&w);
}

/* libfabric's layered providers pass on what they are offered, and have no call to bind a region or to map a raw key. */
Test(fi_mr_mode, layers_are_granted_what_they_have)
{
	const uint64_t for_a_layer = 1ull << 59; /* OFI_CORE_PROV_ONLY of libfabric's core */
	struct want want = { .mr_mode = RULES | FI_MR_RAW | FI_MR_MMU_NOTIFY | GATES };
	struct fi_info *hints = world_hints(&want), *info;

	world_need_emu();
	setenv("FI_EMU_PERSONALITY", "strict", 1);
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, for_a_layer, hints, &info));
	cr_expect_eq(info->domain_attr->mr_mode, RULES);
	cr_expect_eq(info->domain_attr->mr_key_size, 8);
	fi_freeinfo(info);
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	cr_expect(info->domain_attr->mr_mode & FI_MR_RAW && info->domain_attr->mr_mode & FI_MR_ENDPOINT);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}
