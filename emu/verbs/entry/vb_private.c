/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_private.c - the names of the private nodes, and of IBVERBS_1.0. Not optimised with the rest as one program, which would lose
 * the names that only assembly mentions. */
#include "emu/verbs/entry/vb_private.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/verbs/device/vb_gid.h"

static int absent_call(void)
{
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

static void *absent_pointer(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/* Of libraries that register their drivers when they are loaded, too. */
static uint64_t absent_nothing(void)
{
	return 0;
}

static int absent_file(void)
{
	errno = ENOENT;
	return -1;
}

/* Private, and used by ibv_devinfo, UCX and NCCL all the same. */
static int gid_type(struct ibv_context *context, uint8_t port, unsigned int index, enum vb_gid_type *type)
{
	return vb_query_gid_type(context, port, index, type);
}

static const char *opcode_words(enum ibv_wr_opcode opcode)
{
	return vb_opcode_words(opcode);
}

/* Set by providers that outlive their devices. */
static bool allow_disassociate_destroy;

/* `what` under the name NAME@NODE. */
#define VERSION(what, name, own, node)                                       \
	extern __typeof__(what) own __attribute__((alias(#what))) VB_EXPORT; \
	__asm__(".symver " #own ", " #name node)

#define EACH(what, name)                                          \
	VERSION(what, name, vb_33_##name, "@IBVERBS_PRIVATE_33"); \
	VERSION(what, name, vb_34_##name, "@IBVERBS_PRIVATE_34"); \
	VERSION(what, name, vb_57_##name, "@IBVERBS_PRIVATE_57"); \
	VERSION(what, name, vb_59_##name, "@IBVERBS_PRIVATE_59"); \
	VERSION(what, name, vb_64_##name, "@IBVERBS_PRIVATE_64"); \
	VERSION(what, name, vb_65_##name, "@@IBVERBS_PRIVATE_65");

#define EACH_CALL(name) EACH(absent_call, name)
#define EACH_POINTER(name) EACH(absent_pointer, name)
#define EACH_NOTHING(name) EACH(absent_nothing, name)
VB_PRIVATE_CALLS(EACH_CALL)
VB_PRIVATE_POINTERS(EACH_POINTER)
VB_PRIVATE_NOTHING(EACH_NOTHING)
EACH(absent_file, ibv_read_ibdev_sysfs_file)
EACH(gid_type, ibv_query_gid_type)
EACH(opcode_words, ibv_wr_opcode_str)
EACH(allow_disassociate_destroy, verbs_allow_disassociate_destroy)

#define OLD_CALL(name) VERSION(absent_call, name, vb_1_0_##name, "@IBVERBS_1.0");
#define OLD_POINTER(name) VERSION(absent_pointer, name, vb_1_0_##name, "@IBVERBS_1.0");
#define OLD_NOTHING(name) VERSION(absent_nothing, name, vb_1_0_##name, "@IBVERBS_1.0");
VB_OLD_CALLS(OLD_CALL)
VB_OLD_POINTERS(OLD_POINTER)
VB_OLD_NOTHING(OLD_NOTHING)

VERSION(absent_nothing, verbs_register_driver_33, vb_register_33, "@@IBVERBS_PRIVATE_33");
VERSION(absent_nothing, verbs_register_driver_34, vb_register_34, "@@IBVERBS_PRIVATE_34");
VERSION(absent_nothing, verbs_register_driver_57, vb_register_57, "@@IBVERBS_PRIVATE_57");
VERSION(absent_nothing, verbs_register_driver_59, vb_register_59, "@@IBVERBS_PRIVATE_59");
VERSION(absent_nothing, verbs_register_driver_64, vb_register_64, "@@IBVERBS_PRIVATE_64");
VERSION(absent_nothing, verbs_register_driver_65, vb_register_65, "@@IBVERBS_PRIVATE_65");
VERSION(absent_nothing, ibv_register_driver, vb_register_driver, "@IBVERBS_1.1");
