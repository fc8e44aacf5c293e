/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda_runtime.c - the calls of libcudart. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "emu/cuda/cuda_calls.h"

enum { CUDA_VERSION_SAID = 12000 };

int cudaGetDeviceCount(int *count)
{
	if (!count)
		return cuda_fail(CUDA_INVALID_VALUE, "cudaGetDeviceCount: count is NULL");
	*count = emu_hmem_devices(EMU_HMEM_CUDA);
	return *count ? CUDA_OK : cuda_check_device("cudaGetDeviceCount", 0);
}

int cudaGetDevice(int *device)
{
	if (!device)
		return cuda_fail(CUDA_INVALID_VALUE, "cudaGetDevice: device is NULL");
	*device = cuda_device();
	return cuda_check_device("cudaGetDevice", *device);
}

int cudaSetDevice(int device)
{
	return cuda_bind("cudaSetDevice", device);
}

/* CUDA gives no memory for no bytes, which is no error. */
int cuda_alloc(const char *call, int device, void **at, size_t size)
{
	int error = cuda_bind(call, cuda_device());

	if (error)
		return error;
	if (!at)
		return cuda_fail(CUDA_INVALID_VALUE, "%s: the address of the result is NULL", call);
	*at = NULL;
	return size ? cuda_failed(emu_hmem_alloc(EMU_HMEM_CUDA, device, size, at)) : CUDA_OK;
}

/* `host`: of the host's memory, else of a device's. */
int cuda_free(const char *call, void *at, bool host)
{
	struct emu_hmem_info info;

	if (at && !emu_hmem_query(at, 1, &info) && (info.device == EMU_HMEM_HOST) != host)
		return cuda_fail(CUDA_INVALID_VALUE, "%s: %p is memory of %s", call, at, host ? "a device" : "the host");
	return cuda_failed(emu_hmem_free(at));
}

int cudaMalloc(void **at, size_t size)
{
	return cuda_alloc("cudaMalloc", cuda_device(), at, size);
}

int cudaFree(void *at)
{
	int error = cuda_bind("cudaFree", cuda_device()); /* programs get themselves a context by cudaFree(NULL) */

	return error ? error : cuda_free("cudaFree", at, false);
}

int cudaMallocHost(void **at, size_t size)
{
	return cuda_alloc("cudaMallocHost", EMU_HMEM_HOST, at, size);
}

int cudaHostAlloc(void **at, size_t size, unsigned int flags)
{
	(void)flags; /* all of them are hints about speed, or met already */
	return cuda_alloc("cudaHostAlloc", EMU_HMEM_HOST, at, size);
}

int cudaFreeHost(void *at)
{
	return cuda_free("cudaFreeHost", at, true);
}

/* Devices copy from any memory of the host, so there is nothing to do. */
int cudaHostRegister(void *at, size_t size, unsigned int flags)
{
	(void)flags;
	return at && size ? CUDA_OK : cuda_fail(CUDA_INVALID_VALUE, "cudaHostRegister: %zu B at %p", size, at);
}

int cudaHostUnregister(void *at)
{
	return at ? CUDA_OK : cuda_fail(CUDA_INVALID_VALUE, "cudaHostUnregister: the address is NULL");
}

static bool is_of_device(const void *at)
{
	struct emu_hmem_info info = { .device = 0 };

	return emu_hmem_query(at, 1, &info) != -ENOENT && info.device != EMU_HMEM_HOST;
}

/* The direction is to be the right one, as programs that name a wrong one find out where memory is not shared. */
int cuda_copy(const char *call, void *to, const void *from, size_t size, int kind)
{
	bool to_device, from_device;

	if (kind < COPY_HOST_TO_HOST || kind > COPY_DEFAULT)
		return cuda_fail(CUDA_INVALID_VALUE, "%s: kind %d is none of enum cudaMemcpyKind", call, kind);
	if (!size)
		return CUDA_OK;
	to_device = is_of_device(to);
	from_device = is_of_device(from);
	if (kind != COPY_DEFAULT && (to_device != (kind == COPY_HOST_TO_DEVICE || kind == COPY_DEVICE_TO_DEVICE) ||
				     from_device != (kind == COPY_DEVICE_TO_HOST || kind == COPY_DEVICE_TO_DEVICE)))
		return cuda_fail(CUDA_INVALID_VALUE, "%s: kind %d, and %p is memory of %s, %p of %s", call, kind, to,
				 to_device ? "a device" : "the host", from, from_device ? "a device" : "the host");
	return cuda_failed(emu_hmem_copy(to, from, size));
}

int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
	return cuda_copy("cudaMemcpy", to, from, size, kind);
}

int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
	int error = cuda_check_stream("cudaMemcpyAsync", stream);

	return error ? error : cuda_copy("cudaMemcpyAsync", to, from, size, kind);
}

int cudaMemset(void *at, int byte, size_t size)
{
	return cuda_failed(emu_hmem_set(at, byte, size));
}

int cudaMemsetAsync(void *at, int byte, size_t size, void *stream)
{
	int error = cuda_check_stream("cudaMemsetAsync", stream);

	return error ? error : cudaMemset(at, byte, size);
}

int cudaPointerGetAttributes(struct cuda_pointer *attributes, const void *at)
{
	struct emu_hmem_info info;
	int err;

	if (!attributes)
		return cuda_fail(CUDA_INVALID_VALUE, "cudaPointerGetAttributes: attributes is NULL");
	err = emu_hmem_query(at, 1, &info);
	if (err || info.iface != EMU_HMEM_CUDA)
		*attributes = (struct cuda_pointer){ MEMORY_UNREGISTERED, -1, NULL, (void *)(uintptr_t)at };
	else if (info.device == EMU_HMEM_HOST)
		*attributes = (struct cuda_pointer){ MEMORY_HOST, cuda_device(), (void *)(uintptr_t)at, (void *)(uintptr_t)at };
	else
		*attributes = (struct cuda_pointer){ MEMORY_DEVICE, info.device, (void *)(uintptr_t)at, NULL };
	return CUDA_OK;
}

int cudaDeviceSynchronize(void)
{
	return cuda_check_device("cudaDeviceSynchronize", cuda_device());
}

int cudaRuntimeGetVersion(int *version)
{
	*version = CUDA_VERSION_SAID;
	return CUDA_OK;
}

int cudaDriverGetVersion(int *version)
{
	return cudaRuntimeGetVersion(version);
}

static int no_ipc(const char *call)
{
	return cuda_fail(CUDA_NOT_SUPPORTED, "%s: memory of emulated devices is not shared between processes", call);
}

int cudaIpcGetMemHandle(struct cuda_ipc *handle, void *at)
{
	(void)handle, (void)at;
	return no_ipc("cudaIpcGetMemHandle");
}

int cudaIpcOpenMemHandle(void **at, struct cuda_ipc handle, unsigned int flags)
{
	(void)at, (void)handle, (void)flags;
	return no_ipc("cudaIpcOpenMemHandle");
}

int cudaIpcCloseMemHandle(void *at)
{
	(void)at;
	return no_ipc("cudaIpcCloseMemHandle");
}
