/* SPDX-License-Identifier: BSD-2-Clause */
/* module_shape.c - a module as kernel code has it: it includes all headers, and nothing of user space. */
#define KBUILD_MODNAME "module_shape"
#define pr_fmt(format) KBUILD_MODNAME ": " format

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/bvec.h>
#include <linux/compiler.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/idr.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/numa.h>
#include <linux/pci.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

static int count = 3;
static uint size = 4096;
static long delay = -1;
static ulong mask = 1;
static short low = -2;
static ushort port = 7;
static bool verbose;
static char *device = "emu0";
static int several[4];
static unsigned int several_count;
static char label[16];

module_param(count, int, 0444);
MODULE_PARM_DESC(count, "operations to post");
module_param(size, uint, 0644);
module_param(delay, long, 0);
module_param(mask, ulong, 0);
module_param(low, short, 0);
module_param(port, ushort, 0);
module_param_named(loud, verbose, bool, 0444);
MODULE_PARM_DESC(loud, "say more");
module_param(device, charp, 0444);
module_param_array(several, int, &several_count, 0);
module_param_string(label, label, sizeof(label), 0);

struct client {
	struct work_struct work;
	struct completion done;
	wait_queue_head_t queue;
	atomic_t left;
	void *buf;
	size_t len;
};

static struct client *client;

int module_shape_state(void);

int module_shape_state(void)
{
	return client ? atomic_read(&client->left) : -ENODEV;
}
EXPORT_SYMBOL(module_shape_state);
EXPORT_SYMBOL_GPL(module_shape_state);

static void client_work(struct work_struct *work)
{
	struct client *self = container_of(work, struct client, work);

	while (!atomic_dec_and_test(&self->left))
		cond_resched();
	complete(&self->done);
	wake_up_all(&self->queue);
}

static int __init client_init(void)
{
	int rc = 0;

	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	client = kzalloc(sizeof(*client), GFP_KERNEL);
	if (!client)
		return -ENOMEM;
	client->len = min_t(size_t, size, PAGE_SIZE);
	client->buf = kmalloc(client->len, GFP_KERNEL);
	if (!client->buf) {
		rc = -ENOMEM;
		goto err_free;
	}
	INIT_WORK(&client->work, client_work);
	init_completion(&client->done);
	init_waitqueue_head(&client->queue);
	atomic_set(&client->left, count);
	schedule_work(&client->work);
	if (!wait_for_completion_timeout(&client->done, 60 * HZ)) {
		pr_err("no end after %d\n", count);
		rc = -ETIMEDOUT;
		goto err_cancel;
	}
	wait_event(client->queue, atomic_read(&client->left) == 0);
	if (verbose)
		pr_info("%s: %zu bytes, %ld %lu %d %u\n", device, client->len, delay, mask, low, port);
	return 0;

err_cancel:
	cancel_work_sync(&client->work);
	kfree(client->buf);
err_free:
	kfree(client);
	client = NULL;
	return rc;
}

static void __exit client_exit(void)
{
	flush_work(&client->work);
	kfree(client->buf);
	kfree(client);
	client = NULL;
	module_put(THIS_MODULE);
}

module_init(client_init);
module_exit(client_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_AUTHOR("one");
MODULE_AUTHOR("another");
MODULE_DESCRIPTION("what a client looks like");
MODULE_VERSION("1.0");
MODULE_ALIAS("shape");
MODULE_SOFTDEP("pre: none");
