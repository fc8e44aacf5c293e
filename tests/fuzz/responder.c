/* SPDX-License-Identifier: BSD-2-Clause */
/* responder.c - a device that a hostile peer talks to, from a valid HELLO on, while it has ops of its own under way to
 * that peer. Whatever is said, memory that was not offered for writing stays as it was, nothing leaks, and the device
 * closes in good order; a bystander is served afterwards.
 *
 * Input: a byte that says how, then frames. So that more than the first of them is reached, their digests are repaired;
 * three keys of four are those of regions, and with HOW_COUNT requests get the numbers that are due, and addresses there. */
#include <arpa/inet.h>

#include "tests/fuzz/fuzz.h"
#include "tests/sim/words.h"

/* Regions are small, so that addresses often lie near their ends. */
enum { HOW_COUNT = 1, HOW_FULL = 2, HOW_CUT = 4, HOW_OPS = 8, HOW_RECVS = 16, MOST = 8192, BYTES = 256, INBOX = 4096, OPS = 4 };
enum { OPEN, SHUT, SINGLE, KEYS };

struct scene {
	struct bed bed;
	struct words words;
	struct party *victim, *bystander;
	struct region *region[KEYS];
	struct raw *raw;
	uint64_t stranger, seq;
	uint8_t own[OPS][64], inbox[OPS][INBOX];
};

static void scene_open(struct scene *scene, uint8_t how)
{
	struct nic_config config = { .digest = how & HOW_FULL ? NIC_DIGEST_FULL : NIC_DIGEST_HEAD, .eager = 32 };
	struct sockaddr_storage at = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&at;
	/* Small, since new memory takes longer than what is tested. */
	const struct party_config party = { .cq_size = 64, .tx_size = 16, .rx_size = 16 };
	struct wire_hello_fields hello;

	bed_open(&scene->bed, 1, 2, &config, &party);
	scene->bed.world->weather.capacity = 8192;
	scene->bystander = scene->bed.party[0];
	scene->victim = scene->bed.party[1];
	scene->victim->deaf = true;
	scene->region[OPEN] = region_open(scene->victim, BYTES, 2, BED_BOTH, false, 100);
	scene->region[SHUT] = region_open(scene->victim, BYTES, 1, MR_REMOTE_READ, true, 101);
	scene->region[SINGLE] = region_open(scene->victim, BYTES, 1, BED_BOTH, false, 102);
	region_make_single(scene->region[SINGLE]);
	in->sin_addr.s_addr = htonl(0x0a090909);
	in->sin_port = htons(100);
	FUZZ_CHECK(!av_insert(scene->victim->av, &at, 0, &scene->stranger));
	scene->words.bed = &scene->bed;
	scene->words.target = scene->region[OPEN];
	scene->raw = raw_dial(scene->bed.world, party_port(scene->victim));
	hello = plain_hello(&scene->words);
	say_hello(&scene->words, &hello);
	raw_send(scene->raw, scene->words.bytes, scene->words.length);
	world_pass(scene->bed.world, SIM_SECOND / 1000);
}

/* Ops of the victim's own, of every kind, that the stranger may answer as it likes. */
static void post_ops(struct scene *scene)
{
	static const enum op_kind kinds[OPS] = { OP_WRITE, OP_READ, OP_SEND, OP_ATOMIC };

	for (int i = 0; i < OPS; i++) {
		struct iovec iov = { scene->own[i], kinds[i] == OP_ATOMIC ? 8 : sizeof(scene->own[i]) };
		struct remote remote = { .length = iov.iov_len, .key = 1 };
		struct post post = {
			.kind = kinds[i], .flags = POST_COMPLETE, .dest = scene->stranger, .iov = &iov, .iov_count = 1,
			.remote = &remote, .remote_count = kinds[i] != OP_SEND, .result = &iov,
			.result_count = kinds[i] == OP_ATOMIC,
		};

		if (kinds[i] == OP_ATOMIC)
			post.what = (struct atomic_what){ ATOMIC_FETCH, ATOMIC_SUM, ATOMIC_UINT64 };
		FUZZ_CHECK(!ep_post(scene->victim->ep, &post));
	}
}

