/* SPDX-License-Identifier: BSD-2-Clause */
/* responder.c - a device that a hostile peer talks to, from a valid HELLO on, while it has ops of its own under way to that
 * peer. Whatever the peer says: memory not offered for writing stays as it was, no byte is shown that was not offered for
 * reading, each op and receive ends once, and a bystander is served afterwards.
 *
 * Input: a record that says how, then those of scene.c. Device and regions are the same for all inputs, the endpoint and with
 * it every session is new for each. */
#include <arpa/inet.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scene.h"

/* Tags cost time: an endpoint that has them is opened only where they are asked for. */
enum { HOW_FULL = 1, HOW_DEAF = 2, HOW_TAGS = 4, HOW_NO_READS = 8, HOW_NO_WRITES = 16, HOW_NO_ATOMICS = 32, HOW_RULES = 64 };
enum { STRANGER, BYSTANDER, RECORDS = 64, BETWEEN_NS = 2000000000 };
enum {
	CAPS = EP_SEND | EP_RECV | EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE | EP_DIRECTED_RECV | EP_SOURCE |
	       EP_RMA_EVENT | EP_REMOTE_ATOMIC_READ | EP_REMOTE_ATOMIC_WRITE | EP_TSEND | EP_TRECV
};

static uint32_t caps_of(uint8_t how)
{
	return CAPS & ~((how & HOW_TAGS ? 0u : EP_TRECV) | (how & HOW_NO_READS ? EP_REMOTE_READ : 0u) |
			(how & HOW_NO_WRITES ? EP_REMOTE_WRITE : 0u) | (how & HOW_NO_ATOMICS ? EP_REMOTE_ATOMIC_WRITE : 0u));
}

static void begin(struct scene *scene, uint8_t how)
{
	struct sockaddr_storage at = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&at;
	struct ep_attr attr = {
		.pd = scene->memory.pd,
		.av = scene->av,
		.caps = caps_of(how),
		.rules = how & HOW_RULES ? EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES | EP_RULE_ALIGNED : 0,
		.tx_size = BUFFERS,
		.rx_size = BUFFERS,
	};
	struct stranger *stranger = &scene->stranger;

	scene->plug.random = 1;
	scene->plug.now_ns += BETWEEN_NS; /* nothing that is counted by the second goes on from one to the next */
	scene->rest = scene->message_rest = 0;
	scene->deaf = how & HOW_DEAF;
	memory_reset(&scene->memory);
	FUZZ_CHECK(!cq_open(&scene->cq, BUFFERS, NULL, NULL));
	attr.tx_cq = attr.rx_cq = scene->cq;
	attr.at = at;
	in->sin_addr.s_addr = htonl(0x0a090909);
	in->sin_port = htons(100 + STRANGER);
	FUZZ_CHECK(!av_insert(scene->av, &at, 0, &scene->known));
	in->sin_addr.s_addr = htonl(0x0a000001);
	in->sin_port = 0;
	attr.at = at;
	FUZZ_CHECK(driver_enter(nic_driver(scene->plug.nic)));
	FUZZ_CHECK(!ep_open(scene->plug.nic, &attr, &scene->ep));
	driver_leave(nic_driver(scene->plug.nic));
	stranger_init(stranger, &scene->plug, &scene->memory, STRANGER);
	stranger->full = how & HOW_FULL;
	stranger->caps = attr.caps;
	stranger_greet(stranger, 0);
	FUZZ_CHECK(stranger->line && !stranger->muddled);
}

static void end(struct scene *scene)
{
	FUZZ_CHECK(driver_enter(nic_driver(scene->plug.nic)));
	ep_close(scene->ep);
	driver_leave(nic_driver(scene->plug.nic));
	plug_run(&scene->plug);
	scene_read(scene);
	for (int i = 0; i < BUFFERS; i++)
		FUZZ_CHECK(!scene->memory.buffer[i].lent);
	memory_check(&scene->memory, &(struct permit){ .region = NULL }, NULL);
	for (int i = 0; i < PLUG_LINES; i++)
		FUZZ_CHECK(!scene->plug.line[i].used);
	FUZZ_CHECK(!cq_close(scene->cq) && !av_remove(scene->av, scene->known));
}

/* Another peer writes into a region that no stranger names. */
static void check_bystander(struct scene *scene)
{
	const struct region *spare = &scene->memory.region[REGION_SPARE];
	struct wire_target_fields to = { .key = spare->key };
	static struct stranger other;
	uint8_t *payload;

	if (spare->mr->invalidated) /* by a frame as it stood in the input */
		region_renew(&scene->memory, &scene->memory.region[REGION_SPARE]);
	stranger_init(&other, &scene->plug, &scene->memory, BYSTANDER);
	other.full = scene->stranger.full;
	other.caps = CAPS;
	stranger_greet(&other, 0);
	FUZZ_CHECK(other.line && !other.muddled);
	payload = other.frame + wire_put_write(other.frame, WIRE_F_FIRST, 8, 1, &to, 8, 0);
	memcpy(payload, "bystander", 8);
	wire_put_trailer(payload + 8, WIRE_GOOD, 0);
	stranger_say(&other);
	FUZZ_CHECK(other.executed == 1);
	FUZZ_CHECK(!(scene->stranger.caps & EP_REMOTE_WRITE) || !memcmp(spare->block + GAP, "bystander", 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scene scenes[2];
	struct scene *scene;

	if (size < RECORD)
		return -1;
	scene = &scenes[data[0] & HOW_FULL];
	if (!scene->opened)
		scene_open(scene, data[0] & HOW_FULL);
	begin(scene, data[0]);
	data += RECORD;
	size -= RECORD;
	for (int i = 0; i < RECORDS && size >= RECORD; i++) {
		size_t more = scene_do(scene, data, data + RECORD, size - RECORD);

		data += RECORD + more;
		size -= RECORD + more;
	}
	check_bystander(scene);
	end(scene);
	return 0;
}
