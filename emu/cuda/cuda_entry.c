/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda_entry.c - calls of the driver that the runtime looks up by name. Programs give it without the suffix of its version. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "emu/cuda/cuda_calls.h"

enum { NAME_MAX_LENGTH = 100, FLAGS_MOST = 2 /* which default stream: there is nothing to choose */ };

/* The library's own call of this name; NULL: there is none. */
static void *entry_find(void *library, const void *base, const char *name, const char *suffix)
{
	char whole[NAME_MAX_LENGTH + 8];
	Dl_info info;
	void *found;

	snprintf(whole, sizeof(whole), "%s%s", name, suffix);
	found = dlsym(library, whole);
	return found && dladdr(found, &info) && info.dli_fbase == base ? found : NULL;
}

static void *entry_named(const char *name)
{
	Dl_info own;
	void *library, *found;

	if (strncmp(name, "cu", 2) || !strncmp(name, "cuda", 4) || strlen(name) > NAME_MAX_LENGTH)
		return NULL;
	if (!dladdr(&cuda_failed, &own))
		return NULL;
	library = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	found = entry_find(library, own.dli_fbase, name, "_v2");
	if (!found)
		found = entry_find(library, own.dli_fbase, name, "");
	dlclose(library); /* it stays, as this runs in it */
	return found;
}

/* Programs ask whether there is a call, so that a missing one is no error where they take the answer. */
int cudaGetDriverEntryPoint(const char *name, void **call, unsigned long long flags, int *status)
{
	if (!name || !call || flags > FLAGS_MOST)
		return cuda_fail(
			CUDA_INVALID_VALUE,
			"cudaGetDriverEntryPoint: the name or the address of the result is NULL, or flags %llu are unknown", flags);
	*call = entry_named(name);
	if (status)
		*status = *call ? ENTRY_FOUND : ENTRY_NOT_FOUND;
	if (*call || status)
		return CUDA_OK;
	return cuda_fail(CUDA_NOT_FOUND, "cudaGetDriverEntryPoint: %s is not here", name);
}

/* There is one of each: that of the version before which none was. */
int cudaGetDriverEntryPointByVersion(const char *name, void **call, unsigned int version, unsigned long long flags, int *status)
{
	(void)version;
	return cudaGetDriverEntryPoint(name, call, flags, status);
}
