/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda_calls.h - the calls of libemu-cuda.so, with the names, numbers and layouts of NVIDIA's public headers (CUDA 12). The numbers
 * of errors are the same in runtime and driver. A call that fails says why on stderr. Copies are done when the call returns, so
 * that streams have nothing to do. The library's own names of driver calls have the suffix of their version, as in libcuda. */
#ifndef EMU_CUDA_CALLS_H
#define EMU_CUDA_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/emu/hmem.h"

enum cuda_error {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_INVALID_CONTEXT = 201,
	CUDA_INVALID_HANDLE = 400,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_SUPPORTED = 801,
};

enum cuda_copy { COPY_HOST_TO_HOST, COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE, COPY_DEFAULT };
enum cuda_memory { MEMORY_UNREGISTERED, MEMORY_HOST, MEMORY_DEVICE };

/* struct cudaPointerAttributes. */
struct cuda_pointer {
	int type; /* enum cuda_memory */
	int device;
	void *device_pointer, *host_pointer;
};

/* CUpointer_attribute. */
enum cuda_attribute {
	ATTRIBUTE_MEMORY_TYPE = 2,
	ATTRIBUTE_DEVICE_POINTER = 3,
	ATTRIBUTE_HOST_POINTER = 4,
	ATTRIBUTE_SYNC_MEMOPS = 6,
	ATTRIBUTE_IS_MANAGED = 8,
	ATTRIBUTE_DEVICE_ORDINAL = 9,
	ATTRIBUTE_RANGE_START_ADDR = 11,
	ATTRIBUTE_RANGE_SIZE = 12,
	ATTRIBUTE_MAPPED = 13,
};

/* cudaDriverEntryPointQueryResult. */
enum cuda_entry { ENTRY_FOUND, ENTRY_NOT_FOUND };

enum { DEVICE_DMA_BUF_SUPPORTED = 124, HANDLE_DMA_BUF_FD = 1 };

/* cuda_errors.c */
/* Prints the sentence; returns `error`, which cudaGetLastError() gives in this thread. */
int cuda_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The error for an errno of emu/hmem.h, which has said why. */
int cuda_failed(int err);
/* Is there a device of this number? 0 or the error. */
int cuda_check_device(const char *call, int device);

/* cuda_context.c: the thread's device; makes it this one, with its context, 0 or the error; is there a context? 0 or the error. */
int cuda_device(void);
int cuda_bind(const char *call, int device);
int cuda_check_context(const char *call);

/* cuda_stream.c: is there this stream? 0 or the error. */
int cuda_check_stream(const char *call, const void *stream);

/* cuda_runtime.c: what the runtime's calls of these names do, and the driver's by other names. */
int cuda_copy(const char *call, void *to, const void *from, size_t size, int kind);
int cuda_alloc(const char *call, int device, void **at, size_t size);
int cuda_free(const char *call, void *at, bool host);

#pragma GCC visibility push(default)

/* cuda_errors.c */
const char *cudaGetErrorName(int error);
const char *cudaGetErrorString(int error);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cuGetErrorName(int error, const char **name);
int cuGetErrorString(int error, const char **words);

/* cuda_runtime.c */
int cudaGetDeviceCount(int *count);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaMalloc(void **at, size_t size);
int cudaFree(void *at);
int cudaMallocHost(void **at, size_t size);
int cudaHostAlloc(void **at, size_t size, unsigned int flags);
int cudaFreeHost(void *at);
int cudaHostRegister(void *at, size_t size, unsigned int flags);
int cudaHostUnregister(void *at);
int cudaMemcpy(void *to, const void *from, size_t size, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream);
int cudaMemset(void *at, int byte, size_t size);
int cudaMemsetAsync(void *at, int byte, size_t size, void *stream);
int cudaPointerGetAttributes(struct cuda_pointer *attributes, const void *at);
int cudaDeviceSynchronize(void);
int cudaRuntimeGetVersion(int *version);
int cudaDriverGetVersion(int *version);
/* Memory of other processes: always cudaErrorNotSupported. */
struct cuda_ipc {
	char reserved[64];
};
int cudaIpcGetMemHandle(struct cuda_ipc *handle, void *at);
int cudaIpcOpenMemHandle(void **at, struct cuda_ipc handle, unsigned int flags);
int cudaIpcCloseMemHandle(void *at);

/* cuda_stream.c */
int cudaStreamCreate(void **stream);
int cudaStreamCreateWithFlags(void **stream, unsigned int flags);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamQuery(void *stream);
int cuStreamCreate(void **stream, unsigned int flags);
int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamQuery(void *stream);

/* cuda_context.c */
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuCtxGetCurrent(void **context);
int cuCtxGetDevice(int *device);

/* cuda_entry.c; `status`: enum cuda_entry. */
int cudaGetDriverEntryPoint(const char *name, void **call, unsigned long long flags, int *status);
int cudaGetDriverEntryPointByVersion(const char *name, void **call, unsigned int version, unsigned long long flags, int *status);

/* cuda_memory.c; a CUdeviceptr is the address as a number. */
int cuMemAlloc_v2(uintptr_t *at, size_t size);
int cuMemFree_v2(uintptr_t at);
int cuMemsetD8_v2(uintptr_t at, unsigned char byte, size_t size);
int cuMemsetD8Async(uintptr_t at, unsigned char byte, size_t size, void *stream);
int cuMemcpy(uintptr_t to, uintptr_t from, size_t size);
int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t size);
int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t size, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t size, void *stream);

/* cuda_driver.c */
int cuInit(unsigned int flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceCanAccessPeer(int *can, int device, int peer);
int cuPointerGetAttribute(void *data, int attribute, uintptr_t at);
int cuPointerGetAttributes(unsigned int count, const int *attributes, void **data, uintptr_t at);
int cuPointerSetAttribute(const void *value, int attribute, uintptr_t at);
int cuMemGetAddressRange_v2(uintptr_t *base, size_t *size, uintptr_t at);
int cuMemGetHandleForAddressRange(void *handle, uintptr_t at, size_t size, int type, unsigned long long flags);

#pragma GCC visibility pop

#endif
