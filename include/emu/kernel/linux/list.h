/* SPDX-License-Identifier: BSD-2-Clause */
/* list.h - doubly linked lists: rings with a head, and chains with one pointer as head. */
#ifndef EMU_KERNEL_LINUX_LIST_H
#define EMU_KERNEL_LINUX_LIST_H

#include <linux/kernel.h>
#include <linux/types.h>

#define LIST_POISON1 ((void *)0x100)
#define LIST_POISON2 ((void *)0x122)

#define LIST_HEAD_INIT(name)     \
	{                        \
		&(name), &(name) \
	}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline void emu_list_join(struct list_head *before, struct list_head *after)
{
	before->next = after;
	after->prev = before;
}

static inline void emu_list_insert(struct list_head *item, struct list_head *before, struct list_head *after)
{
	emu_list_join(before, item);
	emu_list_join(item, after);
}

static inline void list_add(struct list_head *item, struct list_head *head)
{
	emu_list_insert(item, head, head->next);
}

static inline void list_add_tail(struct list_head *item, struct list_head *head)
{
	emu_list_insert(item, head->prev, head);
}

static inline void list_del(struct list_head *item)
{
	emu_list_join(item->prev, item->next);
	item->next = (struct list_head *)LIST_POISON1;
	item->prev = (struct list_head *)LIST_POISON2;
}

static inline void list_del_init(struct list_head *item)
{
	emu_list_join(item->prev, item->next);
	INIT_LIST_HEAD(item);
}

static inline void list_replace(struct list_head *old, struct list_head *item)
{
	emu_list_insert(item, old->prev, old->next);
}

static inline void list_move(struct list_head *item, struct list_head *head)
{
	emu_list_join(item->prev, item->next);
	list_add(item, head);
}

static inline void list_move_tail(struct list_head *item, struct list_head *head)
{
	emu_list_join(item->prev, item->next);
	list_add_tail(item, head);
}

static inline bool list_empty(const struct list_head *head)
{
	return READ_ONCE(head->next) == head;
}

static inline bool list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}

static inline bool list_is_last(const struct list_head *item, const struct list_head *head)
{
	return item->next == head;
}

static inline void list_splice_init(struct list_head *from, struct list_head *head)
{
	if (list_empty(from))
		return;
	emu_list_join(from->prev, head->next);
	emu_list_join(head, from->next);
	INIT_LIST_HEAD(from);
}

static inline void list_splice_tail_init(struct list_head *from, struct list_head *head)
{
	list_splice_init(from, head->prev);
}

#define list_entry(item, type, member) container_of(item, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) (list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next_entry(at, member) list_entry((at)->member.next, __typeof__(*(at)), member)
#define list_prev_entry(at, member) list_entry((at)->member.prev, __typeof__(*(at)), member)

#define list_for_each(at, head) for ((at) = (head)->next; (at) != (head); (at) = (at)->next)
#define list_for_each_safe(at, after, head) \
	for ((at) = (head)->next, (after) = (at)->next; (at) != (head); (at) = (after), (after) = (at)->next)
#define list_for_each_entry(at, head, member) \
	for ((at) = list_first_entry(head, __typeof__(*(at)), member); &(at)->member != (head); (at) = list_next_entry(at, member))
#define list_for_each_entry_reverse(at, head, member) \
	for ((at) = list_last_entry(head, __typeof__(*(at)), member); &(at)->member != (head); (at) = list_prev_entry(at, member))
#define list_for_each_entry_safe(at, after, head, member)                                                     \
	for ((at) = list_first_entry(head, __typeof__(*(at)), member), (after) = list_next_entry(at, member); \
	     &(at)->member != (head); (at) = (after), (after) = list_next_entry(after, member))

#define HLIST_HEAD_INIT       \
	{                     \
		.first = NULL \
	}
#define HLIST_HEAD(name) struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(head) ((head)->first = NULL)

static inline void INIT_HLIST_NODE(struct hlist_node *node)
{
	node->next = NULL;
	node->pprev = NULL;
}

static inline bool hlist_unhashed(const struct hlist_node *node)
{
	return !node->pprev;
}

static inline bool hlist_empty(const struct hlist_head *head)
{
	return !READ_ONCE(head->first);
}

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	node->pprev = &head->first;
	if (node->next)
		node->next->pprev = &node->next;
	head->first = node;
}

static inline void emu_hlist_take(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

static inline void hlist_del(struct hlist_node *node)
{
	emu_hlist_take(node);
	node->next = (struct hlist_node *)LIST_POISON1;
	node->pprev = (struct hlist_node **)LIST_POISON2;
}

static inline void hlist_del_init(struct hlist_node *node)
{
	if (hlist_unhashed(node))
		return;
	emu_hlist_take(node);
	INIT_HLIST_NODE(node);
}

#define hlist_entry(node, type, member) container_of(node, type, member)
#define hlist_entry_safe(node, type, member)                           \
	({                                                             \
		struct hlist_node *emu_node = (node);                  \
		emu_node ? hlist_entry(emu_node, type, member) : NULL; \
	})
#define hlist_for_each_entry(at, head, member)                                        \
	for ((at) = hlist_entry_safe((head)->first, __typeof__(*(at)), member); (at); \
	     (at) = hlist_entry_safe((at)->member.next, __typeof__(*(at)), member))
#define hlist_for_each_entry_safe(at, after, head, member)                                                                \
	for ((at) = hlist_entry_safe((head)->first, __typeof__(*(at)), member); (at) && ((after) = (at)->member.next, 1); \
	     (at) = hlist_entry_safe(after, __typeof__(*(at)), member))

#endif
