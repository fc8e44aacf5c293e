/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hmem_config.c - the settings that say which devices there are. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "emu/hmem/hmem_impl.h"

Test(hmem_config, nothing_is_no_devices)
{
	struct hmem_config config;

	cr_assert(hmem_config_read(NULL, NULL, &config));
	cr_assert(hmem_config_read("", NULL, &config));
	for (int i = 0; i < EMU_HMEM_IFACES; i++)
		cr_expect_eq(config.devices[i], 0);
}

Test(hmem_config, a_list)
{
	struct hmem_config config;

	cr_assert(hmem_config_read("cuda:2,synapseai:16", "1", &config));
	cr_expect_eq(config.devices[EMU_HMEM_CUDA], 2);
	cr_expect_eq(config.devices[EMU_HMEM_SYNAPSEAI], 16);
	cr_expect_eq(config.devices[EMU_HMEM_ZE], 0);
	cr_expect_eq(config.size, EMU_HMEM_PAGE);
	cr_assert(hmem_config_read("rocr:1,ze:1,neuron:1", "70000", &config));
	cr_expect_eq(config.devices[EMU_HMEM_ROCR] + config.devices[EMU_HMEM_ZE] + config.devices[EMU_HMEM_NEURON], 3);
	cr_expect_eq(config.size, 2 * EMU_HMEM_PAGE);
}

/* One wrong word leaves no devices at all, and a line says which variable it was. */
Test(hmem_config, wrong_values, .init = cr_redirect_stderr)
{
	static const char *const lists[] = { "cuda",        "cuda:",         "cuda:0",  "cuda:17",
					     "cuda:-1",     "cuda:+1",       "cuda:1,", ",cuda:1",
					     "cuda:1;ze:1", "cuda:1,cuda:1", "gpu:1",   "CUDA:1",
					     "cuda: 1",     "system:1",      "cuda:1 ", "cuda:18446744073709551617" };
	static const char *const sizes[] = { "", "0", "-1", "1k", "1,2", " 1", "99999999999999999999999", "1099511627777" };
	struct hmem_config config;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		cr_expect(!hmem_config_read(lists[i], NULL, &config), "%s", lists[i]);
		cr_expect_eq(config.devices[EMU_HMEM_CUDA], 0, "%s", lists[i]);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		cr_expect(!hmem_config_read("cuda:1", sizes[i], &config), "%s", sizes[i]);
		cr_expect_eq(config.devices[EMU_HMEM_CUDA], 0, "%s", sizes[i]);
	}
}

Test(hmem_config, says_which_variable, .init = cr_redirect_stderr)
{
	struct hmem_config config;

	hmem_config_read("cuda:99", NULL, &config);
	hmem_config_read("cuda:1", "much", &config);
	cr_assert_stderr_eq_str(
		"emu-hmem: FI_EMU_HMEM: \"cuda:99\" is no list of devices such as cuda:2,ze:1: each of cuda, rocr, ze, "
		"neuron and synapseai once at most, with 1 to 16 devices. There are none now\n"
		"emu-hmem: FI_EMU_HMEM_SIZE: \"much\" is no number of bytes from 1 to 1099511627776. There are no devices "
		"now\n");
}

Test(hmem_config, names)
{
	cr_expect_str_eq(emu_hmem_iface_name(EMU_HMEM_CUDA), "cuda");
	cr_expect_str_eq(emu_hmem_iface_name(EMU_HMEM_SYNAPSEAI), "synapseai");
	cr_expect_null(emu_hmem_iface_name(EMU_HMEM_IFACES));
}
