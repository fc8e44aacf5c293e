/* SPDX-License-Identifier: BSD-2-Clause */
/* sandboxed.c - programs in a sandbox that takes away what the NIC asks of the kernel: before it is there, or later. */
#include "tests/fi/world.h"
#include "tests/unit/nic/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void refuse_random(void)
{
	if (!sandbox_refuse(SYS_getrandom, EPERM))
		cr_skip_test("no seccomp filters here");
}

/* A region, a connection, and a message of the endpoint to itself: each draws bytes that nobody can guess. */
static void exercise(struct world *w)
{
	static char in[64], out[64] = "sandboxed";
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;

	RC(0, fi_mr_reg(w->domain, in, sizeof(in), FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	RC(0, fi_recv(w->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in));
	RC(0, fi_send(w->ep, out, sizeof(out), NULL, w->self, out));
	RC(1, world_next(w, &entry));
	RC(1, world_next(w, &entry));
	cr_assert_str_eq(in, out);
	RC(0, fi_close(&mr->fid));
}

Test(fi_sandboxed, getrandom_is_refused_after_the_nic_has_started)
{
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_RMA });
	refuse_random();
	exercise(&w);
	world_close(&w);
}

/* Without it keys could be guessed: there is no NIC then, and a sentence instead. */
Test(fi_sandboxed, getrandom_is_refused_from_the_start)
{
	struct want want = { .caps = FI_MSG };
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fi_info *info;
	int log = world_catch_log("warn");

	world_need_emu();
	RC(0, world_getinfo(&want, world_hints(&want), &info));
	RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	refuse_random();
	world_logged(log);
	RC(-EPERM, fi_domain(fabric, info, &domain, NULL));
	cr_assert(strstr(world_logged(log), "getrandom(2) is refused"));
	RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
}

/* As in a container: what a wrong descriptor is must be found by another way. */
Test(fi_sandboxed, process_vm_readv_is_refused)
{
	static char bytes[64];
	struct fid_mr *mr;
	struct world w;
	int log = world_catch_log("warn");

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_RMA, .mr_mode = FI_MR_LOCAL });
	RC(0, fi_mr_reg(w.domain, bytes, sizeof(bytes), FI_SEND, 0, 7, 0, &mr, NULL));
	if (!sandbox_refuse(SYS_process_vm_readv, EPERM) || !sandbox_refuse(SYS_process_vm_writev, EPERM))
		cr_skip_test("no seccomp filters here");
	world_logged(log);
	RC(-FI_EINVAL, fi_send(w.ep, bytes, sizeof(bytes), mr, w.self, NULL));
	cr_assert(strstr(world_logged(log), "is the struct fid_mr itself"));
	RC(-FI_EINVAL, fi_send(w.ep, bytes, sizeof(bytes), (void *)7, w.self, NULL));
	cr_assert(strstr(world_logged(log), "is an address or a number"));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* An empty root folder, for good. */
static void enter_empty_root(void)
{
	char root[] = "/tmp/emu-root.XXXXXX";

	cr_assert(mkdtemp(root));
	if (chroot(root) || chdir("/")) {
		rmdir(root);
		cr_skip_test("chroot is not permitted here");
	}
}

/* FI_MR_MMU_NOTIFY takes the page tables, which /proc shows; all else goes on without. */
Test(fi_sandboxed, a_chroot_without_proc)
{
	struct want want = { .caps = FI_MSG | FI_RMA, .mr_mode = FI_MR_MMU_NOTIFY };
	static char bytes[64];
	struct fid_mr *mr;
	struct world w;
	int log = world_catch_log("warn");

	setenv("FI_EMU_PERSONALITY", "strict", 1);
	world_open_disabled(&w, &want);
	enter_empty_root();
	world_logged(log);
	RC(-FI_ENOSYS, fi_mr_reg(w.domain, bytes, sizeof(bytes), FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	cr_assert(strstr(world_logged(log), "/proc/self/pagemap cannot be read. Mount /proc, or use FI_EMU_PERSONALITY=lax"));
	world_close(&w);

	want.mr_mode = 0;
	setenv("FI_EMU_PERSONALITY", "lax", 1);
	world_open(&w, &want);
	exercise(&w);
	world_close(&w);
}
