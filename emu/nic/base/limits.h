/* SPDX-License-Identifier: BSD-2-Clause */
/* limits.h - every bound of the device, in one place. Beside each stands what a user meets there. */
#ifndef EMU_NIC_LIMITS_H
#define EMU_NIC_LIMITS_H

enum {
	/* Sizes of a post. Beyond: -EINVAL, or -EMSGSIZE for inject. */
	LIMIT_IOV = 8,             /* local, remote and region segments an op or region */
	LIMIT_INJECT = 256,        /* bytes */
	LIMIT_TX_OPS = 1024,       /* ops outstanding a transmit context, if the program names none; then -EAGAIN */
	LIMIT_DEFERRED = 65536,    /* triggered operations and deferred work that wait, a process; then -EAGAIN */
	LIMIT_SHARED_AV = 1 << 20, /* insertions and removals together of a shared address vector; then -ENOMEM */
	LIMIT_CONTEXTS = 128,      /* transmit, and receive, contexts of a scalable endpoint */
	LIMIT_RX_OPS = 1024,       /* receives posted a receive context, if the program names none; then -EAGAIN */

	LIMIT_DGRAM = 1388, /* bytes of an unreliable datagram: fills an Ethernet frame. Longer: -EMSGSIZE */

	/* The grants of HELLO; a peer that goes past a grant broke the protocol: BYE, connection closed. */
	LIMIT_REQUESTS = 1024,      /* request segments unacknowledged */
	LIMIT_READS = 128,          /* READs unanswered */
	LIMIT_SEGMENT = 128 * 1024, /* payload bytes a frame */
	LIMIT_VERDICTS = 4096,      /* verdicts not yet acknowledged by the peer */
	LIMIT_ATOMIC = 4096,        /* bytes of the target that one atomic operation names; then -EMSGSIZE */

	LIMIT_SHM = 16,           /* segments of shared memory a process, as each poll looks at all; then connections have none */
	DIALS_SHARE = 8,          /* one in so many descriptors (RLIMIT_NOFILE) may be a dial under way; then dials wait */
	TRUNK_BYTES = 128 * 1024, /* that wait in a trunk, each way; then its lines wait */
	TRUNK_ENDS = 4096,        /* more, for ends of lines; then the trunk is cut, and its lines begin anew */
	LIMIT_CM_DATA = 256,      /* bytes of the program's in a connection request or its answer; the rest is cut off */
	LIMIT_WORDS = 16384,      /* a manager's under way to one peer; then requests of the peer are refused */
	LIMIT_BACKLOG = 1024,     /* connection requests unanswered, a passive endpoint; then they are refused */
	LIMIT_HANDLERS = 8,       /* times that our fault handler is put, each signal; then the program's stays in front */

	/* Messages. */
	LIMIT_EAGER = 64 * 1024,           /* longer ones go by rendezvous (RTS) */
	LIMIT_UNEXPECTED_BYTES = 64 << 20, /* payload kept a receive context; then only envelopes are kept */
	LIMIT_PIECES = 1 << 16,            /* messages in multi-receive buffers of a context whose completions are unread;
					 * then receiver-not-ready */
	LIMIT_MIN_MULTI_RECV = 64,         /* bytes left, below which such a buffer is released, if the program names none */
	LIMIT_ENVELOPES = 1 << 20,         /* unexpected messages a receive context; then receiver-not-ready */

	/* Collectives. */
	LIMIT_MEMBERS = 1024,       /* of a group; then -EINVAL */
	LIMIT_GROUPS = 1024,        /* that an endpoint is in; then -ENOMEM */
	LIMIT_COLLECTIVES = 1024,   /* begun and not read yet, an endpoint; then -EAGAIN */
	LIMIT_COLL_BYTES = 1 << 30, /* of one member's part; then -EMSGSIZE */
	LIMIT_COLL_OPS = 1 << 16,   /* messages under way, an endpoint; then its collectives wait */
	LIMIT_COLL_ENVELOPES =
		1 << 16,        /* messages that came before their collective was begun, an endpoint; then receiver-not-ready */
	LIMIT_COLL_LEFT = 64,   /* groups that are left, and remembered for members that still call; the oldest is forgotten */
	LIMIT_COLL_ABORTS = 64, /* of groups that are not joined yet, remembered an endpoint; older ones are forgotten */
	COLL_LONG = 64 * 1024,  /* bytes from which on the algorithm is the one that moves fewer of them */
	COLL_FAN = 16,          /* messages out, and in, at a time in one collective */

