/* SPDX-License-Identifier: BSD-2-Clause */
/* opened_stress.c - threads that open and close objects and look for them by name, for tsan to watch. A plain program, as
 * Criterion does not go with tsan. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/fi/provider/fi_registry.h"

enum { THREADS = 4, ROUNDS = 5000 };

static void check(int good, const char *what)
{
	if (good)
		return;
	printf("not ok opened_churn %s\n", what);
	exit(1);
}

/* Each its own object, whose memory is not the same each time; the others' are looked for, too. */
static void *churn(void *arg)
{
	size_t mine = (size_t)arg;
	char name[THREADS][8];

	for (size_t i = 0; i < THREADS; i++)
		snprintf(name[i], sizeof(name[i]), "own%zu", i);
	for (int i = 0; i < ROUNDS; i++) {
		struct opened *opened = malloc(sizeof(*opened));
		struct fid *fid = calloc(1, sizeof(*fid));

		check(opened && fid, "no memory");
		fid->fclass = FI_CLASS_DOMAIN;
		registry_add(opened, fid, name[mine]);
		check(registry_find(FI_CLASS_DOMAIN, name[mine], NULL, NULL, NULL) == fid, "an open object is not found");
		check(!registry_find(FI_CLASS_FABRIC, name[mine], NULL, NULL, NULL), "found under another class");
		check(registry_find(FI_CLASS_DOMAIN, name[mine], fid, NULL, NULL) && registry_is_a(FI_CLASS_DOMAIN, fid),
		      "an open object is not known");
		registry_find(FI_CLASS_DOMAIN, name[(mine + 1) % THREADS], NULL, NULL, NULL);
		registry_remove(opened);
		check(!registry_find(FI_CLASS_DOMAIN, name[mine], NULL, NULL, NULL) && !registry_is_a(FI_CLASS_DOMAIN, fid),
		      "a closed object is found");
		free(opened);
		free(fid);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, churn, (void *)i) == 0, "no thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("ok opened_churn\n");
	return 0;
}
