/* SPDX-License-Identifier: BSD-2-Clause */
/* beside.c - libfabric and libibverbs in one process, over a NIC each: beside [--pause] ORDER PROVIDER...
 *
 * Two processes talk to each other by an endpoint of each provider and by a queue pair, all at once, in a thread each, while
 * children are forked and end, or run another program. ORDER, "fabric" or "verbs", is closed first, and the other goes on for a
 * while. libfabric is loaded at run time, so the environment decides which one. --pause: says "ready" before anything is closed,
 * and waits for the end of stdin. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8192, ROUNDS = 400, FABRICS = 4, CHILDREN = 12, NAME = 256, GUARD_S = 240, RECEIVES = 16 };

static int other, side; /* the other process, as a stream; which of the two this one is */

#define MUST(cond, ...)                                                                \
	do {                                                                           \
		if (!(cond)) {                                                         \
			fprintf(stderr, "beside, side %d, line %d: ", side, __LINE__); \
			fprintf(stderr, __VA_ARGS__);                                  \
			fputc('\n', stderr);                                           \
			_exit(1);                                                      \
		}                                                                      \
	} while (0)

static void exchange(const void *mine, void *theirs, size_t length)
{
	size_t got = 0;

	MUST(write(other, mine, length) == (ssize_t)length, "the other process has ended");
	while (got < length) {
		ssize_t n = read(other, (char *)theirs + got, length - got);

		MUST(n > 0, "the other process has ended");
		got += (size_t)n;
	}
}

static void meet(void)
{
	char byte = 0, theirs;

	exchange(&byte, &theirs, 1);
}

static void fill(unsigned char *bytes, int from, unsigned int round)
{
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (unsigned char)(i * 7 + round * 13 + (unsigned int)from);
}

static void expect(const unsigned char *bytes, unsigned int round, const char *what)
{
	unsigned char want[BYTES];

	fill(want, !side, round);
	MUST(!memcmp(bytes, want, BYTES), "%s: other bytes came in round %u than were sent", what, round);
}

/* --- libfabric --- */

struct fabric {
	const char *provider;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	fi_addr_t to;
	unsigned char memory[2][BYTES]; /* sent, received */
};

static void *libfabric;

static void *call_of(const char *name)
{
	void *call = dlsym(libfabric, name);

	MUST(call, "libfabric has no %s", name);
	return call;
}

static struct fi_info *info_of(const char *provider)
{
	struct fi_info *(*dup)(const struct fi_info *) = (struct fi_info * (*)(const struct fi_info *)) call_of("fi_dupinfo");
	int (*get)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
		   struct fi_info **) = (int (*)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
						 struct fi_info **))call_of("fi_getinfo");
	struct fi_info *hints = dup(NULL), *info = NULL;
	int rc;

	MUST(hints, "no memory");
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup(provider);
	rc = get(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
	MUST(!rc, "fi_getinfo of %s: %d", provider, rc);
	return info;
}

static void fabric_open(struct fabric *f)
{
	int (*open)(struct fi_fabric_attr *, struct fid_fabric **,
		    void *) = (int (*)(struct fi_fabric_attr *, struct fid_fabric **, void *))call_of("fi_fabric");
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	char mine[NAME] = { 0 }, theirs[NAME];
	size_t length = sizeof(mine);

	f->info = info_of(f->provider);
	MUST(!open(f->info->fabric_attr, &f->fabric, NULL), "fi_fabric of %s", f->provider);
	MUST(!fi_domain(f->fabric, f->info, &f->domain, NULL), "fi_domain of %s", f->provider);
	MUST(!fi_cq_open(f->domain, &cq_attr, &f->cq, NULL) && !fi_av_open(f->domain, &av_attr, &f->av, NULL), "queues of %s",
	     f->provider);
	MUST(!fi_endpoint(f->domain, f->info, &f->ep, NULL) && !fi_ep_bind(f->ep, &f->cq->fid, FI_TRANSMIT | FI_RECV) &&
		     !fi_ep_bind(f->ep, &f->av->fid, 0) && !fi_enable(f->ep),
	     "an endpoint of %s", f->provider);
	MUST(!fi_mr_reg(f->domain, f->memory, sizeof(f->memory), FI_SEND | FI_RECV, 0, 0, 0, &f->mr, NULL), "a region of %s",
	     f->provider);
	MUST(!fi_getname(&f->ep->fid, mine, &length), "the name of %s", f->provider);
	exchange(mine, theirs, sizeof(mine));
	MUST(fi_av_insert(f->av, theirs, 1, &f->to, 0, NULL) == 1, "the address of %s", f->provider);
}

