/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda_driver.c - the calls of libcuda, by which communication libraries find out whose memory an address is. */
#include <stdbool.h>
#include <unistd.h>

#include "emu/cuda/cuda_calls.h"

int cuInit(unsigned int flags)
{
	return flags ? cuda_fail(CUDA_INVALID_VALUE, "cuInit: flags are to be 0") : cuda_check_device("cuInit", 0);
}

int cuDriverGetVersion(int *version)
{
	return cudaDriverGetVersion(version);
}

int cuDeviceGetCount(int *count)
{
	if (!count)
		return cuda_fail(CUDA_INVALID_VALUE, "cuDeviceGetCount: count is NULL");
	*count = emu_hmem_devices(EMU_HMEM_CUDA);
	return CUDA_OK;
}

int cuDeviceGet(int *device, int ordinal)
{
	if (!device)
		return cuda_fail(CUDA_INVALID_VALUE, "cuDeviceGet: device is NULL");
	*device = ordinal;
	return cuda_check_device("cuDeviceGet", ordinal);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	int error = value ? cuda_check_device("cuDeviceGetAttribute", device)
			  : cuda_fail(CUDA_INVALID_VALUE, "cuDeviceGetAttribute: value is NULL");

	if (!value)
		return error;
	*value = 0;
	if (error)
		return error;
	if (attribute != DEVICE_DMA_BUF_SUPPORTED)
		return cuda_fail(CUDA_NOT_SUPPORTED, "cuDeviceGetAttribute: attribute %d is not known here", attribute);
	*value = 1;
	return CUDA_OK;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	int error = can ? cuda_check_device("cuDeviceCanAccessPeer", device)
			: cuda_fail(CUDA_INVALID_VALUE, "cuDeviceCanAccessPeer: can is NULL");

	if (!can)
		return error;
	*can = 0; /* there is no way between processes either: no_ipc() */
	return error ? error : cuda_check_device("cuDeviceCanAccessPeer", peer);
}

/* Writes one attribute of CUDA's memory. Of other memory the attributes are 0. */
static int write_attribute(void *data, int attribute, uintptr_t at, const struct emu_hmem_info *info)
{
	int type = info && info->device != EMU_HMEM_HOST ? MEMORY_DEVICE : info ? MEMORY_HOST : 0;

	switch (attribute) {
	case ATTRIBUTE_MEMORY_TYPE:
		*(int *)data = type;
		return CUDA_OK;
	case ATTRIBUTE_DEVICE_POINTER:
		*(uintptr_t *)data = info ? at : 0;
		return CUDA_OK;
	case ATTRIBUTE_HOST_POINTER:
		*(uintptr_t *)data = type == MEMORY_HOST ? at : 0;
		return CUDA_OK;
	case ATTRIBUTE_IS_MANAGED:
		*(int *)data = 0;
		return CUDA_OK;
	case ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = type == MEMORY_DEVICE ? info->device : type == MEMORY_HOST ? 0 : -2;
		return CUDA_OK;
	case ATTRIBUTE_RANGE_START_ADDR:
		*(uintptr_t *)data = info ? (uintptr_t)info->base : 0;
		return CUDA_OK;
	case ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = info ? info->size : 0;
		return CUDA_OK;
	case ATTRIBUTE_MAPPED:
		*(int *)data = !!info;
		return CUDA_OK;
	default:
		return cuda_fail(CUDA_NOT_SUPPORTED, "cuPointerGetAttribute: attribute %d is not known here", attribute);
	}
}

static bool of_cuda(uintptr_t at, struct emu_hmem_info *info)
{
	return !emu_hmem_query((const void *)at, 1, info) && info->iface == EMU_HMEM_CUDA;
}

/* Silent about memory of others: it is how programs ask. */
int cuPointerGetAttribute(void *data, int attribute, uintptr_t at)
{
	struct emu_hmem_info info;

	if (!data)
		return cuda_fail(CUDA_INVALID_VALUE, "cuPointerGetAttribute: data is NULL");
	return of_cuda(at, &info) ? write_attribute(data, attribute, at, &info) : CUDA_INVALID_VALUE;
}

int cuPointerGetAttributes(unsigned int count, const int *attributes, void **data, uintptr_t at)
{
	struct emu_hmem_info info;
	bool ours = of_cuda(at, &info);
	int error = CUDA_OK;

	if (!attributes || !data)
		return cuda_fail(CUDA_INVALID_VALUE, "cuPointerGetAttributes: attributes or data is NULL");
	for (unsigned int i = 0; i < count && !error; i++)
		error = write_attribute(data[i], attributes[i], at, ours ? &info : NULL);
	return error;
}

/* Copies are done when their call returns, so memory is always synchronous. */
int cuPointerSetAttribute(const void *value, int attribute, uintptr_t at)
{
	struct emu_hmem_info info;

	if (value && attribute == ATTRIBUTE_SYNC_MEMOPS && of_cuda(at, &info))
		return CUDA_OK;
	return cuda_fail(CUDA_INVALID_VALUE,
			 "cuPointerSetAttribute: attribute %d at %p: CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of CUDA's memory alone",
			 attribute, (void *)at);
}

int cuMemGetAddressRange_v2(uintptr_t *base, size_t *size, uintptr_t at)
{
	struct emu_hmem_info info;

	if (!of_cuda(at, &info) || info.device == EMU_HMEM_HOST)
		return cuda_fail(CUDA_INVALID_VALUE, "cuMemGetAddressRange: %p is no memory of a device", (void *)at);
	if (base)
		*base = (uintptr_t)info.base;
	if (size)
		*size = info.size;
	return CUDA_OK;
}

/* The descriptor begins with the range, which is a whole allocation: a memfd cannot begin in the middle of another. */
int cuMemGetHandleForAddressRange(void *handle, uintptr_t at, size_t size, int type, unsigned long long flags)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct emu_hmem_info info;
	uint64_t offset;

	if (!handle || type != HANDLE_DMA_BUF_FD || flags || at % page || size % page)
		return cuda_fail(
			CUDA_INVALID_VALUE,
			"cuMemGetHandleForAddressRange: %zu B at %p, type %d, flags %#llx: a DMA-buf, whole pages, no flags", size,
			(void *)at, type, flags);
	if (!of_cuda(at, &info) || (uintptr_t)info.base != at ||
	    (info.size + EMU_HMEM_PAGE - 1) / EMU_HMEM_PAGE * EMU_HMEM_PAGE < size)
		return cuda_fail(CUDA_INVALID_VALUE,
				 "cuMemGetHandleForAddressRange: %zu B at %p do not begin an allocation of a device", size,
				 (void *)at);
	return cuda_failed(emu_hmem_export((void *)at, handle, &offset));
}
