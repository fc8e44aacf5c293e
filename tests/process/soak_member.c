/* SPDX-License-Identifier: BSD-2-Clause */
/* soak_member.c - one process of a soak.
 *
 * Its region has a row for each other process: a place that is written and read back, and a counter that is added to.
 * What was fetched must be what it has added so far, so that each addition is done once; and messages are numbered. Ops
 * may fail only with a peer that was killed. Now and then one of its own TCP connections is cut: by a reset, which loses
 * what is on its way, or by an end of both directions. */
#include <dirent.h>
#include <netinet/in.h>
#include <rdma/fi_atomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/soak.h"
#include "tests/rules/harness/region.h"

enum { PLACE = 16384, ROW = PLACE + 64, COUNTER = PLACE, RECEIVES = 64, CUT_EVERY_MS = 40 };
enum { DO_WRITE, DO_READ, DO_ADD, DO_SEND, DOINGS };

struct message {
	uint32_t from, from_life, to_life, zero;
	uint64_t number;
};

struct other {
	uint32_t life; /* that it is known by; 0: not known */
	fi_addr_t addr;
	struct op op[DOINGS];
	bool on[DOINGS];
	uint32_t written;         /* length of the last write that ended well and was not read back; 0: none */
	bool counts;              /* the next is known */
	uint64_t added, numbered; /* to its counter; messages to it */
	uint32_t heard_life;
	uint64_t heard; /* messages from it */
};

struct me {
	struct soak *soak;
	int slot;
	uint32_t life;
	unsigned draw;
	struct peer peer;
	struct region rows, out, in; /* `out`: a place, where it is read back to, a result, an operand, a message; each peer's */
	struct op recv[RECEIVES];
	struct other other[SOAK_MEMBERS];
	uint64_t cut_ms;
};

enum { OUT_BACK = PLACE, OUT_RESULT = 2 * PLACE, OUT_ONE = OUT_RESULT + 8, OUT_MESSAGE = OUT_ONE + 8, OUT = OUT_RESULT + 64 };

static uint8_t *out(struct me *me, int to, size_t at)
{
	return (uint8_t *)me->out.iov[0].iov_base + (size_t)to * OUT + at;
}

static bool is_known(const struct me *me, int to)
{
	return me->other[to].life && me->other[to].life == atomic_load(&me->soak->member[to].life);
}

/* --- ops --- */

static ssize_t post_rma(struct me *me, int to, int doing)
{
	struct other *other = &me->other[to];
	const struct soak_member *member = &me->soak->member[to];
	struct iovec iov = { out(me, to, doing == DO_WRITE ? 0 : OUT_BACK), other->written };
	void *desc = fi_mr_desc(me->out.mr);
	struct fi_rma_iov rma = { .addr = member->base + (uint64_t)me->slot * ROW, .key = member->key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.addr = other->addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
	};

	if (doing == DO_WRITE) {
		iov.iov_len = 1 + (size_t)rand_r(&me->draw) % (rand_r(&me->draw) % 8 ? 256 : PLACE);
		for (size_t i = 0; i < iov.iov_len; i++)
			((uint8_t *)iov.iov_base)[i] = (uint8_t)rand_r(&me->draw);
		other->written = (uint32_t)iov.iov_len;
	}
	rma.len = iov.iov_len;
	return peer_rma(&me->peer, doing == DO_WRITE ? RMA_WRITE : RMA_READ, &msg, 0, &other->op[doing]);
}

static ssize_t post_add(struct me *me, int to)
{
	const struct soak_member *member = &me->soak->member[to];
	uint64_t one = 1, at = member->base + (uint64_t)me->slot * ROW + COUNTER;
	void *desc = fi_mr_desc(me->out.mr);

	memcpy(out(me, to, OUT_ONE), &one, sizeof(one));
	memset(&me->other[to].op[DO_ADD], 0, sizeof(struct op));
	return fi_fetch_atomic(me->peer.ep, out(me, to, OUT_ONE), 1, desc, out(me, to, OUT_RESULT), desc, me->other[to].addr, at,
			       member->key, FI_UINT64, FI_SUM, &me->other[to].op[DO_ADD]);
}

static ssize_t post_send(struct me *me, int to)
{
	struct other *other = &me->other[to];
	struct message message = { (uint32_t)me->slot, me->life, other->life, 0, other->numbered + 1 };

	memcpy(out(me, to, OUT_MESSAGE), &message, sizeof(message));
	return peer_send(&me->peer, other->addr, out(me, to, OUT_MESSAGE), sizeof(message), fi_mr_desc(me->out.mr),
			 &other->op[DO_SEND]);
}

static void post(struct me *me, int to, int doing)
{
	struct other *other = &me->other[to];
	ssize_t rc;

	/* One place: it is written, and then read. */
	if (other->on[doing] || (doing == DO_WRITE && (other->written || other->on[DO_READ])) ||
	    (doing == DO_READ && (!other->written || other->on[DO_WRITE])))
		return;
	rc = doing == DO_ADD ? post_add(me, to) : doing == DO_SEND ? post_send(me, to) : post_rma(me, to, doing);
	if (rc == -FI_EAGAIN)
		return;
	CHECK_RC(0, rc);
	other->on[doing] = true;
}

