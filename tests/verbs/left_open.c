/* SPDX-License-Identifier: BSD-2-Clause */
/* left_open.c - a program that ends without destroying what it has made: left_open [destroy], which does. */
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 14 };

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_cq *cq = ibv_create_cq(context, 10, NULL, NULL, 0); /* queue here */
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1 };
	struct ibv_ah *ah;
	int status;

	if (ibv_query_gid(context, 1, 0, &way.grh.dgid))
		return 1;
	ah = ibv_create_ah(pd, &way);
	if (!cq || !mr || !mw || !ah)
		return 1;
	if (fork() == 0) /* it has made nothing */
		return 0;
	if (wait(&status) < 0 || status)
		return 1;
	munmap(memory, BYTES);
	if (argc > 1 && argv[1])
		return ibv_destroy_cq(cq) || ibv_destroy_ah(ah) || ibv_dealloc_mw(mw) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) ||
		       ibv_close_device(context);
	return 0;
}
