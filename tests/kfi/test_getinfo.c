/* SPDX-License-Identifier: BSD-2-Clause */
/* test_getinfo.c - providers come, are asked for what they offer, and go. */
#include <criterion/criterion.h>
#include <kfi_errno.h>
#include <kfi_prov.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/string.h>

#define UNTOUCHED ((void *)64)

static struct kfi_info *hints_seen;
static uint64_t flags_seen;
static int asked, cleaned;

/* Two infos: what a is asked for comes back in the caps, and the second one has a name already. */
static int kgetinfo_a(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
		      struct kfi_info **info)
{
	asked++;
	hints_seen = hints;
	flags_seen = flags;
	cr_assert_eq(version, KFI_VERSION(1, 6));
	cr_assert_str_eq(node, "node");
	cr_assert_str_eq(service, "service");
	*info = kfi_dupinfo(hints);
	(*info)->caps = KFI_MSG;
	(*info)->next = kzalloc(sizeof(**info), GFP_KERNEL); /* without a fabric_attr */
	(*info)->next->caps = KFI_RMA;
	return 0;
}

static int kgetinfo_b(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
		      struct kfi_info **info)
{
	(void)version, (void)node, (void)service, (void)flags, (void)hints;
	asked++;
	*info = kfi_allocinfo();
	(*info)->caps = KFI_TAGGED;
	(*info)->fabric_attr->prov_name = kstrdup("b;layer", GFP_KERNEL);
	return 0;
}

static int kgetinfo_fails(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
			  struct kfi_info **info)
{
	(void)version, (void)node, (void)service, (void)flags, (void)hints, (void)info;
	asked++;
	return -KFI_EIO;
}

static int kfabric_fails(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric, void *context)
{
	(void)attr, (void)fabric, (void)context;
	return -KFI_EACCES;
}

static void clean(void)
{
	cleaned++;
}

#define PROVIDER(letter, getinfo, number)                                                                 \
	{                                                                                                 \
		.name = letter, .version = number, .kfi_version = KFI_VERSION(1, 7), .kgetinfo = getinfo, \
		.kfabric = kfabric_fails, .cleanup = clean                                                \
	}
static struct kfi_provider a = PROVIDER("a", kgetinfo_a, 11), b = PROVIDER("b", kgetinfo_b, 22),
			   fails = PROVIDER("fails", kgetinfo_fails, 33);

static int ask(uint64_t flags, struct kfi_info *hints, struct kfi_info **info)
{
	return kfi_getinfo(KFI_VERSION(1, 6), "node", "service", flags, hints, info);
}

static void check_info(const struct kfi_info *info, uint64_t caps, const char *name, uint32_t version)
{
	cr_assert_not_null(info);
	cr_assert_eq(info->caps, caps);
	cr_assert_str_eq(info->fabric_attr->prov_name, name);
	cr_assert_eq(info->fabric_attr->prov_version, version);
	cr_assert_eq(info->fabric_attr->api_version, KFI_VERSION(1, 6));
}

Test(kfi_getinfo, all_providers_answer_in_the_order_of_registration)
{
	struct kfi_info *hints = kfi_allocinfo(), *info = NULL;

	cr_assert_eq(kfi_provider_register(&a), 0);
	cr_assert_eq(kfi_provider_register(&fails), 0);
	cr_assert_eq(kfi_provider_register(&b), 0);
	cr_assert_eq(ask(KFI_SOURCE, hints, &info), 0);
	cr_assert_eq(hints_seen, hints);
	cr_assert_eq(flags_seen, KFI_SOURCE);
	cr_assert_eq(asked, 3);
	check_info(info, KFI_MSG, "a", 11);
	check_info(info->next, KFI_RMA, "a", 11);
	check_info(info->next->next, KFI_TAGGED, "b;layer", 22);
	cr_assert_null(info->next->next->next);
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
}

Test(kfi_getinfo, a_name_in_the_hints_asks_that_provider_alone)
{
	struct kfi_info *hints = kfi_allocinfo(), *info = NULL;

	cr_assert_eq(kfi_provider_register(&a), 0);
	cr_assert_eq(kfi_provider_register(&b), 0);
	hints->fabric_attr->prov_name = kstrdup("b", GFP_KERNEL);
	cr_assert_eq(ask(0, hints, &info), 0);
	cr_assert_eq(asked, 1);
	check_info(info, KFI_TAGGED, "b;layer", 22);
	cr_assert_null(info->next);
	kfi_freeinfo(info);

	info = UNTOUCHED;
	hints->fabric_attr->prov_name[0] = 'c';
	cr_assert_eq(ask(0, hints, &info), -KFI_ENODATA);
	cr_assert_eq(asked, 1);
	cr_assert_eq(info, UNTOUCHED);
	kfi_freeinfo(hints);
}

Test(kfi_getinfo, names_without_asking)
{
	struct kfi_info *info = NULL;

	cr_assert_eq(kfi_provider_register(&fails), 0);
	cr_assert_eq(kfi_provider_register(&b), 0);
	cr_assert_eq(ask(KFI_PROV_ATTR_ONLY, NULL, &info), 0);
	cr_assert_eq(asked, 0);
	check_info(info, 0, "fails", 33);
	check_info(info->next, 0, "b", 22);
	cr_assert_null(info->next->next);
	kfi_freeinfo(info);
}

