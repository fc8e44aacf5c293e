/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda_context.c - the device of each thread. A context is the primary one of a device, and there are no others: the device's
 * number from 1 on, as a pointer. The runtime binds it to a thread with the first call that needs a device, the driver by
 * cuCtxSetCurrent(). */
#include <stdbool.h>

#include "emu/cuda/cuda_calls.h"

static _Thread_local int device_now;
static _Thread_local bool bound; /* to the context of device_now */

int cuda_device(void)
{
	return device_now;
}

int cuda_bind(const char *call, int device)
{
	int error = cuda_check_device(call, device);

	if (error)
		return error;
	device_now = device;
	bound = true;
	return CUDA_OK;
}

int cuda_check_context(const char *call)
{
	return bound ? CUDA_OK : cuda_fail(CUDA_INVALID_CONTEXT, "%s: the thread has no context", call);
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	int error = context ? cuda_check_device("cuDevicePrimaryCtxRetain", device)
			    : cuda_fail(CUDA_INVALID_VALUE, "cuDevicePrimaryCtxRetain: context is NULL");

	if (!error)
		*context = (void *)((uintptr_t)device + 1);
	return error;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	return cuda_check_device("cuDevicePrimaryCtxRelease", device);
}

int cuCtxSetCurrent(void *context)
{
	if (!context) {
		bound = false;
		return CUDA_OK;
	}
	if ((uintptr_t)context > (uintptr_t)emu_hmem_devices(EMU_HMEM_CUDA))
		return cuda_fail(CUDA_INVALID_CONTEXT, "cuCtxSetCurrent: %p is no context", context);
	return cuda_bind("cuCtxSetCurrent", (int)((uintptr_t)context - 1));
}

int cuCtxGetCurrent(void **context)
{
	if (!context)
		return cuda_fail(CUDA_INVALID_VALUE, "cuCtxGetCurrent: context is NULL");
	*context = bound ? (void *)((uintptr_t)device_now + 1) : NULL;
	return CUDA_OK;
}

int cuCtxGetDevice(int *device)
{
	int error = device ? cuda_check_context("cuCtxGetDevice") : cuda_fail(CUDA_INVALID_VALUE, "cuCtxGetDevice: device is NULL");

	if (!error)
		*device = device_now;
	return error;
}
