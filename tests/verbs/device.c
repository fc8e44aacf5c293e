/* SPDX-License-Identifier: BSD-2-Clause */
/* device.c - the list of devices, and opening them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/verbs/world.h"

TestSuite(verbs_device, .timeout = 60);

Test(verbs_device, one_device_is_there_by_default)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	cr_assert_not_null(list);
	cr_assert_eq(count, 1);
	cr_assert_null(list[1]);
	cr_assert_str_eq(ibv_get_device_name(list[0]), "emu0");
	cr_assert_neq(ibv_get_device_guid(list[0]), 0);
	cr_assert_eq(list[0]->node_type, IBV_NODE_CA);
	cr_assert_eq(list[0]->transport_type, IBV_TRANSPORT_IB);
	ibv_free_device_list(list);
}

Test(verbs_device, a_list_without_a_count)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	cr_assert_not_null(list);
	ibv_free_device_list(list);
}

Test(verbs_device, names_of_devices_are_set)
{
	struct ibv_device **list;
	int count;

	setenv("EMU_DEVICES", "mlx5_0,mlx5_1", 1);
	list = ibv_get_device_list(&count);
	cr_assert_eq(count, 2);
	cr_assert_str_eq(ibv_get_device_name(list[0]), "mlx5_0");
	cr_assert_str_eq(ibv_get_device_name(list[1]), "mlx5_1");
	cr_assert_neq(ibv_get_device_guid(list[0]), ibv_get_device_guid(list[1]));
	cr_assert_neq(ibv_get_device_index(list[0]), ibv_get_device_index(list[1]));
	ibv_free_device_list(list);
}

Test(verbs_device, the_number_of_devices_is_set)
{
	struct ibv_device **list;
	int count;

	setenv("EMU_DEVICES", "3", 1);
	list = ibv_get_device_list(&count);
	cr_assert_eq(count, 3);
	cr_assert_str_eq(ibv_get_device_name(list[2]), "emu2");
	ibv_free_device_list(list);
}

static int devices_of(const char *setting)
{
	struct ibv_device **list;
	int count = 0;

	setenv("EMU_DEVICES", setting, 1);
	errno = 0;
	list = ibv_get_device_list(&count);
	cr_assert_eq(!list, errno == EINVAL);
	ibv_free_device_list(list);
	return list ? count : -1;
}

/* What is refused leaves no list behind: the next setting is looked at as the first one was. */
Test(verbs_device, names_and_numbers_that_are_too_large)
{
	char name[IBV_SYSFS_NAME_MAX + 1] = "";

	said_begin();
	cr_assert_eq(devices_of("17"), -1);
	cr_assert_eq(devices_of("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"), -1);
	cr_assert_eq(devices_of("a/b"), -1);
	memset(name, 'x', IBV_SYSFS_NAME_MAX);
	cr_assert_eq(devices_of(name), -1);
	cr_assert(said_has("in EMU_DEVICES cannot be a device's name") && said_has("more than 16 devices"));
	name[IBV_SYSFS_NAME_MAX - 1] = '\0';
	cr_assert_eq(devices_of(name), 1);
}

Test(verbs_device, as_many_as_there_may_be)
{
	cr_assert_eq(devices_of("16"), 16);
}

Test(verbs_device, as_many_names_as_there_may_be)
{
	cr_assert_eq(devices_of("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"), 16);
}

Test(verbs_device, a_setting_that_names_no_devices_is_told)
{
	int count = 7;

	setenv("EMU_DEVICES", "emu0,,emu1", 1);
	said_begin();
	errno = 0;
	cr_assert_null(ibv_get_device_list(&count));
	cr_assert_eq(errno, EINVAL);
	cr_assert_eq(count, 0);
	cr_assert(said_has("EMU_DEVICES"));
}

Test(verbs_device, no_devices)
{
	struct ibv_device **list;
	int count = 7;

	setenv("EMU_DEVICES", "0", 1);
	list = ibv_get_device_list(&count);
	cr_assert_not_null(list);
	cr_assert_eq(count, 0);
	cr_assert_null(list[0]);
	ibv_free_device_list(list);
}

