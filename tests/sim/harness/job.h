/* SPDX-License-Identifier: BSD-2-Clause */
/* job.h - one posted op or receive, and what must come of it. Owner: the model; their addresses are the contexts. */
#ifndef TESTS_SIM_JOB_H
#define TESTS_SIM_JOB_H

#include "tests/sim/harness/region.h"

enum owed_kind { OWED_JOB = 0x10b, OWED_INTAKE = 0x147 };
enum { JOB_RED = 64, JOB_TAG_BYTES = 8 }; /* red zone around local buffers; a message begins with its job's id */

/* Causes that may come of it, a bit each. */
struct outcomes {
	bool good;
	uint64_t wire, local; /* causes below 64, from 64 on */
};

struct job {
	enum owed_kind owed;
	uint64_t id;
	struct party *from, *to;
	enum op_kind kind;
	struct atomic_what what; /* atomics; else all zero */
	uint32_t flags;          /* enum post_flag */
	uint64_t tag;            /* POST_TAGGED, else 0 */
	struct outcomes may;
	bool posted, done, failed;
	bool vague;       /* given up by its own side: the target may hold some of it */
	bool clean;       /* a refusal must leave the target as it was, not half done */
	uint64_t number;  /* of the ops that `from` posted to `to` */
	uint64_t message; /* sends: of the messages */
	bool delivered;   /* sends; writes with CQ data: the target's program has heard of it */
	uint64_t length;
	uint8_t *block; /* local memory with red zones */
	struct iovec iov[LIMIT_IOV];
	size_t iovs;
	void *desc;                      /* not NULL: of the local region that each buffer names */
	uint8_t *bytes;                  /* what is moved: of source, or for READ of the target's shadow; or what must
					 * come out (atomics) */
	uint8_t *compare, *result, *was; /* atomics: the two buffers, and what must be returned; NULL: none */
	struct region *region;           /* RMA */
	uint32_t life;
	struct remote remote[LIMIT_IOV];
	uint64_t offset[LIMIT_IOV]; /* of each range in the region */
	size_t remotes;
	bool claims; /* has claimed these ranges */
	bool keeps;  /* an atomic that finds nothing to store */
};

struct intake { /* a posted receive */
	enum owed_kind owed;
	struct intake *next;
	struct party *party;
	struct party *source; /* directed; NULL: any */
	bool tagged;
	uint64_t tag, ignore;
	uint64_t index; /* of the party's receives */
	uint64_t size;
	uint8_t *block;
	struct iovec iov[LIMIT_IOV];
	size_t iovs;
	void *desc; /* as in struct job */
	bool done, cancelled, failed;
	bool may_fail; /* its message's source, or its own memory, is not there */
	struct job *got;
};

/* Makes a job; the caller may change flags, may, iov before job_post(). Local memory is cut in `iovs` pieces. */
enum ep_counter job_counter(const struct job *job); /* of its own side */
struct job *job_message(struct party *from, struct party *to, uint64_t length, uint32_t flags, size_t iovs);
/* One range of the region. NULL: some of its bytes are in use by another job. */
struct job *job_rma(struct party *from, struct region *region, enum op_kind kind, uint64_t offset, uint64_t length, uint32_t flags,
		    size_t iovs);
enum job_atomic { JOB_SUM, JOB_FETCH_SUM, JOB_SWAP, JOB_NO_SWAP, JOB_FETCH, JOB_ATOMICS };
/* An atomic operation on 8-byte integers, of which `length` has a whole number. JOB_SWAP: a comparison that holds. */
struct job *job_atomic(struct party *from, struct region *region, enum job_atomic which, uint64_t offset, uint64_t length,
		       uint32_t flags, size_t iovs);
/* Makes it a tagged message, before job_post(). */
void job_tag(struct job *job, uint64_t tag);
/* Cuts the range in `n` remote ranges. */
void job_split_remote(struct job *job, size_t n);
/* A remote access that must be refused with `cause`: key, address and length as they go to the device. */
struct job *job_refused(struct party *from, struct party *to, enum op_kind kind, uint64_t key, uint64_t addr, uint64_t length,
			enum refusal_cause cause);
/* Local memory of the caller's in place of the job's own; it is filled with what is to be moved. */
void job_use_memory(struct job *job, void *memory);
void job_may(struct job *job, enum refusal_cause cause);
void job_outcome(struct outcomes *outcomes, enum refusal_cause cause);
/* Posts. -EAGAIN: the device takes none now; then the job is gone. */
int job_post(struct job *job);
/* A completion for it: judges it and the memory it was to change. */
void job_done(struct job *job, const struct cq_error *error, const struct completion *c);
/* May it arrive at that party: its own, or the one that has come back under its address? */
bool job_reaches(const struct job *job, const struct party *party);
/* The target's program heard of the write (CQ data). */
void job_heard(struct job *job, struct party *at);
/* Is this what the target's program hears of a write or atomic with CQ data? */
bool job_is_told(const struct job *job, const struct completion *c);
/* Does the target's program hear of it when it ends well? */
/* What its post adds to the flags of the completion there. */
static inline uint64_t job_told_flags(const struct job *job)
{
	return job->flags & POST_SOLICITED && job->kind != OP_ATOMIC ? CQ_F_SOLICITED : 0;
}
/* Does it take a receive of its target? */
static inline bool job_takes_receive(const struct job *job)
{
	return job->kind == OP_SEND ||
	       (job->kind == OP_WRITE && job->flags & POST_CQ_DATA && job->to->rules & EP_RULE_DATA_RECEIVES);
}
bool job_is_heard_of(const struct job *job);
void job_free(struct job *job);

/* Posts a receive; NULL: -EAGAIN. */
struct intake *intake_post(struct party *party, uint64_t size, size_t iovs, struct party *source);
/* The same for messages with this tag, the bits of `ignore` left out. */
struct intake *intake_post_tagged(struct party *party, uint64_t size, size_t iovs, struct party *source, uint64_t tag,
				  uint64_t ignore);
/* Any tag, or, untagged, any message, from any sender? */
bool intake_takes_all(const struct intake *intake);
/* Would it, had it been free when the message came? */
bool intake_would_take(const struct intake *intake, const struct job *job);
/* The same, naming a local region. */
struct intake *intake_post_named(struct party *party, uint64_t size, void *memory, void *desc);
/* An untagged one, into one piece of the caller's memory. */
struct intake *intake_post_at(struct party *party, void *memory, uint64_t size);
void intake_done(struct intake *intake, const struct cq_error *error, const struct completion *c);
void intake_free(struct intake *intake);

#endif
