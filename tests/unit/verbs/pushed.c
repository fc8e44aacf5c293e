/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/verbs/pushed.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/nic/device/nic.h"

struct ibv_context *context;
struct ibv_comp_channel *channel;
struct ibv_cq *cq;
struct vb_queue sends, receives;

static void open_context(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	cr_assert_not_null(list);
	context = ibv_open_device(list[0]);
	cr_assert_not_null(context);
	ibv_free_device_list(list);
	channel = ibv_create_comp_channel(context);
	cr_assert_not_null(channel);
	cr_assert_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(vb_queue_open(&sends, 8, 17, false), 0);
	cr_assert_eq(vb_queue_open(&receives, 8, 17, false), 0);
}

void open_all(int cqe)
{
	open_context();
	cq = ibv_create_cq(context, cqe, NULL, channel, 0);
	cr_assert_not_null(cq);
}

void open_all_ex(const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_init_attr_ex copy = *attr;

	open_context();
	copy.channel = channel;
	cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(context, &copy));
	cr_assert_not_null(cq);
}

void close_all(void)
{
	vb_queue_close(&sends);
	vb_queue_close(&receives);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	cr_assert_eq(ibv_close_device(context), 0);
}

struct vb_wr *posted(struct vb_queue *queue, uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	struct vb_wr *wr = vb_queue_take(queue);

	cr_assert_not_null(wr);
	wr->wr_id = wr_id;
	wr->opcode = (uint8_t)opcode;
	wr->length = 100;
	wr->local = false;
	return wr;
}

static struct driver *device(void)
{
	return nic_driver(atomic_load(&vb_cq_of(cq)->context->nic));
}

static void free_node(struct cq_node *node)
{
	free(node);
}

void push_good(struct vb_wr *wr, uint64_t flags, uint64_t data)
{
	struct cq_node *node = calloc(1, sizeof(*node));

	node->c = (struct completion){
		.context = wr, .flags = flags, .length = 64, .data = data, .source = (uint64_t)(uintptr_t)&receives
	};
	node->release = free_node;
	driver_take(device());
	cq_push(vb_cq_of(cq)->cq, node);
	driver_leave(device());
}

void push_failed(struct vb_wr *wr, enum refusal_cause cause, const char *text)
{
	struct cq_error error = { .c = { .context = wr, .source = (uint64_t)(uintptr_t)&receives },
				  .err = refusal_errno(cause),
				  .prov_errno = (int)cause };

	snprintf(error.text, sizeof(error.text), "%s", text);
	driver_take(device());
	cq_push_error(vb_cq_of(cq)->cq, &error);
	driver_leave(device());
}

struct ibv_wc polled(void)
{
	struct ibv_wc wc;

	cr_assert_eq(ibv_poll_cq(cq, 1, &wc), 1);
	return wc;
}

int events_now(void)
{
	struct ibv_cq *which;
	void *arg;
	int count = 0;

	for (; !ibv_get_cq_event(channel, &which, &arg); count++)
		cr_assert_eq(which, cq);
	cr_assert_eq(errno, EAGAIN);
	return count;
}