static void judge_well(struct me *me, int to, int doing)
{
	struct other *other = &me->other[to];
	uint64_t was;

	me->soak->ops[me->slot]++;
	if (doing == DO_READ) {
		CHECK(!memcmp(out(me, to, 0), out(me, to, OUT_BACK), other->written), "process %d reads what it has not written",
		      me->slot);
		other->written = 0;
	} else if (doing == DO_ADD) {
		memcpy(&was, out(me, to, OUT_RESULT), sizeof(was));
		if (!other->counts) /* what a process before this one has added stays */
			other->added = was;
		other->counts = true;
		CHECK(was == other->added, "process %d has added %llu times to %d, which had %llu", me->slot,
		      (unsigned long long)other->added, to, (unsigned long long)was);
		other->added++;
	} else if (doing == DO_SEND) {
		other->numbered++;
		if (is_known(me, to))
			atomic_store(&me->soak->sent[me->slot][to], other->numbered);
	}
}

static void judge(struct me *me, int to)
{
	struct other *other = &me->other[to];

	for (int doing = 0; doing < DOINGS; doing++) {
		if (!other->on[doing] || !other->op[doing].done)
			continue;
		other->on[doing] = false;
		if (!other->op[doing].err) {
			judge_well(me, to, doing);
			continue;
		}
		/* The peer may be killed at any time, and the op fail before this process hears of it; never the other way. */
		CHECK(!is_known(me, to), "process %d: op %d to %d, which lives, failed: %s", me->slot, doing, to, me->peer.text);
		me->soak->failed[me->slot]++;
	}
}

/* --- others that come and go --- */

static bool any_on(const struct other *other)
{
	for (int doing = 0; doing < DOINGS; doing++)
		if (other->on[doing])
			return true;
	return false;
}

static void meet(struct me *me, int to)
{
	struct other *other = &me->other[to];
	const struct soak_member *member = &me->soak->member[to];
	uint32_t life = atomic_load(&member->ready);

	if (other->life == life || life != atomic_load(&member->life) || any_on(other))
		return;
	if (other->life)
		CHECK_RC(0, fi_av_remove(me->peer.av, &other->addr, 1, 0));
	other->written = 0;
	other->counts = false;
	other->added = other->numbered = 0;
	atomic_store(&me->soak->sent[me->slot][to], 0);
	other->addr = peer_insert(&me->peer, member->name);
	other->life = life;
}

static void hear(struct me *me, const struct message *message)
{
	struct other *other = &me->other[message->from % SOAK_MEMBERS];

	CHECK(message->from < SOAK_MEMBERS && message->to_life == me->life, "process %d got what was not meant for it", me->slot);
	if (message->from_life != other->heard_life) {
		CHECK(message->from_life > other->heard_life, "process %d heard one that has died", me->slot);
		other->heard_life = message->from_life;
		other->heard = 0;
	}
	CHECK(message->number == other->heard + 1, "process %d: message %llu of %u came after %llu", me->slot,
	      (unsigned long long)message->number, message->from, (unsigned long long)other->heard);
	other->heard++;
	if (message->from_life == atomic_load(&me->soak->member[message->from].life))
		atomic_store(&me->soak->heard[me->slot][message->from], other->heard);
}

static void post_receive(struct me *me, int i)
{
	uint8_t *at = (uint8_t *)me->in.iov[0].iov_base + (size_t)i * 64;

	CHECK_RC(0, peer_recv(&me->peer, at, 64, fi_mr_desc(me->in.mr), &me->recv[i]));
}

/* In the order of posting: so messages are heard in the order of arrival. */
static void hear_all(struct me *me, int *next)
{
	while (me->recv[*next].done) {
		struct op *op = &me->recv[*next];
		struct message message;

		/* One whose sender was killed in the middle. */
		if (!op->err) {
			CHECK(op->len == sizeof(message), "process %d got %zu bytes", me->slot, op->len);
			memcpy(&message, (uint8_t *)me->in.iov[0].iov_base + (size_t)*next * 64, sizeof(message));
			hear(me, &message);
		}
		post_receive(me, *next);
		*next = (*next + 1) % RECEIVES;
	}
}

/* --- cuts --- */

static bool is_connected(int fd)
{
	struct sockaddr_storage at;
	socklen_t length = sizeof(at);

	return !getpeername(fd, (struct sockaddr *)&at, &length) && (at.ss_family == AF_INET || at.ss_family == AF_UNIX);
}

static int draw_connection(struct me *me, long *fds)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int chosen = -1, seen = 0;

	CHECK(dir, "no /proc/self/fd");
	for (*fds = 0; (entry = readdir(dir)); ++*fds) {
		int fd = atoi(entry->d_name);

		if (fd > 2 && is_connected(fd) && rand_r(&me->draw) % ++seen == 0)
			chosen = fd;
	}
	closedir(dir);
	return chosen;
}

