/* SPDX-License-Identifier: BSD-2-Clause */
/* harness.h - an initiator (the test process) and its target, and the verdicts OK, DENY and LIVE.
 *   OK    success completion, and the bytes exact at the target, its guard bytes too
 *   DENY  error completion of that operation alone; no byte of any region changed, nothing delivered to the
 *         initiator; then LIVE
 *   LIVE  the next write to the control region is OK, and neither event queue holds anything
 *
 * A test runs once for every set of mr_mode bits that the provider hands back, each with the default completion level
 * and with FI_DELIVERY_COMPLETE. What to expect follows from the bits returned, never from those offered. */
#ifndef TESTS_RULES_HARNESS_H
#define TESTS_RULES_HARNESS_H

#include "tests/rules/harness/check.h"
#include "tests/rules/harness/peer.h"
#include "tests/rules/harness/region.h"
#include "tests/rules/harness/rule_test.h"
#include "tests/rules/harness/target.h"

#include <string.h>

enum { PAIR_REMOTES_MAX = 16, PAIR_LEARNED_MAX = 1024, PAIR_LOCAL_LEN = 1 << 16, PAGE = 4096 };

#define FI_MR_BASIC_BITS (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define WITH_EVENTS (FI_MSG | FI_RMA | FI_RMA_EVENT)
#define ALL_LOCAL (FI_SEND | FI_RECV | FI_READ | FI_WRITE)
#define ALL_REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)

/* A region of the target as the initiator knows it. */
struct remote {
	int slot;                       /* the target's number for it */
	uint64_t key;                   /* as this side names it: under FI_MR_RAW a mapped one */
	uint64_t base[REGION_SEGS_MAX]; /* the address of each segment's first byte, as RMA must name it */
	uint64_t va[REGION_SEGS_MAX];
	size_t len[REGION_SEGS_MAX];
	size_t segs;
	uint8_t *image; /* what its memory must hold, guards included; writes that are OK change it */
	size_t image_len;
};

struct pair {
	struct target target;
	struct peer peer;    /* the initiator's */
	bool shared;         /* another pair's: see pair_open_beside */
	fi_addr_t to;        /* the target, in peer's AV */
	struct region local; /* PAIR_LOCAL_LEN bytes; registered for everything local */
	void *desc;          /* of local, where FI_MR_LOCAL asks for one; else NULL */
	uint64_t level;      /* 0 or FI_DELIVERY_COMPLETE */
	struct remote *remotes[PAIR_REMOTES_MAX];
	struct remote *control;             /* for LIVE */
	uint32_t seed;                      /* of the next bytes written */
	uint64_t learned[PAIR_LEARNED_MAX]; /* keys mapped, until the pair closes */
	size_t learned_count;
};

