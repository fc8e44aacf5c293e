/* SPDX-License-Identifier: BSD-2-Clause */
/* orderly.c - a program built with the thread sanitizer: one thread posts, another reads the completions, and each touches data of
 * the other in the order that libfabric gives. There is no race; run by orderly.sh. With the argument `race` there is one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

enum { ROUNDS = 200, LONG = 100000, SHORT = 100, READS = 1000 };

#define RC(want, call)                                                                              \
	do {                                                                                        \
		long long rc_ = (long long)(call);                                                  \
		if (rc_ != (want)) {                                                                \
			printf("not ok orderly %s:%d: %s: %lld\n", __FILE__, __LINE__, #call, rc_); \
			exit(1);                                                                    \
		}                                                                                   \
	} while (0)

/* Made and filled by the poster, read and freed by the reader. */
struct job {
	int number;
	char *bytes;
};

struct end {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
};

static struct end from, to;
static fi_addr_t to_addr;
static int posted, raced;
static atomic_bool is_read; /* relaxed: it gives no order */

static void end_open(struct end *end, struct fid_domain *domain, struct fi_info *info, struct fid_av *av)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC };

	RC(0, fi_cq_open(domain, &attr, &end->cq, NULL));
	RC(0, fi_cntr_open(domain, &(struct fi_cntr_attr){ .wait_obj = FI_WAIT_UNSPEC }, &end->cntr, NULL));
	RC(0, fi_endpoint(domain, info, &end->ep, NULL));
	RC(0, fi_ep_bind(end->ep, &av->fid, 0));
	RC(0, fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_ep_bind(end->ep, &end->cntr->fid, FI_SEND | FI_RECV));
	RC(0, fi_enable(end->ep));
}

static struct job *job_new(int number)
{
	struct job *job = malloc(sizeof(*job));

	job->number = number;
	job->bytes = malloc(LONG);
	memset(job->bytes, number, LONG);
	return job;
}

/* The sanitizer reports a race of two threads that run: the one that writes goes on until the other has read. */
static void *post(void *race)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct job *in = job_new(i), *out = job_new(i);
		ssize_t rc;

		posted = i + 1;
		do
			rc = fi_recv(to.ep, in->bytes, LONG, NULL, FI_ADDR_UNSPEC, in);
		while (rc == -FI_EAGAIN);
		RC(0, rc);
		do
			rc = fi_send(from.ep, out->bytes, i % 2 ? LONG : SHORT, NULL, to_addr, out);
		while (rc == -FI_EAGAIN);
		RC(0, rc);
		raced++; /* after the posts */
	}
	while (race && !atomic_load_explicit(&is_read, memory_order_relaxed))
		raced++;
	return NULL;
}

static void take(struct end *end, int *left, long *sum)
{
	struct fi_cq_tagged_entry entry;
	struct job *job;
	ssize_t rc = *left % 3 ? fi_cq_read(end->cq, &entry, 1) : fi_cq_sread(end->cq, &entry, 1, NULL, 1);

	if (rc == -FI_EAGAIN)
		return;
	RC(1, rc);
	job = entry.op_context;
	*sum += job->number + job->bytes[SHORT - 1];
	free(job->bytes);
	free(job);
	--*left;
}

static void *read_completions(void *race)
{
	int left = 2 * ROUNDS;
	long sum = 0;

	while (left) {
		take(&from, &left, &sum);
		take(&to, &left, &sum);
	}
	for (int i = 0; race && i < READS; i++)
		sum += raced;
	atomic_store_explicit(&is_read, true, memory_order_relaxed);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	char *race = argc > 1 ? argv[1] : NULL;
	struct fi_info *hints = fi_allocinfo(), *info;
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	pthread_t poster, reader;

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup("emu");
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	RC(0, fi_domain(fabric, info, &domain, NULL));
	RC(0, fi_av_open(domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &av, NULL));
	end_open(&from, domain, info, av);
	end_open(&to, domain, info, av);
	RC(0, fi_getname(&to.ep->fid, &name, &length));
	RC(1, fi_av_insert(av, &name, 1, &to_addr, 0, NULL));
	pthread_create(&poster, NULL, post, race);
	pthread_create(&reader, NULL, read_completions, race);
	/* A third one has a counter alone. */
	RC(0, fi_cntr_wait(to.cntr, ROUNDS, -1));
	printf("posted %d\n", posted);
	pthread_join(poster, NULL);
	pthread_join(reader, NULL);
	RC(0, fi_close(&from.ep->fid));
	RC(0, fi_close(&to.ep->fid));
	fi_freeinfo(info);
	fi_freeinfo(hints);
	return 0;
}
