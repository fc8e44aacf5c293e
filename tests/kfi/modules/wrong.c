/* SPDX-License-Identifier: BSD-2-Clause */
/* wrong.c - a module that does wrong, in the way that its parameter says; and one of each type of parameter. */
#define pr_fmt(format) "wrong: " format

#include <kfabric.h>
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *how = "";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "null, thread, overflow, thread_overflow, bug, error, sleep, leak");
static int number = 1;
module_param(number, int, 0444);
static ushort small;
module_param(small, ushort, 0444);
static bool flag;
module_param(flag, bool, 0444);
static int list[3];
static unsigned int listed;
module_param_array(list, int, &listed, 0444);
static char label[4] = "ab";
module_param_string(label, label, sizeof(label), 0444);

static int *volatile nowhere = (int *)64; /* a member of a structure at NULL */
static DEFINE_SPINLOCK(lock);

static int fault(void *data)
{
	(void)data;
	return *nowhere;
}

/* Calls itself while `*more`, which it always is. */
static int deeper(volatile char *more)
{
	volatile char room[1024];

	room[0] = *more;
	return *more ? deeper(room) + room[0] : 0;
}

static int overflow(void *data)
{
	volatile char more = 1;

	(void)data;
	return deeper(&more);
}

static int leak(void)
{
	static struct kfid_fabric *fabric;
	struct kfi_info *info = NULL;
	int rc = kfi_getinfo(KFI_VERSION(1, 0), NULL, NULL, 0, NULL, &info);

	rc = rc ? rc : kfi_fabric(info->fabric_attr, &fabric, NULL);
	kfi_freeinfo(info);
	return rc;
}

static int begin(void)
{
	pr_info("number %d small %u flag %d listed %u: %d %d %d label %s\n", number, small, flag, listed, list[0], list[1], list[2],
		label);
	if (!strcmp(how, "null"))
		return *nowhere;
	if (!strcmp(how, "thread"))
		return IS_ERR(kthread_run(fault, NULL, "fault")) ? -ENOMEM : 0;
	if (!strcmp(how, "overflow"))
		return overflow(NULL);
	if (!strcmp(how, "thread_overflow"))
		return IS_ERR(kthread_run(overflow, NULL, "overflow")) ? -ENOMEM : 0;
	BUG_ON(!strcmp(how, "bug"));
	if (!strcmp(how, "error"))
		return -ENODEV;
	if (!strcmp(how, "sleep")) {
		spin_lock(&lock);
		msleep(1);
		spin_unlock(&lock);
	}
	return strcmp(how, "leak") ? 0 : leak();
}

static void end(void)
{
	pr_info("unloaded\n");
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual BSD/GPL");