	/* How payload leaves. */
	LIMIT_COPY = 1024,                 /* up to so many bytes are copied beside their head, longer ones are lent */
	LIMIT_DIGESTED = 1 << 20,          /* payload that is digested, and then sent, at once */
	LIMIT_DIGESTED_LOCAL = 256 * 1024, /* the same for a neighbour: has room in the ring, and is in the cache still */
	LIMIT_COPIED_SEGMENT = 32 * 1024,  /* segments of READs out of pinned memory, which are copied, are short */

	/* Work in one slice of the driver role. */
	SLICE_FRAMES = 64,               /* frames generated a connection */
	SLICE_RECV_BYTES = 32 * 1024,    /* received at once into shared scratch, but for a large payload's rest with its digest */
	SLICE_RECV_MORE = LIMIT_SEGMENT, /* the same where so many came the last time: more will be waiting */
	CACHE_LINE = 64,
	SLICE_DATAGRAMS = 64,          /* datagrams received a port */
	SLICE_OPS = 256,               /* posted ops taken from the submit queue */
	SLICE_COLLECTIVES = 64,        /* collectives and groups that get on by a step */
	SLICE_COLL_BYTES = 256 * 1024, /* copied and reduced for them together */
	SLICE_BINDINGS = 256,          /* bindings dissolved when an endpoint or counter with regions bound to it closes */
	SLICE_POPULATE = 16 << 20,     /* bytes that the worker populates before it looks whether the region is being closed */
	SLICE_BLIND = 8,               /* busy slices between two reads of the clock */
	SLICE_SHM = 256,               /* polls in a row that look at shared memory and at no socket (shm.h) */
	SLICE_RINGS = 64,              /* rounds of receives from rings that were closed (shm_ring.h); the rest at ticks */
	SLICE_ROOM = 16,               /* connections closed at a time to make room for others (evict.c) */
	SLICE_LAZY_POSTS = 32,         /* posts in a row that may wait for the next poll to share a send */
	/* Slices without work before messages are acknowledged: the program may answer them. After a long one its sender waits. */
	SLICE_IDLE_ACKS = 4,
	SLICE_IDLE_ACKS_LONG = 2,

	AHEAD_REGIONS = 4096, /* regions of a domain from which on it pays to prefetch those that keys name */

	/* Acknowledgements owed at most this long. */
	ACK_REQUESTS = 64,
	ACK_STORED = 32, /* of one-sided requests, with stored acknowledgements (link.h) */
	ACK_BYTES = 256 * 1024,

	LIMIT_CQ_SIZE = 1024,        /* entries of a completion queue if the program names none */
	LIMIT_CQ_SIZE_MAX = 1 << 20, /* beyond: -EINVAL */
	LIMIT_CQ_ERRORS = 4096,      /* error entries unread in a queue; then posts get -EAGAIN */
	LIMIT_LIKE_KEYS = 4096,      /* regions that are looked at for the one that a wrong key may have been meant for */
	LIMIT_TOMBSTONES = 4096,     /* closed keys remembered a domain; older ones become unknown keys */
	LIMIT_AV = 1 << 22,          /* addresses an address vector; then -ENOMEM */
	LIMIT_JOBS = 1024,           /* jobs that wait for the worker thread; then the call that brings one waits */
	LIMIT_BINDINGS = 64,         /* endpoints and counters bound to a region; then -ENOMEM */
	LIMIT_REGIONS = 1 << 21,     /* regions a domain; then -ENOMEM */
	LIMIT_SECRET_MIN = 16,       /* bytes of a shared secret */
	LIMIT_SECRET = 4096,
	LIMIT_AUTH_KEY = 64,          /* bytes of an authorization key */
	LIMIT_AUTH_KEYS = 65536,      /* different ones a process; then -ENOMEM */
	LIMIT_AV_KEYS = 64,           /* of them an address vector, and so an endpoint */
	LIMIT_REGION_PAGES = 1 << 28, /* of a region under FI_MR_MMU_NOTIFY; then -ENOMEM */
	LIMIT_PINNED = 1 << 14,       /* pieces of pinned memory a process, io_uring's own limit; then -ENOMEM */
	LIMIT_PINNED_SHIFT = 22,      /* a piece ends at the next multiple of 2^this bytes, 4 MiB */
	LIMIT_MAPPINGS = 1 << 21,     /* raw keys mapped a domain; then -ENOMEM */
	LIMIT_CACHED = 1 << 16,       /* regions of a domain's registration cache; FI_MR_CACHE_MAX_COUNT beyond means this */
	LIMIT_CONNECTIONS = 65536,    /* a process; then BYE */
	LIMIT_SESSIONS = 65536,       /* peers an endpoint; then -ENOMEM at the post, BYE at the listener */
	SESSIONS_SWEPT = 32,          /* no look for sessions that have ended among fewer */
	LIMIT_HELD = 4 << 20,         /* bytes of peers' writes that a fault plan holds back (held.c); others are seen at once */
	LIMIT_KEPT = 1 << 18,         /* bytes behind a frame that waits in races mode (conn_recv.c); more are not waited for */
	LIMIT_FAULT_RULES = 64,       /* of a fault plan; then the plan is refused */
	LIMIT_FAULT_BYTES = 1 << 20,  /* of its file; likewise */
	LIMIT_ERROR_TEXT = 384,       /* bytes of a refusal's sentence */
	LIMIT_GUESSES = 1024,         /* wrong keys in TIME_GUESSES_NS, of all peers; then a peer that names one is not read */
	LIMIT_CLAIMS = 256,           /* questions begun in TIME_CLAIMS_NS; then a claim is turned away, and not looked into */
	LIMIT_CLAIMS_OPEN = 64,       /* of them under way; likewise, but for the oldest, past TIME_CLAIM_LEAST_NS */
	LIMIT_CHECK_ENDED = 4096,     /* checked mode: ended posts kept for the program's next look; then one is compared at once */
	LIMIT_LOG_LINES = 256,        /* lines of log of a kind that peers cause; then one each TIME_LOG_LINE_NS */
};