static void cut(struct me *me)
{
	long fds;
	int fd = draw_connection(me, &fds);

	me->cut_ms = check_now_ms() + CUT_EVERY_MS;
	if (fd < 0)
		return;
	/* A connected TCP socket is reset by the first; a Unix socket does not take it. */
	if (rand_r(&me->draw) % 2 && !connect(fd, &(struct sockaddr){ .sa_family = AF_UNSPEC }, sizeof(struct sockaddr)))
		me->soak->cuts[me->slot]++;
	else
		me->soak->cuts[me->slot] += !shutdown(fd, SHUT_RDWR);
}

/* Memory of its own: how much of its boards (emu/net/shm/shm.h) has been touched changes with each new connection, and there
 * are sixteen of them at most. */
static void weigh(struct me *me, int when)
{
	struct soak_member *member = &me->soak->member[me->slot];
	FILE *file = fopen("/proc/self/statm", "r");
	long resident = 0, shared = 0;

	CHECK(file && fscanf(file, "%*d %ld %ld", &resident, &shared) == 2, "no /proc/self/statm");
	fclose(file);
	member->own_kb[when] = (resident - shared) * (sysconf(_SC_PAGESIZE) / 1024);
	draw_connection(me, &member->fds[when]);
}

/* --- all of it --- */

static void open_all(struct me *me)
{
	static const struct peer_want want = {
		.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
		.caps = FI_MSG | FI_RMA | FI_ATOMIC,
	};
	static const struct region_want rows = { .len = { SOAK_MEMBERS * ROW }, .access = FI_REMOTE_READ | FI_REMOTE_WRITE };
	static const struct region_want outs = {
		.len = { SOAK_MEMBERS * OUT },
		.access = FI_READ | FI_WRITE | FI_SEND | FI_RECV,
	};
	static const struct region_want ins = { .len = { RECEIVES * 64 }, .access = FI_RECV };
	struct soak_member *member = &me->soak->member[me->slot];

	peer_open(&me->peer, &want);
	region_open(&me->rows, &me->peer, &rows, 1);
	region_open(&me->out, &me->peer, &outs, 2);
	region_open(&me->in, &me->peer, &ins, 3);
	memset(me->rows.iov[0].iov_base, 0, SOAK_MEMBERS * ROW);
	for (int i = 0; i < RECEIVES; i++)
		post_receive(me, i);
	for (int i = 0; i < SOAK_MEMBERS; i++) {
		atomic_store(&me->soak->heard[me->slot][i], 0);
		atomic_store(&me->soak->heard[i][me->slot], 0);
		atomic_store(&me->soak->sent[i][me->slot], 0);
	}
	peer_name(&me->peer, member->name);
	member->key = fi_mr_key(me->rows.mr);
	member->base = region_base(&me->rows, &me->peer, 0);
	atomic_store(&member->ready, me->life);
}

static bool all_heard(const struct me *me)
{
	for (int i = 0; i < SOAK_MEMBERS; i++)
		if (atomic_load(&me->soak->sent[i][me->slot]) > atomic_load(&me->soak->heard[me->slot][i]))
			return false;
	return true;
}

static void turn(struct me *me, int *next, bool works)
{
	peer_progress(&me->peer);
	hear_all(me, next);
	for (int to = 0; to < SOAK_MEMBERS; to++) {
		judge(me, to);
		meet(me, to);
		if (works && is_known(me, to))
			post(me, to, rand_r(&me->draw) % DOINGS);
	}
}

static bool none_on(const struct me *me)
{
	for (int to = 0; to < SOAK_MEMBERS; to++)
		if (any_on(&me->other[to]))
			return false;
	return true;
}

void soak_member(struct soak *soak, int slot)
{
	struct soak_member *member = &soak->member[slot];
	struct me *me = calloc(1, sizeof(*me));
	bool weighed = false;
	uint32_t stage;
	int next = 0;

	CHECK(me, "no memory");
	me->soak = soak;
	me->slot = slot;
	me->life = atomic_load(&member->life);
	me->draw = (unsigned)getpid() * 2654435761u;
	open_all(me);
	while ((stage = atomic_load(&soak->stage)) < SOAK_CLOSED) {
		turn(me, &next, stage == SOAK_WORKING);
		if (stage == SOAK_WORKING && check_now_ms() >= me->cut_ms)
			cut(me);
		if (!weighed && atomic_load(&soak->warm)) {
			weighed = true;
			weigh(me, 0);
		}
		if (stage == SOAK_DRAINED && none_on(me))
			atomic_store(&member->stage, SOAK_DRAINED);
		if (stage == SOAK_HEARD && all_heard(me))
			atomic_store(&member->stage, SOAK_HEARD);
	}
	weigh(me, 1);
	region_close(&me->rows);
	region_close(&me->out);
	peer_close_ep(&me->peer);
	region_close(&me->in);
	peer_close(&me->peer);
	free(me);
	atomic_store(&member->stage, SOAK_CLOSED);
}
