/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_avx2_long.c - compiled with -mavx2, called only on such processors. */
#define DIGEST_LONG digest_avx2_long
#include "wire/digest_long.h"
