/* SPDX-License-Identifier: BSD-2-Clause */
/* pci.h - names of types for pointers. There is no PCI: a driver of a PCI device does not compile. */
#ifndef EMU_KERNEL_LINUX_PCI_H
#define EMU_KERNEL_LINUX_PCI_H

#include <linux/types.h>

struct pci_dev;
struct device;

#endif
