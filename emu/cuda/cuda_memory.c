/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda_memory.c - the calls of libcuda for memory. They need a context, and zero bytes are an error, other than in the runtime. */
#include "emu/cuda/cuda_calls.h"

int cuMemAlloc_v2(uintptr_t *at, size_t size)
{
	int error = cuda_check_context("cuMemAlloc");
	void *memory = NULL;

	if (error)
		return error;
	if (!at || !size)
		return cuda_fail(CUDA_INVALID_VALUE, "cuMemAlloc: %zu B, or the address of the result is NULL", size);
	error = cuda_alloc("cuMemAlloc", cuda_device(), &memory, size);
	if (!error)
		*at = (uintptr_t)memory;
	return error;
}

int cuMemFree_v2(uintptr_t at)
{
	int error = cuda_check_context("cuMemFree");

	return error ? error : cuda_free("cuMemFree", (void *)at, false);
}

int cuMemsetD8Async(uintptr_t at, unsigned char byte, size_t size, void *stream)
{
	int error = cuda_check_context("cuMemsetD8");

	if (!error)
		error = cuda_check_stream("cuMemsetD8Async", stream);
	return error ? error : cuda_failed(emu_hmem_set((void *)at, byte, size));
}

int cuMemsetD8_v2(uintptr_t at, unsigned char byte, size_t size)
{
	return cuMemsetD8Async(at, byte, size, NULL);
}

static int driver_copy(const char *call, uintptr_t to, uintptr_t from, size_t size, enum cuda_copy kind, void *stream)
{
	int error = cuda_check_context(call);

	if (!error)
		error = cuda_check_stream(call, stream);
	return error ? error : cuda_copy(call, (void *)to, (const void *)from, size, (int)kind);
}

int cuMemcpy(uintptr_t to, uintptr_t from, size_t size)
{
	return driver_copy("cuMemcpy", to, from, size, COPY_DEFAULT, NULL);
}

int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t size)
{
	return driver_copy("cuMemcpyHtoD", to, (uintptr_t)from, size, COPY_HOST_TO_DEVICE, NULL);
}

int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t size)
{
	return driver_copy("cuMemcpyDtoH", (uintptr_t)to, from, size, COPY_DEVICE_TO_HOST, NULL);
}

int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t size, void *stream)
{
	return driver_copy("cuMemcpyHtoDAsync", to, (uintptr_t)from, size, COPY_HOST_TO_DEVICE, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t size, void *stream)
{
	return driver_copy("cuMemcpyDtoHAsync", (uintptr_t)to, from, size, COPY_DEVICE_TO_HOST, stream);
}
