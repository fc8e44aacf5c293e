/* SPDX-License-Identifier: BSD-2-Clause */
/* test_info.c - infos are made empty, copied with all that they own, and freed; errors have words. */
#include <criterion/criterion.h>
#include <kfabric.h>
#include <kfi_errno.h>
#include <linux/slab.h>
#include <linux/string.h>

/* An info with something in each member that it owns, and the same again behind it. */
static struct kfi_info *full(void)
{
	struct kfi_info *info = kfi_allocinfo();

	info->next = kfi_allocinfo();
	info->caps = KFI_MSG | KFI_TAGGED_RMA;
	info->addr_format = KFI_ADDR_CXI;
	info->src_addrlen = 3;
	info->src_addr = kmemdup("src", 3, GFP_KERNEL);
	info->dest_addrlen = 4;
	info->dest_addr = kmemdup("dest", 4, GFP_KERNEL);
	info->handle = (kfid_t)info;
	info->tx_attr->inject_size = 5;
	info->rx_attr->iov_limit = 6;
	info->ep_attr->type = KFI_EP_RDM;
	info->ep_attr->auth_key_size = 7;
	info->ep_attr->auth_key = kmemdup("ep key.", 7, GFP_KERNEL);
	info->domain_attr->domain = (struct kfid_domain *)info;
	info->domain_attr->mr_mode = KFI_MR_ENDPOINT;
	info->domain_attr->name = kstrdup("domain", GFP_KERNEL);
	info->domain_attr->auth_key_size = 10;
	info->domain_attr->auth_key = kmemdup("domain key", 10, GFP_KERNEL);
	info->fabric_attr->fabric = (struct kfid_fabric *)info;
	info->fabric_attr->name = kstrdup("fabric", GFP_KERNEL);
	info->fabric_attr->prov_name = kstrdup("provider", GFP_KERNEL);
	info->fabric_attr->prov_version = 8;
	return info;
}

Test(kfi_info, a_new_info_is_empty)
{
	struct kfi_info *info = kfi_allocinfo(), *copy = kfi_dupinfo(NULL);
	struct kfi_domain_attr none = { 0 };

	cr_assert_not_null(info);
	cr_assert_not_null(copy);
	cr_assert_null(info->next);
	cr_assert_eq(info->caps | info->mode | info->src_addrlen | info->dest_addrlen, 0);
	cr_assert_arr_eq(info->domain_attr, &none, sizeof(none));
	cr_assert_arr_eq(copy->domain_attr, &none, sizeof(none));
	cr_assert_eq(info->tx_attr->size, 0);
	cr_assert_eq(info->rx_attr->size, 0);
	cr_assert_null(info->ep_attr->auth_key);
	cr_assert_null(info->fabric_attr->prov_name);
	kfi_freeinfo(info);
	kfi_freeinfo(copy);
	kfi_freeinfo(NULL);
}

/* The original is overwritten and freed first: its memory is not read any more. */
Test(kfi_info, a_copy_owns_all_of_it)
{
	struct kfi_info *info = full(), *copy = kfi_dupinfo(info);
	void *objects = info;

	cr_assert_not_null(copy);
	memset(info->src_addr, 'x', 3);
	memset(info->ep_attr->auth_key, 'x', 7);
	info->domain_attr->name[0] = 'x';
	info->tx_attr->inject_size = 0;
	kfi_freeinfo(info);

	cr_assert_null(copy->next);
	cr_assert_eq(copy->caps, KFI_MSG | KFI_TAGGED_RMA);
	cr_assert_eq(copy->addr_format, KFI_ADDR_CXI);
	cr_assert_eq(copy->src_addrlen, 3);
	cr_assert_arr_eq(copy->src_addr, "src", 3);
	cr_assert_eq(copy->dest_addrlen, 4);
	cr_assert_arr_eq(copy->dest_addr, "dest", 4);
	cr_assert_eq(copy->tx_attr->inject_size, 5);
	cr_assert_eq(copy->rx_attr->iov_limit, 6);
	cr_assert_eq(copy->ep_attr->type, KFI_EP_RDM);
	cr_assert_eq(copy->ep_attr->auth_key_size, 7);
	cr_assert_arr_eq(copy->ep_attr->auth_key, "ep key.", 7);
	cr_assert_eq(copy->domain_attr->mr_mode, KFI_MR_ENDPOINT);
	cr_assert_str_eq(copy->domain_attr->name, "domain");
	cr_assert_arr_eq(copy->domain_attr->auth_key, "domain key", 10);
	cr_assert_str_eq(copy->fabric_attr->name, "fabric");
	cr_assert_str_eq(copy->fabric_attr->prov_name, "provider");
	cr_assert_eq(copy->fabric_attr->prov_version, 8);
	/* Objects are named, not owned. */
	cr_assert_eq((void *)copy->handle, objects);
	cr_assert_eq((void *)copy->domain_attr->domain, objects);
	cr_assert_eq((void *)copy->fabric_attr->fabric, objects);
	kfi_freeinfo(copy);
}

Test(kfi_info, what_is_not_there_is_not_copied)
{
	struct kfi_info bare = { .caps = KFI_RMA, .src_addrlen = 8 }, *copy = kfi_dupinfo(&bare);

	cr_assert_not_null(copy);
	cr_assert_eq(copy->caps, KFI_RMA);
	cr_assert_null(copy->src_addr);
	cr_assert_null(copy->tx_attr);
	cr_assert_null(copy->rx_attr);
	cr_assert_null(copy->ep_attr);
	cr_assert_null(copy->domain_attr);
	cr_assert_null(copy->fabric_attr);
	kfi_freeinfo(copy);
}

/* More than kmalloc() ever gives, for each part in its turn: what was copied before is freed, which the address sanitizer sees. */
Test(kfi_info, without_memory_there_is_no_copy)
{
	struct kfi_info *info = full();
	size_t *sizes[] = { &info->src_addrlen, &info->dest_addrlen, &info->ep_attr->auth_key_size,
			    &info->domain_attr->auth_key_size };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t size = *sizes[i];

		*sizes[i] = KMALLOC_MAX_SIZE + 1;
		cr_assert_null(kfi_dupinfo(info));
		*sizes[i] = size;
	}
	kfi_freeinfo(info);
}

Test(kfi_info, errors_have_words)
{
	cr_assert_str_eq(kfi_strerror(0), "Success");
	cr_assert_str_eq(kfi_strerror(KFI_EINVAL), "Invalid argument");
	cr_assert_str_eq(kfi_strerror(KFI_ENOKEY), "Key not available");
	for (int error = KFI_EOTHER; error <= KFI_EOVERRUN; error++)
		cr_assert_str_neq(kfi_strerror(error), "Unknown error");
	cr_assert_str_eq(kfi_strerror(KFI_EOTHER - 1), "Unknown error");
	cr_assert_str_eq(kfi_strerror(KFI_EOVERRUN + 1), "Unknown error");
	cr_assert_str_eq(kfi_strerror(-KFI_EINVAL), "Unknown error");
	cr_assert_str_eq(kfi_strerror(INT_MIN), "Unknown error");
	cr_assert_str_eq(kfi_strerror(INT_MAX), "Unknown error");
}
