/* SPDX-License-Identifier: BSD-2-Clause */
/* test_net_end.c - the last user leaves while closed lines have bytes on the way: others may come and go meanwhile. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "emu/net/link/tcp.h"
#include "emu/net/thread/net.h"
#include "tests/unit/net/fake.h"

/* Of the thread that ends: so often there are bytes on the way, and what happens while it waits. */
static _Thread_local int on_the_way;
static _Thread_local void (*meanwhile)(void);

bool __real_tcp_tick(struct tcp *tcp);
bool __wrap_tcp_tick(struct tcp *tcp);
int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

bool __wrap_tcp_tick(struct tcp *tcp)
{
	bool more = __real_tcp_tick(tcp);

	return on_the_way > 0 ? on_the_way-- : more;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	void (*call)(void) = meanwhile;

	meanwhile = NULL;
	if (call)
		call();
	return __real_nanosleep(time, left);
}

static bool thread_is_there(void)
{
	bool there = false;
	glob_t tasks;

	cr_assert_eq(glob("/proc/self/task/*/comm", 0, NULL, &tasks), 0);
	for (size_t i = 0; i < tasks.gl_pathc; i++) {
		FILE *file = fopen(tasks.gl_pathv[i], "r");
		char name[32] = "";

		there |= file && fgets(name, sizeof(name), file) && !strcmp(name, "emu-nic\n");
		if (file)
			fclose(file);
	}
	globfree(&tasks);
	return there;
}

static const struct net_config config;
static struct nic *nic;

static void begin(void)
{
	cr_assert_eq(net_start(&nic, &config), 0); /* never returns if the lock is held */
}

static void begin_and_end(void)
{
	begin();
	net_end();
}

static void end_while(void (*call)(void))
{
	on_the_way = 3;
	meanwhile = call;
	net_end();
	cr_assert_null(meanwhile, "it has waited");
}

Test(net_end, a_user_that_comes_meanwhile_stays)
{
	begin();
	end_while(begin);
	cr_assert(thread_is_there());
	net_end();
}

Test(net_end, a_user_comes_and_goes_meanwhile)
{
	begin();
	end_while(begin_and_end);
	begin();
	net_end();
}