static void post_receives(struct scene *scene)
{
	for (int i = 0; i < OPS; i++) {
		struct iovec iov = { scene->inbox[i], i % 2 ? 16 : sizeof(scene->inbox[i]) };
		struct recv_post post = {
			.iov = &iov, .iov_count = 1, .flags = POST_COMPLETE | (i > 1 ? POST_TAGGED : 0), .ignore = UINT64_MAX,
			.source = AV_NONE,
		};

		FUZZ_CHECK(!ep_recv(scene->victim->ep, &post));
	}
}

static void aim(const struct scene *scene, struct wire_target *to, uint8_t how)
{
	uint64_t key = wire_get64(to->key) % (KEYS + 1), addr = wire_get64(to->addr);

	if (key == KEYS)
		return;
	to->key = wire_put64(scene->region[key]->key);
	if (!(how & HOW_COUNT))
		return;
	/* In it, or a little beyond. */
	to->key_tail = to->auth = wire_put64(0);
	to->addr = wire_put64(region_addr(scene->region[key], 0) + addr % (BYTES + 64));
}

static void repair(struct scene *scene, uint8_t *frame, uint8_t how)
{
	struct wire_head *head = (struct wire_head *)frame;

	if (head->op == WIRE_WRITE || head->op == WIRE_READ || head->op == WIRE_ATOMIC)
		aim(scene, (struct wire_target *)(head + 1), how);
	if (how & HOW_COUNT)
		head->ack = wire_put64(0);	/* an acknowledgement of nothing would end it all */
	if ((how & HOW_COUNT) && wire_is_request(head->op))
		head->seq = wire_put64(++scene->seq);
	fuzz_redigest(frame, true, how & HOW_FULL);
}

static void talk(struct scene *scene, uint8_t *bytes, size_t length, uint8_t how)
{
	size_t at = 0, frame;

	while (fuzz_frame(bytes + at, length - at, &frame)) {
		repair(scene, bytes + at, how);
		raw_send(scene->raw, bytes + at, frame);
		if (how & HOW_CUT)
			world_pass(scene->bed.world, 10000);
		at += frame;
	}
	raw_send(scene->raw, bytes + at, length - at);
	world_pass(scene->bed.world, SIM_SECOND / 100);
}

static uint64_t posted(void *arg)
{
	struct scene *scene = arg;

	return scene->bed.model->open;
}

static bool all_done(void *arg)
{
	struct scene *scene = arg;

	model_read(scene->bystander);
	return !posted(scene);
}

/* The victim still serves others, and only what was offered has changed. */
static void check(struct scene *scene)
{
	struct region *spare = region_open(scene->victim, BYTES, 1, BED_BOTH, false, 103);
	struct job *job = job_rma(scene->bystander, spare, OP_WRITE, 0, 200, POST_COMPLETE, 1);

	FUZZ_CHECK(job && !job_post(job));
	FUZZ_CHECK(world_run(scene->bed.world, all_done, scene, BED_LIMIT_NS));
	region_check(spare);
	region_check(scene->region[SHUT]);
	/* Of these any byte may have changed, but none between and beside their pieces. */
	for (int i = 0; i < KEYS; i++)
		if (i != SHUT && region_claim(scene->region[i], 0, BYTES))
			region_check(scene->region[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene *scene;
	uint8_t *bytes;

	if (size < 1 || size > MOST)
		return 0;
	scene = calloc(1, sizeof(*scene));
	bytes = malloc(size);
	FUZZ_CHECK(scene && bytes);
	memcpy(bytes, data + 1, size - 1);
	scene_open(scene, data[0]);
	if (data[0] & HOW_OPS)
		post_ops(scene);
	if (data[0] & HOW_RECVS)
		post_receives(scene);
	world_pass(scene->bed.world, SIM_SECOND / 1000);
	talk(scene, bytes, size - 1, data[0]);
	check(scene);
	raw_close(scene->raw);
	world_pass(scene->bed.world, SIM_SECOND / 100);
	bed_close(&scene->bed);
	free(bytes);
	free(scene);
	return 0;
}
