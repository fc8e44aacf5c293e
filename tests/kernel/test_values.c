/* SPDX-License-Identifier: BSD-2-Clause */
/* test_values.c - arithmetic, atomics, lists, numbers, texts, times, and the machine. */
#include <criterion/criterion.h>
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/numa.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "tests/kernel/said.h"

struct item {
	int number;
	struct list_head link;
	struct hlist_node chain;
};

static struct item items[4] = { { .number = 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 } };

/* The numbers in the order of the list, as digits. */
static int digits(struct list_head *head)
{
	struct item *at;
	int all = 0;

	list_for_each_entry(at, head, link)
		all = 10 * all + at->number;
	return all;
}

Test(kernel_values, lists)
{
	struct item *at, *after;
	LIST_HEAD(head);
	LIST_HEAD(other);
	int all = 0;

	cr_assert(list_empty(&head));
	cr_assert_null(list_first_entry_or_null(&head, struct item, link));
	list_add(&items[1].link, &head);
	cr_assert(list_is_singular(&head));
	list_add_tail(&items[2].link, &head);
	list_add_tail(&items[3].link, &head);
	cr_assert_eq(digits(&head), 123);
	cr_assert_eq(list_last_entry(&head, struct item, link), &items[3]);
	cr_assert(list_is_last(&items[3].link, &head));
	list_move(&items[3].link, &head);
	cr_assert_eq(digits(&head), 312);
	list_move_tail(&items[3].link, &other);
	list_splice_init(&head, &other);
	cr_assert_eq(digits(&other), 123);
	list_splice_tail_init(&other, &head);
	cr_assert(list_empty(&other));
	list_replace(&items[2].link, &items[0].link);
	list_for_each_entry_reverse(at, &head, link)
		all = 10 * all + at->number;
	cr_assert_eq(all, 301);
	list_for_each_entry_safe(at, after, &head, link)
		list_del_init(&at->link);
	cr_assert(list_empty(&head));
	list_add(&items[0].link, &head);
	list_del(&items[0].link);
	cr_assert_eq(items[0].link.next, LIST_POISON1);
}

Test(kernel_values, hlists)
{
	struct hlist_node *after;
	struct item *at;
	HLIST_HEAD(head);
	int all = 0;

	for (int i = 0; i < 4; i++)
		hlist_add_head(&items[i].chain, &head);
	hlist_for_each_entry(at, &head, chain)
		all = 10 * all + at->number;
	cr_assert_eq(all, 3210);
	hlist_del(&items[3].chain);
	hlist_del_init(&items[1].chain);
	hlist_del_init(&items[1].chain);
	cr_assert(hlist_unhashed(&items[1].chain));
	all = 0;
	hlist_for_each_entry_safe(at, after, &head, chain) {
		all = 10 * all + at->number;
		hlist_del_init(&at->chain);
	}
	cr_assert_eq(all, 20);
	cr_assert(hlist_empty(&head));
	INIT_HLIST_HEAD(&head);
}

Test(kernel_values, atomics)
{
	atomic_t a = ATOMIC_INIT(3);
	atomic64_t b = ATOMIC64_INIT(1LL << 40);
	int word = 1;

	atomic_inc(&a);
	atomic_add(2, &a);
	atomic_sub(1, &a);
	atomic_dec(&a);
	cr_assert_eq(atomic_read(&a), 4);
	cr_assert_eq(atomic_add_return(2, &a), 6);
	cr_assert_eq(atomic_fetch_add(1, &a), 6);
	cr_assert_eq(atomic_inc_return(&a), 8);
	cr_assert_eq(atomic_xchg(&a, 1), 8);
	cr_assert_eq(atomic_cmpxchg(&a, 2, 5), 1);
	cr_assert_eq(atomic_cmpxchg(&a, 1, 5), 1);
	cr_assert_not(atomic_add_unless(&a, 1, 5));
	cr_assert_not(atomic_sub_and_test(4, &a));
	cr_assert(atomic_dec_and_test(&a));
	cr_assert_not(atomic_inc_not_zero(&a));
	atomic_set_release(&a, -1);
	cr_assert_eq(atomic_read_acquire(&a), -1);
	cr_assert(atomic_inc_and_test(&a));
	cr_assert_eq(atomic64_inc_return(&b), (1LL << 40) + 1);
	cr_assert_eq(xchg(&word, 2), 1);
	cr_assert_eq(cmpxchg(&word, 2, 3), 2);
	smp_mb();
	smp_store_release(&word, 4);
	cr_assert_eq(smp_load_acquire(&word), 4);
}

