/* SPDX-License-Identifier: BSD-2-Clause */
/* lnd.h - the parts of the driver: its net (lnd_net.c), and its bulk data (lnd_regions.c, lnd_tagged.c). */
#ifndef LND_H
#define LND_H

#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>

enum { LND_RX_BITS = 2, LND_ADDR_MAX = 64, LND_PAGES_MAX = 64 };

/* What the handlers of completions are called with: the context of an operation. */
struct lnd_op {
	void (*done)(struct lnd_op *op, uint64_t flags, size_t len, int status);
	struct completion complete;
	int status; /* 0 or -errno */
	uint64_t flags;
	uint64_t data;
};

struct lnd_net {
	struct kfi_info *info;
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	struct kfid_eq *eq; /* asynchronous registration; else NULL */
	struct kfid_av *av;
	struct kfid_cq *cq;
	struct kfid_ep *sep, *tx, *rx;
	uint8_t address[LND_ADDR_MAX];
	size_t address_len;
};

/* Opens all up to the enabled contexts. 0 or -errno, and then nothing is open. */
int lnd_net_open(struct lnd_net *net, const char *node, const char *service, uint64_t caps, bool async);
void lnd_net_close(struct lnd_net *net);
/* The port or pid of its address. */
unsigned int lnd_net_service(const struct lnd_net *net);
/* Waits for an operation. 0, -errno of its completion, or -ETIMEDOUT. */
int lnd_wait(struct lnd_op *op);
void lnd_op_init(struct lnd_op *op);

/* Pages that hold bulk data: every other one of a larger block, so that they do not touch. */
struct lnd_pages {
	struct page *block;
	unsigned int order, count;
	size_t length;
	struct bio_vec vec[LND_PAGES_MAX];
};

int lnd_pages_make(struct lnd_pages *pages, size_t length);
void lnd_pages_free(struct lnd_pages *pages);
void lnd_pages_fill(struct lnd_pages *pages, uint8_t seed);
bool lnd_pages_are(const struct lnd_pages *pages, uint8_t seed);

/* Which side reaches for the other's pages, and how. */
extern const uint64_t lnd_bulk_caps;

struct lnd_bulk {
	struct lnd_op op;   /* completes where the peer's access is told of */
	struct kfid_mr *mr; /* or NULL */
	bool told;          /* the access completes op */
};

/* Lets the peer write to the pages (else read them) under this key. 0 or -errno. */
int lnd_bulk_offer(struct lnd_net *net, struct lnd_bulk *bulk, struct lnd_pages *pages, uint64_t key, bool write);
/* Ends the offer, used or not. */
int lnd_bulk_end(struct lnd_net *net, struct lnd_bulk *bulk);
/* Writes the pages to what the peer offers (else reads them from there), and waits. 0 or -errno. */
int lnd_bulk_move(struct lnd_net *net, kfi_addr_t peer, struct lnd_pages *pages, uint64_t key, bool write);

#endif
