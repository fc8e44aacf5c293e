/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_base.c - payload digests with the instructions that every processor of the architecture has. */
#define DIGEST_KERNEL digest_base
#include "wire/digest_kernel.h"
