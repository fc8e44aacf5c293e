/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus_say.c - steps, outcomes, lines and the table. */
#include "tools/litmus/litmus_say.h"

const char *const litmus_orders[ORDERS] = { "strong", "rc", "weak" };

/* As a step is written: w the variable's side and name, v the value, r the register, n the number of a step, b a side. */
static const char *const verbs[VERBS] = {
	[WRITE] = "write w=v",
	[READ] = "read w to r",
	[PUT] = "atomic write w=v",
	[ADD] = "atomic w+=1",
	[FETCH] = "atomic read w to r",
	[FETCH_ADD] = "atomic w+=1, old to r",
	[SEND] = "send v to b",
	[RECEIVE] = "receive w",
	[WAIT] = "wait for n",
	[TOLD] = "wait for CQ data",
	[COUNT] = "wait for v in the counter",
	[MET] = "wait for v in the counter of writes",
	[POLL] = "poll w",
	[LOOK] = "load w to r",
	[STORE] = "store w=v",
	[REUSE] = "change the source of n",
	[PAUSE] = "pause",
	[TELL] = "signal",
	[HEAR] = "wait for the signal",
	[PEEK] = "peek w to r",
};

static const struct {
	uint64_t flag;
	const char *name;
} flags[] = {
	{ FI_INJECT_COMPLETE, "INJECT_COMPLETE" },     { FI_TRANSMIT_COMPLETE, "TRANSMIT_COMPLETE" },
	{ FI_DELIVERY_COMPLETE, "DELIVERY_COMPLETE" }, { FI_MATCH_COMPLETE, "MATCH_COMPLETE" },
	{ FI_COMMIT_COMPLETE, "COMMIT_COMPLETE" },     { FI_FENCE, "FENCE" },
	{ FI_REMOTE_CQ_DATA, "REMOTE_CQ_DATA" },       { FI_INJECT, "INJECT" },
};

static char side_name(unsigned side)
{
	return (char)('A' + side);
}

static char var_name(enum var var)
{
	return (char)('x' + var);
}

bool litmus_forbids(const struct litmus *test, uint64_t told)
{
	return test->rule == FORBIDDEN || (test->rule == BY_ORDER && (told & test->asks) == test->asks);
}

bool litmus_shows(const struct litmus *test, unsigned order, uint64_t told)
{
	return !litmus_forbids(test, told) && test->shows & 1u << order;
}

static bool own_memory(enum verb verb)
{
	return verb == RECEIVE || verb == POLL || verb == LOOK || verb == STORE;
}

static void say_step(unsigned side, const struct step *step)
{
	unsigned where = own_memory(step->verb) ? side : step->to;

	for (const char *at = verbs[step->verb]; *at; at++) {
		bool alone = (at == verbs[step->verb] || at[-1] == ' ' || at[-1] == '=') && !(at[1] >= 'a' && at[1] <= 'z');

		if (alone && *at == 'w')
			printf("%c.%c", side_name(where), var_name(step->var));
		else if (alone && *at == 'v')
			printf("%u", step->value);
		else if (alone && *at == 'r')
			printf("r%u", step->value);
		else if (alone && *at == 'n')
			printf("%c%u", side_name(side), step->value + 1u);
		else if (alone && *at == 'b')
			putchar(side_name(step->to));
		else
			putchar(*at);
	}
	if (step->ep)
		printf(" by another endpoint");
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (step->flags & flags[i].flag)
			printf(" %s", flags[i].name);
}

/* A side without steps of its own has a pause, as each has something to do. */
static bool only_looks_on(const struct step *steps)
{
	return steps[0].verb == PAUSE && !steps[1].verb;
}

static void say_steps(const struct litmus *test, const char *between)
{
	for (unsigned s = 0; s < SIDES && test->steps[s][0].verb; s++) {
		if (only_looks_on(test->steps[s]))
			continue;
		printf("%s%c: ", s ? between : "", side_name(s));
		for (unsigned i = 0; i < STEPS && test->steps[s][i].verb; i++) {
			printf("%s", i ? "; " : "");
			say_step(s, &test->steps[s][i]);
		}
	}
}

static void say_seen(const struct litmus *test, const struct seen *seen, unsigned value)
{
	static const char *const longs[VALUES] = { "old", "new", "mixed", "torn" };
	char first[4] = { side_name(seen->side), (char)('0' + seen->index) };
	char second[4] = { side_name(seen->side), (char)('1' + seen->index) };

	if (seen->what == AN_END)
		printf("%s before %s", value ? second : first, value ? first : second);
	else if (seen->what == A_REGISTER && litmus_is_long(test, seen->index))
		printf("r%u=%s", seen->index, longs[value]);
	else if (seen->what == A_REGISTER)
		printf("r%u=%u", seen->index, value);
	else
		printf("%c.%c=%u", side_name(seen->side), var_name(seen->index), value);
}

static void say_state(const struct litmus *test, unsigned state)
{
	unsigned seen = 0, value[SEEN];

	while (seen < SEEN && test->seen[seen].what)
		seen++;
	for (unsigned i = seen; i-- > 0; state /= VALUES)
		value[i] = state % VALUES;
	for (unsigned i = 0; i < seen; i++) {
		printf("%s", i ? " " : "");
		say_seen(test, &test->seen[i], value[i]);
	}
}

void litmus_say_tally(const struct litmus *test, bool asked, unsigned order, const struct tally *tally)
{
	unsigned outcome = litmus_outcome(test);
	bool forbidden = litmus_forbids(test, tally->told), seen = tally->count[outcome];
	const char *verdict = "ok";

	if (forbidden && seen)
		verdict = "FORBIDDEN SEEN";
	else if (!seen && litmus_shows(test, order, tally->told))
		verdict = "not seen";
	printf("%-15s %-5s %-6s %-9s %-8s %-8s ", test->name, asked ? "asked" : "-", litmus_orders[order],
	       forbidden ? "forbidden" : "allowed", seen ? "seen" : "unseen", verdict);
	say_state(test, outcome);
	printf(": %llu", (unsigned long long)tally->count[outcome]);
	for (unsigned state = 0; state < STATES; state++) {
		if (state == outcome || !tally->count[state])
			continue;
		printf(", ");
		say_state(test, state);
		printf(": %llu", (unsigned long long)tally->count[state]);
	}
	printf("  [%s]\n", test->source);
}

void litmus_say_test(const struct litmus *test)
{
	printf("%s  %s\n  ", test->name, test->about);
	say_steps(test, "\n  ");
	printf("\n  ");
	say_state(test, litmus_outcome(test));
	printf("  [%s]\n", test->source);
}

static const char *cell(const struct litmus *test, unsigned order)
{
	if (test->rule == FORBIDDEN)
		return "never";
	if (litmus_shows(test, order, 0))
		return test->rule == BY_ORDER ? "**seen**, unless asked" : "**seen**";
	return test->rule == BY_ORDER ? "allowed, unless asked" : "allowed";
}

void litmus_say_table(void)
{
	printf("| test | sides | outcome | strong | rc | weak | source |\n| --- | --- | --- | --- | --- | --- | --- |\n");
	for (const struct litmus *test = litmus_table; test < litmus_table + litmus_count; test++) {
		printf("| %s | ", test->name);
		say_steps(test, "<br>");
		printf(" | ");
		say_state(test, litmus_outcome(test));
		printf(": %s |", test->about);
		for (unsigned order = 0; order < ORDERS; order++)
			printf(" %s |", cell(test, order));
		printf(" %s |\n", test->source);
	}
}