static int released;

static void release(struct kref *kref)
{
	released++;
	(void)kref;
}

Test(kernel_values, reference_counts_stick_when_misused)
{
	refcount_t r = REFCOUNT_INIT(1);
	struct kref kref;

	said_begin();
	kref_init(&kref);
	kref_get(&kref);
	cr_assert(kref_get_unless_zero(&kref));
	cr_assert_eq(kref_read(&kref), 3);
	cr_assert_eq(kref_put(&kref, release) + kref_put(&kref, release), 0);
	cr_assert_eq(kref_put(&kref, release), 1);
	cr_assert_eq(released, 1);
	cr_assert_not(kref_get_unless_zero(&kref));
	refcount_inc(&r);
	refcount_dec(&r);
	cr_assert_eq(said_times("WARNING"), 0);
	cr_assert(refcount_dec_and_test(&r));
	refcount_inc(&r);
	cr_assert_eq(said_times("WARNING"), 1);
	cr_assert_not(refcount_dec_and_test(&r));
	cr_assert_gt(refcount_read(&r), INT32_MAX);
}

static int sum_ids(int id, void *pointer, void *data)
{
	*(int *)data += id;
	return pointer == &items[3];
}

Test(kernel_values, idr)
{
	DEFINE_IDR(idr);
	struct item *at;
	int id, sum = 0;

	cr_assert_eq(idr_alloc(&idr, &items[0], 5, 7, GFP_KERNEL), 5);
	cr_assert_eq(idr_alloc(&idr, &items[1], 5, 7, GFP_KERNEL), 6);
	cr_assert_eq(idr_alloc(&idr, &items[2], 5, 7, GFP_ATOMIC), -ENOSPC);
	cr_assert_eq(idr_alloc(&idr, &items[2], 0, 0, GFP_KERNEL), 0);
	cr_assert_eq(idr_find(&idr, 6), &items[1]);
	cr_assert_null(idr_find(&idr, 1));
	cr_assert_null(idr_find(&idr, 1UL << 40));
	idr_for_each_entry(&idr, at, id)
		sum += id;
	cr_assert_eq(sum, 11);
	cr_assert_eq(idr_for_each(&idr, sum_ids, &sum), 0);
	cr_assert_eq(sum, 22);
	cr_assert_eq(idr_replace(&idr, &items[3], 6), &items[1]);
	cr_assert_eq(idr_for_each(&idr, sum_ids, &sum), 1);
	cr_assert_eq(PTR_ERR(idr_replace(&idr, &items[3], 9)), -ENOENT);
	cr_assert_eq(idr_remove(&idr, 5), &items[0]);
	cr_assert_null(idr_remove(&idr, 5));
	cr_assert_eq(idr_alloc_cyclic(&idr, &items[0], 0, 8, GFP_KERNEL), 1);
	cr_assert_eq(idr_remove(&idr, 1), &items[0]);
	cr_assert_eq(idr_alloc_cyclic(&idr, &items[0], 0, 8, GFP_KERNEL), 2);
	cr_assert_eq(idr_alloc_cyclic(&idr, &items[0], 0, 4, GFP_KERNEL), 3);
	cr_assert_eq(idr_alloc_cyclic(&idr, &items[0], 0, 4, GFP_KERNEL), 1);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(idr_alloc(&idr, &items[0], 100, 0, GFP_KERNEL), 100 + i);
	cr_assert_not(idr_is_empty(&idr));
	idr_preload(GFP_KERNEL);
	idr_preload_end();
	idr_destroy(&idr);
	cr_assert(idr_is_empty(&idr));
}

