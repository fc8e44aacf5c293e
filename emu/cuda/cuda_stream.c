/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda_stream.c - streams. Their work is done when it is given to them, so that a stream is no more than its name. */
#include <pthread.h>
#include <stdlib.h>

#include "emu/cuda/cuda_calls.h"

enum { FLAG_NON_BLOCKING = 1 };
enum { STREAM_LEGACY = 1, STREAM_PER_THREAD = 2 }; /* in the place of a pointer; so is NULL */

struct cuda_stream {
	struct cuda_stream *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_stream *streams;

/* With the lock: where the list has it; NULL: nowhere. */
static struct cuda_stream **stream_find(const void *stream)
{
	struct cuda_stream **at = &streams;

	while (*at && *at != stream)
		at = &(*at)->next;
	return *at ? at : NULL;
}

int cuda_check_stream(const char *call, const void *stream)
{
	struct cuda_stream **at;

	if ((uintptr_t)stream <= STREAM_PER_THREAD)
		return CUDA_OK;
	pthread_mutex_lock(&lock);
	at = stream_find(stream);
	pthread_mutex_unlock(&lock);
	return at ? CUDA_OK : cuda_fail(CUDA_INVALID_HANDLE, "%s: %p is no stream, or it was destroyed", call, stream);
}

static int stream_create(const char *call, void **out, unsigned int flags)
{
	struct cuda_stream *stream;

	if (!out || flags > FLAG_NON_BLOCKING)
		return cuda_fail(CUDA_INVALID_VALUE, "%s: the address of the result is NULL, or flags %#x are not 0 or 1", call,
				 flags);
	stream = malloc(sizeof(*stream));
	if (!stream)
		return cuda_fail(CUDA_OUT_OF_MEMORY, "%s: no memory", call);
	pthread_mutex_lock(&lock);
	stream->next = streams;
	streams = stream;
	pthread_mutex_unlock(&lock);
	*out = stream;
	return CUDA_OK;
}

static int stream_destroy(const char *call, void *stream)
{
	struct cuda_stream **at;

	pthread_mutex_lock(&lock);
	at = stream_find(stream);
	if (at)
		*at = (*at)->next;
	pthread_mutex_unlock(&lock);
	if (!at)
		return cuda_fail(CUDA_INVALID_HANDLE, "%s: %p is no stream, or it was destroyed", call, stream);
	free(stream);
	return CUDA_OK;
}

int cuStreamCreate(void **stream, unsigned int flags)
{
	int error = cuda_check_context("cuStreamCreate");

	return error ? error : stream_create("cuStreamCreate", stream, flags);
}

int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority)
{
	(void)priority;
	return cuStreamCreate(stream, flags);
}

int cuStreamDestroy_v2(void *stream)
{
	return stream_destroy("cuStreamDestroy", stream);
}

int cuStreamSynchronize(void *stream)
{
	return cuda_check_stream("cuStreamSynchronize", stream);
}

int cuStreamQuery(void *stream)
{
	return cuda_check_stream("cuStreamQuery", stream);
}

int cudaStreamCreateWithFlags(void **stream, unsigned int flags)
{
	int error = cuda_bind("cudaStreamCreate", cuda_device());

	return error ? error : stream_create("cudaStreamCreate", stream, flags);
}

int cudaStreamCreate(void **stream)
{
	return cudaStreamCreateWithFlags(stream, 0);
}

int cudaStreamDestroy(void *stream)
{
	return stream_destroy("cudaStreamDestroy", stream);
}

int cudaStreamSynchronize(void *stream)
{
	return cuda_check_stream("cudaStreamSynchronize", stream);
}

int cudaStreamQuery(void *stream)
{
	return cuda_check_stream("cudaStreamQuery", stream);
}