/* Defines a test of two processes: a body that runs for every mode and level. */
#define PAIR_TEST(suite, name)                   \
	static void name##_body(struct pair *p); \
	LONE_TEST(suite, name)                   \
	{                                        \
		pair_each(name##_body);          \
	}                                        \
	static void name##_body(struct pair *p)

/* Defines a test of one process: a body that runs for every mode. */
#define PEER_TEST(suite, name)                   \
	static void name##_body(struct peer *p); \
	LONE_TEST(suite, name)                   \
	{                                        \
		peer_each(name##_body);          \
	}                                        \
	static void name##_body(struct peer *p)

/* Defines a test that opens what it needs itself, once. A name of the suite `rules` begins with the rules' numbers. */
#ifdef CRITERION_H_
#define LONE_TEST(suite, name) Test(suite, name)
#else
#define LONE_TEST(suite, name)  \
	static void name(void); \
	RULE_TEST(name, name)   \
	static void name(void)
#endif

/* Leaves a PAIR_TEST's or PEER_TEST's body in a mode in which the rule has no meaning; printf style. If that is every
 * mode, the test is not applicable. */
#define NOT_IN_THIS_MODE(...)           \
	do {                            \
		mode_skip(__VA_ARGS__); \
		return;                 \
	} while (0)
void mode_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The modes: every set of bits that the provider hands back for what may be offered, or for these bits alone. */
extern uint64_t mode_only;
extern bool mode_chosen;

void pair_each(void (*body)(struct pair *p));
/* The same for given wishes, as far as the provider fulfils them; not applicable if it fulfils none. */
void pair_each_of(const struct peer_want *wants, size_t count, void (*body)(struct pair *p));
void peer_each(void (*body)(struct peer *p));
/* By hand, for tests with their own wishes: a target, an open pair, and the end of both. */
void pair_open(struct pair *p, const struct peer_want *want, uint64_t level);
void pair_close(struct pair *p);
/* The same where the target is dead. */
void pair_close_killed(struct pair *p);
/* A second target for the same endpoint: `host` is open and closes last. */
void pair_open_beside(struct pair *p, const struct pair *host);

/* In a step: the target's region of that number. */
struct region *target_region(int slot);
/* Registers at the target. */
struct remote *remote_reg(struct pair *p, size_t len, uint64_t access);
struct remote *remote_reg_as(struct pair *p, const struct region_want *want);
/* The key by which this side names a region that a target's step has shown. */
uint64_t key_learn(struct pair *p, const struct key_card *card);
/* fi_close there, and its return value; the memory stays, and stays watched. */
int remote_close(struct pair *p, struct remote *r);
/* Forgets a closed region: its memory is given back and watched no more. */
void remote_forget(struct pair *p, struct remote *r);
/* Compares all memory of the region at the target, guards included, with the image. */
void remote_verify(struct pair *p, struct remote *r);
/* The RMA address of the region's byte `off`, segments counted one after the other. */
uint64_t remote_addr(const struct remote *r, uint64_t off);
/* What the region's bytes off .. off+len must hold, segments counted one after the other; and what they must from now. */
void remote_image(struct remote *r, uint64_t off, void *bytes, size_t len);
void remote_image_set(struct remote *r, uint64_t off, const void *bytes, size_t len);
/* remote_verify of all regions. */
void all_verify(struct pair *p);

/* A call that must be refused: by emu with this errno, where the pages name none by others with any. */
#define CHECK_REFUSED_AS(want, call)          \
	do {                                  \
		if (peer_is_emu())            \
			CHECK_RC(want, call); \
		else                          \
			CHECK_REFUSED(call);  \
	} while (0)

/* How one operation ended. */
struct outcome {
	ssize_t rc; /* of the post; the rest is set where it is 0 */
	int err, prov_errno;
	const char *text; /* of an error; good until the next error */
};

/* Posts one operation on bytes of the local buffer. */
ssize_t pair_post(struct pair *p, enum rma_dir dir, void *local, size_t len, uint64_t addr, uint64_t key, struct op *op);
/* Posts one operation from the local buffer's start and waits for its end; changes no image. */
struct outcome pair_try(struct pair *p, enum rma_dir dir, uint64_t addr, uint64_t key, size_t len);

/* OK for the region's bytes off .. off+len; then the whole region is compared. */
void ok_write(struct pair *p, struct remote *r, uint64_t off, size_t len);
void ok_read(struct pair *p, struct remote *r, uint64_t off, size_t len);
/* The same at an address given outright. */
void ok_write_at(struct pair *p, struct remote *r, uint64_t addr, uint64_t off, size_t len);
void ok_read_at(struct pair *p, struct remote *r, uint64_t addr, uint64_t off, size_t len);

/* DENY. `rules` names the rule that the sentence must cite, or several, one of which it must: "S1|S40". */
struct outcome deny(struct pair *p, enum rma_dir dir, uint64_t addr, uint64_t key, size_t len, const char *rules);
/* DENY without the comparison of memory and without LIVE, for long series; ends with deny or remote_verify. */
struct outcome deny_quick(struct pair *p, enum rma_dir dir, uint64_t addr, uint64_t key, size_t len, const char *rules);
/* It was posted and refused for one of these rules; under FI_MR_RAW the post may have been. */
void check_denied(const struct pair *p, const struct outcome *out, const char *what, const char *rules);
void live(struct pair *p);

/* True where `text` names one of `rules`, not merely a longer number that begins alike. */
bool cites(const char *text, const char *rules);

#endif
