/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.h - one provider, opened: fabric, domain, completion queue, endpoint, one region, and its peers.
 * Thread: the one that opened it, or one at a time. Functions return 0 or a negative fi_errno. */
#ifndef PERF_FABRIC_H
#define PERF_FABRIC_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fabric_peer {
	fi_addr_t addr;
	uint64_t base, key;
	bool mapped; /* the key is of fi_mr_map_raw() */
};

/* The context of one op, for providers that want it to be their own (FI_CONTEXT, FI_CONTEXT2). */
struct fabric_context {
	struct fi_context2 provider;
	bool receive, posted;
};

struct fabric {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr;
	uint8_t *memory;          /* region: inbox, then outbox */
	size_t span;              /* bytes of each; the same on both sides */
	struct fid_cntr *cntr;    /* counts what arrives, in a world that says so */
	struct fid_cntr *tx_cntr; /* counts what completes, in a world of counters */
	void *desc;
	fi_addr_t peer;
	uint64_t peer_base; /* what the peer's region starts at, in its own addressing */
	uint64_t peer_key;
	struct fabric_peer *peers; /* all that were met; the one that was met last is `peer` */
	unsigned peers_count;
	struct fid_mr **keyed; /* keys regions over the inbox, keyed 0 to keys - 1 and scrambled: see fabric_world */
	uint64_t keys, drawn;
	unsigned pending;                                 /* posted, completion not yet read; receives aside */
	unsigned receives;                                /* receives posted, completion not yet read */
	uint64_t received;                                /* messages and told writes whose completion was read */
	uint64_t consumed;                                /* words that a sleeper has been told of */
	uint64_t told;                                    /* the value of tx_cntr that was taken last */
	uint64_t told_heard;                              /* and of cntr, in a world of counters */
	struct fabric_context *contexts, **free_contexts; /* NULL: the provider does not want any */
	unsigned contexts_count, free_count;
	char why[160]; /* the last failure in words */
};

enum { FABRIC_NAME_MAX = 256, FABRIC_RAW_KEY_MAX = 64 };

/* The facts that a side must tell the other. */
struct fabric_card {
	uint8_t name[FABRIC_NAME_MAX];
	uint64_t name_size;
	uint64_t base, key;
	uint8_t raw_key[FABRIC_RAW_KEY_MAX];
	uint64_t raw_size; /* 0: `key` is it */
};

/* Attributes that a provider is opened with. With keys, the target registers so many regions over its inbox, and each write names
 * another of them by a key that both sides compute. */
struct fabric_world {
	uint64_t mr_mode;
	uint64_t mr_mode_more; /* offered, too, if the provider is not content with that */
	uint64_t mode;         /* FI_CONTEXT and FI_CONTEXT2 are kept to */
	uint64_t caps;         /* beside FI_RMA */
	uint64_t keys;
	size_t span;           /* bytes of the inbox, and of the outbox */
	enum fi_wait_obj wait; /* of the completion queue, or of the counter */
	bool counter;          /* counts what is written into the region */
	bool counters;         /* completions are counted, and the queue has errors alone */
	bool no_rma;           /* FI_RMA is not asked for */
	bool any_address;      /* of whatever format the provider has; else IPv4 */
	bool in_order;         /* messages are not to pass each other */
	const char *node;      /* own address; NULL: 127.0.0.1 */
	size_t cq_size;        /* 0: 1024 */
	size_t size_max;       /* of an op; more than the provider takes is refused before there is memory for it */
	unsigned peers;        /* 0: one */
};

/* `provider` may end in :auto or :manual, which asks for that progress; else the provider's default is taken. */
int fabric_open(struct fabric **out, const char *provider, const struct fabric_world *world, char *why, size_t why_size);
/* Registers the regions of the world's keys, if that was not done yet. */
int fabric_register_keys(struct fabric *f);
void fabric_close(struct fabric *f);
int fabric_card(struct fabric *f, struct fabric_card *card);
int fabric_meet(struct fabric *f, const struct fabric_card *peer);

/* The next ops go to the nth of those that were met. */
static inline void fabric_turn(struct fabric *f, unsigned nth)
{
	const struct fabric_peer *peer = &f->peers[nth];

	f->peer = peer->addr;
	f->peer_base = peer->base;
	f->peer_key = peer->key;
}

/* The key that the next write names in a world of keys. */
uint64_t fabric_draw_key(struct fabric *f);

/* From our outbox to the peer's inbox; from the peer's outbox to our inbox. -FI_EAGAIN: poll, then again. */
int fabric_write(struct fabric *f, size_t from, size_t to, size_t size);
int fabric_read(struct fabric *f, size_t from, size_t to, size_t size);
/* The same as a read, by adding 0 to each 8 bytes of the peer's. At most FABRIC_ATOMIC_MAX. */
enum { FABRIC_ATOMIC_MAX = 4096 };
int fabric_fetch_add(struct fabric *f, size_t from, size_t to, size_t size);
/* 0 if the provider has it for so many bytes. */
int fabric_fetch_add_offered(struct fabric *f, size_t size);
/* A write that the peer is told of: by a completion, which counts in its `received`, or by its counter. */
int fabric_write_told(struct fabric *f, size_t from, size_t to, size_t size);
/* From our outbox; into our inbox, which counts in `receives` and then in `received`. */
int fabric_tsend(struct fabric *f, size_t from, size_t size, uint64_t tag);
int fabric_trecv(struct fabric *f, size_t to, size_t size, uint64_t tag);
int fabric_send(struct fabric *f, size_t from, size_t size);
int fabric_recv(struct fabric *f, size_t to, size_t size);
/* Takes back all receives that are posted. */
int fabric_recv_cancel(struct fabric *f);

/* Completions read (0: none), or a negative fi_errno; drives a provider whose progress is manual. */
int fabric_poll(struct fabric *f);

/* The same, but sleeps until there may be one, or for patience_ms: in fi_cq_sread(), or in poll() on the descriptor. */
int fabric_sread(struct fabric *f, int patience_ms);
int fabric_wait_fd(struct fabric *f, int patience_ms);
/* Sleeps until the counter has got to `count`: 0, or -FI_ETIMEDOUT. */
int fabric_wait_count(struct fabric *f, uint64_t count, int patience_ms);
/* In a world of counters: sleeps until one more has arrived, or else until one more has completed, and counts both. */
int fabric_wait_counters(struct fabric *f, bool arrivals, int patience_ms);
/* The same without sleeping. */
int fabric_count(struct fabric *f);

/* Polls until nothing is pending; -ETIMEDOUT after patience_ns. */
int fabric_drain(struct fabric *f, uint64_t patience_ns);

/* Registers and closes a region over the first size bytes of memory. */
int fabric_register_once(struct fabric *f, void *memory, size_t size);

#endif
