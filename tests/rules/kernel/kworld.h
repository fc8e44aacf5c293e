/* SPDX-License-Identifier: BSD-2-Clause */
/* kworld.h - what the tests of kfi_mr(3) share: two sides in one process, each with a fabric, domain and endpoint of its own, and
 * buffers in each of the forms that the kernel has. A call that fails ends the test (check.h). */
#ifndef TESTS_RULES_KWORLD_H
#define TESTS_RULES_KWORLD_H

#include <kfabric.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_rma.h>
#include <linux/scatterlist.h>
#include <linux/string.h>

#include "tests/rules/harness/check.h"
#include "tests/rules/harness/rule_test.h"

enum { KPARTS = 3, KALL_REMOTE = KFI_REMOTE_READ | KFI_REMOTE_WRITE };

struct kside {
	struct kfi_info *info;
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	struct kfid_eq *eq; /* of asynchronous registration; else NULL */
	struct kfid_av *av;
	struct kfid_cq *cq;
	struct kfid_ep *ep; /* transmits and receives; kcxi: NULL, and the three that follow */
	struct kfid_ep *sep, *tx, *rx;
	kfi_addr_t peer; /* the other side, as an operation names it */
};

/* What is asked for. */
struct kwish {
	int mr_mode;
	uint64_t caps; /* besides messages and RMA; KFI_RMA_EVENT for counters */
	bool async;
	const char *personality; /* NULL: kfi */
};

struct kworld {
	struct kside target, initiator;
	const struct kwish *wish;
};

void kworld_open(struct kworld *world, const struct kwish *wish);
/* All must close. */
void kworld_close(struct kworld *world);
/* The endpoint that receives, to which regions are bound. */
struct kfid_ep *kside_receiver(const struct kside *side);

/* The modes that each test is run in, ended by -1. */
extern const int kmodes[];

/* The same bytes in three forms, over parts of pages that do not touch; each part begins and ends within its page. */
enum kform { KFORM_KVEC, KFORM_BVEC, KFORM_SGL, KFORMS };

struct kbuffer {
	struct page *block;
	unsigned int order, parts;
	size_t length;
	struct kvec kvec[KPARTS];
	struct bio_vec bvec[KPARTS];
	struct sg_table table; /* mapped */
};

void kbuffer_make(struct kbuffer *buffer, unsigned int parts);
void kbuffer_free(struct kbuffer *buffer);
void kbuffer_fill(struct kbuffer *buffer, uint8_t value);
/* The byte at this place of the buffer as a whole. */
uint8_t *kbuffer_at(const struct kbuffer *buffer, size_t offset);

/* One registration, by the call for the form (or kfi_mr_regattr()). */
struct kask {
	enum kform form;
	bool by_attr;
	size_t count;
	uint64_t access, offset, key, flags;
	void *context;
};

int kregister(const struct kside *side, const struct kbuffer *buffer, const struct kask *ask, struct kfid_mr **mr);
/* Registers all of the buffer, binds and enables it where the mode asks for it. */
struct kfid_mr *kregion(const struct kworld *world, const struct kbuffer *buffer, enum kform form, uint64_t access);
/* Closes a region of kregion(). Under KFI_MR_ENDPOINT the page has the endpoint closed first: the target gets another one. */
void kregion_close(struct kworld *world, struct kfid_mr *mr);
/* A key that no test has used. */
uint64_t kfresh_key(void);
void kregion_enable(const struct kworld *world, struct kfid_mr *mr);

enum krma { KRMA_WRITE, KRMA_READ };

/* The initiator writes `length` bytes of `value` to the region at an offset, or reads them to be compared with it. 0, or the error
 * of the completion. */
int krma(struct kworld *world, enum krma kind, const struct kfid_mr *mr, uint64_t offset, size_t length, uint8_t value);
/* The same with the address and key as they are named on the wire. */
int krma_at(struct kworld *world, enum krma kind, uint64_t addr, uint64_t key, size_t length, uint8_t value);
/* The next completion of a side: 0, or its error; the entry. */
int kcompletion(const struct kside *side, struct kfi_cq_tagged_entry *entry);

/* Runs `test` in each mode of kmodes, each form: a world is open. */
void keach(void (*test)(struct kworld *world, enum kform form));

/* A test of all modes and forms. */
#define KEACH_TEST(name)                                         \
	static void name(struct kworld *world, enum kform form); \
	static void name##_each(void)                            \
	{                                                        \
		keach(name);                                     \
	}                                                        \
	RULE_TEST(name, name##_each)                             \
	static void name(struct kworld *world, enum kform form)

/* A test that opens its own worlds. */
#define KTEST(name)             \
	static void name(void); \
	RULE_TEST(name, name)   \
	static void name(void)

#endif