Test(kernel_values, ida)
{
	DEFINE_IDA(ida);

	cr_assert_eq(ida_alloc(&ida, GFP_KERNEL), 0);
	cr_assert_eq(ida_alloc_min(&ida, 3, GFP_KERNEL), 3);
	cr_assert_eq(ida_alloc_max(&ida, 1, GFP_KERNEL), 1);
	cr_assert_eq(ida_alloc_max(&ida, 1, GFP_KERNEL), -ENOSPC);
	cr_assert_eq(ida_alloc_range(&ida, 2, 5, GFP_KERNEL), 2);
	cr_assert_eq(ida_simple_get(&ida, 4, 5, GFP_KERNEL), 4);
	cr_assert_eq(ida_alloc_range(&ida, 7, 6, GFP_KERNEL), -ENOSPC);
	ida_free(&ida, 1);
	ida_simple_remove(&ida, 0);
	cr_assert_eq(ida_alloc(&ida, GFP_KERNEL), 0);
	ida_destroy(&ida);
	cr_assert(ida_is_empty(&ida));
}

Test(kernel_values, numbers_in_texts)
{
	unsigned long long ull;
	unsigned long ul;
	unsigned int u;
	long long ll;
	long l;
	bool b;
	int i;

	cr_assert_eq(kstrtoull("18446744073709551615\n", 10, &ull), 0);
	cr_assert_eq(ull, U64_MAX);
	cr_assert_eq(kstrtoull("18446744073709551616", 10, &ull), -ERANGE);
	cr_assert_eq(kstrtoull("-1", 10, &ull), -EINVAL);
	cr_assert_eq(kstrtoull(" 1", 10, &ull), -EINVAL);
	cr_assert_eq(kstrtoul("0x1f", 0, &ul), 0);
	cr_assert_eq(ul, 31);
	cr_assert_eq(kstrtoll("-9223372036854775808", 10, &ll), 0);
	cr_assert_eq(ll, INT64_MIN);
	cr_assert_eq(kstrtoll("9223372036854775808", 10, &ll), -ERANGE);
	cr_assert_eq(kstrtol("-7", 10, &l), 0);
	cr_assert_eq(l, -7);
	cr_assert_eq(kstrtouint("4294967296", 10, &u), -ERANGE);
	cr_assert_eq(kstrtouint("1x", 10, &u), -EINVAL);
	cr_assert_eq(kstrtoint("-2147483648", 10, &i), 0);
	cr_assert_eq(i, INT32_MIN);
	cr_assert_eq(kstrtoint("-2147483649", 10, &i), -ERANGE);
	cr_assert_eq(kstrtobool("on", &b), 0);
	cr_assert(b);
	cr_assert_eq(kstrtobool("N", &b), 0);
	cr_assert_not(b);
	cr_assert_eq(kstrtobool("o", &b), -EINVAL);
}

Test(kernel_values, texts)
{
	char buf[4], *copy;

	cr_assert_eq(strscpy(buf, "abc", sizeof(buf)), 3);
	cr_assert_eq(strscpy(buf, "abcd", sizeof(buf)), -E2BIG);
	cr_assert_str_eq(buf, "abc");
	cr_assert_eq(strlcpy(buf, "hello", sizeof(buf)), 5);
	cr_assert_str_eq(buf, "hel");
	cr_assert_eq(scnprintf(buf, sizeof(buf), "%d", 123456), 3);
	copy = kstrndup("hello", 2, GFP_KERNEL);
	cr_assert_str_eq(copy, "he");
	kfree(copy);
	copy = kasprintf(GFP_KERNEL, "%s-%d", "a", 1);
	cr_assert_str_eq(copy, "a-1");
	memzero_explicit(copy, 3);
	cr_assert_eq(copy[0], 0);
	kfree(copy);
	copy = kmemdup("xyz", 3, GFP_KERNEL);
	cr_assert_eq(memcmp(copy, "xyz", 3), 0);
	kfree(copy);
	cr_assert_null(kstrdup(NULL, GFP_KERNEL));
}

