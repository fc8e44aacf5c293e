/* SPDX-License-Identifier: BSD-2-Clause */
/* kpair.h - two ends in one process, through kfabric's calls alone: a fabric, domain and endpoint each. A call that fails ends the
 * test. */
#ifndef TESTS_KFI_KPAIR_H
#define TESTS_KFI_KPAIR_H

#include <kfabric.h>
#include <kfi_atomic.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>

#include <criterion/criterion.h>

#define RC(want, call)                                                                             \
	do {                                                                                       \
		long rc_ = (long)(call);                                                           \
		cr_assert_eq(rc_, (long)(want), #call ": %ld in place of %ld", rc_, (long)(want)); \
	} while (0)

enum { KPAIR_REMOTE = KFI_REMOTE_READ | KFI_REMOTE_WRITE, KPAIR_ERROR_TEXT = 512 };

struct kpair_wish {
	const char *personality; /* NULL: kfi */
	int mr_mode;
	uint64_t caps; /* besides messages, tagged ones and RMA */
	bool selective, async;
};

struct kend {
	struct kfi_info *info;
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	struct kfid_eq *eq; /* asynchronous registration; else NULL */
	struct kfid_av *av;
	struct kfid_cq *cq;
	struct kfid_ep *sep;     /* kcxi's; else NULL */
	struct kfid_ep *tx, *rx; /* kfi: one endpoint */
	kfi_addr_t peer;
};

struct kpair {
	struct kend a, b;
	const struct kpair_wish *wish;
};

void kpair_open(struct kpair *pair, const struct kpair_wish *wish);
void kpair_close(struct kpair *pair); /* all must close */

/* The next completion: 0, or its error. */
struct kpair_completion {
	struct kfi_cq_tagged_entry entry;
	int err;
	char text[KPAIR_ERROR_TEXT]; /* the provider's words for an error */
};

struct kpair_completion kend_next(const struct kend *end);
/* It succeeded, and has this context. */
struct kfi_cq_tagged_entry kend_done(const struct kend *end, const void *context);
/* There is none. */
void kend_silent(const struct kend *end);
/* Binds the region to the end's receiver, and enables it, where the mode asks for it. */
void kend_enable(const struct kend *end, struct kfid_mr *mr);
/* A region of one buffer, that works. */
struct kfid_mr *kend_region(const struct kend *end, void *buf, size_t len, uint64_t access);
uint64_t kpair_key(void); /* a new one */

#endif
