/* SPDX-License-Identifier: BSD-2-Clause */
/* refusals.c - a NIC refuses forbidden operations: the initiator gets an error completion that says why, the target's
 * provider logs the same sentence, no byte moves, and the next good operation goes through. */
#include <emu/emu.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "initiator.h"

enum { REGION_LENGTH = 4096, LENGTH = 64, LOG_WAIT_MS = 5000 };

/* The target's regions that the attempts are aimed at. */
enum aim { AIM_OPEN, AIM_READ_ONLY, AIM_WRITE_ONLY, AIM_CLOSED, AIMS };

/* The place in the address space; LAST_ADDRESSES begins so near its end that address plus length wraps. */
enum aim_place { AT_START, ONE_PAST_END, LAST_ADDRESSES };

static const struct attempt {
	const char *what;
	enum direction direction;
	enum aim aim;
	enum aim_place place;
	bool wrong_key;
	int cause; /* the prov_errno of the refusal */
} attempts[] = {
	{ "write with an unknown key", REMOTE_WRITE, AIM_OPEN, AT_START, true, EMU_CAUSE_UNKNOWN_KEY },
	{ "write one byte past the end", REMOTE_WRITE, AIM_OPEN, ONE_PAST_END, false, EMU_CAUSE_RANGE },
	{ "write to a read-only region", REMOTE_WRITE, AIM_READ_ONLY, AT_START, false, EMU_CAUSE_RIGHT },
	{ "read from a write-only region", REMOTE_READ, AIM_WRITE_ONLY, AT_START, false, EMU_CAUSE_RIGHT },
	{ "write to a closed region", REMOTE_WRITE, AIM_CLOSED, AT_START, false, EMU_CAUSE_CLOSED },
	{ "write to an address that wraps", REMOTE_WRITE, AIM_OPEN, LAST_ADDRESSES, false, EMU_CAUSE_WRAP },
};

struct stage {
	struct initiator *in;
	struct region local;
	struct remote_region remotes[AIMS];
	uint64_t good_writes;
};

static uint64_t place_address(const struct remote_region *remote, enum aim_place place)
{
	switch (place) {
	case AT_START:
		return remote->address;
	case ONE_PAST_END:
		return remote->address + remote->length - LENGTH + 1;
	case LAST_ADDRESSES:
		return UINT64_MAX - LENGTH / 2;
	}
	abort();
}

/* Fills the local region with bytes that were not there before. */
static void fill_anew(struct stage *s)
{
	s->good_writes++;
	for (size_t at = 0; at < s->local.length; at += sizeof(uint64_t)) {
		uint64_t word = XXH3_64bits_withSeed(&at, sizeof(at), s->good_writes);

		memcpy(s->local.bytes + at, &word, sizeof(word));
	}
}

static void good_write(struct stage *s)
{
	const struct remote_region *remote = &s->remotes[AIM_OPEN];
	struct transfer t = { .direction = REMOTE_WRITE,
			      .local = &s->local,
			      .length = s->local.length,
			      .address = remote->address,
			      .key = remote->key };
	struct outcome out;
	uint64_t here, there;

	fill_anew(s);
	here = XXH3_64bits(s->local.bytes, s->local.length);
	out = transfer(&s->in->endpoint, &t);
	if (!expect(s->in, out.good, "the good write after it failed: %s", out.sentence))
		return;
	there = remote_hash(s->in, remote);
	say("initiator", "  then a good write of %zu bytes: XXH3 %016llx here, %016llx there", t.length, (unsigned long long)here,
	    (unsigned long long)there);
	expect(s->in, here == there, "the good write's bytes did not arrive");
}

/* How many lines of the target's log contain the sentence. */
static int count_logged(const char *path, const char *sentence)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	int count = 0;

	if (!file)
		return 0;
	while (getline(&line, &size, file) >= 0)
		count += strstr(line, sentence) != NULL;
	free(line);
	fclose(file);
	return count;
}

/* The target's NIC may log a moment after it has answered. */
static bool logged_once(const char *path, const char *sentence)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int count = 0;

	for (int i = 0; i < LOG_WAIT_MS / 10 && count == 0; i++) {
		count = count_logged(path, sentence);
		if (count == 0)
			nanosleep(&pause, NULL);
	}
	return count == 1;
}

static void check_refusal(struct stage *s, const struct attempt *a, const struct outcome *out)
{
	struct initiator *in = s->in;

	if (!expect(in, !out->good, "%s was not refused", a->what))
		return;
	say("initiator", "  %s, prov_errno %d: %s", fi_strerror(out->err), out->prov_errno, out->sentence);
	expect(in, out->err == FI_EACCES, "err is %d, to be FI_EACCES (%d)", out->err, FI_EACCES);
	expect(in, out->prov_errno == a->cause, "prov_errno is %d, to be %d", out->prov_errno, a->cause);
	if (expect(in, out->sentence[0] && logged_once(in->target_log, out->sentence),
		   "the target's log does not have that sentence once"))
		say("target", "  its log has the same sentence");
}

static void attempt(struct stage *s, const struct attempt *a)
{
	const struct remote_region *remote = &s->remotes[a->aim];
	struct transfer t = { .direction = a->direction,
			      .local = &s->local,
			      .length = LENGTH,
			      .address = place_address(remote, a->place),
			      .key = a->wrong_key ? ~remote->key : remote->key };
	uint64_t local_before, remote_before = remote_hash(s->in, remote);
	struct outcome out;

	fill_anew(s);
	local_before = XXH3_64bits(s->local.bytes, s->local.length);
	say("initiator", "%s:", a->what);
	out = transfer(&s->in->endpoint, &t);
	check_refusal(s, a, &out);
	expect(s->in, remote_hash(s->in, remote) == remote_before, "the target's bytes changed");
	expect(s->in, XXH3_64bits(s->local.bytes, s->local.length) == local_before, "the initiator's bytes changed");
	good_write(s);
}

void show_refusals(struct initiator *in)
{
	static const uint64_t access[AIMS] = {
		[AIM_OPEN] = FI_REMOTE_READ | FI_REMOTE_WRITE,
		[AIM_READ_ONLY] = FI_REMOTE_READ,
		[AIM_WRITE_ONLY] = FI_REMOTE_WRITE,
		[AIM_CLOSED] = FI_REMOTE_READ | FI_REMOTE_WRITE,
	};
	struct question close_it = { .ask = ASK_CLOSE };
	struct stage s = { .in = in };

	region_open(&in->endpoint, &s.local, REGION_LENGTH, FI_READ | FI_WRITE);
	for (enum aim aim = 0; aim < AIMS; aim++)
		s.remotes[aim] = remote_register(in, REGION_LENGTH, access[aim]);
	close_it.region = s.remotes[AIM_CLOSED].number;
	channel_ask(&in->channel, &close_it);
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		attempt(&s, &attempts[i]);
	region_free(&s.local);
}
