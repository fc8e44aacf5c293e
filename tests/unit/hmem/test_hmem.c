/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hmem.c - the calls of emu/hmem.h, and what they refuse. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/emu/hmem.h"

enum { PAGE = EMU_HMEM_PAGE, SIZE = 16 * PAGE };

static void devices(void)
{
	setenv("FI_EMU_HMEM", "cuda:2,ze:1", 1);
	setenv("FI_EMU_HMEM_SIZE", "1048576", 1); /* SIZE */
	cr_redirect_stderr();
}

TestSuite(hmem, .init = devices);

static char *get(int device, size_t size)
{
	void *at = NULL;

	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_CUDA, device, size, &at), 0);
	return at;
}

Test(hmem, devices_are_those_of_the_setting)
{
	cr_expect_eq(emu_hmem_devices(EMU_HMEM_CUDA), 2);
	cr_expect_eq(emu_hmem_devices(EMU_HMEM_ZE), 1);
	cr_expect_eq(emu_hmem_devices(EMU_HMEM_ROCR), 0);
	cr_expect_eq(emu_hmem_devices(99), 0);
}

Test(hmem, none_by_default)
{
	struct emu_hmem_info info;
	void *at;

	unsetenv("FI_EMU_HMEM");
	cr_expect_eq(emu_hmem_devices(EMU_HMEM_CUDA), 0);
	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, 1, &at), -ENODEV);
	cr_expect_eq(emu_hmem_query(&info, 1, &info), -ENOENT);
}

Test(hmem, more_than_the_addresses_there_are)
{
	setenv("FI_EMU_HMEM", "cuda:16,rocr:16,ze:16,neuron:16,synapseai:16", 1);
	setenv("FI_EMU_HMEM_SIZE", "1099511627776", 1);
	cr_expect_eq(emu_hmem_devices(EMU_HMEM_CUDA), 0);
	cr_expect_stderr_eq_str("emu-hmem: no devices: Cannot allocate memory. FI_EMU_HMEM_SIZE is the size of each\n");
}

/* Zeroed at first, also where freed memory was. */
Test(hmem, bytes_go_there_and_back)
{
	char *a = get(0, SIZE), *b = get(1, 100), out[100];

	cr_assert_eq(emu_hmem_copy(out, a + SIZE - 100, 100), 0);
	for (int i = 0; i < 100; i++)
		cr_expect_eq(out[i], 0);
	cr_assert_eq(emu_hmem_copy(a + 5, "some words", 11), 0);
	cr_assert_eq(emu_hmem_copy(b, a + 5, 11), 0);
	cr_assert_eq(emu_hmem_copy(b + 2, b, 11), 0); /* they overlap */
	cr_assert_eq(emu_hmem_copy(out, b, 13), 0);
	cr_expect_str_eq(out, "sosome words");
	cr_assert_eq(emu_hmem_set(b + 1, 'x', 3), 0);
	cr_assert_eq(emu_hmem_copy(out, b, 13), 0);
	cr_expect_str_eq(out, "sxxxme words");
	cr_assert_eq(emu_hmem_free(a), 0);
	a = get(0, SIZE);
	cr_assert_eq(emu_hmem_copy(out, a + 5, 11), 0);
	cr_expect_eq(out[0], 0);
}

Test(hmem, memory_of_the_host_is_there_for_the_cpu)
{
	struct emu_hmem_info info;
	void *at;
	char *bytes;

	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_ZE, EMU_HMEM_HOST, 10, &at), 0);
	bytes = at;
	bytes[9] = 7;
	cr_assert_eq(emu_hmem_query(bytes + 9, 1, &info), 0);
	cr_expect_eq(info.iface, EMU_HMEM_ZE);
	cr_expect_eq(info.device, EMU_HMEM_HOST);
	cr_expect_eq(info.reach, bytes + 9);
	cr_expect_eq(emu_hmem_free(at), 0);
}

Test(hmem, the_whole_device_and_no_more)
{
	void *at;

	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, SIZE + 1, &at), -ENOMEM);
	at = get(0, SIZE);
	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, 1, &(void *){ NULL }), -ENOMEM);
	get(1, SIZE); /* another device has its own */
	cr_expect_eq(emu_hmem_free(at), 0);
	cr_expect_eq(get(0, SIZE), at);
	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, SIZE_MAX, &(void *){ NULL }), -ENOMEM);
}

