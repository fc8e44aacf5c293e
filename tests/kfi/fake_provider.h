/* SPDX-License-Identifier: BSD-2-Clause */
/* fake_provider.h - a provider whose ops do nothing but note their call, and one object of each kind that has them. */
#ifndef TESTS_KFI_FAKE_PROVIDER_H
#define TESTS_KFI_FAKE_PROVIDER_H

#include <kfi_cm.h>
#include <kfi_cxi_ext.h>
#include <kfi_errno.h>
#include <kfi_log.h>
#include <kfi_prov.h>
#include <kfi_trigger.h>

/* The arguments as an array of uint64_t: WORDS(a, b, c). */
#define WORD(x) (uint64_t)(x),
#define WORDS_1(x) WORD(x)
#define WORDS_2(x, ...) WORD(x) WORDS_1(__VA_ARGS__)
#define WORDS_3(x, ...) WORD(x) WORDS_2(__VA_ARGS__)
#define WORDS_4(x, ...) WORD(x) WORDS_3(__VA_ARGS__)
#define WORDS_5(x, ...) WORD(x) WORDS_4(__VA_ARGS__)
#define WORDS_6(x, ...) WORD(x) WORDS_5(__VA_ARGS__)
#define WORDS_7(x, ...) WORD(x) WORDS_6(__VA_ARGS__)
#define WORDS_8(x, ...) WORD(x) WORDS_7(__VA_ARGS__)
#define WORDS_9(x, ...) WORD(x) WORDS_8(__VA_ARGS__)
#define WORDS_10(x, ...) WORD(x) WORDS_9(__VA_ARGS__)
#define WORDS_11(x, ...) WORD(x) WORDS_10(__VA_ARGS__)
#define WORDS_12(x, ...) WORD(x) WORDS_11(__VA_ARGS__)
#define WORDS_13(x, ...) WORD(x) WORDS_12(__VA_ARGS__)
#define WORDS_14(x, ...) WORD(x) WORDS_13(__VA_ARGS__)
#define WORDS_15(x, ...) WORD(x) WORDS_14(__VA_ARGS__)
#define WORDS_16(x, ...) WORD(x) WORDS_15(__VA_ARGS__)
#define WORDS_17(x, ...) WORD(x) WORDS_16(__VA_ARGS__)
#define WORDS_MAX 17
#define WORDS_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, name, ...) name
#define WORDS(...)                                                                                                               \
	(uint64_t[])                                                                                                             \
	{                                                                                                                        \
		WORDS_PICK(__VA_ARGS__, WORDS_17, WORDS_16, WORDS_15, WORDS_14, WORDS_13, WORDS_12, WORDS_11, WORDS_10, WORDS_9, \
			   WORDS_8, WORDS_7, WORDS_6, WORDS_5, WORDS_4, WORDS_3, WORDS_2, WORDS_1, 0)                            \
		(__VA_ARGS__)                                                                                                    \
	}
#define WORDS_COUNT(...) (sizeof(WORDS(__VA_ARGS__)) / sizeof(uint64_t))

/* The last call of any op: TABLE_OP, as in "rma_read". */
struct fake_call {
	const char *op;
	size_t count;
	uint64_t words[WORDS_MAX];
	uint64_t result; /* what the op returned: another number each time */
	union {          /* what the argument of a control command pointed to */
		struct kfi_alias alias;
		struct kfi_mr_raw_attr raw;
		struct kfi_mr_map_raw map;
		struct kfi_mr_modify modify;
		uint64_t key;
	} arg;
};
extern struct fake_call fake_last;

extern struct kfid_fabric fake_fabric;
extern struct kfid_domain fake_domain;
extern struct kfid_av fake_av;
extern struct kfid_mr fake_mr;
extern struct kfid_wait fake_wait;
extern struct kfid_poll fake_poll;
extern struct kfid_eq fake_eq;
extern struct kfid_cq fake_cq;
extern struct kfid_cntr fake_cntr;
extern struct kfid_ep fake_ep;
extern struct kfid_pep fake_pep;
extern struct kfi_provider fake_provider;

/* Calls an inline, and fails unless the op got these arguments in this order, and the inline gave the op's result. */
#define CALL(op, call, ...) fake_check(#op, #call, WORDS(__VA_ARGS__), WORDS_COUNT(__VA_ARGS__), (uint64_t)call(__VA_ARGS__))
void fake_check(const char *op, const char *call, const uint64_t *words, size_t count, uint64_t result);

/* A pointer that is not followed. */
#define P(n) ((void *)(uintptr_t)(4096 + 64 * (n)))

#endif
