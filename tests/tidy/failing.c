/* SPDX-License-Identifier: BSD-2-Clause */
/* failing.c - tests that end in every way there is, for runner.sh beside it to look at what is told of them. */
#include <signal.h>
#include <unistd.h>

#include <criterion/criterion.h>

Test(failing, passes)
{
	cr_assert(true);
}

Test(failing, says_why)
{
	cr_assert(false, "the key is\nof another region");
}

Test(failing, says_what)
{
	int keys = 3;

	cr_assert(keys == 4);
}

Test(failing, says_both)
{
	cr_expect(false, "first");
	cr_assert(false, "second");
}

Test(failing, dies)
{
	raise(SIGSEGV);
}

Test(failing, leaves)
{
	_exit(53);
}

Test(failing, hangs, .timeout = 1)
{
	for (;;)
		pause();
}

Test(failing, is_skipped)
{
	cr_skip_test("no such thing here");
}