/* Freed addresses come last, and at no time has a page two allocations or an allocation the next one right behind it. */
Test(hmem, addresses_of_many_allocations)
{
	char *at[4] = { NULL }, *freed = get(0, PAGE);
	size_t size[4] = { 0 };

	cr_assert_eq(emu_hmem_free(freed), 0);
	for (int round = 0; round < 100; round++) {
		int i = round % 4;

		if (at[i])
			cr_assert_eq(emu_hmem_free(at[i]), 0);
		size[i] = (size_t)(1 + round % 3) * PAGE;
		at[i] = get(0, size[i]);
		cr_assert_eq(emu_hmem_set(at[i], round, size[i]), 0);
		cr_expect(round || at[i] != freed);
		for (int j = 0; j < 4; j++)
			cr_expect(j == i || !at[j] || at[j] + size[j] < at[i] || at[i] + size[i] < at[j]);
	}
}

/* The page behind an allocation stays nobody's when room is looked for behind it. */
Test(hmem, room_between_two_allocations)
{
	char *between[4];

	for (int i = 0; i < 4; i++)
		between[i] = get(0, 3 * PAGE);
	cr_assert_eq(emu_hmem_free(between[1]), 0);
	cr_expect_eq(get(0, 2 * PAGE), between[1]);
}

Test(hmem, query)
{
	struct emu_hmem_info info, other;
	char *a = get(1, 100), here = 0;

	cr_assert_eq(emu_hmem_query(a + 40, 60, &info), 0);
	cr_expect_eq(info.iface, EMU_HMEM_CUDA);
	cr_expect_eq(info.device, 1);
	cr_expect_eq(info.base, a);
	cr_expect_eq(info.size, 100);
	*(char *)info.reach = 5;
	cr_assert_eq(emu_hmem_copy(&here, a + 40, 1), 0);
	cr_expect_eq(here, 5);
	cr_assert_eq(emu_hmem_query(get(1, 1), 1, &other), 0); /* one distance for all */
	cr_expect_eq((char *)other.reach - (char *)other.base, (char *)info.reach - (a + 40));
	cr_expect_eq(emu_hmem_query(&here, 1, &info), -ENOENT);
	cr_expect_eq(emu_hmem_query(a, 101, &info), -EFAULT);
	cr_expect_eq(emu_hmem_query(a + 100, 1, &info), -EFAULT);
	cr_expect_eq(emu_hmem_query(a + PAGE, 1, &info), -EFAULT);
	cr_expect_eq(emu_hmem_query(a + 1, SIZE_MAX, &info), -EFAULT);
	emu_hmem_free(a);
	cr_expect_eq(emu_hmem_query(a, 1, &info), -EFAULT);
}

/* NICs take what caches of registrations make of a range: whole pages, up to the end of the allocation. Copies do not. */
Test(hmem, nics_take_whole_pages)
{
	static const int devices[] = { 0, EMU_HMEM_HOST };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct emu_hmem_info info;

	for (int i = 0; i < 2; i++) {
		char *a = get(devices[i], page + 100), *last;

		cr_expect_eq((uintptr_t)a % EMU_HMEM_PAGE, 0);
		cr_expect_eq(emu_hmem_ops.query(a, page + 100, &info), 0);
		cr_expect_eq(emu_hmem_ops.query(a, 2 * page, &info), 0);
		cr_expect_eq(emu_hmem_ops.query(a + page, page, &info), 0);
		cr_expect_eq(emu_hmem_ops.query(a + page + 99, EMU_HMEM_PAGE - page - 99, &info), 0);
		cr_expect_eq(info.size, page + 100);
		last = (char *)info.reach + EMU_HMEM_PAGE - page - 100;
		*last = 1; /* it is there */
		cr_expect_eq(emu_hmem_ops.query(a, page + 101, &info), -EFAULT);
		cr_expect_eq(emu_hmem_ops.query(a, EMU_HMEM_PAGE + page, &info), -EFAULT);
		cr_expect_eq(emu_hmem_ops.query(a, SIZE_MAX, &info), -EFAULT);
		cr_expect_eq(emu_hmem_ops.query(a, -(uintptr_t)a, &info), -EFAULT);
		cr_expect_eq(emu_hmem_ops.query(a + page + 100, page - 100, &info), -EFAULT);
		cr_expect_eq(emu_hmem_query(a, 2 * page, &info), -EFAULT);
		cr_expect_eq(emu_hmem_set(a, 0, 2 * page), -EFAULT);
		cr_expect_eq(emu_hmem_free(a), 0);
		cr_expect_eq(emu_hmem_ops.query(a, 2 * page, &info), -EFAULT);
	}
}

