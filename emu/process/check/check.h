/* SPDX-License-Identifier: BSD-2-Clause */
/* check.h - checked mode (FI_EMU_CHECK), as far as front ends share it: misuse that this NIC forgives and hardware punishes later,
 * and objects that are never closed. */
#ifndef EMU_PROCESS_CHECK_H
#define EMU_PROCESS_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/interval_tree.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"
#include "emu/process/report/call_stack.h"

/* --- is this thread inside checked mode, with one of its locks? A signal handler that has interrupted it there gets none of
 * them: what it calls is not looked at, and if it ends the process by exit(), nothing more is told. Any thread. --- */

/* The locks that it has or is about to take, and the findings that it tells. initial-exec: the handler of a fault reads it. */
extern _Thread_local volatile unsigned int check_inside __attribute__((tls_model("initial-exec")));

static inline void check_lock(struct mutex *mutex) ACQUIRE(*mutex)
{
	check_inside++;
	mutex_lock(mutex);
}

static inline void check_unlock(struct mutex *mutex) RELEASE(*mutex)
{
	mutex_unlock(mutex);
	check_inside--;
}

/* --- What checked mode has found, told to the log and to reports. The log tells each place that causes it once. Any thread,
 * with or without the driver role. --- */

enum check_cause {
	CHECK_SEND_CHANGED,
	CHECK_RECEIVE_CHANGED,
	CHECK_RECEIVE_USED,
	CHECK_RECEIVE_SHARED,
	CHECK_VECTOR,
	CHECK_UNMAPPED,
	CHECK_CONTEXT,
	CHECK_SERIAL,
	CHECK_CLAIM,
	CHECK_UNALIGNED,
	CHECK_CQ_OVERRUN,
	CHECK_EQ_OVERRUN,
	CHECK_IN_FLIGHT,
	CHECK_UNREAD,
	CHECK_NOT_ARMED,
	CHECK_NO_PROGRESS,
	CHECK_PROGRESS_ASSUMED,
	CHECK_REGION_OPEN,
	CHECK_RAW_KEY_OPEN,
	CHECK_ENDPOINT_OPEN,
	CHECK_DOMAIN_OPEN,
	CHECK_OBJECT_OPEN,
	CHECK_NO_HEADER_ROOM,
	CHECK_RACE_OPERATIONS,
	CHECK_RACE_LOAD,
	CHECK_RACE_STORE,
	CHECK_POLLED,
	CHECK_POLLED_STRICT,
	/* Told without checked mode, too. */
	CHECK_BOTH_WAIT,
	CHECK_NO_ROUTE,
	CHECK_CAUSES
};

/* The front end's part, which it defines. Constant. */
struct check_front {
	const char *remedies[CHECK_CAUSES]; /* of the causes that it tells */
	/* Puts other names into a sentence, which is terminated, in `size` bytes; NULL: there are none. */
	size_t (*words)(char *text, size_t size);
	/* Receives may be posted again for a place that one has already: it is where bytes go that nobody wants. A note. */
	bool receives_share;
};

extern const struct check_front check_front;

struct check_finding {
	enum check_cause cause;
	const char *call;                /* "fi_send"; NULL: none */
	const struct call_stack *posted; /* NULL: none, as below */
	const struct call_stack *opened;
	const struct call_stack *at; /* where it was found; NULL: as `here` says */
	bool here;                   /* the thread is in the call that caused it */
	uint64_t place;              /* what stands for where it was found, if no stack does; 0: a stack does */
};

