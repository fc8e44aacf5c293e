/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cuda.c - CUDA's calls over emulated devices. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/cuda/cuda_calls.h"

enum { PAGE = 4096, SIZE = 4 * PAGE };

static void cuda_devices(void)
{
	setenv("FI_EMU_HMEM", "cuda:2", 1);
	setenv("FI_EMU_HMEM_SIZE", "524288", 1);
	cr_redirect_stderr();
}

TestSuite(cuda, .init = cuda_devices);

static char *cuda_memory(int device, size_t size)
{
	void *at = NULL;

	cr_assert_eq(cudaSetDevice(device), CUDA_OK);
	cr_assert_eq(cudaMalloc(&at, size), CUDA_OK);
	return at;
}

Test(cuda, which_devices)
{
	int count = 0, device = 7;

	cr_expect_eq(cuInit(0), CUDA_OK);
	cr_expect_eq(cudaGetDeviceCount(&count), CUDA_OK);
	cr_expect_eq(count, 2);
	cr_expect_eq(cudaGetDevice(&device), CUDA_OK);
	cr_expect_eq(device, 0);
	cr_expect_eq(cudaSetDevice(1), CUDA_OK);
	cr_expect_eq(cudaSetDevice(2), CUDA_INVALID_DEVICE);
	cr_expect_eq(cudaSetDevice(-1), CUDA_INVALID_DEVICE);
	cr_expect_eq(cudaGetDevice(&device), CUDA_OK);
	cr_expect_eq(device, 1);
	cr_expect_eq(cuDeviceGet(&device, 1), CUDA_OK);
	cr_expect_eq(cuDeviceGet(&device, 2), CUDA_INVALID_DEVICE);
	cr_expect_eq(cuDeviceGet(NULL, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cuDeviceGetCount(NULL), CUDA_INVALID_VALUE);
	cr_expect_eq(cuDeviceGetAttribute(NULL, DEVICE_DMA_BUF_SUPPORTED, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cuDeviceCanAccessPeer(NULL, 0, 1), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaGetDeviceCount(NULL), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaGetDevice(NULL), CUDA_INVALID_VALUE);
}

Test(cuda, no_devices)
{
	int count = 7;
	void *at;

	unsetenv("FI_EMU_HMEM");
	cr_expect_eq(cuInit(0), CUDA_NO_DEVICE);
	cr_expect_eq(cudaGetDeviceCount(&count), CUDA_NO_DEVICE);
	cr_expect_eq(count, 0);
	cr_expect_eq(cudaMalloc(&at, 1), CUDA_NO_DEVICE);
}

Test(cuda, memory_and_copies)
{
	char *a = cuda_memory(0, SIZE), *b = cuda_memory(1, SIZE), text[16];
	void *host = NULL, *none = &none;

	cr_assert_eq(cudaMallocHost(&host, 100), CUDA_OK);
	strcpy(host, "some words");
	cr_assert_eq(cudaMemcpy(a, host, 11, COPY_HOST_TO_DEVICE), CUDA_OK);
	cr_assert_eq(cudaMemcpyAsync(b + 5, a, 11, COPY_DEVICE_TO_DEVICE, NULL), CUDA_OK);
	cr_assert_eq(cudaStreamSynchronize(NULL), CUDA_OK);
	cr_assert_eq(cudaDeviceSynchronize(), CUDA_OK);
	cr_assert_eq(cudaMemcpy(text, b + 5, 11, COPY_DEVICE_TO_HOST), CUDA_OK);
	cr_expect_str_eq(text, "some words");
	cr_assert_eq(cudaMemset(b + 5, 'x', 4), CUDA_OK);
	cr_assert_eq(cudaMemcpy(text, b + 5, 11, COPY_DEFAULT), CUDA_OK);
	cr_expect_str_eq(text, "xxxx words");
	cr_assert_eq(cudaMemcpy(text + 1, text, 1, COPY_HOST_TO_HOST), CUDA_OK);
	cr_assert_eq(cudaMalloc(&none, 0), CUDA_OK);
	cr_expect_null(none);
	cr_expect_eq(cudaFree(none), CUDA_OK);
	cr_expect_eq(cudaHostRegister(text, 16, 0), CUDA_OK);
	cr_expect_eq(cudaHostUnregister(text), CUDA_OK);
	cr_expect_eq(cudaFree(a), CUDA_OK);
	cr_expect_eq(cudaFreeHost(host), CUDA_OK);
	cr_expect_stderr_eq_str("");
}

Test(cuda, what_is_refused)
{
	char *a = cuda_memory(0, SIZE), text[16];
	void *host = NULL;

	cr_assert_eq(cudaHostAlloc(&host, 100, 0), CUDA_OK);
	cr_expect_eq(cudaMalloc(NULL, 1), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaMalloc(&host, 1 << 20), CUDA_OUT_OF_MEMORY);
	cr_expect_eq(cudaMallocHost(&host, 100), CUDA_OK);
	cr_expect_eq(cudaMemcpy(a, text, 1, COPY_DEVICE_TO_HOST), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaMemcpy(text, a, 1, COPY_HOST_TO_DEVICE), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaMemcpy(a, text, 1, COPY_DEVICE_TO_DEVICE), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaMemcpy(a, text, 1, COPY_HOST_TO_HOST), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaMemcpy(a, text, 1, 5), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaMemcpy(a + SIZE - 1, text, 2, COPY_HOST_TO_DEVICE), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaMemset(a + 1, 0, SIZE), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaFree(host), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaFreeHost(a), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaFree(text), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaHostRegister(NULL, 1, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaHostUnregister(NULL), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaFree(a), CUDA_OK);
	cr_expect_eq(cudaFree(a), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaMemcpy(text, a, 1, COPY_DEVICE_TO_HOST), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaIpcGetMemHandle(NULL, a), CUDA_NOT_SUPPORTED);
	cr_expect_eq(cudaIpcOpenMemHandle(&host, (struct cuda_ipc){ { 0 } }, 0), CUDA_NOT_SUPPORTED);
	cr_expect_eq(cudaIpcCloseMemHandle(host), CUDA_NOT_SUPPORTED);
}

Test(cuda, errors)
{
	const char *words;

	cr_expect_eq(cudaGetLastError(), CUDA_OK);
	cudaSetDevice(9);
	cr_expect_eq(cudaPeekAtLastError(), CUDA_INVALID_DEVICE);
	cr_expect_eq(cudaGetLastError(), CUDA_INVALID_DEVICE);
	cr_expect_eq(cudaGetLastError(), CUDA_OK);
	cr_expect_str_eq(cudaGetErrorName(CUDA_INVALID_DEVICE), "cudaErrorInvalidDevice");
	cr_expect_str_eq(cudaGetErrorString(CUDA_OK), "no error");
	cr_expect_str_eq(cudaGetErrorString(12345), "unknown error");
	cr_expect_eq(cuGetErrorName(CUDA_NO_DEVICE, &words), CUDA_OK);
	cr_expect_str_eq(words, "CUDA_ERROR_NO_DEVICE");
	cr_expect_eq(cuGetErrorString(CUDA_NO_DEVICE, &words), CUDA_OK);
	cr_expect_eq(cuGetErrorName(12345, &words), CUDA_INVALID_VALUE);
	cr_expect_null(words);
	cr_expect_stderr_eq_str("emu-cuda: cudaSetDevice: device 9, and there are 2\n");
}

Test(cuda, whose_memory)
{
	static const int asked[] = { ATTRIBUTE_MEMORY_TYPE, ATTRIBUTE_IS_MANAGED, ATTRIBUTE_DEVICE_ORDINAL,
				     ATTRIBUTE_RANGE_START_ADDR, ATTRIBUTE_RANGE_SIZE };
	char *a = cuda_memory(1, SIZE), here;
	int type = 7, managed = 7, ordinal = 7;
	struct cuda_pointer attributes;
	uintptr_t base = 0;
	size_t size = 0;
	void *data[] = { &type, &managed, &ordinal, &base, &size }, *host;

	cr_expect_eq(cuPointerGetAttributes(5, asked, data, (uintptr_t)a + 9), CUDA_OK);
	cr_expect(type == MEMORY_DEVICE && !managed && ordinal == 1 && base == (uintptr_t)a && size == SIZE);
	cr_expect_eq(cuPointerGetAttributes(5, asked, data, (uintptr_t)&here), CUDA_OK);
	cr_expect(type == MEMORY_UNREGISTERED && !managed && !base);
	cr_expect_eq(cuPointerGetAttribute(&type, ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&here), CUDA_INVALID_VALUE);
	cr_expect_eq(cuPointerGetAttribute(&type, ATTRIBUTE_MEMORY_TYPE, (uintptr_t)a), CUDA_OK);
	cr_expect_eq(cuPointerSetAttribute(&(int){ 1 }, ATTRIBUTE_SYNC_MEMOPS, (uintptr_t)a), CUDA_OK);
	cr_expect_eq(cudaPointerGetAttributes(&attributes, a + 1), CUDA_OK);
	cr_expect(attributes.type == MEMORY_DEVICE && attributes.device == 1 && attributes.device_pointer == a + 1);
	cr_expect_null(attributes.host_pointer);
	cr_expect_eq(cudaPointerGetAttributes(&attributes, &here), CUDA_OK);
	cr_expect(attributes.type == MEMORY_UNREGISTERED && attributes.host_pointer == &here);
	cr_assert_eq(cudaMallocHost(&host, 8), CUDA_OK);
	cr_expect_eq(cudaPointerGetAttributes(&attributes, host), CUDA_OK);
	cr_expect(attributes.type == MEMORY_HOST && attributes.host_pointer == host && attributes.device_pointer == host);
	cr_expect_eq(cuMemGetAddressRange_v2(&base, &size, (uintptr_t)a + SIZE - 1), CUDA_OK);
	cr_expect(base == (uintptr_t)a && size == SIZE);
	cr_expect_stderr_eq_str("");
}

Test(cuda, wrong_questions)
{
	char *a = cuda_memory(1, SIZE), here;
	void *data[] = { &here };
	uintptr_t base;
	size_t size;
	int type;

	cr_expect_eq(cuMemGetAddressRange_v2(&base, &size, (uintptr_t)&here), CUDA_INVALID_VALUE);
	cr_expect_eq(cuPointerGetAttribute(&type, 777, (uintptr_t)a), CUDA_NOT_SUPPORTED);
	cr_expect_eq(cuPointerGetAttribute(NULL, ATTRIBUTE_MEMORY_TYPE, (uintptr_t)a), CUDA_INVALID_VALUE);
	cr_expect_eq(cuPointerGetAttributes(1, NULL, data, (uintptr_t)a), CUDA_INVALID_VALUE);
	cr_expect_eq(cuPointerSetAttribute(&type, 777, (uintptr_t)a), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaPointerGetAttributes(NULL, a), CUDA_INVALID_VALUE);
}

Test(cuda, a_dma_buf)
{
	char *a = cuda_memory(0, SIZE - 1), *map, byte = 0;
	int fd = -1, can = 7, can_access = 7;

	cr_expect_eq(cuDeviceGetAttribute(&can, DEVICE_DMA_BUF_SUPPORTED, 0), CUDA_OK);
	cr_expect_eq(can, 1);
	cr_expect_eq(cuDeviceGetAttribute(&can, 3, 0), CUDA_NOT_SUPPORTED);
	cr_expect_eq(cuDeviceCanAccessPeer(&can_access, 0, 1), CUDA_OK);
	cr_expect_eq(can_access, 0);
	cr_assert_eq(cuMemGetHandleForAddressRange(&fd, (uintptr_t)a, EMU_HMEM_PAGE, HANDLE_DMA_BUF_FD, 0), CUDA_OK);
	close(fd);
	cr_assert_eq(cuMemGetHandleForAddressRange(&fd, (uintptr_t)a, SIZE, HANDLE_DMA_BUF_FD, 0), CUDA_OK);
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	map[SIZE - 2] = 3;
	cr_assert_eq(cudaMemcpy(&byte, a + SIZE - 2, 1, COPY_DEVICE_TO_HOST), CUDA_OK);
	cr_expect_eq(byte, 3);
	cr_expect_eq(cuMemGetHandleForAddressRange(&fd, (uintptr_t)a + PAGE, PAGE, HANDLE_DMA_BUF_FD, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemGetHandleForAddressRange(&fd, (uintptr_t)a, EMU_HMEM_PAGE + PAGE, HANDLE_DMA_BUF_FD, 0),
		     CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemGetHandleForAddressRange(&fd, (uintptr_t)a, SIZE, 2, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemGetHandleForAddressRange(&fd, (uintptr_t)a, 5, HANDLE_DMA_BUF_FD, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemGetHandleForAddressRange(NULL, (uintptr_t)a, SIZE, HANDLE_DMA_BUF_FD, 0), CUDA_INVALID_VALUE);
}

/* ---- the driver ---- */

Test(cuda, contexts_of_threads)
{
	void *context = &context, *of_1 = NULL, *of_0 = NULL;
	int device = 7;

	cr_expect_eq(cuCtxGetCurrent(&context), CUDA_OK);
	cr_expect_null(context);
	cr_expect_eq(cuCtxGetDevice(&device), CUDA_INVALID_CONTEXT);
	cr_expect_eq(device, 7);
	cr_assert_eq(cuDevicePrimaryCtxRetain(&of_1, 1), CUDA_OK);
	cr_assert_eq(cuDevicePrimaryCtxRetain(&of_0, 0), CUDA_OK);
	cr_expect(of_0 && of_1 && of_0 != of_1);
	cr_expect_eq(cuCtxSetCurrent(of_1), CUDA_OK);
	cr_expect_eq(cuCtxGetCurrent(&context), CUDA_OK);
	cr_expect_eq(context, of_1);
	cr_expect_eq(cudaGetDevice(&device), CUDA_OK); /* the runtime follows */
	cr_expect_eq(device, 1);
	cr_expect_eq(cudaSetDevice(0), CUDA_OK); /* and leads */
	cr_expect_eq(cuCtxGetDevice(&device), CUDA_OK);
	cr_expect_eq(device, 0);
	cr_expect_eq(cuCtxSetCurrent(NULL), CUDA_OK);
	cr_expect_eq(cuCtxGetDevice(&device), CUDA_INVALID_CONTEXT);
	cr_expect_eq(cudaFree(NULL), CUDA_OK);
	cr_expect_eq(cuCtxGetDevice(&device), CUDA_OK);
	cr_expect_eq(cuDevicePrimaryCtxRelease_v2(1), CUDA_OK);
	cr_expect_eq(cuDevicePrimaryCtxRelease_v2(2), CUDA_INVALID_DEVICE);
	cr_expect_eq(cuDevicePrimaryCtxRetain(&context, 2), CUDA_INVALID_DEVICE);
	cr_expect_eq(cuDevicePrimaryCtxRetain(NULL, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cuCtxSetCurrent(&context), CUDA_INVALID_CONTEXT);
	cr_expect_eq(cuCtxGetCurrent(NULL), CUDA_INVALID_VALUE);
	cr_expect_eq(cuCtxGetDevice(NULL), CUDA_INVALID_VALUE);
}

Test(cuda, memory_of_the_driver)
{
	uintptr_t at = 7, host;
	void *stream = NULL;
	char text[16];

	cr_expect_eq(cuMemAlloc_v2(&at, SIZE), CUDA_INVALID_CONTEXT);
	cr_expect_eq(cuMemFree_v2(at), CUDA_INVALID_CONTEXT);
	cr_expect_eq(cuMemsetD8_v2(at, 1, 1), CUDA_INVALID_CONTEXT);
	cr_expect_eq(cuMemcpy(at, at, 1), CUDA_INVALID_CONTEXT);
	cr_assert_eq(cudaSetDevice(1), CUDA_OK);
	cr_expect_eq(cuMemAlloc_v2(&at, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemAlloc_v2(NULL, 1), CUDA_INVALID_VALUE);
	cr_expect_eq(at, 7);
	cr_assert_eq(cuMemAlloc_v2(&at, SIZE), CUDA_OK);
	cr_assert_eq(cuStreamCreate(&stream, 1), CUDA_OK);
	cr_expect_eq(cuMemsetD8_v2(at, 'x', SIZE), CUDA_OK);
	cr_expect_eq(cuMemcpyHtoDAsync_v2(at + 1, "some", 4, stream), CUDA_OK);
	cr_expect_eq(cuMemcpyHtoD_v2(at + 5, "words", 6), CUDA_OK);
	cr_expect_eq(cuMemcpyDtoHAsync_v2(text, at, 11, stream), CUDA_OK);
	cr_expect_str_eq(text, "xsomewords");
	cr_expect_eq(cuMemsetD8Async(at, 'y', 1, stream), CUDA_OK);
	cr_expect_eq(cuMemcpyDtoH_v2(text, at, 1), CUDA_OK);
	cr_expect_eq(text[0], 'y');
	host = (uintptr_t)text;
	cr_expect_eq(cuMemcpy(host + 1, at, 1), CUDA_OK);
	cr_expect_eq(text[1], 'y');
	cr_expect_eq(cuMemcpyHtoD_v2(host, text, 1), CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemcpyDtoH_v2(text, host, 1), CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemsetD8_v2(at, 0, SIZE + 1), CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemFree_v2(at + 1), CUDA_INVALID_VALUE);
	cr_expect_eq(cuMemFree_v2(at), CUDA_OK);
	cr_expect_eq(cuStreamDestroy_v2(stream), CUDA_OK);
}

Test(cuda, streams)
{
	char *a = cuda_memory(0, SIZE);
	void *stream = NULL, *other = NULL;

	cr_assert_eq(cudaStreamCreate(&stream), CUDA_OK);
	cr_assert_eq(cudaStreamCreateWithFlags(&other, 1), CUDA_OK);
	cr_expect(stream && other && stream != other);
	cr_expect_eq(cudaMemsetAsync(a, 1, SIZE, stream), CUDA_OK);
	cr_expect_eq(cudaMemcpyAsync(a, a, SIZE, COPY_DEVICE_TO_DEVICE, other), CUDA_OK);
	for (uintptr_t named = 0; named < 3; named++)
		cr_expect_eq(cudaStreamSynchronize((void *)named), CUDA_OK);
	cr_expect(cudaStreamQuery(stream) == CUDA_OK && cuStreamQuery(other) == CUDA_OK);
	cr_expect(cuStreamSynchronize(stream) == CUDA_OK && cudaStreamSynchronize(other) == CUDA_OK);
	cr_expect_eq(cudaStreamDestroy(stream), CUDA_OK);
	cr_expect_eq(cuStreamDestroy_v2(other), CUDA_OK);
	cr_expect_stderr_eq_str("");
}

Test(cuda, streams_that_are_not_there)
{
	char *a = cuda_memory(0, SIZE);
	void *stream = NULL;

	cr_assert_eq(cuStreamCreateWithPriority(&stream, 0, -1), CUDA_OK);
	cr_assert_eq(cuStreamDestroy_v2(stream), CUDA_OK);
	cr_expect_eq(cuStreamDestroy_v2(stream), CUDA_INVALID_HANDLE);
	cr_expect_eq(cudaStreamDestroy(NULL), CUDA_INVALID_HANDLE);
	cr_expect_eq(cudaStreamSynchronize(stream), CUDA_INVALID_HANDLE);
	cr_expect_eq(cuStreamQuery(stream), CUDA_INVALID_HANDLE);
	cr_expect_eq(cudaMemsetAsync(a, 1, SIZE, stream), CUDA_INVALID_HANDLE);
	cr_expect_eq(cudaMemcpyAsync(a, a, SIZE, COPY_DEFAULT, stream), CUDA_INVALID_HANDLE);
	cr_expect_eq(cuMemcpyHtoDAsync_v2((uintptr_t)a, &a, 1, stream), CUDA_INVALID_HANDLE);
	cr_expect_eq(cuMemsetD8Async((uintptr_t)a, 1, 1, stream), CUDA_INVALID_HANDLE);
	cr_expect_eq(cuStreamCreate(NULL, 0), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaStreamCreateWithFlags(&stream, 2), CUDA_INVALID_VALUE);
	cr_expect_eq(cuCtxSetCurrent(NULL), CUDA_OK);
	cr_expect_eq(cuStreamCreate(&stream, 0), CUDA_INVALID_CONTEXT);
	cr_expect_str_eq(cudaGetErrorName(CUDA_INVALID_HANDLE), "cudaErrorInvalidResourceHandle");
}

/* By the names that programs write, and by those of the library; names of the runtime and of others are none of the driver's. */
Test(cuda, calls_by_name)
{
	static const struct {
		const char *name;
		void *call;
	} names[] = {
		{ "cuMemAlloc", (void *)cuMemAlloc_v2 },
		{ "cuMemAlloc_v2", (void *)cuMemAlloc_v2 },
		{ "cuCtxGetDevice", (void *)cuCtxGetDevice },
		{ "cuMemGetAddressRange", (void *)cuMemGetAddressRange_v2 },
		{ "cuStreamDestroy", (void *)cuStreamDestroy_v2 },
		{ "cuLaunchKernel", NULL },
		{ "cudaMalloc", NULL },
		{ "cuda", NULL },
		{ "cuserid", NULL },
		{ "malloc", NULL },
		{ "", NULL },
	};
	void *call;
	int status;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		status = 7;
		cr_expect_eq(cudaGetDriverEntryPoint(names[i].name, &call, 0, &status), CUDA_OK);
		cr_expect(call == names[i].call && status == !call, "%s: %p, %d", names[i].name, call, status);
		call = &call;
		cr_expect_eq(cudaGetDriverEntryPointByVersion(names[i].name, &call, 12000, 2, &status), CUDA_OK);
		cr_expect_eq(call, names[i].call, "%s", names[i].name);
	}
	cr_expect_eq(cudaGetDriverEntryPoint("cuInit", &call, 1, NULL), CUDA_OK);
	cr_expect_stderr_eq_str("");
}

Test(cuda, calls_by_a_wrong_name)
{
	char name[300];
	void *call;
	int status;

	memset(name, 'u', sizeof(name));
	name[0] = 'c';
	name[sizeof(name) - 1] = 0;
	cr_expect_eq(cudaGetDriverEntryPoint(name, &call, 0, &status), CUDA_OK);
	cr_expect_eq(status, ENTRY_NOT_FOUND);
	cr_expect_eq(cudaGetDriverEntryPoint("cuNone", &call, 0, NULL), CUDA_NOT_FOUND);
	cr_expect_eq(cudaGetDriverEntryPoint(NULL, &call, 0, &status), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaGetDriverEntryPoint("cuInit", NULL, 0, &status), CUDA_INVALID_VALUE);
	cr_expect_eq(cudaGetDriverEntryPoint("cuInit", &call, 3, &status), CUDA_INVALID_VALUE);
}