Test(hmem, wrong_arguments)
{
	char *a = get(0, 100), byte;
	void *at;

	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 2, 1, &at), -ENODEV);
	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_CUDA, -2, 1, &at), -ENODEV);
	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_SYSTEM, 0, 1, &at), -ENODEV);
	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_ROCR, EMU_HMEM_HOST, 1, &at), -ENODEV);
	cr_expect_eq(emu_hmem_alloc(99, 0, 1, &at), -ENODEV);
	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, 0, &at), -EINVAL);
	cr_expect_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, 1, NULL), -EINVAL);
	cr_expect_eq(emu_hmem_free(a + 1), -EINVAL);
	cr_expect_eq(emu_hmem_free(a + PAGE), -EINVAL);
	cr_expect_eq(emu_hmem_free(&byte), -EINVAL);
	cr_expect_eq(emu_hmem_free(NULL), 0);
	cr_expect_eq(emu_hmem_copy(&byte, a + 100, 1), -EFAULT);
	cr_expect_eq(emu_hmem_copy(a, a + 1, 100), -EFAULT);
	cr_expect_eq(emu_hmem_copy(a + 1, a, 100), -EFAULT);
	cr_expect_eq(emu_hmem_copy(a + 100, &byte, 0), 0);
	cr_expect_eq(emu_hmem_set(a, 0, 101), -EFAULT);
	cr_expect_eq(emu_hmem_free(a), 0);
	cr_expect_eq(emu_hmem_free(a), -EINVAL);
	cr_expect_eq(emu_hmem_copy(&byte, a, 1), -EFAULT);
}

/* Each refusal says in a line what it was. */
Test(hmem, sentences)
{
	char *a = get(0, 100), expected[400];

	emu_hmem_alloc(EMU_HMEM_CUDA, 7, 8, &(void *){ NULL });
	emu_hmem_free(a);
	emu_hmem_free(a);
	emu_hmem_set(a, 0, 9);
	snprintf(expected, sizeof(expected),
		 "emu-hmem: allocation of 8 B: there is no device 7 of cuda. FI_EMU_HMEM says which there are\n"
		 "emu-hmem: free of %p: freed already\n"
		 "emu-hmem: set of 9 B at %p: not inside one allocation, or it has been freed\n",
		 (void *)a, (void *)a);
	cr_expect_stderr_eq_str(expected);
}

/* The bytes are the allocation's, and stay when it is freed. */
Test(hmem, a_descriptor_of_an_allocation)
{
	char *a = get(0, 2 * PAGE), *map, byte = 0;
	uint64_t offset = 0;
	int fd = -1;

	cr_assert_eq(emu_hmem_export(a + PAGE + 3, &fd, &offset), 0);
	cr_expect_eq(offset, PAGE + 3);
	map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	close(fd);
	map[offset] = 42;
	cr_assert_eq(emu_hmem_copy(&byte, a + PAGE + 3, 1), 0);
	cr_expect_eq(byte, 42);
	emu_hmem_free(a);
	cr_expect_eq(map[offset], 42);
	cr_expect_eq(emu_hmem_export(a, &fd, &offset), -EINVAL);
	cr_expect_eq(emu_hmem_export(&byte, &fd, &offset), -EINVAL);
	cr_expect_eq(emu_hmem_export(get(0, 1), NULL, &offset), -EINVAL);
	cr_expect_eq(emu_hmem_export(get(0, 1), &fd, NULL), -EINVAL);
}

/* While other threads allocate, a child that is forked can, too. */
static atomic_bool stop;

static void *allocate(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop))
		emu_hmem_free(get(1, PAGE));
	return NULL;
}

Test(hmem, forked_while_threads_allocate)
{
	pthread_t thread;

	get(0, PAGE);
	cr_assert_eq(pthread_create(&thread, NULL, allocate, NULL), 0);
	for (int i = 0; i < 200; i++) {
		int status = 1;
		pid_t child = fork();

		if (!child)
			_exit(emu_hmem_free(get(1, PAGE)));
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert_eq(status, 0);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}
