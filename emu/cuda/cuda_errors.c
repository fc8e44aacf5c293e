/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda_errors.c - the errors of all calls: numbers, names, the last one of each thread. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "emu/cuda/cuda_calls.h"

enum { CUDA_UNKNOWN = 999 };

static _Thread_local int last_error;

static const struct cuda_words {
	int error;
	const char *runtime, *driver, *words;
} cuda_errors[] = {
	{ CUDA_OK, "cudaSuccess", "CUDA_SUCCESS", "no error" },
	{ CUDA_INVALID_VALUE, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ CUDA_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ CUDA_NO_DEVICE, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
	{ CUDA_INVALID_DEVICE, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
	{ CUDA_INVALID_CONTEXT, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ CUDA_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ CUDA_NOT_FOUND, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ CUDA_NOT_SUPPORTED, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
	{ CUDA_UNKNOWN, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error" }, /* the last one */
};

static const struct cuda_words *words_of(int error)
{
	const struct cuda_words *words = cuda_errors;

	while (words->error != error && words->error != CUDA_UNKNOWN)
		words++;
	return words;
}

int cuda_fail(int error, const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "emu-cuda: %s\n", line);
	last_error = error;
	return error;
}

int cuda_failed(int err)
{
	if (err)
		last_error = err == -ENOMEM ? CUDA_OUT_OF_MEMORY : err == -ENODEV ? CUDA_INVALID_DEVICE : CUDA_INVALID_VALUE;
	return err ? last_error : CUDA_OK;
}

int cuda_check_device(const char *call, int device)
{
	int count = emu_hmem_devices(EMU_HMEM_CUDA);

	if (!count)
		return cuda_fail(CUDA_NO_DEVICE, "%s: there are no devices. FI_EMU_HMEM=cuda:1 makes one", call);
	if (device < 0 || device >= count)
		return cuda_fail(CUDA_INVALID_DEVICE, "%s: device %d, and there are %d", call, device, count);
	return CUDA_OK;
}

const char *cudaGetErrorName(int error)
{
	return words_of(error)->runtime;
}

const char *cudaGetErrorString(int error)
{
	return words_of(error)->words;
}

int cudaPeekAtLastError(void)
{
	return last_error;
}

int cudaGetLastError(void)
{
	int error = last_error;

	last_error = CUDA_OK;
	return error;
}

int cuGetErrorName(int error, const char **name)
{
	const struct cuda_words *words = words_of(error);

	*name = words->error == error ? words->driver : NULL;
	return *name ? CUDA_OK : CUDA_INVALID_VALUE;
}

int cuGetErrorString(int error, const char **words)
{
	*words = words_of(error)->error == error ? words_of(error)->words : NULL;
	return *words ? CUDA_OK : CUDA_INVALID_VALUE;
}