Test(verbs_device, opens_more_than_once)
{
	struct verbs one, two;

	verbs_open(&one);
	verbs_open(&two);
	cr_assert_neq(one.context, two.context);
	cr_assert_geq(one.context->async_fd, 0);
	cr_assert_geq(one.context->num_comp_vectors, 1);
	verbs_close(&one);
	verbs_close(&two);
}

Test(verbs_device, stays_open_after_the_list_is_freed)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);

	cr_assert_not_null(context);
	ibv_free_device_list(list);
	cr_assert_str_eq(ibv_get_device_name(context->device), "emu0");
	cr_assert_eq(ibv_close_device(context), 0);
}

Test(verbs_device, words)
{
	cr_assert_str_eq(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
	cr_assert_str_eq(ibv_wc_status_str((enum ibv_wc_status)99), "unknown");
	cr_assert_str_eq(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
	cr_assert_str_eq(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
	cr_assert_str_eq(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	cr_assert_str_eq(ibv_event_type_str(IBV_EVENT_GID_CHANGE), "GID table change");
}

Test(verbs_device, rates)
{
	cr_assert_eq(ibv_rate_to_mult(IBV_RATE_40_GBPS), 16);
	cr_assert_eq(mult_to_ibv_rate(16), IBV_RATE_40_GBPS);
	cr_assert_eq(ibv_rate_to_mult(IBV_RATE_MAX), -1);
	cr_assert_eq(mult_to_ibv_rate(0), IBV_RATE_MAX);
	cr_assert_eq(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	cr_assert_eq(mbps_to_ibv_rate(103125), IBV_RATE_100_GBPS);
	cr_assert_eq(mbps_to_ibv_rate(1), IBV_RATE_MAX);
}

Test(verbs_device, forks_need_nothing)
{
	cr_assert_eq(ibv_fork_init(), 0);
	cr_assert_eq(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

/* A program may look at its devices, and then fork: a child opens the NIC that it needs. */
Test(verbs_device, a_child_of_a_fork_goes_on_with_an_open_device)
{
	static char bytes[100];
	struct verbs verbs;
	pid_t child;
	int status;

	verbs_open(&verbs);
	child = fork();
	if (!child) {
		struct ibv_mr *mr = ibv_reg_mr(verbs.pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);

		_exit(!mr || ibv_dereg_mr(mr) || ibv_dealloc_pd(verbs.pd) || ibv_close_device(verbs.context));
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", (unsigned)status);
	verbs_close(&verbs);
}

Test(verbs_device, one_interface_is_asked_for)
{
	struct ibv_gid_entry entries[8];
	struct verbs verbs;

	setenv("FI_EMU_IFACE", "127.0.0.1", 1);
	verbs_open(&verbs);
	cr_assert_eq(ibv_query_gid_table(verbs.context, entries, 8, 0), 1);
	cr_assert_eq(entries[0].gid.raw[12], 127);
	verbs_close(&verbs);
}

/* Behind an address translation, peers dial another address than the interface has. */
Test(verbs_device, an_advertised_address_is_a_gid)
{
	static const uint8_t known[16] = { [10] = 0xff, [11] = 0xff, [12] = 203, [13] = 0, [14] = 113, [15] = 9 };
	struct ibv_gid_entry entries[64];
	struct verbs verbs;
	ssize_t count;
	int found = 0, others = 0;

	setenv("FI_EMU_ADVERTISE", "203.0.113.9", 1);
	verbs_open(&verbs);
	count = ibv_query_gid_table(verbs.context, entries, 64, 0);
	for (ssize_t i = 0; i < count; i++) {
		found += !memcmp(entries[i].gid.raw, known, sizeof(known));
		others += entries[i].gid.raw[10] == 0xff && entries[i].gid.raw[12] != 127;
	}
	if (!others) /* this machine has loopback alone */
		cr_skip_test("no interface has an IPv4 address");
	cr_assert_eq(found, 1);
	verbs_close(&verbs);
}

Test(verbs_device, a_wrong_setting_lets_no_device_be_opened)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	setenv("FI_EMU_PORTS", "many", 1);
	said_begin();
	errno = 0;
	cr_assert_null(ibv_open_device(list[0]));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has("FI_EMU_PORTS"));
	ibv_free_device_list(list);
}

/* Programs ask so what there is, and skip it. */
Test(verbs_device, calls_that_are_not_built_say_so)
{
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ };
	struct ibv_cq_init_attr_ex fields = { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_CVLAN };
	struct ibv_cq_init_attr_ex flags = { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1 << 9 };
	struct ibv_qp_init_attr raw = { .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_counters_init_attr counters = { 0 };
	struct verbs verbs;

	verbs_open(&verbs);
	said_begin();
	errno = 0;
	cr_assert_null(ibv_create_cq_ex(verbs.context, &fields));
	cr_assert_eq(errno, EOPNOTSUPP);
	errno = 0;
	cr_assert_null(ibv_create_cq_ex(verbs.context, &flags));
	cr_assert_eq(errno, EOPNOTSUPP);
	errno = 0;
	cr_assert_null(ibv_create_qp(verbs.pd, &raw));
	cr_assert_eq(errno, EOPNOTSUPP);
	errno = 0;
	cr_assert_null(ibv_create_wq(verbs.context, &wq));
	cr_assert_eq(errno, EOPNOTSUPP);
	errno = 0;
	cr_assert_null(ibv_create_counters(verbs.context, &counters));
	cr_assert_eq(errno, EOPNOTSUPP);
	cr_assert_not(said_has("emu"), "a question is no warning");
	verbs_close(&verbs);
}

struct opened {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* the first object that needs the NIC */
};

static void *cancelled_opener(void *arg)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct opened *opened = arg;

	pthread_cancel(pthread_self());
	opened->context = ibv_open_device(list[0]);
	opened->pd = ibv_alloc_pd(opened->context);
	opened->cq = ibv_create_cq(opened->context, 1, NULL, NULL, 0);
	ibv_free_device_list(list);
	pthread_testcancel();
	return NULL;
}

static void open_in_cancelled_thread(void)
{
	struct opened opened = { .context = NULL };
	struct verbs verbs;
	pthread_t thread;
	void *result;

	cr_assert_eq(pthread_create(&thread, NULL, cancelled_opener, &opened), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
	cr_assert(opened.context && opened.pd && opened.cq);
	verbs_open(&verbs);
	verbs_close(&verbs);
	cr_assert_eq(ibv_destroy_cq(opened.cq), 0);
	cr_assert_eq(ibv_dealloc_pd(opened.pd), 0);
	cr_assert_eq(ibv_close_device(opened.context), 0);
}

/* A cancelled thread leaves neither half a device behind nor a lock. */
Test(verbs_device, opened_by_a_thread_that_is_cancelled)
{
	open_in_cancelled_thread();
}

/* Nor where settings name files and folders, all of which are opened then. */
Test(verbs_device, opened_with_files_by_a_thread_that_is_cancelled)
{
	char folder[] = "/tmp/emu-device.XXXXXX", secret[64], command[80];
	FILE *file;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(secret, sizeof(secret), "%s/secret", folder);
	cr_assert_not_null(file = fopen(secret, "w"));
	fputs("a secret of more than sixteen bytes", file);
	cr_assert(!fclose(file) && !chmod(secret, 0600));
	setenv("FI_EMU_SECRET_FILE", secret, 1);
	setenv("FI_EMU_TRACE", folder, 1);
	setenv("FI_EMU_REPORT", folder, 1);
	setenv("FI_EMU_CHECK", "1", 1);
	fault_plan("[a]\nfault = event\nevent = PORT_ACTIVE\nafter = 1000s\n");
	open_in_cancelled_thread();
	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}
