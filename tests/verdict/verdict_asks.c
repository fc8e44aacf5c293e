/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict_asks.c - asks fi_getinfo for a NIC, and ends with a status: verdict_asks CASE [STATUS]
 *   filtered  FI_PROVIDER names another provider
 *   named     the hints name another provider
 *   newer     the version asked for is newer than the library
 *   more      the hints ask for more than is offered
 *   again     as more, then for less, and opens the NIC
 *   lists     asks for the variables of providers alone
 *   child     as more, and its child opens the NIC
 *   helper    opens the NIC, and its child does as more
 * STATUS is that of the process that is started first; of its child it is 0. */
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ask(const char *provider, size_t inject, uint32_t version, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int err;

	if (!hints)
		exit(1);
	hints->caps = FI_MSG;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->tx_attr->inject_size = inject;
	hints->fabric_attr->prov_name = provider ? strdup(provider) : NULL;
	err = fi_getinfo(version, NULL, NULL, 0, hints, info); /* the question */
	fi_freeinfo(hints);
	return err;
}

static void open_nic(struct fi_info *info)
{
	struct fid_fabric *fabric;
	struct fid_domain *domain;

	if (fi_fabric(info->fabric_attr, &fabric, NULL) || fi_domain(fabric, info, &domain, NULL))
		exit(1);
	fi_close(&domain->fid);
	fi_close(&fabric->fid);
	fi_freeinfo(info);
}

static void ask_and_open(void)
{
	struct fi_info *info;

	if (ask(NULL, 0, FI_VERSION(1, 17), &info) == 0)
		open_nic(info);
}

static void ask_in_vain(void)
{
	struct fi_info *info;

	(void)ask(NULL, 1 << 30, FI_VERSION(1, 17), &info);
}

static void with_child(void (*parent)(void), void (*child)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		child();
		exit(0);
	}
	parent();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "more";
	int variables, status = argc > 2 ? atoi(argv[2]) : 0;
	struct fi_param *params;
	struct fi_info *info;

	if (strcmp(what, "filtered") == 0)
		setenv("FI_PROVIDER", "tcp", 1);
	if (strcmp(what, "lists") == 0)
		return fi_getparams(&params, &variables) ? 1 : (fi_freeparams(params), status);
	if (strcmp(what, "child") == 0)
		with_child(ask_in_vain, ask_and_open);
	else if (strcmp(what, "helper") == 0)
		with_child(ask_and_open, ask_in_vain);
	else if (strcmp(what, "more") == 0 || strcmp(what, "again") == 0)
		ask_in_vain();
	else
		(void)ask(strcmp(what, "named") == 0 ? "sockets" : NULL, 0,
			  strcmp(what, "newer") == 0 ? FI_VERSION(99, 0) : FI_VERSION(1, 17), &info);
	if (strcmp(what, "again") == 0)
		ask_and_open();
	return status;
}
