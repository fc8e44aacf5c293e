/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_keys.c - each argument of the calls for raw keys wrong, one at a time; and keys of other lengths. */
#include "world.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fid_mr *registered(struct world *w, char *byte)
{
	struct fid_mr *mr;

	RC(0, fi_mr_reg(w->domain, byte, 1, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	return mr;
}

/* S5, S49, S50: nothing is written where something is wrong. */
Test(fi_raw_keys, wrong_arguments_of_raw_attr)
{
	uint8_t raw[32] = { 0 }, before[32] = { 0 };
	uint64_t base = 5;
	size_t size = 0;
	struct fid_mr *mr;
	struct world w;
	char byte;

	world_open(&w, &(struct want){ .mr_mode = FI_MR_RAW });
	mr = registered(&w, &byte);
	RC(-FI_EINVAL, fi_control(&mr->fid, FI_GET_RAW_MR, NULL));
	RC(-FI_EINVAL, fi_mr_raw_attr(mr, &base, raw, NULL, 0));
	for (int bit = 0; bit < 64; bit++) {
		size = sizeof(raw);
		RC(-FI_EBADFLAGS, fi_mr_raw_attr(mr, &base, raw, &size, 1ull << bit));
	}
	size = 0;
	RC(-FI_ETOOSMALL, fi_mr_raw_attr(mr, &base, NULL, &size, 0));
	cr_assert_eq(size, 32);
	RC(-FI_EINVAL, fi_mr_raw_attr(mr, &base, NULL, &size, 0));
	cr_assert_eq(base, 5);
	cr_assert_arr_eq(raw, before, sizeof(raw));
	RC(0, fi_mr_raw_attr(mr, NULL, raw, &size, 0));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S54, S57 */
Test(fi_raw_keys, wrong_arguments_of_map_and_unmap)
{
	uint64_t base, key = 9, mapped;
	uint8_t raw[32];
	size_t size = sizeof(raw);
	struct fid_mr *mr;
	struct world w;
	char byte;

	world_open(&w, &(struct want){ .mr_mode = FI_MR_RAW });
	mr = registered(&w, &byte);
	RC(0, fi_mr_raw_attr(mr, &base, raw, &size, 0));
	RC(-FI_EINVAL, fi_control(&w.domain->fid, FI_MAP_RAW_MR, NULL));
	RC(-FI_EINVAL, fi_control(&w.domain->fid, FI_UNMAP_KEY, NULL));
	RC(-FI_EINVAL, fi_mr_map_raw(w.domain, base, NULL, size, &key, 0));
	RC(-FI_EINVAL, fi_mr_map_raw(w.domain, base, raw, size, NULL, 0));
	RC(-FI_EINVAL, fi_mr_map_raw(w.domain, base, raw, 0, &key, 0));
	RC(-FI_EINVAL, fi_mr_map_raw(w.domain, base, raw, 31, &key, 0));
	RC(-FI_EINVAL, fi_mr_map_raw(w.domain, base, raw, SIZE_MAX, &key, 0));
	for (int bit = 0; bit < 64; bit++)
		RC(-FI_EBADFLAGS, fi_mr_map_raw(w.domain, base, raw, size, &key, 1ull << bit));
	cr_assert_eq(key, 9);
	RC(-FI_ENOKEY, fi_mr_unmap_key(w.domain, 0));
	RC(-FI_ENOKEY, fi_mr_unmap_key(w.domain, FI_KEY_NOTAVAIL));
	RC(0, fi_mr_map_raw(w.domain, base, raw, size, &key, 0));
	RC(0, fi_mr_map_raw(w.domain, base, raw, size, &mapped, 0));
	cr_assert_neq(key, mapped, "two mappings of one key are two");
	RC(0, fi_mr_unmap_key(w.domain, key));
	RC(-FI_ENOKEY, fi_mr_unmap_key(w.domain, key));
	RC(0, fi_mr_unmap_key(w.domain, mapped));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* S48, S55: a plain key maps anywhere, to itself where keys are plain; a long one only where FI_MR_RAW was agreed. */
Test(fi_raw_keys, plain_and_long_keys)
{
	uint64_t base, key, again;
	uint8_t plain[32], raw[32];
	size_t plain_size = sizeof(plain), raw_size = sizeof(raw);
	struct world bare, full;
	struct fid_mr *mr;
	char byte;

	world_open(&bare, &(struct want){ 0 });
	world_open(&full, &(struct want){ .mr_mode = FI_MR_RAW });
	mr = registered(&bare, &byte);
	RC(0, fi_mr_raw_attr(mr, &base, plain, &plain_size, 0));
	cr_assert_eq(plain_size, 8);
	RC(0, fi_mr_map_raw(bare.domain, base, plain, plain_size, &key, 0));
	cr_assert_eq(key, fi_mr_key(mr));
	RC(0, fi_mr_map_raw(bare.domain, base, plain, plain_size, &again, 0));
	RC(0, fi_mr_unmap_key(bare.domain, key));
	RC(0, fi_mr_unmap_key(bare.domain, key));
	RC(-FI_ENOKEY, fi_mr_unmap_key(bare.domain, key));
	RC(0, fi_mr_map_raw(full.domain, base, plain, plain_size, &key, 0));
	RC(0, fi_mr_unmap_key(full.domain, key));
	RC(0, fi_close(&mr->fid));
	mr = registered(&full, &byte);
	RC(0, fi_mr_raw_attr(mr, &base, raw, &raw_size, 0));
	RC(-FI_EINVAL, fi_mr_map_raw(bare.domain, base, raw, raw_size, &key, 0));
	RC(0, fi_close(&mr->fid));
	world_close(&full);
	world_close(&bare);
}

/* In a fork's child the NIC is another's. */
Test(fi_raw_keys, child_of_a_fork)
{
	uint64_t base, key = 0;
	uint8_t raw[32];
	size_t size = sizeof(raw);
	struct fid_mr *mr;
	struct world w;
	int status = -1;
	char byte;
	pid_t child;

	world_open(&w, &(struct want){ .mr_mode = FI_MR_RAW });
	mr = registered(&w, &byte);
	RC(0, fi_mr_raw_attr(mr, &base, raw, &size, 0));
	RC(0, fi_mr_map_raw(w.domain, base, raw, size, &key, 0));
	child = fork();
	if (!child)
		_exit(fi_mr_raw_attr(mr, &base, raw, &size, 0) != -FI_ENODEV ||
		      fi_mr_map_raw(w.domain, base, raw, size, &key, 0) != -FI_ENODEV ||
		      fi_mr_unmap_key(w.domain, key) != -FI_ENODEV || fi_mr_refresh(mr, NULL, 0, 0) != -FI_ENODEV);
	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
	RC(0, fi_mr_unmap_key(w.domain, key));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}
