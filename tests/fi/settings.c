/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.c - variables FI_EMU_* that are misspelt or have a wrong value: said on standard error, which users see without
 * FI_LOG_LEVEL, once a process. */
#include "tests/fi/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int log_fd;

/* Before the provider is loaded. */
static void set(const char *name, const char *value)
{
	log_fd = world_catch_log("warn");
	unsetenv("FI_LOG_LEVEL");
	setenv(name, value, 1);
}

static void said_once(int err, const char *words)
{
	struct fi_info *info;
	const char *text;

	for (int i = 0; i < 3; i++) {
		RC(err, world_getinfo(&(struct want){ 0 }, world_hints(&(struct want){ 0 }), &info));
		if (!err)
			fi_freeinfo(info);
	}
	text = world_logged(log_fd);
	if (!*words)
		cr_expect_str_empty(text);
	else
		cr_expect_str_eq(text, words);
}

Test(fi_settings, misspelt)
{
	set("FI_EMU_PERSONALTY", "lax");
	said_once(0, "emu: FI_EMU_PERSONALTY is no setting of emu, and does nothing. Is FI_EMU_PERSONALITY meant?\n");
}

Test(fi_settings, like_no_other)
{
	set("FI_EMU_SPEED_OF_LIGHT", "1");
	said_once(0, "emu: FI_EMU_SPEED_OF_LIGHT is no setting of emu, and does nothing. fi_info -e lists those that there are.\n");
}

Test(fi_settings, longer_than_any)
{
	char name[4096] = "FI_EMU_";

	memset(name + strlen(name), 'X', sizeof(name) - strlen(name) - 1);
	name[sizeof(name) - 1] = '\0';
	set(name, "1");
	said_once(0, "emu: FI_EMU_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX is no setting of emu, and does "
		     "nothing. fi_info -e lists those that there are.\n");
}

Test(fi_settings, none_of_its_values)
{
	set("FI_EMU_PERSONALITY", "relaxed");
	said_once(-FI_ENODATA, "emu: setting personality: \"relaxed\" is none of its values, which are strict, lax, kfi, kcxi "
			       "(FI_EMU_PERSONALITY)\n");
}

Test(fi_settings, no_number)
{
	set("FI_EMU_TIMEOUT_MS", "soon");
	said_once(-FI_ENODATA, "emu: setting timeout_ms: \"soon\" is not a number from 1000 to 3600000 (FI_EMU_TIMEOUT_MS)\n");
}

/* A number is the whole value, or none. */
static void no_whole_number(const char *name, const char *value)
{
	char says[256];

	snprintf(says, sizeof(says), "\"%s\" is not a number from ", value);
	set(name, value);
	RC(-FI_ENODATA, world_getinfo(&(struct want){ 0 }, world_hints(&(struct want){ 0 }), &(struct fi_info *){ NULL }));
	cr_expect(strstr(world_logged(log_fd), says), "%s", says);
}

Test(fi_settings, an_address_is_no_count)
{
	no_whole_number("FI_EMU_RETRY_CNT", "127.0.0.1");
}

Test(fi_settings, a_power_of_ten_is_no_time)
{
	no_whole_number("FI_EMU_RETRY_MS", "1e400");
}

Test(fi_settings, a_range_is_no_time)
{
	no_whole_number("FI_EMU_TIMEOUT_MS", "47000-46000");
}

Test(fi_settings, a_size_with_a_suffix_is_no_number)
{
	no_whole_number("FI_EMU_UNEXPECTED_BYTES", "64M");
}

Test(fi_settings, more_than_64_bits_are_no_number)
{
	no_whole_number("FI_EMU_TRACE_SIZE", "18446744073709551616");
}

Test(fi_settings, less_than_nothing_is_no_number)
{
	no_whole_number("FI_EMU_DGRAM_SEED", "-1");
}

/* Each setting that is a number, as people write them. */
Test(fi_settings, good_numbers)
{
	set("FI_EMU_RETRY_CNT", "4");
	setenv("FI_EMU_RETRY_MS", "2147483647", 1);
	setenv("FI_EMU_TIMEOUT_MS", "0x2000", 1);
	setenv("FI_EMU_UNEXPECTED_BYTES", "67108864", 1);
	setenv("FI_EMU_TRACE_SIZE", "4294967296", 1);
	setenv("FI_EMU_DGRAM_SEED", "18446744073709551615", 1);
	said_once(0, "");
}

/* A terminal obeys nothing of what is set. */
Test(fi_settings, control_characters_are_shown)
{
	set("FI_EMU_PERSONALITY", "\033[31m\r\xc3\xb6");
	said_once(-FI_ENODATA, "emu: setting personality: \"\\x1b[31m\\x0d\xc3\xb6\" is none of its values, which are strict, lax, "
			       "kfi, kcxi (FI_EMU_PERSONALITY)\n");
}

Test(fi_settings, the_control_sockets_folder_is_no_switch)
{
	set("FI_EMU_CTL", "1");
	said_once(-FI_ENODATA,
		  "emu: setting ctl: \"1\" is neither off nor a folder. It is on unless it is set, and ./1 is a folder "
		  "(FI_EMU_CTL)\n");
}

Test(fi_settings, no_range)
{
	set("FI_EMU_PORTS", "47000");
	said_once(-FI_ENODATA, "emu: setting ports: \"47000\" is no range of ports such as 47000-47999, from 1 to 65535 "
			       "(FI_EMU_PORTS)\n");
}

Test(fi_settings, no_address)
{
	set("FI_EMU_ADVERTISE", "here");
	said_once(-FI_ENODATA, "emu: setting advertise: \"here\" is no address of one host, such as 192.0.2.7 or 2001:db8::7 "
			       "(FI_EMU_ADVERTISE)\n");
}

Test(fi_settings, good_ones_are_silent)
{
	set("FI_EMU_PERSONALITY", "lax");
	setenv("FI_EMU_RETRY_CNT", "4", 1);
	said_once(0, "");
}

/* Where the log shows warnings it is said there. */
Test(fi_settings, in_the_log)
{
	struct fi_info *info;

	set("FI_EMU_DIGSET", "full");
	setenv("FI_LOG_LEVEL", "warn", 1);
	RC(0, world_getinfo(&(struct want){ 0 }, world_hints(&(struct want){ 0 }), &info));
	cr_expect(strstr(world_logged(log_fd), "<warn> FI_EMU_DIGSET is no setting of emu, and does nothing. Is "
					       "FI_EMU_DIGEST meant?"));
	fi_freeinfo(info);
}
