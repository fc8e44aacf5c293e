/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h - many NICs, one thread, one clock, one seed.
 *
 * A world runs its nodes in drawn order and lets virtual time pass only when nothing is left to do now. Everything
 * that is drawn (order, delays, sizes of reads and writes, faults) comes from the world's one generator, so a seed is a
 * run. A test reports what it finds wrong with world_fail(), which names the seed.
 * Thread: one. Times: nanoseconds of virtual time. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/device/nic.h"
#include "tests/sim/harness/plain_front.h"
#include "tests/sim/harness/rnd.h"

enum { WORLD_NODES = 1024, WORLD_LISTENERS = 1088, WORLD_FAULTS = 64, WORLD_POISONS = 16, NODE_LOG_LINES = 64 };
#define SIM_SECOND 1000000000ull
#define LINES_TIMEOUT_NS (8 * SIM_SECOND)

/* How the byte streams behave. */
struct weather {
	uint32_t capacity;          /* bytes that a stream holds before send() says -EAGAIN */
	uint32_t chunk_max;         /* one send or receive moves at most this many bytes; 0: any */
	uint64_t delay_max_ns;      /* bytes arrive after up to so long */
	uint64_t dial_max_ns;       /* a dial is answered after up to so long */
	uint64_t cut_mean;          /* a connection breaks after about so many bytes of a direction; 0: never */
	uint32_t cuts_left;         /* so many of these breaks, then no more */
	uint64_t flip_mean;         /* a bit changes after about so many bytes of a direction; 0: never */
	uint32_t flips_left;        /* so many of these changes, then no more */
	uint16_t scarce_permille;   /* allocations of the device that fail while it serves; */
	uint32_t scarce_left;       /* so many, then no more */
	uint8_t refuse_percent;     /* dials refused although an endpoint listens */
	uint64_t flush_max_ns;      /* bytes are durable after up to so long */
	uint8_t flush_fail_percent; /* flushes that fail */
	uint8_t full_percent;       /* datagrams that the port does not take now, */
	uint8_t lose_percent;       /* that get lost, with a word or without, */
	uint8_t twice_percent;      /* come twice, */
	uint8_t flip_percent;       /* have a bit changed; each within delay_max_ns, in any order */
	bool notes;                 /* peers that look for them can leave notes (link.h) */
	bool rough_efault;          /* -EFAULT as kernels say it: even if the first bytes could be moved */
};

/* A fault at one place: connection number `cable` of the world (from 0, as dialled), direction 0 from the dialler. */
struct fault {
	enum fault_kind { FAULT_CUT, FAULT_FLIP } kind;
	uint32_t cable;
	uint8_t dir;
	uint64_t at;  /* bytes that get through, or the byte that changes */
	uint8_t bits; /* of that byte, that are flipped */
	bool spent;
};

struct listener {
	struct node *node; /* NULL: free */
	struct ep *ep;
	uint16_t port;
};

struct poison { /* memory that is not there: see world_poison() */
	uint8_t *base;
	size_t length;
};

struct node {
	struct world *world;
	struct nic *nic;
	int id;
	bool dead;                /* killed: its streams are broken, it never runs again */
	bool cut_off;             /* nothing comes from or to it: bytes wait, dials hang; see node_cut_off() */
	uint64_t cut_off_ns;      /* since when */
	bool asleep;              /* does not run */
	int lines_max;            /* it has no descriptors for more; 0: any number */
	bool looks;               /* for notes */
	uint32_t digested;        /* bytes at once: link.h */
	struct write_out *disk;   /* flushes that are on */
	bool disk_stuck;          /* they do not end */
	uint64_t aside;           /* bytes received that are not in their place yet: into the last run */
	uint64_t level;           /* of them payload whose address agrees with that of its place within a cache line */
	uint64_t sends, receives; /* that moved something */
	uint64_t notes;           /* left */
	uint32_t flushes;         /* begun so far */
	uint32_t warns;           /* log lines of level NIC_LOG_WARN so far */
	uint32_t logged;
	char log[NODE_LOG_LINES][256]; /* the latest lines of that level */
	uint32_t debugs;               /* log lines of level NIC_LOG_DEBUG so far */
	char debug[256];               /* the latest */
	char info[256];                /* the latest of level NIC_LOG_INFO */
};

