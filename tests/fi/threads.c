/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.c - FI_THREAD_SAFE: many threads at the same endpoint, queue, shared context and counter. Each operation completes
 * once. A program of its own, since Criterion does not start under the thread sanitizer, which has the other half to say. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>

enum { THREADS = 4, EACH = 200 }; /* together fewer than there is room for at a time */

#define RC(want, call)                                                                                                           \
	do {                                                                                                                     \
		long long rc_ = (long long)(call);                                                                               \
		if (rc_ != (want)) {                                                                                             \
			printf("not ok threads %s:%d: %s: %lld (%s)\n", __FILE__, __LINE__, #call, rc_, fi_strerror((int)-rc_)); \
			exit(1);                                                                                                 \
		}                                                                                                                \
	} while (0)

struct mark {
	atomic_int sent, received;
	struct fi_triggered_context trigger;
};

static struct crowd {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_ep *tx, *rx, *srx; /* messages go from tx to rx, whose receives are srx's */
	struct fid_cq *tx_cq, *rx_cq;
	struct fid_cntr *event;
	fi_addr_t to;
	atomic_int left; /* completions to be read */
	struct mark marks[THREADS][EACH];
} crowd;

static struct fi_info *get_info(size_t rx_ctx_cnt)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	hints->ep_attr->type = FI_EP_RDM;
	hints->ep_attr->rx_ctx_cnt = rx_ctx_cnt;
	hints->caps = FI_MSG | FI_TRIGGER;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup("emu");
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void open_ep(struct fi_info *info, struct fid_ep **ep, struct fid_cq **cq)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC };

	RC(0, fi_cq_open(crowd.domain, &attr, cq, NULL));
	RC(0, fi_endpoint(crowd.domain, info, ep, NULL));
	RC(0, fi_ep_bind(*ep, &crowd.av->fid, 0));
	RC(0, fi_ep_bind(*ep, &(*cq)->fid, FI_TRANSMIT | FI_RECV));
}

static void crowd_open(void)
{
	struct fi_info *plain = get_info(1), *sharing = get_info(FI_SHARED_CONTEXT);
	struct sockaddr_storage name;
	size_t length = sizeof(name);

	memset(&crowd, 0, sizeof(crowd));
	RC(0, fi_fabric(plain->fabric_attr, &crowd.fabric, NULL));
	RC(0, fi_domain(crowd.fabric, plain, &crowd.domain, NULL));
	RC(0, fi_av_open(crowd.domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &crowd.av, NULL));
	RC(0, fi_cntr_open(crowd.domain, &(struct fi_cntr_attr){ 0 }, &crowd.event, NULL));
	RC(0, fi_srx_context(crowd.domain, sharing->rx_attr, &crowd.srx, NULL));
	open_ep(plain, &crowd.tx, &crowd.tx_cq);
	open_ep(sharing, &crowd.rx, &crowd.rx_cq);
	RC(0, fi_ep_bind(crowd.rx, &crowd.srx->fid, 0));
	RC(0, fi_enable(crowd.tx));
	RC(0, fi_enable(crowd.rx));
	RC(0, fi_getname(&crowd.rx->fid, &name, &length));
	RC(1, fi_av_insert(crowd.av, &name, 1, &crowd.to, 0, NULL));
	atomic_init(&crowd.left, 2 * THREADS * EACH);
	fi_freeinfo(plain);
	fi_freeinfo(sharing);
}

static void crowd_close(const char *test)
{
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < EACH; j++)
			if (crowd.marks[i][j].sent != 1 || crowd.marks[i][j].received != 1) {
				printf("not ok %s operation %d of thread %d: not once\n", test, j, i);
				exit(1);
			}
	RC(0, fi_close(&crowd.tx->fid));
	RC(0, fi_close(&crowd.rx->fid));
	RC(0, fi_close(&crowd.srx->fid));
	RC(0, fi_close(&crowd.tx_cq->fid));
	RC(0, fi_close(&crowd.rx_cq->fid));
	RC(0, fi_close(&crowd.event->fid));
	RC(0, fi_close(&crowd.av->fid));
	RC(0, fi_close(&crowd.domain->fid));
	RC(0, fi_close(&crowd.fabric->fid));
	printf("ok %s\n", test);
}

/* Both queues, whatever is there. */
static void reap(bool sleep)
{
	struct fi_cq_tagged_entry entry[8];
	ssize_t got = fi_cq_read(crowd.tx_cq, entry, 8);

	for (ssize_t i = 0; i < got; i++)
		atomic_fetch_add(&((struct mark *)entry[i].op_context)->sent, 1);
	if (got > 0)
		atomic_fetch_sub(&crowd.left, (int)got);
	got = sleep ? fi_cq_sread(crowd.rx_cq, entry, 8, NULL, 1) : fi_cq_read(crowd.rx_cq, entry, 8);
	for (ssize_t i = 0; i < got; i++)
		atomic_fetch_add(&((struct mark *)entry[i].op_context)->received, 1);
	if (got > 0)
		atomic_fetch_sub(&crowd.left, (int)got);
}

