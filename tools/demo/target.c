/* SPDX-License-Identifier: BSD-2-Clause */
/* target.c - the process whose memory is written and read. It registers memory and tells address and key; from then on
 * it calls nothing of libfabric for a transfer: it waits in read() for the next question of the initiator. */
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <xxhash.h>

#include "channel.h"
#include "endpoint.h"

enum { REGIONS_MAX = 8 };

struct target {
	struct channel channel;
	struct endpoint endpoint;
	struct region regions[REGIONS_MAX];
	uint32_t count;
};

static struct answer tell_address(struct target *t)
{
	struct answer answer = { .pid = getpid() };
	char text[128];
	size_t size = sizeof(answer.name), text_size = sizeof(text);
	int rc = fi_getname(&t->endpoint.ep->fid, answer.name, &size);

	if (rc)
		die("fi_getname: %s", fi_strerror(-rc));
	answer.name_size = size;
	say("target", "process %d, provider %s, address %s", (int)getpid(), t->endpoint.info->fabric_attr->prov_name,
	    fi_av_straddr(t->endpoint.av, answer.name, text, &text_size));
	return answer;
}

static const char *access_words(uint64_t access)
{
	static const char *const words[] = { "nothing", "remote read", "remote write", "remote read and write" };

	return words[!!(access & FI_REMOTE_READ) + 2 * !!(access & FI_REMOTE_WRITE)];
}

static struct answer open_region(struct target *t, const struct question *q)
{
	struct region *r = &t->regions[t->count];

	if (t->count == REGIONS_MAX)
		die("no more than %d regions", REGIONS_MAX);
	region_open(&t->endpoint, r, q->length, q->access);
	say("target", "region registered: address %#llx, length %zu, key %#llx, for %s", (unsigned long long)r->address, r->length,
	    (unsigned long long)r->key, access_words(q->access));
	return (struct answer){ .region = t->count++, .address = r->address, .key = r->key };
}

static struct region *region_asked(struct target *t, const struct question *q)
{
	if (q->region >= t->count)
		die("there is no region %u", q->region);
	return &t->regions[q->region];
}

static int64_t cpu_us(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000ll + u->ru_utime.tv_usec + u->ru_stime.tv_usec;
}

/* The kernel's count of context switches shows whether this thread slept all the time: falling asleep in read() is one,
 * and each wake-up in between would add one. */
static struct answer sleep_in_read(struct target *t)
{
	struct rusage before, after;
	struct answer answer = { 0 };
	struct question q;

	say("target", "goes to sleep in read() on a pipe");
	getrusage(RUSAGE_THREAD, &before);
	channel_answer(&t->channel, &answer);
	q = channel_await(&t->channel);
	getrusage(RUSAGE_THREAD, &after);
	if (q.ask != ASK_WAKE)
		die("woken by something else");
	answer.switches = after.ru_nvcsw - before.ru_nvcsw;
	answer.cpu_us = cpu_us(&after) - cpu_us(&before);
	say("target", "woke up: in all that time this thread slept %lld time(s) and used %lld us of processor",
	    (long long)answer.switches, (long long)answer.cpu_us);
	return answer;
}

static struct answer answer_to(struct target *t, const struct question *q)
{
	struct answer answer = { 0 };

	switch (q->ask) {
	case ASK_ADDRESS:
		return tell_address(t);
	case ASK_REGISTER:
		return open_region(t, q);
	case ASK_SLEEP:
		return sleep_in_read(t);
	case ASK_HASH:
		answer.hash = XXH3_64bits(region_asked(t, q)->bytes, region_asked(t, q)->length);
		return answer;
	case ASK_CLOSE:
		region_close(region_asked(t, q));
		say("target", "region with key %#llx closed", (unsigned long long)region_asked(t, q)->key);
		return answer;
	case ASK_QUIT:
		return answer;
	case ASK_WAKE:
		break;
	}
	die("question %d makes no sense here", (int)q->ask);
}

int main(int argc, char **argv)
{
	struct target t = { .count = 0 };
	struct question q;
	struct answer answer;

	if (argc != 3)
		die("usage: %s QUESTIONS ANSWERS (two FIFOs; see demo.sh)", argv[0]);
	t.channel = channel_of_target(argv[1], argv[2]);
	endpoint_open(&t.endpoint);
	do {
		q = channel_await(&t.channel);
		answer = answer_to(&t, &q);
		channel_answer(&t.channel, &answer);
	} while (q.ask != ASK_QUIT);
	for (uint32_t i = 0; i < t.count; i++)
		region_free(&t.regions[i]);
	endpoint_close(&t.endpoint);
	return 0;
}
