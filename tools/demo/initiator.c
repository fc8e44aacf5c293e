/* SPDX-License-Identifier: BSD-2-Clause */
/* initiator.c - the process that writes and reads the other's memory. It writes a file there and reads it back, reads a
 * thousand times from a target that sleeps, and tries operations that the rules of fi_mr(3) forbid. */
#include "initiator.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { READS = 1000, READ_LENGTH = 512 };

bool expect(struct initiator *in, bool met, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (met)
		return true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("DEVIATION", "%s", text);
	in->deviations++;
	return false;
}

struct remote_region remote_register(struct initiator *in, size_t length, uint64_t access)
{
	struct question q = { .ask = ASK_REGISTER, .length = length, .access = access };
	struct answer a = channel_ask(&in->channel, &q);

	return (struct remote_region){ .number = a.region, .length = length, .address = a.address, .key = a.key };
}

uint64_t remote_hash(struct initiator *in, const struct remote_region *remote)
{
	struct question q = { .ask = ASK_HASH, .region = remote->number };

	return channel_ask(&in->channel, &q).hash;
}

/* Reads a whole file into registered memory. */
static void load_file(struct initiator *in, struct region *r, const char *path)
{
	FILE *file = fopen(path, "rb");
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
		die("%s: %s", path, strerror(errno));
	if (size == 0)
		die("%s is empty: there is nothing to move", path);
	region_open(&in->endpoint, r, (size_t)size, FI_WRITE);
	if (fread(r->bytes, 1, r->length, file) != r->length)
		die("%s: cannot be read", path);
	fclose(file);
}

/* One operation if the endpoint takes messages of that length, as emu's do, else as many as needed. */
static struct outcome transfer_whole(struct initiator *in, enum direction direction, struct region *local,
				     const struct remote_region *remote)
{
	size_t most = in->endpoint.info->ep_attr->max_msg_size;
	struct outcome out = { .good = true };

	for (size_t at = 0; at < local->length && out.good; at += most) {
		struct transfer t = { .direction = direction,
				      .local = local,
				      .local_at = at,
				      .length = local->length - at < most ? local->length - at : most,
				      .address = remote->address + at,
				      .key = remote->key };

		out = transfer(&in->endpoint, &t);
		if (local->length - at <= most)
			break;
	}
	return out;
}

static void show_write(struct initiator *in, struct region *file, const struct remote_region *remote, const char *path)
{
	uint64_t here = XXH3_64bits(file->bytes, file->length), there;
	struct outcome out = transfer_whole(in, REMOTE_WRITE, file, remote);

	if (!expect(in, out.good, "the remote write failed: %s", out.sentence))
		return;
	there = remote_hash(in, remote);
	say("initiator", "remote write of %s: %zu bytes", path, file->length);
	say("", "XXH3 here %016llx, in the target's memory %016llx", (unsigned long long)here, (unsigned long long)there);
	expect(in, here == there, "the target's bytes differ from the file");
}

static void show_read(struct initiator *in, const struct region *file, const struct remote_region *remote)
{
	uint64_t here = XXH3_64bits(file->bytes, file->length), back;
	struct outcome out;
	struct region copy;

	region_open(&in->endpoint, &copy, file->length, FI_READ);
	out = transfer_whole(in, REMOTE_READ, &copy, remote);
	back = XXH3_64bits(copy.bytes, copy.length);
	region_free(&copy);
	if (!expect(in, out.good, "the remote read failed: %s", out.sentence))
		return;
	say("initiator", "remote read of the same: %zu bytes, XXH3 %016llx", file->length, (unsigned long long)back);
	expect(in, here == back, "what was read back differs from the file");
}

/* The state of the target's main thread, as the kernel gives it: S for asleep. */
static char thread_state(int64_t pid)
{
	char path[64], line[512] = "", *after;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%lld/task/%lld/stat", (long long)pid, (long long)pid);
	file = fopen(path, "r");
	if (!file)
		return '?';
	after = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return after && after[1] ? after[2] : '?';
}

