/* SPDX-License-Identifier: BSD-2-Clause */
/* rcupdate.h - sections of readers, and what waits for their end. */
#ifndef EMU_KERNEL_LINUX_RCUPDATE_H
#define EMU_KERNEL_LINUX_RCUPDATE_H

#include <emu_kernel.h>
#include <linux/compiler.h>
#include <linux/types.h>

struct rcu_head {
	struct rcu_head *emu_next;
	void (*emu_func)(struct rcu_head *head);
};
#define callback_head rcu_head

/* A section may be in another one, and may not sleep. */
void rcu_read_lock(void);
void rcu_read_unlock(void);

/* Return, or call, when every section that was begun before has ended. Calls are made by one thread, in atomic context. */
void synchronize_rcu(void);
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));
void rcu_barrier(void); /* until all calls asked for so far were made */
void emu_kernel_free_rcu(struct rcu_head *head, size_t offset);

#define synchronize_rcu() (EMU_KERNEL_SLEEPS("synchronize_rcu"), synchronize_rcu())
#define rcu_barrier() (EMU_KERNEL_SLEEPS("rcu_barrier"), rcu_barrier())
#define kfree_rcu(pointer, member) emu_kernel_free_rcu(&(pointer)->member, offsetof(__typeof__(*(pointer)), member))

#define rcu_access_pointer(p) READ_ONCE(p)
#define rcu_dereference(p) smp_load_acquire(&(p))
#define rcu_dereference_protected(p, condition) ((void)(condition), READ_ONCE(p))
#define rcu_assign_pointer(p, value) smp_store_release(&(p), (value))
#define RCU_INIT_POINTER(p, value) WRITE_ONCE(p, value)

#endif