/* Times in nanoseconds. */
#define TIME_MS(n) ((uint64_t)(n)*1000000u)
#define TIME_REDIAL_NS TIME_MS(100)         /* between dials; the first after a cut is immediate */
#define TIME_DIAL_TURN_NS TIME_MS(20)       /* where as many are under way as may be */
#define TIME_RETRY_BUDGET_NS TIME_MS(15000) /* unreachable for so long: ops fail */
#define TIME_DOWN_NS TIME_MS(1000)          /* between two looks at a peer that is not connected */
#define TIME_STOPPED_NS TIME_MS(2000)       /* no look for so long: the process was stopped, and the budget stood still */
#define TIME_SILENCE_NS TIME_MS(8000)       /* a connection on which nothing gets through is broken */
#define TIME_HELLO_NS TIME_MS(5000)         /* a connection that has not said HELLO by then is closed */
#define TIME_IDLE_NS TIME_MS(1000)          /* a connection over which nothing moves for so long may make room for another */
#define TIME_RNR_NS TIME_MS(1)              /* receiver-not-ready: the first wait that is asked for */
#define TIME_RNR_MIN_NS 10000u              /* whatever a peer asks for, it is waited so long, */
#define TIME_RNR_MAX_NS 655360000u          /* and no longer: the bounds of InfiniBand's timer */
#define TIME_FLUSH_NS TIME_MS(1)            /* all that is owed is sent at the latest after this */
#define TIME_GUARD_NS TIME_MS(10)           /* between two looks whether the program's handler stands before ours */
#define TIME_ANSWER_NS TIME_MS(1000)        /* the passive endpoint has gone: a connection may still be accepted */
#define TIME_PAIR_LOOK_NS TIME_MS(5000)     /* between two looks whether both of a pair wait for the other to send */
#define TIME_ASK_NS TIME_MS(50)             /* before a question for a service is asked again, twice that after each, */
#define TIME_ASK_MOST_NS TIME_MS(1000)      /* and no more */
#define TIME_ASK_REFUSED_NS TIME_MS(1000)   /* nobody has the service for so long: there is none */
#define TIME_COLL_LOOK_NS TIME_MS(1000)     /* between two looks at what collectives wait for */
#define TIME_SWEEP_NS TIME_MS(1000)         /* between two looks for sessions that have ended */
#define TIME_GUESSES_NS TIME_MS(1000)       /* see LIMIT_GUESSES */
#define TIME_CLAIMS_NS TIME_MS(1000)        /* see LIMIT_CLAIMS */
#define TIME_CLAIM_NS TIME_MS(1000)         /* between two questions to one address, twice that after each without an answer, */
#define TIME_CLAIM_MOST_NS TIME_MS(8000)    /* and no more */
#define TIME_CLAIM_LEAST_NS TIME_MS(250)    /* a question waits so long for its answer, however many wait for their turn */
#define TIME_LOG_LINE_NS TIME_MS(1000)      /* see LIMIT_LOG_LINES */
#define TIME_BYE_NS TIME_MS(1000)           /* closing waits at most so long for all that is owed to be sent */
/* Waits of seconds end at multiples of this, so that thousands of peers have few ticks between them. */
#define TIME_COARSE_NS TIME_MS(50)
enum { RNR_DOUBLED = 64 };       /* waits double up to so many times the first */
enum { REFUSED_DIALS_GONE = 3 }; /* refused dials in a row that mean: the peer is gone */

#endif
