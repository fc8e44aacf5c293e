/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_context.c - opening and closing a device. */
#include "emu/verbs/device/vb_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>

#include "emu/nic/base/nocancel_file.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/role/driver.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_gid.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/start/vb_nic.h"
#include "emu/verbs/start/vb_refuse.h"

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	return vb_context_open(device, true);
}

struct ibv_context *vb_context_open(struct ibv_device *device, bool recorded)
{
	struct vb_context *context;
	int err = vb_settings_check();

	if (!err)
		err = vb_fault("ibv_open_device", NULL, 0);
	if (err) {
		errno = err;
		return NULL;
	}
	context = calloc(1, sizeof(*context));
	if (!context)
		return vb_refuse_null(ENOMEM, "ibv_open_device", "no memory for an open device.");
	mutex_init(&context->lock);
	atomic_init(&context->users, 1);
	context->abi.size = sizeof(context->abi);
	context->abi.context.device = device;
	context->abi.context.cmd_fd = nocancel_open("/dev/null", O_RDWR | O_CLOEXEC); /* programs dup() it */
	context->abi.context.num_comp_vectors = VB_COMP_VECTORS;
	context->abi.context.abi_compat = (void *)UINTPTR_MAX; /* the extended table lies before it */
	pthread_mutex_init(&context->abi.context.mutex, NULL);
	vb_fill_ops(&context->abi);
	vb_gid_refresh();
	err = vb_events_open(&context->events);
	context->abi.context.async_fd = context->events.fd;
	if (!err) {
		if (recorded)
			context->check = check_opened(
				&(struct check_what){ .name = "device", .end = "ibv_close_device", .outer = 2 });
		vb_contexts_add(context);
		if (fault_is_timed())
			(void)vb_nic_get(context, "ibv_open_device"); /* for its clock; the log has what fails */
		return &context->abi.context;
	}
	vb_refuse(err, "ibv_open_device", "no descriptor for asynchronous events. Raise RLIMIT_NOFILE.");
	if (context->abi.context.cmd_fd >= 0)
		nocancel_close(context->abi.context.cmd_fd);
	free(context);
	errno = err;
	return NULL;
}

int ibv_close_device(struct ibv_context *ibv)
{
	struct vb_context *context = vb_context_of(ibv);

	vb_contexts_remove(context);
	vb_events_close(&context->events);
	if (ibv->cmd_fd >= 0)
		nocancel_close(ibv->cmd_fd);
	ibv->cmd_fd = -1;
	ibv->async_fd = -1;
	check_closed(context->check);
	vb_context_put(context);
	return 0;
}

void vb_context_get(struct vb_context *context)
{
	atomic_fetch_add(&context->users, 1);
}

void vb_context_put(struct vb_context *context)
{
	if (atomic_fetch_sub(&context->users, 1) != 1)
		return;
	vb_events_free(vb_events_drop(&context->events, NULL, NULL));
	if (atomic_load(&context->nic) && net_runs(context->claim))
		vb_nic_end();
	mutex_destroy(&context->lock);
	pthread_mutex_destroy(&context->abi.context.mutex);
	free(context);
}

int vb_count_take(atomic_uint *count, unsigned int most, const char *call, const char *name, const char *limit)
{
	if (atomic_fetch_add(count, 1) < most)
		return 0;
	vb_count_give(count);
	return vb_refuse(ENOMEM, call, "%u %s are open in this process, which is %s. Destroy some.", most, name, limit);
}

int vb_check_handle(const struct vb_context *context, uint32_t handle, uint32_t own, const char *what, const char *call)
{
	if (handle != own)
		return vb_refuse_handle(call, handle, what);
	return vb_context_usable(context) ? 0 : vb_inherited(call);
}

static int refuse_handler(const char *call)
{
	return vb_refuse(EAGAIN, call, "called in a signal handler that has interrupted the device. Call it elsewhere.");
}

int vb_context_enter(const struct vb_context *context, const char *call) UNCHECKED
{
	if (driver_enter(nic_driver(atomic_load(&context->nic))))
		return 0;
	return refuse_handler(call);
}

void vb_context_leave(const struct vb_context *context) UNCHECKED
{
	driver_leave(nic_driver(atomic_load(&context->nic)));
}

int vb_refuse_post(const struct vb_context *context, int err, const char *call)
{
	if (err == EFAULT)
		return vb_refuse(err, call,
				 "the memory of inline data (IBV_SEND_INLINE) cannot be read. Give addresses that are mapped.");
	if (err == EAGAIN && driver_mine(nic_driver(atomic_load(&context->nic))))
		return refuse_handler(call);
	return vb_refuse(ENOMEM, call, "no memory for one more request.");
}

struct nic *vb_nic_get(struct vb_context *context, const char *call)
{
	struct nic *nic = atomic_load_explicit(&context->nic, memory_order_acquire);
	int err = 0;

	if (!nic) {
		mutex_lock(&context->lock);
		nic = atomic_load(&context->nic);
		if (!nic)
			err = vb_nic_start(&nic, &context->claim);
		if (!err)
			atomic_store_explicit(&context->nic, nic, memory_order_release);
		mutex_unlock(&context->lock);
	}
	if (err) {
		errno = err;
		return NULL;
	}
	if (net_runs(context->claim))
		return nic;
	vb_inherited(call);
	return NULL;
}
