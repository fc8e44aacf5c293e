/* SPDX-License-Identifier: BSD-2-Clause */
/* newer.c - programs built with newer or older headers: calls that these do not have, and structures of another length. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/verbs/start/vb_abi.h"
#include "tests/verbs/qp_pair.h"

enum { BYTES = 8192, ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);

static struct verbs verbs;

static void begin(void)
{
	verbs_open(&verbs);
}

static void end(void)
{
	verbs_close(&verbs);
}

TestSuite(verbs_newer, .init = begin, .fini = end, .timeout = 60);

static struct ibv_mr *reg(struct vb_mr_init_attr attr)
{
	errno = 0;
	return ibv_reg_mr_ex(verbs.pd, (struct ibv_mr_init_attr *)&attr);
}

static void registered(struct vb_mr_init_attr attr)
{
	struct ibv_mr *mr = reg(attr);

	cr_assert_not_null(mr);
	cr_assert_eq(mr->length, attr.length);
	cr_assert_eq(mr->addr, attr.comp_mask & VB_MR_INIT_ADDR ? attr.addr : (void *)(uintptr_t)attr.fd_offset);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

static void refused(struct vb_mr_init_attr attr, int err)
{
	cr_assert_null(reg(attr));
	cr_assert_eq(errno, err, "errno is %d", errno);
}

Test(verbs_newer, regions_by_address)
{
	static char bytes[BYTES] __attribute__((aligned(BYTES)));
	struct vb_mr_init_attr attr = { .length = BYTES, .access = ACCESS, .comp_mask = VB_MR_INIT_ADDR, .addr = bytes };

	registered(attr);
	attr.comp_mask |= VB_MR_INIT_IOVA;
	attr.iova = 0x1000;
	registered(attr);
	attr.iova = UINT64_MAX - 1;
	refused(attr, EINVAL);
	attr.access |= IBV_ACCESS_ZERO_BASED; /* then it has no other address */
	registered(attr);
	attr.comp_mask = VB_MR_INIT_ADDR | VB_MR_INIT_FD_OFFSET;
	refused(attr, EINVAL);
	attr.comp_mask = 0;
	refused(attr, EINVAL);
	attr.comp_mask = VB_MR_INIT_ADDR | 1 << 4;
	refused(attr, EOPNOTSUPP);
}

Test(verbs_newer, regions_by_descriptor)
{
	int fd = memfd_create("region", 0);
	struct vb_mr_init_attr attr = { .length = BYTES, .access = ACCESS, .comp_mask = VB_MR_INIT_FD, .fd = fd };

	cr_assert_eq(ftruncate(fd, BYTES), 0);
	registered(attr);
	attr.comp_mask |= VB_MR_INIT_FD_OFFSET;
	attr.fd_offset = 4096;
	refused(attr, EINVAL);
	attr.length = 4096;
	registered(attr);
	attr.comp_mask |= VB_MR_INIT_IOVA;
	attr.iova = 0x4000;
	registered(attr);
	attr.iova = 0x4001;
	refused(attr, EINVAL);
	attr.comp_mask = VB_MR_INIT_FD | VB_MR_INIT_ADDR;
	refused(attr, EINVAL);
	attr.comp_mask = VB_MR_INIT_FD;
	attr.fd = -1;
	refused(attr, EBADF);
	close(fd);
}

Test(verbs_newer, speed_of_the_port)
{
	uint64_t speed = 7;

	cr_assert_eq(ibv_query_port_speed(verbs.context, 2, &speed), EINVAL);
	cr_assert_eq(ibv_query_port_speed(verbs.context, 0, &speed), EINVAL);
	cr_assert_eq(speed, 7);
	cr_assert_eq(ibv_query_port_speed(verbs.context, 1, &speed), 0);
	cr_assert_eq(speed, 1000, "100 Gbit/s, by 100 Mbit/s");
}

/* --- structures: as many bytes as both know, and zeros behind them --- */

enum { FILL = 0x55, MORE = 8 };

static void filled(const char *bytes, size_t known, size_t size)
{
	for (size_t i = known; i < size; i++)
		cr_assert_eq(bytes[i], 0);
	cr_assert_eq(bytes[size], FILL, "nothing behind it is touched");
}

Test(verbs_newer, lengths_of_an_entry_of_the_gid_table)
{
	struct ibv_gid_entry entry;
	char bytes[2 * sizeof(entry) + MORE];

	cr_assert_eq(_ibv_query_gid_ex(verbs.context, 1, 0, &entry, 0, sizeof(entry)), 0);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(_ibv_query_gid_ex(verbs.context, 1, 0, (void *)bytes, 0, sizeof(entry) + MORE), 0);
	cr_assert_eq(memcmp(bytes, &entry, sizeof(entry)), 0);
	filled(bytes, sizeof(entry), sizeof(entry) + MORE);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(_ibv_query_gid_ex(verbs.context, 1, 0, (void *)bytes, 0, sizeof(entry.gid)), 0);
	cr_assert_eq(memcmp(bytes, &entry.gid, sizeof(entry.gid)), 0);
	filled(bytes, sizeof(entry.gid), sizeof(entry.gid));
}

/* Each entry where the program looks for it. */
Test(verbs_newer, length_of_the_gid_table)
{
	struct ibv_gid_entry entries[32];
	char bytes[32 * (sizeof(entries[0]) + MORE) + 1];
	ssize_t count = ibv_query_gid_table(verbs.context, entries, 32, 0);

	cr_assert_geq(count, 1);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(_ibv_query_gid_table(verbs.context, (void *)bytes, (size_t)count, 0, sizeof(entries[0]) + MORE), count);
	for (ssize_t i = 0; i < count; i++)
		cr_assert_eq(memcmp(bytes + (size_t)i * (sizeof(entries[0]) + MORE), &entries[i], sizeof(entries[0])), 0);
	filled(bytes, (size_t)count * (sizeof(entries[0]) + MORE), (size_t)count * (sizeof(entries[0]) + MORE));
	cr_assert_eq(ibv_query_gid_table(verbs.context, entries, (size_t)count - 1, 0), -EINVAL);
}

