/* SPDX-License-Identifier: BSD-2-Clause */
/* refused.c - a program whose registration is refused; then it runs the command that it is given. */
#include <infiniband/verbs.h>
#include <stdlib.h>

static char bytes[100];

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr(pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE), *none;

	none = ibv_reg_mr(pd, bytes, sizeof(bytes), IBV_ACCESS_REMOTE_WRITE); /* refused here */
	if (argc > 1 && system(argv[1]))
		return 1;
	return none || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_close_device(context);
}
