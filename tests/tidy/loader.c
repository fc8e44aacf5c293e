/* SPDX-License-Identifier: BSD-2-Clause */
/* loader.c - a host program with a libuv of its own: loads the provider, as libfabric would, and sees that the
 * provider neither takes this program's uv_run nor leaves with dlclose. */
#include <dlfcn.h>
#include <stdio.h>

/* Exported, like all symbols of this program: a provider with an unbound uv_run would bind to this one. */
int uv_run(void *loop, int mode);
int uv_run(void *loop, int mode)
{
	(void)loop;
	(void)mode;
	return -1;
}

static int report(const char *name, int good)
{
	printf("%s %s\n", good ? "ok" : "not ok", name);
	return !good;
}

int main(int argc, char **argv)
{
	void *provider = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int bad = report("loads_with_every_symbol_bound", provider != NULL);
	void *ini, *again;

	if (!provider) {
		printf("%s\n", argc == 2 ? dlerror() : "usage: loader libemu-fi.so");
		return 1;
	}
	ini = dlsym(provider, "fi_prov_ini");
	bad |= report("has_fi_prov_ini", ini != NULL);
	bad |= report("has_no_uv_run", dlsym(provider, "uv_run") == NULL);

	dlclose(provider);
	again = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
	bad |= report("stays_after_dlclose", again && dlsym(again, "fi_prov_ini") == ini);
	return bad;
}
