/* SPDX-License-Identifier: BSD-2-Clause */
/* secret.c - endpoints of every type under FI_EMU_SECRET_FILE, and when the file is looked into. What is said of a bad one is
 * in tests/process/info.sh. */
#include "tests/fi/ends.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/secret.h"

static const char secret[] = "a secret of more than sixteen bytes";

/* A file of this process's own, and the setting. */
static int set_secret(void)
{
	int fd = memfd_create("secret", 0);
	char path[64];

	cr_assert(fd >= 0 && !fchmod(fd, 0400) && write(fd, secret, sizeof(secret)) == (ssize_t)sizeof(secret));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("FI_EMU_SECRET_FILE", path, 1);
	return fd;
}

/* One message to itself. */
static void talk(enum fi_ep_type type)
{
	struct fi_cq_tagged_entry entry;
	struct world world;
	char into[100] = "";

	set_secret();
	world_open(&world, &(struct want){ .caps = FI_MSG, .type = type });
	RC(0, fi_recv(world.ep, into, sizeof(into), NULL, FI_ADDR_UNSPEC, into));
	RC(0, fi_send(world.ep, "hello", 6, NULL, world.self, NULL));
	for (int i = 0; i < 2; i++)
		RC(1, world_next(&world, &entry));
	cr_assert_str_eq(into, "hello");
	world_close(&world);
}

Test(fi_secret, reliable_datagrams)
{
	talk(FI_EP_RDM);
}

Test(fi_secret, unreliable_datagrams)
{
	talk(FI_EP_DGRAM);
}

Test(fi_secret, connected_endpoints)
{
	struct fid_ep *end[2];
	struct net net;

	set_secret();
	net_open(&net);
	net_listen(&net);
	connected(&net, end);
	message(&net, end[0], end[1], 1);
	message(&net, end[1], end[0], 2);
	close_ends(end);
	net_close(&net);
}

/* The keys of the secret. Each byte is changed, so that a search of the memory does not find the searcher's own copy. */
static uint8_t other[sizeof(struct wire_secret)];

static void know_keys(void)
{
	struct wire_secret keys;

	secret_take(&keys, secret, sizeof(secret));
	for (size_t i = 0; i < sizeof(keys); i++)
		other[i] = ((uint8_t *)&keys)[i] ^ 0xff;
	secret_wipe(&keys, sizeof(keys));
}

static size_t keys_in(const uint8_t *from, const uint8_t *to)
{
	size_t found = 0, same;

	for (; from + sizeof(other) <= to; from++) {
		for (same = 0; same < sizeof(other) && from[same] + other[same] == 0xff; same++)
			;
		found += same >= WIRE_SECRET_KEY;
	}
	return found;
}

/* How often they stand in memory that can be written. */
static size_t keys_held(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	size_t found = 0;
	uintptr_t from, to;
	char line[512];

	cr_assert(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " rw", &from, &to) == 2 && strstr(line, " rw-p "))
			found += keys_in((const uint8_t *)from, (const uint8_t *)to);
	fclose(maps);
	return found;
}

Test(fi_secret, a_forks_child_has_no_keys)
{
	struct world world;
	pid_t child;
	int status;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	cr_skip_test("a sanitizer's memory is too much to look through");
#endif
	know_keys();
	set_secret();
	world_open(&world, &(struct want){ .caps = FI_MSG });
	cr_assert_eq(keys_held(), 1);
	child = fork();
	if (!child)
		_exit((keys_held() ? 1 : 0) + (fi_send(world.ep, "hello", 6, NULL, world.self, NULL) == -FI_ENODEV ? 0 : 2) +
		      (fi_close(&world.ep->fid) ? 4 : 0));
	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	cr_expect_eq(WEXITSTATUS(status), 0, "%d", WEXITSTATUS(status));
	cr_assert_eq(keys_held(), 1);
	world_close(&world);
}

/* A file that was good when the infos were made and is not when the domain opens leaves nothing unprotected. */
Test(fi_secret, a_file_that_goes_bad)
{
	struct fid_domain *domain;
	struct fid_fabric *fabric;
	struct fi_info *info;
	int fd;

	world_need_emu();
	fd = set_secret();
	RC(0, world_getinfo(&(struct want){ .caps = FI_MSG }, world_hints(&(struct want){ .caps = FI_MSG }), &info));
	RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	cr_assert(!fchmod(fd, 0644));
	RC(-FI_EINVAL, fi_domain(fabric, info, &domain, NULL));
	cr_assert(!fchmod(fd, 0600));
	RC(0, fi_domain(fabric, info, &domain, NULL));
	RC(0, fi_close(&domain->fid));
	RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
}