static void *post_and_reap(void *arg)
{
	struct mark *marks = arg;
	static char in[64], out[64];

	for (int i = 0; i < EACH; i++) {
		while (fi_recv(crowd.srx, in, sizeof(in), NULL, FI_ADDR_UNSPEC, &marks[i]) == -FI_EAGAIN)
			reap(false);
		while (fi_send(crowd.tx, out, sizeof(out), NULL, crowd.to, &marks[i]) == -FI_EAGAIN)
			reap(false);
	}
	while (atomic_load(&crowd.left))
		reap(true);
	return NULL;
}

static void run(void *(*work)(void *))
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		RC(0, pthread_create(&thread[i], NULL, work, crowd.marks[i]));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static struct mark *mark_of(void *trigger)
{
	return (struct mark *)((char *)trigger - offsetof(struct mark, trigger));
}

/* All wait for one counter, which all of them move. */
static void *trigger(void *arg)
{
	struct mark *marks = arg;
	static char in[64], out[64];

	for (int i = 0; i < EACH; i++) {
		struct iovec iov = { out, sizeof(out) };
		struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = crowd.to, .context = &marks[i].trigger };
		struct iovec room = { in, sizeof(in) };
		struct fi_msg recv = { .msg_iov = &room, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &marks[i] };

		marks[i].trigger = (struct fi_triggered_context){
			.event_type = FI_TRIGGER_THRESHOLD,
			.trigger.threshold = { .cntr = crowd.event, .threshold = (size_t)i * THREADS },
		};
		while (fi_recvmsg(crowd.srx, &recv, 0) == -FI_EAGAIN)
			sched_yield();
		while (fi_sendmsg(crowd.tx, &msg, FI_TRIGGER) == -FI_EAGAIN)
			sched_yield();
		RC(0, fi_cntr_add(crowd.event, 1));
	}
	return NULL;
}

/* What a queue has; of triggered sends the context is the trigger. */
static void reap_triggered(struct fid_cq *cq, bool sent)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < THREADS * EACH;) {
		ssize_t got = fi_cq_read(cq, &entry, 1);

		if (got == -FI_EAGAIN)
			continue;
		RC(1, got);
		atomic_fetch_add(sent ? &mark_of(entry.op_context)->sent : &((struct mark *)entry.op_context)->received, 1);
		i++;
	}
}

static atomic_bool over;
static atomic_uint looks; /* relaxed: what it counts is not to be ordered by it */

static void *keep_waiting(void *set)
{
	while (!atomic_load(&over)) {
		(void)fi_wait(set, 0);
		atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
	}
	return NULL;
}

/* A look at the set has begun since, and is over. */
static void looked_at(void)
{
	unsigned begin = atomic_load_explicit(&looks, memory_order_relaxed);

	while (atomic_load_explicit(&looks, memory_order_relaxed) - begin < 2)
		sched_yield();
}

static void *keep_trying(void *arg)
{
	struct fid *fid = arg;

	while (!atomic_load(&over))
		(void)fi_trywait(crowd.fabric, &fid, 1);
	return NULL;
}

/* A closed object leaves its wait set before it is gone. A thread that waits on the set looks at all that is in it. */
static void close_beside_sleepers(void)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_SET };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_SET };
	pthread_t thread;

	RC(0, fi_wait_open(crowd.fabric, &attr, &cq_attr.wait_set));
	cntr_attr.wait_set = cq_attr.wait_set;
	atomic_store(&over, false);
	RC(0, pthread_create(&thread, NULL, keep_waiting, cq_attr.wait_set));
	for (int i = 0; i < EACH; i++) {
		struct fid_cntr *cntr;
		struct fid_cq *cq;

		RC(0, fi_cq_open(crowd.domain, &cq_attr, &cq, NULL));
		RC(0, fi_cntr_open(crowd.domain, &cntr_attr, &cntr, NULL));
		looked_at();
		RC(0, fi_close(&cq->fid));
		RC(0, fi_close(&cntr->fid));
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	RC(0, fi_close(&cq_attr.wait_set->fid));
	printf("ok close_what_others_sleep_on\n");
}

/* One thread gets ready to sleep on a counter while another reads it. */
static void try_beside_readers(void)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fid_cntr *cntr;
	pthread_t thread;

	RC(0, fi_cntr_open(crowd.domain, &attr, &cntr, NULL));
	atomic_store(&over, false);
	RC(0, pthread_create(&thread, NULL, keep_trying, cntr));
	for (int i = 0; i < EACH * THREADS; i++)
		RC(0, fi_cntr_read(cntr));
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	RC(0, fi_close(&cntr->fid));
	printf("ok try_to_sleep_while_others_read\n");
}

int main(void)
{
	crowd_open();
	run(post_and_reap);
	crowd_close("post_and_reap_together");
	crowd_open();
	run(trigger); /* the counter ends where all thresholds are met */
	reap_triggered(crowd.tx_cq, true);
	reap_triggered(crowd.rx_cq, false);
	close_beside_sleepers();
	try_beside_readers();
	crowd_close("wait_for_one_counter");
	return 0;
}