struct cable;
struct packet;
struct port;
struct tap;
struct write_out;

struct world {
	uint64_t seed;
	const char *storm; /* what names it, if a seed alone does not: storm.h */
	struct rnd rnd;
	uint64_t now_ns;
	uint64_t until_ns; /* time does not leap past this: world_until() */
	uint64_t moves;    /* counts everything that happened on a stream */
	struct weather weather;
	struct node *node[WORLD_NODES];
	int nodes;
	int turn, idle; /* whose turn it is when all are idle, and how many in a row were */
	uint32_t stuck; /* rounds in which something was ready and no node acted */
	struct listener listener[WORLD_LISTENERS];
	int listeners; /* so many have been used */
	uint16_t next_port;
	struct cable **cable;
	uint32_t cables, cables_room;
	uint32_t cables_made;
	uint64_t refused_memory; /* allocations that failed */
	uint64_t cuts;           /* cables broken by the weather or a fault */
	struct port *ports;      /* for datagrams: ports.h */
	struct packet *packets;  /* on their way */
	uint64_t packets_sent;   /* so far */
	void (*arriving)(void);  /* may be NULL: a datagram is about to be handed to its port's owner, which has the role */
	struct fault fault[WORLD_FAULTS];
	int faults;
	struct poison poison[WORLD_POISONS];
	int poisons;
	void (*durable)(void *arg, const struct flush *flush); /* may be NULL: what a flush holds is durable now */
	void *durable_arg;
	bool tapped; /* record and judge every frame: tap.h */
	struct tap *taps;
};

/* The seed from the environment (SIM_SEED), else `otherwise`. */
uint64_t world_seed(uint64_t otherwise);
struct world *world_open(uint64_t seed);
/* Closes all NICs; complains about streams that a NIC has not closed. */
void world_close(struct world *world);

/* config may be NULL. */
struct node *node_open(struct world *world, const struct nic_config *config);
/* The process dies: no BYE, its streams break, its listeners are gone. Memory stays until world_close(). */
void node_kill(struct node *node);
/* The network between it and all others goes, or comes back. As TCP does by keepalive and user timeout, connections that
 * stay silent for LINES_TIMEOUT_NS break. */
void node_cut_off(struct node *node, bool off);
/* The process ends in good order. */
void node_close(struct node *node);
/* Takes the role for a control action; in a world of one thread it is always free. */
void node_enter(struct node *node);
void node_leave(struct node *node);
/* Whether it looks for notes, until node_run() has its NIC thread serve, or its program poll. */
void node_look(struct node *node, bool on);
/* Runs one slice of the node, as a poll or as the NIC thread would. */
bool node_run(struct node *node);
bool node_logged(const struct node *node, const char *part);

/* Do connections break by themselves? */
bool world_breaks(const struct world *world);
/* Is time about to pass, for want of anything else to do? */
bool world_idle(const struct world *world);
/* One turn of one node, or, if no node has anything to do, the time moves to the next event. False: nothing can ever
 * happen again. */
bool world_step(struct world *world);
/* Steps until done(arg), for at most limit_ns of virtual time. False: it never was. */
bool world_run(struct world *world, bool (*done)(void *arg), void *arg, uint64_t limit_ns);
/* From here on, time stands still there until the next call. UINT64_MAX: nowhere. */
void world_until(struct world *world, uint64_t ns);
/* Steps until nothing happens any more or the time has passed. */
void world_pass(struct world *world, uint64_t ns);

void world_fault(struct world *world, enum fault_kind kind, uint32_t cable, uint8_t dir, uint64_t at);
/* The pages at base cannot be touched, by stream or by CPU, until world_heal(). Whole pages. */
void world_poison(struct world *world, void *base, size_t length);
void world_heal(struct world *world, void *base);

/* Prints seed, time and what is wrong, and aborts. */
_Noreturn void world_fail(const struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define WORLD_CHECK(world, cond, ...)                   \
	do {                                            \
		if (!(cond))                            \
			world_fail(world, __VA_ARGS__); \
	} while (0)

#endif