Test(verbs_newer, lengths_of_what_the_port_is)
{
	struct verbs_context *table = verbs_get_ctx(verbs.context);
	struct ibv_port_attr attr;
	char bytes[2 * sizeof(attr)];

	cr_assert_eq(table->query_port(verbs.context, 1, &attr, sizeof(attr)), 0);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(table->query_port(verbs.context, 1, (void *)bytes, sizeof(attr) + MORE), 0);
	cr_assert_eq(memcmp(bytes, &attr, sizeof(attr)), 0);
	filled(bytes, sizeof(attr) + MORE - 1, sizeof(attr) + MORE);
	memset(bytes, FILL, sizeof(bytes));
	cr_assert_eq(table->query_port(verbs.context, 1, (void *)bytes, 8), 0);
	cr_assert_eq(memcmp(bytes, &attr, 8), 0);
	filled(bytes, 8, 8);
}

/* --- a node that is not there yet --- */

/* A program, and a library that a program loads, linked with a libibverbs.so.1 that has IBVERBS_1.99: $1 is an empty folder. */
static const char build[] = "set -e; cd \"$1\"; "
			    "echo 'int ibv_newer(void) { return 0; }' >stub.c; "
			    "echo 'IBVERBS_1.99 { ibv_newer; };' >map; "
			    "echo 'int ibv_newer(void); int used(void) { return ibv_newer(); }' >used.c; "
			    "echo 'int used(void); int main(void) { return used(); }' >main.c; "
			    "${CC:-cc} -shared -fPIC -Wl,-soname,libibverbs.so.1,--version-script=map -o libibverbs.so.1 stub.c; "
			    "${CC:-cc} -o program main.c used.c libibverbs.so.1; "
			    "${CC:-cc} -shared -fPIC -o used.so used.c libibverbs.so.1";
/* $1 is that folder, $2 has our library. What the program says goes to the file `said` there. */
static const char start[] = "cd \"$1\"; LD_LIBRARY_PATH=\"$2\" timeout 60 ./program >said 2>&1";
static const char message[] = "libibverbs.so.1: version `IBVERBS_1.99' not found (required by ";

/* Of a shell. */
static int status_of(const char *script, const char *first, const char *second)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", script, "sh", first, second, NULL);
		_exit(126);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void works(struct qp_pair *pair, uint64_t wr_id)
{
	qp_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 8, wr_id);
	qp_done(pair, 0, wr_id, IBV_WC_SUCCESS);
}

/* They are refused by the loader, and say which node it is. Queue pairs of another process, and of the one that loads, go on. */
Test(verbs_newer_node, is_told, .timeout = 120)
{
	char folder[] = "/tmp/emu-newer-XXXXXX", path[sizeof(folder) + 16], ours[4096], said[4096];
	struct qp_pair pair;
	ssize_t length;
	Dl_info info;
	int fd, status;

	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	works(&pair, 1);
	cr_assert_neq(dladdr((void *)(uintptr_t)ibv_query_port_speed, &info), 0);
	snprintf(ours, sizeof(ours), "%.*s", (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(status_of(build, folder, NULL), 0);
	cr_assert_eq(status_of(start, folder, folder), 0, "it runs where the node is");
	status = status_of(start, folder, ours);
	cr_assert(status && status != 124, "status %d: 124 is that of a program which hangs", status);
	snprintf(path, sizeof(path), "%s/said", folder);
	fd = open(path, O_RDONLY);
	length = read(fd, said, sizeof(said) - 1);
	close(fd);
	cr_assert_gt(length, 0);
	said[length] = '\0';
	cr_assert_not_null(strstr(said, message), "%s", said);
	works(&pair, 2);
	snprintf(path, sizeof(path), "%s/used.so", folder);
	cr_assert_null(dlopen(path, RTLD_NOW));
	snprintf(said, sizeof(said), "%s", dlerror());
	cr_assert_not_null(strstr(said, message), "%s", said);
	works(&pair, 3);
	cr_assert_eq(status_of("rm -r \"$1\"", folder, NULL), 0);
	qp_pair_close(&pair);
}

/* Programs ask whether the device counts completions, and go on without. */
Test(verbs_newer, no_completion_counters)
{
	static const char *const calls[] = { "_ibv_query_comp_cntr_caps", "ibv_destroy_comp_cntr",  "ibv_set_comp_cntr",
					     "ibv_set_err_comp_cntr",     "ibv_inc_comp_cntr",      "ibv_inc_err_comp_cntr",
					     "ibv_read_comp_cntr",        "ibv_read_err_comp_cntr", "ibv_qp_attach_comp_cntr" };
	struct ibv_counters *(*create)(struct ibv_context *, void *);

	said_begin();
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		int (*call)(void *, uint64_t, uint64_t) = dlsym(RTLD_DEFAULT, calls[i]);

		cr_assert_not_null(call, "%s", calls[i]);
		cr_assert_eq(call(NULL, 0, 0), EOPNOTSUPP, "%s", calls[i]);
	}
	create = dlsym(RTLD_DEFAULT, "ibv_create_comp_cntr");
	cr_assert_not_null(create);
	errno = 0;
	cr_assert_null(create(verbs.context, NULL));
	cr_assert_eq(errno, EOPNOTSUPP);
	cr_assert_not(said_has("emu"), "a question is no warning");
}
