/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_avx2.c - payload digests for x86-64 processors with AVX2; compiled with -mavx2, called only on such. */
#define DIGEST_KERNEL digest_avx2
#include "wire/digest_kernel.h"
