/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem.h - memory of emulated devices, for tests without any: libemu-hmem.so. Programs link it, or load it before they open a
 * domain. FI_EMU_HMEM says which devices there are, as in "cuda:2,ze:1" (default: none), and FI_EMU_HMEM_SIZE the bytes of each
 * (default: 4 GiB).
 *
 * The CPU cannot reach such memory: a program that touches it ends by SIGSEGV, after a line on stderr that says which allocation it
 * was. The calls below reach it, and so does the NIC of libfabric's provider `emu` (fi_mr(3), FI_HMEM).
 *
 * Any thread; no signal handler. Calls return 0 or a negative errno, and then a line on stderr says what was wrong. */
#ifndef EMU_HMEM_H
#define EMU_HMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The numbers of libfabric's enum fi_hmem_iface. */
enum emu_hmem_iface {
	EMU_HMEM_SYSTEM,
	EMU_HMEM_CUDA,
	EMU_HMEM_ROCR,
	EMU_HMEM_ZE,
	EMU_HMEM_NEURON,
	EMU_HMEM_SYNAPSEAI,
	EMU_HMEM_IFACES,
};

/* In the place of a device: memory of the host that the interface's own call has allocated. */
#define EMU_HMEM_HOST (-1)

/* The name of an interface as in FI_EMU_HMEM, such as "cuda"; NULL: there is none of that number. */
const char *emu_hmem_iface_name(unsigned int iface);
/* How many devices the interface has, numbered from 0. */
int emu_hmem_devices(unsigned int iface);

/* Memory is taken from devices in pages of this size. */
#define EMU_HMEM_PAGE 65536

/* Allocates zeroed memory of a device, or of the host (EMU_HMEM_HOST), which the CPU reaches. `size` is from 1 on; *addr begins a
 * page, and nothing else is in the pages of an allocation.
 * -EINVAL, -ENODEV: there is no such device; -ENOMEM: no more room on it; or another errno of the kernel's. */
int emu_hmem_alloc(unsigned int iface, int device, size_t size, void **addr);
/* Frees what emu_hmem_alloc() gave; NULL is allowed. -EINVAL: not the first byte of an allocation, or freed already. */
int emu_hmem_free(void *addr);

/* Copy and set bytes of any memory, the host's included; ranges may overlap. -EFAULT: a range of a device that is not inside one
 * allocation. */
int emu_hmem_copy(void *to, const void *from, size_t length);
int emu_hmem_set(void *to, int byte, size_t length);

struct emu_hmem_info {
	uint32_t iface; /* enum emu_hmem_iface */
	int32_t device; /* or EMU_HMEM_HOST */
	void *base;     /* of the allocation */
	size_t size;    /* as it was asked for */
	void *reach;    /* where NICs find the first byte asked for: bytes of one device all lie equally far from their addresses */
};

/* Tells of the allocation that has these bytes, `length` from 1 on. -ENOENT: they begin in no memory of such devices; -EFAULT: they
 * do, but are not inside one allocation. Prints nothing. */
int emu_hmem_query(const void *addr, size_t length, struct emu_hmem_info *info);

/* Opens a descriptor of the allocation that has this byte, for FI_MR_DMABUF: *offset is the byte's place in it. The caller closes
 * it; the memory stays until then, freed or not. -EINVAL: no byte of an allocation; -EMFILE and its like. */
int emu_hmem_export(const void *addr, int *fd, uint64_t *offset);

/* For NICs, which find the library in programs that have loaded it. */
#define EMU_HMEM_OPS "emu_hmem_ops"
struct emu_hmem_ops {
	size_t size; /* of this structure, as the library knows it */
	const char *(*iface_name)(unsigned int iface);
	int (*devices)(unsigned int iface);
	/* As emu_hmem_query(); and a range may end with a page of the system behind the last byte of its allocation, in the last
	 * EMU_HMEM_PAGE that this has: caches of registrations round to whole pages. */
	int (*query)(const void *addr, size_t length, struct emu_hmem_info *info);
	/* The address that programs know the byte at `reach` by; `reach` itself if no device's byte is reached there. */
	void *(*named)(void *reach);
};
extern const struct emu_hmem_ops emu_hmem_ops;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
