/* SPDX-License-Identifier: BSD-2-Clause */
/* op_list.h - a singly linked queue of ops through op.next. */
#ifndef EMU_NIC_OP_LIST_H
#define EMU_NIC_OP_LIST_H

#include "emu/nic/ops/op.h"

struct op_list {
	struct op *first;
	struct op *last;
};

static inline void op_list_push(struct op_list *list, struct op *op)
{
	struct op **at = list->first ? &list->last->next : &list->first;

	op->next = NULL;
	*at = op;
	list->last = op;
}

static inline struct op *op_list_pop(struct op_list *list)
{
	struct op *op = list->first;

	if (op)
		list->first = op->next;
	return op;
}

/* Takes `op`, which follows `before` (NULL: is the first), out of the list. */
static inline void op_list_cut(struct op_list *list, struct op *before, struct op *op)
{
	if (before)
		before->next = op->next;
	else
		list->first = op->next;
	if (list->last == op)
		list->last = before;
}

/* Finds the op whose first segment is `seq` and takes it out; NULL if it is not there. */
static inline struct op *op_list_take(struct op_list *list, uint64_t seq)
{
	struct op *before = NULL;

	for (struct op *op = list->first; op; before = op, op = op->next) {
		if (op->first_seq == seq) {
			op_list_cut(list, before, op);
			return op;
		}
	}
	return NULL;
}

#endif
