/* SPDX-License-Identifier: BSD-2-Clause */
/* noise.c - processes that are no peers at the ports of a listener: connections that say nothing, or anything, at its manager's,
 * and datagrams at that of its number. Right ids meet meanwhile, and nothing of the others stays. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <rdma/rdma_verbs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/rdma.h"

enum {
	DATAGRAMS = 3000, /* a round */
	SILENT_MOST = 400,
	NOISE_MAX = 300,
	FILES = 256,
	LENGTH = 16
};

struct noise {
	unsigned int rounds;
	int connections, silent; /* a round; the latter stay for it */
};

static struct rdma_addrinfo *info_at(const char *port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *info;

	cr_assert_eq(rdma_getaddrinfo("127.0.0.1", port, &hints, &info), 0);
	return info;
}

static struct rdma_cm_id *endpoint(const char *port, int flags)
{
	struct ibv_qp_init_attr init = { .cap = { 2, 2, 1, 1, 0 }, .sq_sig_all = 1 };
	struct rdma_addrinfo *info = info_at(port, flags);
	struct rdma_cm_id *id;

	cr_assert_eq(rdma_create_ep(&id, info, NULL, &init), 0, "errno %d", errno);
	rdma_freeaddrinfo(info);
	return id;
}

/* Begins by the one, ends by the other: each has sent a message, and received one. */
static void meet_once(struct rdma_cm_id *id, int (*begin)(struct rdma_cm_id *id, struct rdma_conn_param *param))
{
	static char bytes[2][LENGTH];
	struct ibv_mr *mr = rdma_reg_msgs(id, bytes, sizeof(bytes));
	struct ibv_wc wc;

	cr_assert(mr && !rdma_post_recv(id, NULL, bytes[0], LENGTH, mr));
	cr_assert_eq(begin(id, NULL), 0, "errno %d", errno);
	cr_assert_eq(rdma_post_send(id, NULL, bytes[1], LENGTH, mr, 0), 0);
	cr_assert(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "status %d", wc.status);
	cr_assert(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "status %d", wc.status);
	cr_assert_eq(rdma_disconnect(id), 0);
	cr_assert_eq(rdma_dereg_mr(mr), 0);
	rdma_destroy_ep(id);
}

/* --- in the process that makes noise --- */

static size_t random_bytes(uint8_t *bytes, size_t most)
{
	size_t length = (size_t)rand() % (most + 1);

	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)rand();
	return length;
}

/* At the number: any bytes, and questions with a wrong byte. Then a right one, which is answered with the manager's port. */
static uint16_t ask_among_datagrams(const struct sockaddr_in *at)
{
	struct wire_service_fields question = { .kind = WIRE_SERVICE_QUESTION, .nonce = 7, .at = { .family = 4 } }, answer = { 0 };
	const struct timeval second = { .tv_sec = 1 };
	struct wire_service right, wrong;
	uint8_t bytes[NOISE_MAX];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	question.at.port = ntohs(at->sin_port);
	memcpy(question.at.addr, &at->sin_addr, sizeof(at->sin_addr));
	wire_put_service(&right, &question);
	cr_assert_eq(connect(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
	for (int i = 0; i < DATAGRAMS; i++) {
		size_t length = random_bytes(bytes, sizeof(bytes));

		wrong = right;
		((uint8_t *)&wrong)[(size_t)rand() % sizeof(wrong)] ^= (uint8_t)(1 + rand() % 255);
		(void)!send(fd, i % 2 ? (const void *)&wrong : bytes, i % 2 ? sizeof(wrong) : length, 0);
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	for (int i = 0; i < 60; i++) { /* those before it may fill the queue */
		(void)!send(fd, &right, sizeof(right), 0);
		if (recv(fd, bytes, sizeof(bytes), 0) == sizeof(right) && wire_get_service(bytes, sizeof(right), &answer))
			break;
	}
	cr_assert(answer.kind == WIRE_SERVICE_ANSWER && answer.nonce == 7 && answer.port);
	close(fd);
	return answer.port;
}

static int open_connection(const struct sockaddr_in *at)
{
	const struct linger reset = { .l_onoff = 1 }; /* no port of this host waits */
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert(fd >= 0 && !connect(fd, (const struct sockaddr *)at, sizeof(*at)), "errno %d", errno);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return fd;
}

/* Half of them end as soon as they have said what they say. */
static void flood_connections(const struct sockaddr_in *at, int count)
{
	uint8_t bytes[NOISE_MAX];

	for (int i = 0; i < count; i++) {
		int fd = open_connection(at);

		(void)!send(fd, bytes, random_bytes(bytes, sizeof(bytes)), MSG_NOSIGNAL);
		if (i % 2) /* else it is read to its end */
			while (!shutdown(fd, SHUT_WR) && recv(fd, bytes, sizeof(bytes), 0) > 0)
				;
		close(fd);
	}
}

static void noise_and_ids(struct sockaddr_in at, const struct noise *noise)
{
	struct sockaddr_in manager = at;
	int silent[SILENT_MOST];
	char port[8];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(port, sizeof(port), "%u", ntohs(at.sin_port));
	meet_once(endpoint(port, 0), rdma_connect);
	for (unsigned int round = 0; round < noise->rounds; round++) {
		manager.sin_port = htons(ask_among_datagrams(&at));
		for (int i = 0; i < noise->silent; i++)
			silent[i] = open_connection(&manager);
		flood_connections(&manager, noise->connections);
		meet_once(endpoint(port, 0), rdma_connect);
		for (int i = 0; i < noise->silent; i++)
			close(silent[i]);
	}
	_exit(0);
}

/* --- in that of the listener --- */

static unsigned int open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	cr_assert(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void meet_amid(const struct noise *noise)
{
	struct rlimit files = { FILES, FILES };
	struct rdma_cm_id *listens, *id;
	size_t bytes = 0, last, least = SIZE_MAX;
	unsigned int first = 0;
	struct sockaddr_in at;
	int status;
	pid_t child;

	listens = endpoint("0", RAI_PASSIVE);
	cr_assert_eq(rdma_listen(listens, 1), 0);
	at = *(struct sockaddr_in *)rdma_get_local_addr(listens);
	child = fork();
	if (!child)
		noise_and_ids(at, noise);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (unsigned int round = 0; round <= noise->rounds; round++) {
		cr_assert_eq(rdma_get_request(listens, &id), 0, "errno %d", errno);
		meet_once(id, rdma_accept);
		last = bytes;
		bytes = mallinfo2().uordblks;
		first = first ? first : open_files();
		if (round > 1 && (bytes > last ? bytes - last : 0) < least)
			least = bytes > last ? bytes - last : 0;
	}
	cr_assert(waitpid(child, &status, 0) == child && status == 0, "status 0x%x", status);
	while (open_files() > first)
		sched_yield();
	cr_assert(noise->rounds < 2 || least < (size_t)noise->connections * 8, "each round has left %zu bytes at least", least);
	rdma_destroy_ep(listens);
}

Test(cm_noise, right_ids_meet_amid_noise, .timeout = 120)
{
	meet_amid(&(struct noise){ .rounds = 8, .connections = 1000, .silent = 100 });
}

/* Those that say nothing are closed in time (TIME_HELLO_NS). */
Test(cm_noise, silent_connections_take_all_descriptors, .timeout = 120)
{
	meet_amid(&(struct noise){ .rounds = 1, .connections = 10, .silent = SILENT_MOST });
}