Test(kfi_getinfo, no_answer_is_no_data)
{
	struct kfi_info *info = UNTOUCHED;

	cr_assert_eq(ask(0, NULL, &info), -KFI_ENODATA);
	cr_assert_eq(kfi_provider_register(&fails), 0);
	cr_assert_eq(ask(0, NULL, &info), -KFI_ENODATA);
	cr_assert_eq(asked, 1);
	cr_assert_eq(ask(0, NULL, NULL), -KFI_EINVAL);
	cr_assert_eq(kfi_getinfo(KFI_VERSION(1, 8), NULL, NULL, 0, NULL, &info), -KFI_ENOSYS);
	cr_assert_eq(asked, 1);
	cr_assert_eq(info, UNTOUCHED);
	cr_assert_eq(kfi_version(), KFI_VERSION(1, 7));
}

Test(kfi_getinfo, what_is_no_provider_is_refused)
{
	struct kfi_provider other = b, nameless = b, mute = b, closed = b, later = b, newer = b, older = b;

	nameless.name = NULL;
	mute.kgetinfo = NULL;
	closed.kfabric = NULL;
	later.kfi_version = KFI_VERSION(1, 8);
	newer.kfi_version = KFI_VERSION(2, 0);
	cr_assert_eq(kfi_provider_register(NULL), -KFI_EINVAL);
	cr_assert_eq(kfi_provider_register(&nameless), -KFI_EINVAL);
	cr_assert_eq(kfi_provider_register(&mute), -KFI_EINVAL);
	cr_assert_eq(kfi_provider_register(&closed), -KFI_EINVAL);
	cr_assert_eq(kfi_provider_register(&later), -KFI_ENOSYS);
	cr_assert_eq(kfi_provider_register(&newer), -KFI_ENOSYS);

	older.kfi_version = KFI_VERSION(1, 0);
	cr_assert_eq(kfi_provider_register(&older), 0);
	cr_assert_eq(kfi_provider_register(&other), -KFI_EALREADY);
	cr_assert_eq(kfi_provider_deregister(&other), -KFI_ENOENT);
	cr_assert_eq(kfi_provider_deregister(&a), -KFI_ENOENT);
	cr_assert_eq(kfi_provider_deregister(NULL), -KFI_EINVAL);
	cr_assert_eq(kfi_provider_deregister(&nameless), -KFI_EINVAL);
	cr_assert_eq(cleaned, 0);
}

Test(kfi_getinfo, a_provider_that_went_is_not_found)
{
	char name[] = "fabric", provider[] = "a";
	struct kfi_fabric_attr attr = { .name = name, .prov_name = provider };
	struct kfid_fabric *fabric = UNTOUCHED;
	struct kfi_info *info = NULL;

	cr_assert_eq(kfi_provider_register(&a), 0);
	cr_assert_eq(kfi_provider_register(&b), 0);
	cr_assert_eq(kfi_fabric(&attr, &fabric, NULL), -KFI_EACCES);
	cr_assert_eq(kfi_provider_deregister(&a), 0);
	cr_assert_eq(cleaned, 1);
	cr_assert_eq(kfi_fabric(&attr, &fabric, NULL), -KFI_ENODEV);
	cr_assert_eq(fabric, UNTOUCHED);
	cr_assert_eq(ask(0, NULL, &info), 0);
	check_info(info, KFI_TAGGED, "b;layer", 22);
	cr_assert_null(info->next);
	kfi_freeinfo(info);
	b.cleanup = NULL;
	cr_assert_eq(kfi_provider_deregister(&b), 0);
	cr_assert_eq(kfi_provider_register(&a), 0); /* it may come again */
	cr_assert_eq(kfi_provider_deregister(&a), 0);
}

Test(kfi_getinfo, a_fabric_has_two_names)
{
	char name[] = "a";
	struct kfi_fabric_attr no_name = { .prov_name = name }, no_provider = { .name = name }, whole = { .name = name };
	struct kfid_fabric *fabric;

	whole.prov_name = name;
	cr_assert_eq(kfi_fabric(NULL, &fabric, NULL), -KFI_EINVAL);
	cr_assert_eq(kfi_fabric(&no_name, &fabric, NULL), -KFI_EINVAL);
	cr_assert_eq(kfi_fabric(&no_provider, &fabric, NULL), -KFI_EINVAL);
	cr_assert_eq(kfi_fabric(&whole, NULL, NULL), -KFI_EINVAL);
	cr_assert_eq(kfi_fabric(&whole, &fabric, NULL), -KFI_ENODEV);
}

static int deregister(void *provider)
{
	return kfi_provider_deregister(provider);
}

/* The thread is asleep in deregistration, and the provider is already not found. */
Test(kfi_getinfo, deregistration_waits_for_the_last_reference)
{
	struct task_struct *thread;
	struct kfi_info *info = NULL;

	cr_assert_eq(kfi_provider_register(&b), 0);
	kfi_ref_provider(&b);
	kfi_ref_provider(&b);
	thread = kthread_run(deregister, &b, "deregister");
	get_task_struct(thread);
	while (atomic_read(&b.ref_cnt) != 2 || READ_ONCE(thread->__state) == TASK_RUNNING)
		cond_resched();
	cr_assert_eq(ask(0, NULL, &info), -KFI_ENODATA);
	kfi_deref_provider(&b);
	cr_assert_not(completion_done(&b.comp));
	cr_assert_eq(READ_ONCE(cleaned), 0);
	kfi_deref_provider(&b);
	cr_assert_eq(kthread_stop(thread), 0);
	cr_assert_eq(cleaned, 1);
	put_task_struct(thread);
}