Test(kernel_values, arithmetic)
{
	int small = 1, large = 2;
	void *none = ERR_PTR(-ENOMEM);

	swap(small, large);
	cr_assert_eq(small, 2);
	cr_assert_eq(min(max(small, 5), clamp(9, 0, 7)), 5);
	cr_assert_eq(min3(3, 1, 2) + max3(3, 1, 2), 4);
	cr_assert_eq(max_t(u8, 257, 0) + min_t(int, -1, 1) + clamp_t(int, 5, 0, 1), 1);
	cr_assert_eq(DIV_ROUND_UP(7, 3) + roundup(7, 5) + rounddown(7, 5), 18);
	cr_assert_eq(ALIGN(5, 8) + ALIGN_DOWN(15, 8) + round_up(1, 4) + round_down(7, 4), 24);
	cr_assert(IS_ALIGNED(16, 8) && !IS_ALIGNED(17, 8));
	cr_assert_eq(PTR_ALIGN((char *)5, 8), (char *)8);
	cr_assert_eq(BIT(3) + BIT_ULL(4) + GENMASK(2, 1) + GENMASK_ULL(1, 0), 33);
	cr_assert_eq(lower_32_bits(0x100000002ULL) + upper_32_bits(0x100000002ULL), 3);
	cr_assert(is_power_of_2(64) && !is_power_of_2(0));
	cr_assert_eq(ilog2(65) + (int)roundup_pow_of_two(5) + (int)roundup_pow_of_two(1), 15);
	cr_assert_eq(ARRAY_SIZE(items) + sizeof_field(struct item, number), 8);
	cr_assert_eq(container_of(&items[2].link, struct item, link), &items[2]);
	cr_assert(IS_ERR(none) && !IS_ERR(&small) && IS_ERR_OR_NULL(NULL));
	cr_assert_eq(PTR_ERR_OR_ZERO(none), -ENOMEM);
	cr_assert_eq(PTR_ERR(ERR_CAST(none)), -ENOMEM);
	cr_assert_neq(ENOTSUPP, EOPNOTSUPP);
}

Test(kernel_values, times)
{
	unsigned long before = jiffies, wrapped = ~0UL;
	ktime_t begin = ktime_get();

	cr_assert(time_after(wrapped + 3, wrapped) && time_before(wrapped, wrapped + 3));
	cr_assert(time_after_eq(jiffies, before) && time_before_eq(before, jiffies));
	cr_assert(time_is_after_jiffies(before + 1000 * HZ) && time_is_before_jiffies(before - 2));
	cr_assert_eq(msecs_to_jiffies(1), 1);
	cr_assert_eq(msecs_to_jiffies(1000), HZ);
	cr_assert_eq(usecs_to_jiffies(4001), 2);
	cr_assert_eq(jiffies_to_msecs(HZ) + jiffies_to_usecs(1), 5000);
	cr_assert_geq(get_jiffies_64(), before);
	cr_assert_eq(ktime_to_ms(ktime_add_ms(ktime_set(1, 0), 5)), 1005);
	cr_assert_eq(ktime_us_delta(ktime_add_us(begin, 7), begin), 7);
	cr_assert_eq(ktime_ms_delta(ktime_add(begin, ms_to_ktime(2)), begin), 2);
	cr_assert_eq(ktime_compare(ns_to_ktime(1), 2), -1);
	cr_assert(ktime_after(2, 1) && ktime_before(1, 2));
	cr_assert_geq(ktime_get_ns(), (u64)begin);
	cr_assert_gt(ktime_get_real_seconds(), 1500000000);
	cr_assert_eq(ktime_to_us(5000) + ktime_to_ns(1) + ktime_sub(3, 2), 7);
	cr_assert_geq(ktime_get_seconds(), 0);
}

Test(kernel_values, the_machine)
{
	unsigned int cpu, count = 0;
	struct cpumask mask, copy;
	u8 bytes[64] = { 0 }, none[64] = { 0 };

	cpumask_clear(&mask);
	cr_assert(cpumask_empty(&mask));
	cpumask_set_cpu(1, &mask);
	cpumask_set_cpu(70, &mask);
	cpumask_copy(&copy, &mask);
	cpumask_clear_cpu(1, &mask);
	cr_assert_not(cpumask_test_cpu(1, &mask));
	cr_assert_eq(cpumask_first(&mask), 70);
	for_each_cpu(cpu, &copy)
		count += cpu;
	cr_assert_eq(count, 71);
	cr_assert_eq(cpumask_weight(&copy), 2);
	count = 0;
	for_each_online_cpu(cpu)
		count += cpu_online(cpu);
	cr_assert_eq(count, num_online_cpus());
	cr_assert_geq(numa_node_id(), 0);
	cr_assert_neq(NUMA_NO_NODE, numa_node_id());
	get_random_bytes(bytes, sizeof(bytes));
	cr_assert_neq(memcmp(bytes, none, sizeof(bytes)), 0);
	cr_assert_lt(get_random_u32_below(5), 5);
	cr_assert_neq(get_random_u64(), get_random_u64());
}
