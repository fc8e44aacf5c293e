/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ids.c - an object stays until its last reference has gone. */
#include <criterion/criterion.h>
#include <kfi_prov.h>
#include <linux/kthread.h>

static int closed;

static int close_object(void *object)
{
	kfi_close_id(object);
	WRITE_ONCE(closed, 1);
	return 0;
}

Test(kfi_ids, an_object_without_references_closes_at_once)
{
	struct kfid fid;

	kfi_init_id(&fid);
	cr_assert_eq(atomic_read(&fid.ref_cnt), 1);
	kfi_ref_id(&fid);
	kfi_deref_id(&fid);
	kfi_close_id(&fid);
	cr_assert_eq(atomic_read(&fid.ref_cnt), 0);
	kfi_init_id(&fid); /* its memory may hold another object */
	kfi_close_id(&fid);
}

/* The thread that closes is asleep, and each reference but the last leaves it so. */
Test(kfi_ids, close_blocks_until_the_last_reference_has_gone)
{
	struct task_struct *thread;
	struct kfid fid;

	kfi_init_id(&fid);
	kfi_ref_id(&fid);
	kfi_ref_id(&fid);
	thread = kthread_run(close_object, &fid, "close");
	get_task_struct(thread);
	while (atomic_read(&fid.ref_cnt) != 2 || READ_ONCE(thread->__state) == TASK_RUNNING)
		cond_resched();
	kfi_deref_id(&fid);
	cr_assert_not(completion_done(&fid.comp));
	cr_assert_eq(READ_ONCE(closed), 0);
	cr_assert_neq(READ_ONCE(thread->__state), TASK_RUNNING);
	kfi_deref_id(&fid);
	cr_assert_eq(kthread_stop(thread), 0);
	cr_assert_eq(READ_ONCE(closed), 1);
	put_task_struct(thread);
}
