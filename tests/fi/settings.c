/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.c - variables FI_EMU_* that are misspelt or have a wrong value: said on standard error, which users see without
 * FI_LOG_LEVEL, once a process. */
#include "tests/fi/world.h"

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
	said_once(-FI_ENODATA, "emu: setting timeout_ms: not a number from 1000 to 3600000 (FI_EMU_TIMEOUT_MS)\n");
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