/* The sentence by `format`; the remedy goes by the cause. */
void check_tell(const struct check_finding *finding, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* --- A look at the program's bytes, which may be gone at any time. Any thread, with or without the driver role; nothing
 * sleeps but for page faults. --- */

/* Buffers together longer than this are looked at in part: their first and last CHECK_ENDS bytes, and CHECK_SAMPLES places of
 * CHECK_SAMPLE bytes between. */
enum { CHECK_WHOLE = 64 * 1024, CHECK_ENDS = 16 * 1024, CHECK_SAMPLES = 256, CHECK_SAMPLE = 64 };

/* The digest of the bytes. False: some cannot be read. */
bool check_digest(const struct iovec *iov, size_t count, uint64_t *digest);
/* Is there a mapping at each page? False sets *hole to the first address without. Memory that was given back to the allocator is
 * still mapped. */
bool check_is_mapped(const void *at, size_t length, const void **hole);

/* --- Races (check_race.c), where FI_EMU_CHECK asks for them. --- */

struct race_ops;

/* They are looked for from now on, with waits that are drawn from this seed; the first call counts. `strict`: memory that is polled
 * is one. Before the NIC starts, and once guard_install() was called. */
void check_races_start(uint64_t from, bool strict);
/* Tells how many buffers could not be watched, if they were many. */
void check_races_exit(void);
/* In a fork's child, where nothing is open. */
void check_races_forked(void);
/* For nic_config; NULL: they are not looked for. */
const struct race_ops *check_races(void);

/* The call that is about to return has told the program of something, and may do so a little later. Any thread, without the driver
 * role. */
void check_told(void);

/* What the checks take of the program's time, which then waits less. Any thread. Returns 0, which the other ignores, if races are
 * not looked for. */
uint64_t check_cost_begin(void);
void check_cost_end(uint64_t begun_ns);

/* Memory of an operation that the program's CPU leaves alone until it has ended (page_watch.h). All of it is optional: what is not
 * watched is not found. */
struct check_owned {
	struct page_watch *_Atomic watch; /* NULL: it is not watched */
	const struct check_post *post;    /* whose it is; NULL: an access of a peer's */
	bool by_bytes;                    /* no page is watched for it */
};

/* Stores alone are wrong, or loads, too. `owned` stays where it is until check_owned_end(), which may be called again. */
void check_owned_begin(struct check_owned *owned, const struct iovec *iov, size_t count, bool stores_alone);
void check_owned_end(struct check_owned *owned);

/* --- The objects that the program has opened and not closed, the latest first, and the memory to which peers may write. Any
 * thread. --- */

struct check_open {
	struct check_open *next, **at;
	unsigned int forks; /* where it was opened: after a fork it is in no list */
	struct call_stack opened;
};

void check_open_add(struct check_open *object);
void check_open_remove(struct check_open *object);
/* The first for which see() is true, NULL: none. see() is called with the lock, and changes nothing. */
struct check_open *check_open_find(bool (*see)(struct check_open *object, void *arg), void *arg);

/* A region of this key is open at exit: tells so, and if it is `pinned` and its memory is not mapped any more, that, too.
 * `reached`: by peers. */
void check_tell_region(const struct check_open *object, const struct interval *spans, size_t count, uint64_t key, bool reached,
		       bool pinned);

void check_remote_add(struct interval *spans, size_t count);
/* `since`: check_open.forks of the object whose spans they are. */
void check_remote_remove(struct interval *spans, size_t count, unsigned int since);
/* Memory to which peers may write, up to `longest` bytes of a region: how many. */
size_t check_remote_some(struct iovec *iov, size_t most, size_t longest);
/* May a peer write to these bytes? */
bool check_is_remote(const struct iovec *iov, size_t count);

/* --- Memory of checked mode, zeroed, on pages that are never watched. Any thread. --- */

enum { CHECK_ALLOC_MOST = 4000 };

/* Up to CHECK_ALLOC_MOST bytes; NULL: there is no memory. */
void *check_alloc(size_t size);
/* NULL is allowed. */
void check_free(void *bytes);

/* --- The operations under way, as far as they are checked. Any thread. --- */

enum { CHECK_BUFFERS = 2 * LIMIT_IOV }; /* an atomic's operands and comparands */

/* A range in one of the trees. */
struct check_span {
	struct interval range;
	struct check_post *post;
	struct check_span *newer, *older; /* at the same place, of those that the device writes to: a ring */
	bool oldest;
};

struct check_post {
	struct check_post *next, **at;
	struct check_post *next_ended;
	struct check_owned fills, reads; /* the memory that the device writes to, and that which it reads */
	const void *owner;
	const char *call;
	struct call_stack posted;
	unsigned int forks; /* where it was posted: after a fork it is in no list */
	uint64_t cost_ns;   /* check_cost_begin(), while the post is made */
	bool receive;
	bool fenced;                    /* it begins when all before it of its owner to `dest` have ended */
	bool in_order;                  /* what it brings comes behind what was brought before, of its owner and `dest`, */
	bool behind_writes;             /* and when the writes before it are executed */
	atomic_uint_fast64_t leaves_ns; /* by the device's clock nothing of it leaves before then; 0: nobody knows */
	atomic_bool over;               /* it has ended */
	atomic_bool digested;           /* `digest` is of the bytes that are to stay */
	uint8_t count, spans, sources;
	bool has_context;
	uint64_t digest, length, dest;
	uint64_t remote;      /* stands for the bytes at the peer that it reads; 0: it reads none */
	uint64_t tag, ignore; /* of a receive that fetches a claimed message */
	struct iovec iov[CHECK_BUFFERS];
	struct check_span span[LIMIT_IOV];       /* what the device writes to */
	struct check_span source[CHECK_BUFFERS]; /* what it reads, but for what it writes to, too */
	struct check_span context;
};

/* Places: spans that the device writes to. Equal ones of receives, or of one owner's posts to one peer, are one place, whose oldest
 * span is in the tree. Of its receives that one alone may have a digest or a watch. */
void check_place_add(struct interval_tree *places, struct check_span *span);
void check_place_remove(struct interval_tree *places, struct check_span *span);
/* A receive is posted there: bytes of a message that has ended are the program's, though others wait for them. */
void check_place_leave_alone(struct check_span *oldest);

/* A post that is about to be made, by this thread. NULL: no memory, or checked mode is interrupted; it is not watched. */
struct check_post *check_post_new(const void *owner, const char *call, bool receive);
/* Its context is a structure that no other post may have until it has completed. */
void check_post_context(struct check_post *post, const void *context, size_t size);
/* Buffers that are read, or received into. */
void check_post_buffers(struct check_post *post, const struct iovec *iov, size_t count);
/* Their bytes are to stay as they are: a source's until the end, a receive's until its message comes. */
void check_post_stays(struct check_post *post);
/* It is a read of bytes that begin there. */
void check_post_reads(struct check_post *post, uint64_t key, uint64_t addr);
/* Enters it, and tells of others that it shares a buffer or a context with. `results`: where the device writes to, unless it is a
 * receive; of its buffers the others are read. */
void check_post_enter(struct check_post *post, const struct iovec *results, size_t count);
/* The device writes to them: tells if two buffers of one vector overlap. */
void check_post_vector(const struct check_post *post, const struct iovec *iov, size_t count);
/* For struct watch_ops. */
void check_post_drop(void *post);
void check_post_place(void *post);
void check_post_end(void *post);

/* May nobody know of its end? In the handler of a fault in its buffers. */
bool check_post_is_open(const struct check_post *post);

bool check_buffers_overlap(const struct iovec *a, size_t a_count, const struct iovec *b, size_t b_count);

/* Operations that are under way: how many, and the call and place of one. */
struct check_left {
	unsigned int count;
	const char *call;
	struct call_stack posted;
};

/* Looks for the posts of an endpoint (NULL: all), receives left out. False: there are none. */
bool check_posts_left(const void *owner, struct check_left *left);
/* What a peer's access meets: the destination of a read or of an atomic's results that is under way, or, if it changes bytes, a
 * source that has not left by this time of the device's clock. Under the driver role. False: nothing. */
struct check_met {
	bool source;
	const char *call;
	struct call_stack posted;
	struct iovec both;
};

bool check_posts_met(const struct iovec *run, size_t count, bool changes, uint64_t now_ns, struct check_met *met);
/* A post that is not watched, as its bytes are copied at once, is about to be made: some of them may not be there yet. */
void check_post_copied(const char *call, const struct iovec *iov, size_t count);
/* Nothing of it leaves before then. */
void check_post_leaves(struct check_post *post, uint64_t at_ns);
/* Peers may have written to these bytes until now: operations under way whose buffers are there are not compared. */
void check_posts_unsure(const struct interval *spans, size_t count);
/* Compares the buffers of operations that have ended. At the end of each call that may tell the program of an end. */
void check_posts_settle(void);

/* --- In a fork's child. --- */

void check_alloc_forked(void);
void check_posts_forked(void);
void check_open_forked(void);

#endif