/* Waits until the target sleeps: after its answer it may take a moment. */
static bool falls_asleep(int64_t pid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 30000; i++) {
		if (thread_state(pid) == 'S')
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Reads places all over the file; returns how many reads got the right bytes. */
static int read_places(struct initiator *in, const struct region *file, const struct remote_region *remote, struct region *copy)
{
	size_t places = file->length - copy->length + 1;
	int right = 0;

	for (uint64_t i = 0; i < READS; i++) {
		size_t at = (size_t)(XXH3_64bits(&i, sizeof(i)) % places);
		struct transfer t = { .direction = REMOTE_READ,
				      .local = copy,
				      .length = copy->length,
				      .address = remote->address + at,
				      .key = remote->key };
		struct outcome out;

		memset(copy->bytes, 0, copy->length);
		out = transfer(&in->endpoint, &t);
		if (!expect(in, out.good, "read %d failed: %s", (int)i, out.sentence))
			break;
		right += !memcmp(copy->bytes, file->bytes + at, copy->length);
	}
	return right;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void show_sleeping_target(struct initiator *in, const struct region *file, const struct remote_region *remote)
{
	struct question sleep_now = { .ask = ASK_SLEEP }, wake = { .ask = ASK_WAKE };
	struct answer woken;
	struct region copy;
	char before, after;
	double since;
	int right;

	region_open(&in->endpoint, &copy, file->length < READ_LENGTH ? file->length : READ_LENGTH, FI_READ);
	channel_ask(&in->channel, &sleep_now);
	expect(in, falls_asleep(in->target_pid), "the target does not go to sleep");
	before = thread_state(in->target_pid);
	since = now_ms();
	right = read_places(in, file, remote, &copy);
	after = thread_state(in->target_pid);
	say("initiator",
	    "%d remote reads of %zu bytes, %d with the right bytes, in %.1f ms; the target's thread is in "
	    "state %c before and %c after",
	    READS, copy.length, right, now_ms() - since, before, after);
	woken = channel_ask(&in->channel, &wake);
	expect(in, right == READS, "%d of %d reads brought wrong bytes or none", READS - right, READS);
	expect(in, before == 'S' && after == 'S', "the target's thread was not asleep");
	expect(in, woken.switches == 1, "the target's thread was woken while its memory was read");
	region_free(&copy);
}

static void meet_target(struct initiator *in)
{
	struct question q = { .ask = ASK_ADDRESS };
	struct answer a;

	say("initiator", "process %d, provider %s", (int)getpid(), in->endpoint.info->fabric_attr->prov_name);
	a = channel_ask(&in->channel, &q);
	in->target_pid = a.pid;
	endpoint_meet(&in->endpoint, a.name);
}

int main(int argc, char **argv)
{
	struct question quit = { .ask = ASK_QUIT };
	struct initiator in = { 0 };
	struct remote_region remote;
	struct region file;

	if (argc != 5)
		die("usage: %s QUESTIONS ANSWERS FILE TARGET_LOG (two FIFOs; see demo.sh)", argv[0]);
	in.channel = channel_of_initiator(argv[1], argv[2]);
	in.target_log = argv[4];
	endpoint_open(&in.endpoint);
	meet_target(&in);

	load_file(&in, &file, argv[3]);
	remote = remote_register(&in, file.length, FI_REMOTE_READ | FI_REMOTE_WRITE);
	show_write(&in, &file, &remote, argv[3]);
	show_read(&in, &file, &remote);
	show_sleeping_target(&in, &file, &remote);
	show_refusals(&in);

	channel_ask(&in.channel, &quit);
	region_free(&file);
	endpoint_close(&in.endpoint);
	if (in.deviations)
		say("demo", "%d deviation(s), named above", in.deviations);
	return in.deviations ? 1 : 0;
}
