/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict_mixups.c - two processes, of which one mixes up what it knows of the other's memory: verdict_mixups CASE, or without one,
 * the names of the cases. The exit status is 0 if the access was refused. */
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/demo/channel.h"
#include "tools/demo/endpoint.h"

enum { LENGTH = 1 << 16, ARENA = 1 << 20, OTHER_AT = 1 << 19, PAGE = 4096, ELEMENT = 64, ASKED = 1000 };
enum { REGION, SAME_BYTES, OTHER, REGIONS }; /* SAME_BYTES: may be read, the others may be written */

struct named {
	uint64_t address, key, desc;
};

/* What the target tells, and what the initiator has of its own. */
struct known {
	uint8_t name[64];
	struct named region[REGIONS], old, own;
};

struct reach {
	enum direction direction;
	uint64_t key, address, length;
};

static struct reach right_reach(const struct known *is)
{
	return (struct reach){ REMOTE_WRITE, is->region[REGION].key, is->region[REGION].address, ELEMENT };
}

/* The name of a case, and what it does to a right access. */
#define CASE(name, change)                                        \
	static struct reach mix_##name(const struct known *is)    \
	{                                                         \
		const struct named *region = &is->region[REGION]; \
		const struct named *other = &is->region[OTHER];   \
		struct reach reach = right_reach(is);             \
		(void)region, (void)other;                        \
		change;                                           \
		return reach;                                     \
	}

CASE(descriptor, reach.key = region->desc)
CASE(swapped, reach.key = region->address + 8; reach.address = region->key)
CASE(asked, reach.key = ASKED)
CASE(half, reach.key = (uint32_t)region->key)
CASE(turned, reach.key = __builtin_bswap64(region->key))
CASE(address_as_key, reach.key = region->address)
CASE(other_key, reach.key = region->key ^ other->key)
CASE(offset, reach.address = 0)
CASE(other_range, reach.address = other->address)
CASE(page, reach.address += LENGTH - ELEMENT + PAGE)
CASE(element, reach.address += LENGTH)
CASE(word, reach.address += LENGTH - ELEMENT + 8)
CASE(rights, reach.direction = REMOTE_READ)
CASE(anew, reach.key = is->old.key)
CASE(own_descriptor, reach.key = is->own.desc)
CASE(own_key, reach.key = is->own.key)
CASE(own_address, reach.address = is->own.address)

static const struct mixup {
	const char *name;
	struct reach (*mix)(const struct known *is);
} mixups[] = {
	{ "descriptor", mix_descriptor },
	{ "swapped", mix_swapped },
	{ "asked", mix_asked },
	{ "half", mix_half },
	{ "turned", mix_turned },
	{ "address_as_key", mix_address_as_key },
	{ "other_key", mix_other_key },
	{ "offset", mix_offset },
	{ "other_range", mix_other_range },
	{ "page", mix_page },
	{ "element", mix_element },
	{ "word", mix_word },
	{ "rights", mix_rights },
	{ "anew", mix_anew },
	{ "own_descriptor", mix_own_descriptor },
	{ "own_key", mix_own_key },
	{ "own_address", mix_own_address },
};

static void must(long rc, const char *call)
{
	if (rc)
		die("%s: %s", call, fi_strerror((int)-rc));
}

static struct named name_of(struct fid_mr *mr, void *bytes)
{
	return (struct named){ (uintptr_t)bytes, fi_mr_key(mr), (uintptr_t)fi_mr_desc(mr) };
}

/* Serves until `go` is closed by the other. */
static void mixups_target(int tell, int go)
{
	static const uint64_t access[REGIONS] = { FI_REMOTE_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE };
	uint8_t *arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct known is = { 0 };
	size_t size = sizeof(is.name);
	struct fid_mr *mr[REGIONS];
	struct endpoint e;
	char end;

	if (arena == MAP_FAILED)
		die("mmap");
	endpoint_open(&e);
	must(fi_getname(&e.ep->fid, is.name, &size), "fi_getname");
	must(fi_mr_reg(e.domain, arena, LENGTH, FI_REMOTE_WRITE, 0, 1, 0, &mr[REGION], NULL), "fi_mr_reg");
	is.old = name_of(mr[REGION], arena);
	must(fi_close(&mr[REGION]->fid), "fi_close");
	for (int i = 0; i < REGIONS; i++) {
		uint8_t *bytes = arena + (i == OTHER ? OTHER_AT : 0);

		must(fi_mr_reg(e.domain, bytes, LENGTH, access[i], 0, ASKED + (uint64_t)i, 0, &mr[i], NULL), "fi_mr_reg");
		is.region[i] = name_of(mr[i], bytes);
	}
	if (write(tell, &is, sizeof(is)) != sizeof(is) || read(go, &end, 1) != 0)
		die("the other process is gone");
	for (int i = 0; i < REGIONS; i++)
		must(fi_close(&mr[i]->fid), "fi_close");
	endpoint_close(&e);
}

static bool mixups_initiator(const struct mixup *mixup, int hear)
{
	struct known is;
	struct endpoint e;
	struct region own;
	struct reach reach;
	struct outcome outcome;

	if (read(hear, &is, sizeof(is)) != sizeof(is))
		die("the other process is gone");
	endpoint_open(&e);
	endpoint_meet(&e, is.name);
	region_open(&e, &own, LENGTH, FI_WRITE | FI_READ | FI_REMOTE_WRITE);
	is.own = name_of(own.mr, own.bytes);
	reach = mixup->mix(&is);
	outcome = transfer(&e, &(struct transfer){ .direction = reach.direction,
						   .local = &own,
						   .length = reach.length,
						   .address = reach.address,
						   .key = reach.key });
	region_free(&own);
	endpoint_close(&e);
	return !outcome.good;
}

/* Its address space is one of its own: a fork's regions would lie where the other's lie. */
static void become_target(const char *program, int tell, int go)
{
	char out[16], in[16];

	snprintf(out, sizeof(out), "%d", tell);
	snprintf(in, sizeof(in), "%d", go);
	execl(program, program, "target", out, in, (char *)NULL);
	die("execl");
}

static int run(const char *program, const struct mixup *mixup)
{
	int tell[2], go[2];
	bool refused;
	pid_t pid;

	if (pipe(tell) != 0 || pipe(go) != 0 || (pid = fork()) < 0)
		die("pipe, fork");
	if (pid == 0) {
		close(go[1]);
		become_target(program, tell[1], go[0]);
	}
	close(go[0]);
	refused = mixups_initiator(mixup, tell[0]);
	close(go[1]);
	return waitpid(pid, NULL, 0) == pid && refused ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "target") == 0) {
		mixups_target(atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	for (size_t i = 0; i < sizeof(mixups) / sizeof(mixups[0]); i++)
		if (argc == 1)
			puts(mixups[i].name);
		else if (strcmp(argv[1], mixups[i].name) == 0)
			return run(argv[0], &mixups[i]);
	return argc == 1 ? 0 : 2;
}
