/* SPDX-License-Identifier: BSD-2-Clause */
/* lnd.c - the driver: a peer asks for bulk data to be fetched from it or put to it, and is told the result.
 *
 * Without `peer` it serves until it is unloaded. With it, module_init() does `count` transactions and returns their result. */
#define pr_fmt(format) "lnd: " format

#include "lnd.h"

#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

enum { RECEIVES = 2, RECEIVE_BYTES = 65536, REPLY_TAG = 1 };

static char *node;
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "the address to listen at");
static char *service;
module_param(service, charp, 0444);
MODULE_PARM_DESC(service, "the port, or pid");
static char *peer;
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "the node to ask; without it, serve");
static char *peer_service;
module_param(peer_service, charp, 0444);
static uint count = 4;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "transactions");
static uint size = 100000;
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "bytes of each");
static bool async;
module_param(async, bool, 0444);
MODULE_PARM_DESC(async, "registration is told of by events");

enum message_kind { ASK_PUT = 1, ASK_GET, REPLY };

/* What peers send each other. Both have one byte order. */
struct message {
	uint32_t kind;
	int32_t status;
	uint64_t key;
	uint32_t length;
	uint32_t seed;
	uint32_t address_len;
	uint8_t address[LND_ADDR_MAX];
};

struct request {
	struct work_struct work;
	struct message message;
};

static struct lnd_net net;
static struct lnd_op receives[RECEIVES];
static void *receive_buffers[RECEIVES];
static struct workqueue_struct *serving;
static struct lnd_op reply; /* completes by the peer's message */

static int post_receive(unsigned int i);

static int send_message(kfi_addr_t to, const struct message *message)
{
	struct lnd_op op;
	ssize_t rc;

	lnd_op_init(&op);
	do
		rc = kfi_send(net.tx, message, sizeof(*message), NULL, kfi_rx_addr(to, 0, LND_RX_BITS), &op);
	while (rc == -EAGAIN);
	return rc ? (int)rc : lnd_wait(&op);
}

/* --- the side that is asked --- */

static int move_bulk(kfi_addr_t from, const struct message *message)
{
	struct lnd_pages pages;
	int rc = lnd_pages_make(&pages, message->length);

	if (rc)
		return rc;
	if (message->kind == ASK_GET)
		lnd_pages_fill(&pages, (uint8_t)message->seed);
	rc = lnd_bulk_move(&net, from, &pages, message->key, message->kind == ASK_GET);
	if (!rc && message->kind == ASK_PUT && !lnd_pages_are(&pages, (uint8_t)message->seed))
		rc = -EIO;
	lnd_pages_free(&pages);
	return rc;
}

static void serve(struct work_struct *work)
{
	struct request *request = container_of(work, struct request, work);
	struct message answer = { .kind = REPLY, .key = request->message.key };
	kfi_addr_t from;

	if (kfi_av_insert(net.av, request->message.address, 1, &from, 0, NULL) == 1) {
		answer.status = move_bulk(from, &request->message);
		pr_info("%s of %u bytes: %d\n", request->message.kind == ASK_GET ? "GET" : "PUT", request->message.length,
			answer.status);
		send_message(from, &answer);
		kfi_av_remove(net.av, &from, 1, 0);
	}
	kfree(request);
}

static void take_message(const struct message *message)
{
	struct request *request;

	if (message->kind == REPLY) {
		reply.status = message->status;
		complete(&reply.complete);
		return;
	}
	request = kmalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return;
	request->message = *message;
	INIT_WORK(&request->work, serve);
	queue_work(serving, &request->work);
}

/* A receive takes one message here, though the context's flags say multi-receive: each is posted with its own flags. */
static void received(struct lnd_op *op, uint64_t flags, size_t len, int status)
{
	unsigned int i = (unsigned int)(op - receives);

	(void)flags;
	if (status)
		return; /* closing */
	if (len == sizeof(struct message))
		take_message(receive_buffers[i]);
	if (post_receive(i))
		pr_err("a receive was not posted again\n");
}

static int post_receive(unsigned int i)
{
	struct kvec vec = { .iov_base = receive_buffers[i], .iov_len = RECEIVE_BYTES };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = KFI_ADDR_UNSPEC, .context = &receives[i]
	};

	return (int)kfi_recvmsg(net.rx, &msg, KFI_COMPLETION);
}

/* --- the side that asks --- */

static int transact(kfi_addr_t to, uint32_t number)
{
	struct message ask = { .kind = number % 2 ? ASK_GET : ASK_PUT, .key = 0x1000 + number, .length = size, .seed = number };
	struct lnd_pages pages;
	struct lnd_bulk bulk;
	int rc = lnd_pages_make(&pages, size), ended;

	if (rc)
		return rc;
	if (ask.kind == ASK_PUT)
		lnd_pages_fill(&pages, (uint8_t)ask.seed);
	ask.address_len = (uint32_t)net.address_len;
	memcpy(ask.address, net.address, net.address_len);
	lnd_op_init(&reply);
	rc = lnd_bulk_offer(&net, &bulk, &pages, ask.key, ask.kind == ASK_GET);
	if (!rc) {
		rc = send_message(to, &ask);
		rc = rc ? rc : lnd_wait(&reply);
		if (!rc && bulk.told)
			rc = lnd_wait(&bulk.op);
		ended = lnd_bulk_end(&net, &bulk);
		rc = rc ? rc : ended;
	}
	if (!rc && ask.kind == ASK_GET && !lnd_pages_are(&pages, (uint8_t)ask.seed))
		rc = -EIO;
	lnd_pages_free(&pages);
	return rc;
}

static int ask_peer(void)
{
	kfi_addr_t to;
	int rc = kfi_av_insertsvc(net.av, peer, peer_service, &to, 0, NULL);

	if (rc != 1)
		return rc < 0 ? rc : -EINVAL;
	rc = 0;
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = transact(to, i);
	if (rc)
		pr_err("a transaction failed: %d\n", rc);
	else
		pr_info("%u transactions of %u bytes are right\n", count, size);
	return rc;
}

/* --- its life --- */

static void end(void)
{
	flush_workqueue(serving); /* a peer that has its answer may end, and so may this, before the work has returned */
	lnd_net_close(&net);
	destroy_workqueue(serving);
	for (unsigned int i = 0; i < RECEIVES; i++)
		kfree(receive_buffers[i]);
}

static int begin(void)
{
	int rc;

	serving = alloc_workqueue("lnd", 0, 0);
	if (!serving)
		return -ENOMEM;
	rc = lnd_net_open(&net, node, service, lnd_bulk_caps, async);
	if (rc) {
		destroy_workqueue(serving);
		return rc;
	}
	lnd_op_init(&reply);
	for (unsigned int i = 0; i < RECEIVES && !rc; i++) {
		lnd_op_init(&receives[i]);
		receives[i].done = received;
		receive_buffers[i] = kmalloc(RECEIVE_BYTES, GFP_KERNEL);
		rc = receive_buffers[i] ? post_receive(i) : -ENOMEM;
	}
	if (!rc && !peer)
		pr_info("ready at service %u\n", lnd_net_service(&net));
	if (!rc && peer)
		rc = ask_peer();
	if (rc)
		end();
	return rc;
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual BSD/GPL");