static void fabric_close(struct fabric *f)
{
	void (*free_info)(struct fi_info *) = (void (*)(struct fi_info *))call_of("fi_freeinfo");

	MUST(!fi_close(&f->ep->fid) && !fi_close(&f->mr->fid) && !fi_close(&f->av->fid) && !fi_close(&f->cq->fid) &&
		     !fi_close(&f->domain->fid) && !fi_close(&f->fabric->fid),
	     "closing %s", f->provider);
	free_info(f->info);
}

/* One completion is taken, if there is one. */
static int fabric_read(struct fabric *f)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t rc = fi_cq_read(f->cq, &entry, 1);

	if (rc == -FI_EAVAIL)
		(void)fi_cq_readerr(f->cq, &error, 0);
	MUST(rc == 1 || rc == -FI_EAGAIN, "%s: %zd, %d, %d", f->provider, rc, error.err, error.prov_errno);
	return rc == 1;
}

static void *fabric_talk(void *arg)
{
	struct fabric *f = arg;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		ssize_t rc;
		int left = 2;

		fill(f->memory[0], side, round);
		memset(f->memory[1], 0, BYTES);
		while ((rc = fi_recv(f->ep, f->memory[1], BYTES, fi_mr_desc(f->mr), FI_ADDR_UNSPEC, &f->memory[1])) == -FI_EAGAIN)
			left -= fabric_read(f);
		MUST(!rc, "%s: fi_recv: %zd", f->provider, rc);
		while ((rc = fi_send(f->ep, f->memory[0], BYTES, fi_mr_desc(f->mr), f->to, &f->memory[0])) == -FI_EAGAIN)
			left -= fabric_read(f);
		MUST(!rc, "%s: fi_send: %zd", f->provider, rc);
		while (left)
			left -= fabric_read(f);
		expect(f->memory[1], round, f->provider);
	}
	return NULL;
}

/* --- verbs --- */

struct queue_pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char memory[1 + RECEIVES][BYTES]; /* sent; received */
};

struct contact {
	uint32_t qpn;
	union ibv_gid gid;
};

static void pair_to_rts(struct queue_pair *q, const struct contact *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	MUST(!ibv_modify_qp(q->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = peer->qpn,
				     .max_dest_rd_atomic = 1,
				     .min_rnr_timer = 1,
				     .ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = peer->gid, .hop_limit = 1 } } };
	MUST(!ibv_modify_qp(q->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1 };
	MUST(!ibv_modify_qp(q->qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void pair_receive(struct queue_pair *q, unsigned int round)
{
	struct ibv_sge sge = { .addr = (uintptr_t)q->memory[1 + round % RECEIVES], .length = BYTES, .lkey = q->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = round, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(!ibv_post_recv(q->qp, &wr, &bad), "ibv_post_recv");
}

static void pair_open(struct queue_pair *q)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, RECEIVES, 1, 1, 0 }, .sq_sig_all = 1 };
	struct contact mine = { 0 }, theirs;

	MUST(list && *list, "no device");
	q->context = ibv_open_device(*list);
	ibv_free_device_list(list);
	MUST(q->context && (q->pd = ibv_alloc_pd(q->context)) && (q->cq = ibv_create_cq(q->context, 64, NULL, NULL, 0)),
	     "a device");
	q->mr = ibv_reg_mr(q->pd, q->memory, sizeof(q->memory), IBV_ACCESS_LOCAL_WRITE);
	init.send_cq = init.recv_cq = q->cq;
	q->qp = ibv_create_qp(q->pd, &init);
	MUST(q->mr && q->qp && !ibv_query_gid(q->context, 1, 0, &mine.gid), "a queue pair");
	mine.qpn = q->qp->qp_num;
	exchange(&mine, &theirs, sizeof(mine));
	pair_to_rts(q, &theirs);
}

static void pair_close(struct queue_pair *q)
{
	MUST(!ibv_destroy_qp(q->qp) && !ibv_destroy_cq(q->cq) && !ibv_dereg_mr(q->mr) && !ibv_dealloc_pd(q->pd) &&
		     !ibv_close_device(q->context),
	     "closing verbs");
}

static void *pair_talk(void *arg)
{
	struct queue_pair *q = arg;
	unsigned int received = 0, sent = 0, posted = 0;

	while (sent < ROUNDS || received < ROUNDS) {
		struct ibv_sge sge = { .addr = (uintptr_t)q->memory[0], .length = BYTES, .lkey = q->mr->lkey };
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 }, *bad;
		struct ibv_wc wc;
		bool done = false;

		while (posted < ROUNDS && posted < received + RECEIVES)
			pair_receive(q, posted++);
		if (sent < ROUNDS) {
			fill(q->memory[0], side, sent++);
			MUST(!ibv_post_send(q->qp, &wr, &bad), "ibv_post_send");
		} else {
			done = true;
		}
		while (!done || (sent == ROUNDS && received < ROUNDS)) {
			int n = ibv_poll_cq(q->cq, 1, &wc);

			MUST(n >= 0 && (!n || !wc.status), "ibv_poll_cq: %s", n > 0 ? ibv_wc_status_str(wc.status) : "failed");
			if (n && wc.opcode == IBV_WC_SEND)
				done = true;
			if (n && wc.opcode == IBV_WC_RECV) {
				expect(q->memory[1 + received % RECEIVES], received, "verbs");
				received++;
				if (posted < ROUNDS)
					pair_receive(q, posted++);
			}
		}
	}
	return NULL;
}

