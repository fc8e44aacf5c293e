/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_liars.c - peers that are no rsockets, or that break their protocol: emu/cm/rsocket/README.md has the bytes. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "tests/cm/rs_pair.h"

enum { GREETING = 32, CONTROL = 40, SLOTS = 8, RING = 4096 };

struct liar {
	struct sockaddr_in at;
	int listens, answers;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t memory[RING];
};

static void put32(uint8_t *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, sizeof(value));
}

static void greeting_of(struct liar *liar, uint8_t bytes[GREETING])
{
	const uint64_t ring = (uintptr_t)liar->memory;

	memset(bytes, 0, GREETING);
	memcpy(bytes, "emrs\1", 5);
	put32(bytes + 8, (uint32_t)(ring >> 32));
	put32(bytes + 12, (uint32_t)ring);
	put32(bytes + 16, liar->mr->rkey);
	put32(bytes + 20, RING);
	put32(bytes + 24, SLOTS);
}

static void *accept_one(void *arg)
{
	struct liar *liar = arg;

	liar->answers = raccept(liar->listens, NULL, NULL);
	return NULL;
}

static void liar_open(struct liar *liar)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };

	cr_assert_eq(rdma_create_id(NULL, &liar->id, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_resolve_addr(liar->id, NULL, (struct sockaddr *)&liar->at, 2000), 0);
	cr_assert_eq(rdma_resolve_route(liar->id, 2000), 0);
	cr_assert_eq(rdma_create_qp(liar->id, NULL, &attr), 0);
	liar->mr = rdma_reg_write(liar->id, liar->memory, sizeof(liar->memory));
	cr_assert(liar->mr);
}

static void liar_close(struct liar *liar)
{
	rdma_destroy_qp(liar->id);
	rdma_dereg_mr(liar->mr);
	cr_assert_eq(rdma_destroy_id(liar->id), 0);
}

static int liar_connect(struct liar *liar, const uint8_t *greeting, size_t length)
{
	struct rdma_conn_param param = {
		.private_data = greeting, .private_data_len = (uint8_t)length, .retry_count = 7, .rnr_retry_count = 7
	};

	return rdma_connect(liar->id, &param);
}

Test(cm_liar, one_that_does_not_greet_is_refused_and_the_next_is_accepted)
{
	const struct linger at_once = { .l_onoff = 1 }; /* it posts no receives */
	static struct liar liar;
	uint8_t greeting[GREETING];
	pthread_t thread;

	liar.listens = rs_listener(&liar.at);
	cr_assert_eq(rsetsockopt(liar.listens, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	pthread_create(&thread, NULL, accept_one, &liar);
	for (int spoiled = 0; spoiled < 5; spoiled++) {
		const int places[] = { 0, 4, 7, 20, 24 }; /* magic, version, reserved, the ring's size, slots */
		const uint8_t wrong[] = { 'x', 2, 1, 0xff, 0xff };

		liar_open(&liar);
		greeting_of(&liar, greeting);
		greeting[places[spoiled]] = wrong[spoiled];
		cr_assert(liar_connect(&liar, greeting, GREETING) == -1 && errno == ECONNREFUSED, "%d errno %d", spoiled, errno);
		liar_close(&liar);
	}
	liar_open(&liar);
	cr_assert(liar_connect(&liar, greeting, GREETING - 1) == -1 && errno == ECONNREFUSED);
	liar_close(&liar);
	liar_open(&liar);
	greeting_of(&liar, greeting);
	cr_assert_eq(liar_connect(&liar, greeting, GREETING), 0, "errno %d", errno);
	pthread_join(thread, NULL);
	cr_assert_geq(liar.answers, 0);
	cr_assert(!rclose(liar.answers) && !rclose(liar.listens));
	liar_close(&liar);
}

/* A control message, or a write of a part of the stream that has no bytes, with this immediate data. */
struct lie {
	bool writes;
	uint32_t immediate;
	uint32_t length;
	struct {
		uint8_t at, is;
	} bytes[2];
};

static void tell(struct liar *liar, const struct lie *lie)
{
	struct ibv_sge sge = { .addr = (uintptr_t)liar->memory, .length = lie->length, .lkey = liar->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = lie->length ? 1 : 0, .opcode = IBV_WR_SEND }, *bad;

	memset(liar->memory, 0, CONTROL);
	for (int i = 0; i < 2; i++)
		liar->memory[lie->bytes[i].at] |= lie->bytes[i].is;
	if (lie->writes) {
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = htonl(lie->immediate);
	}
	cr_assert_eq(ibv_post_send(liar->id->qp, &wr, &bad), 0);
}

Test(cm_liar, one_that_breaks_the_protocol_is_left)
{
	static const struct lie lies[] = {
		{ .length = CONTROL - 1, .bytes = { { 0, 1 } } },
		{ .length = CONTROL, .bytes = { { 0, 0 } } },
		{ .length = CONTROL, .bytes = { { 0, 6 } } },
		{ .length = CONTROL, .bytes = { { 0, 1 }, { 3, 1 } } },
		{ .length = CONTROL, .bytes = { { 0, 1 }, { 7, 1 } } },
		{ .length = CONTROL, .bytes = { { 0, 1 }, { 11, 1 } } },
		{ .length = CONTROL, .bytes = { { 0, 4 }, { 39, 1 } } },
		{ .length = CONTROL, .bytes = { { 0, 5 } } },
		{ .writes = true },
		{ .writes = true, .immediate = 1 },
		{ .writes = true, .immediate = UINT32_MAX },
	};
	static struct liar liar;
	uint8_t greeting[GREETING];
	pthread_t thread;
	char byte;

	liar.listens = rs_listener(&liar.at);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		pthread_create(&thread, NULL, accept_one, &liar);
		liar_open(&liar);
		greeting_of(&liar, greeting);
		cr_assert_eq(liar_connect(&liar, greeting, GREETING), 0);
		pthread_join(thread, NULL);
		tell(&liar, &lies[i]);
		cr_assert(rrecv(liar.answers, &byte, 1, 0) == -1 && errno == ECONNRESET, "lie %zu errno %d", i, errno);
		cr_assert_eq(rrecv(liar.answers, &byte, 1, 0), 0);
		cr_assert(rsend(liar.answers, &byte, 1, 0) == -1 && errno == EPIPE);
		cr_assert_eq(rclose(liar.answers), 0);
		liar_close(&liar);
	}
	cr_assert_eq(rclose(liar.listens), 0);
}
