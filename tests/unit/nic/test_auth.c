/* SPDX-License-Identifier: BSD-2-Clause */
/* test_auth.c - what stands for a key, and a peer that has one of several. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/regions/auth_set.h"

Test(auth, proofs)
{
	const char key[] = "job key", other[] = "job kez";

	cr_assert_eq(auth_proof(NULL, 0), 0);
	cr_assert_eq(auth_proof(key, 0), 0);
	cr_assert_neq(auth_proof(key, 1), 0);
	cr_assert_neq(auth_proof(key, 7), auth_proof(other, 7));
	cr_assert_neq(auth_proof(key, 7), auth_proof(key, 6));
	cr_assert_eq(auth_proof(key, 6), auth_proof(other, 6));
	cr_assert(auth_fits(AUTH_STRANGE, AUTH_STRANGE) == false, "nobody has a key that is unknown");
	cr_assert(auth_fits(0, 0) && auth_fits(7, 7) && !auth_fits(7, 0) && !auth_fits(0, 7));
}

/* Each that was asked for, once. */
Test(auth, keys_are_remembered)
{
	uint64_t one = auth_proof("one", 3), two = auth_proof("two", 3);
	uint32_t ones = 0, twos = 0, count = auth_count();

	cr_assert_eq(auth_proof("one", 3), one);
	cr_assert_eq(auth_count(), count);
	for (uint32_t i = 0; i < count; i++) {
		ones += auth_at(i) == one;
		twos += auth_at(i) == two;
	}
	cr_assert(ones == 1 && twos == 1);
}

/* Beyond the limit a key is one that nobody has. */
Test(auth, keys_are_bounded)
{
	uint64_t first = auth_proof("one", 3);
	uint32_t number = 0;

	while (auth_count() < LIMIT_AUTH_KEYS) {
		auth_proof(&number, sizeof(number));
		number++;
	}
	cr_assert_eq(auth_proof("two", 3), AUTH_STRANGE);
	cr_assert_eq(auth_proof("one", 3), first);
}

static struct sockaddr_storage at(const char *address, uint16_t port)
{
	struct sockaddr_storage full = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&full;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	inet_pton(AF_INET, address, &in->sin_addr);
	return full;
}

Test(auth, one_of_several)
{
	const uint64_t proofs[] = { 5, UINT64_MAX, 0 };
	struct sockaddr_storage peer = at("10.0.0.1", 7), port = at("10.0.0.1", 8), host = at("10.0.0.2", 7);
	struct auth_set *any = auth_set_make(proofs, 3, NULL), *one = auth_set_make(proofs, 3, &peer);
	struct auth_set *none = auth_set_make(proofs, 0, NULL);

	cr_assert(auth_set_fits(any, 5, &peer) && auth_set_fits(any, UINT64_MAX, NULL));
	cr_assert_not(auth_set_fits(any, 4, &peer));
	cr_assert_not(auth_set_fits(any, 0, &peer), "who shows none has none");
	cr_assert(auth_set_fits(one, 5, &peer) && auth_set_fits(one, UINT64_MAX, &peer));
	cr_assert_not(auth_set_fits(one, 4, &peer));
	cr_assert_not(auth_set_fits(one, 5, &port));
	cr_assert_not(auth_set_fits(one, 5, &host));
	cr_assert_not(auth_set_fits(one, 5, NULL));
	cr_assert_not(auth_set_fits(none, 5, &peer));
	cr_assert_not(auth_set_fits(none, 0, &peer));
	free(any);
	free(one);
	free(none);
}