/* --- both --- */

static struct fabric fabrics[FABRICS];
static struct queue_pair pair;
static int fabric_count;

static void child_ends(int how)
{
	if (how == 0)
		_exit(0);
	if (how == 1)
		exit(0);
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

/* While all threads talk. */
static void have_children(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		pid_t child = fork();

		MUST(child >= 0, "fork");
		if (!child)
			child_ends(i % 3);
		MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status), "child %d: status 0x%x", i,
		     (unsigned int)status);
	}
}

static void talk_all(void)
{
	pthread_t threads[1 + FABRICS];

	for (int i = 0; i < fabric_count; i++)
		MUST(!pthread_create(&threads[i], NULL, fabric_talk, &fabrics[i]), "a thread");
	MUST(!pthread_create(&threads[fabric_count], NULL, pair_talk, &pair), "a thread");
	have_children();
	for (int i = 0; i <= fabric_count; i++)
		pthread_join(threads[i], NULL);
	meet();
}

static void fabrics_close(void)
{
	for (int i = 0; i < fabric_count; i++)
		fabric_close(&fabrics[i]);
}

static void run(bool fabric_first, bool pause)
{
	alarm(GUARD_S);
	for (int i = 0; i < fabric_count; i++)
		fabric_open(&fabrics[i]);
	pair_open(&pair);
	meet();
	talk_all();
	if (pause && !side) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	meet();
	if (fabric_first)
		fabrics_close();
	else
		pair_close(&pair);
	meet();
	for (int i = 0; i < fabric_count && !fabric_first; i++)
		fabric_talk(&fabrics[i]);
	if (fabric_first)
		pair_talk(&pair);
	meet();
	if (fabric_first)
		pair_close(&pair);
	else
		fabrics_close();
}

int main(int argc, char **argv)
{
	bool pause = argc > 1 && !strcmp(argv[1], "--pause");
	int ends[2], status = 0;
	pid_t child;

	argv += pause;
	argc -= pause;
	if (argc < 3 || argc > 2 + FABRICS || (strcmp(argv[1], "fabric") && strcmp(argv[1], "verbs"))) {
		fprintf(stderr, "usage: beside [--pause] fabric|verbs PROVIDER...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		fabrics[fabric_count++].provider = argv[i];
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	child = fork();
	MUST(child >= 0, "fork");
	side = !child;
	other = ends[side];
	close(ends[!side]);
	libfabric = dlopen("libfabric.so.1", RTLD_NOW);
	MUST(libfabric, "%s", dlerror());
	run(!strcmp(argv[1], "fabric"), pause);
	if (child)
		MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status),
		     "the other side: status 0x%x", (unsigned int)status);
	return 0;
}
