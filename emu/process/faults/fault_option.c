/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_option.c - options of a fault plan's rules: names, values, and which go with which fault. */
#include "emu/process/faults/fault_option.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "emu/process/front/process_front.h"
#include "emu/process/settings/setting_read.h"
#include "emu/nic/base/address.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/regions/refusal_name.h"

enum {
	MESSAGES = 1 << OP_SEND,
	WRITES = 1 << OP_WRITE,
	READS = 1 << OP_READ,
	ATOMICS = 1 << OP_ATOMIC,
	REGIONS = WRITES | READS | ATOMICS
};
#define A_TIME "a whole number with us, ms or s, an hour at most, such as 20ms"

/* Causes of ops that were not executed, and the kinds of ops that can have them. */
static const struct fault_cause {
	enum refusal_cause cause;
	uint32_t kinds;
} causes[] = {
	{ REFUSAL_UNKNOWN_KEY, REGIONS },
	{ REFUSAL_CLOSED, REGIONS },
	{ REFUSAL_RIGHT, REGIONS },
	{ REFUSAL_RANGE, REGIONS },
	{ REFUSAL_WRAP, REGIONS },
	{ REFUSAL_NOT_BACKED, REGIONS },
	{ REFUSAL_DISABLED, REGIONS },
	{ REFUSAL_OTHER_ENDPOINT, REGIONS },
	{ REFUSAL_AUTH, FAULT_ALL_KINDS },
	{ REFUSAL_SPENT, REGIONS },
	{ REFUSAL_REFRESHING, REGIONS },
	{ REFUSAL_PAGE_UNKNOWN, REGIONS },
	{ REFUSAL_RESOURCE, FAULT_ALL_KINDS },
	{ REFUSAL_CAPABILITY, FAULT_ALL_KINDS },
	{ REFUSAL_NOT_PERSISTENT, WRITES | ATOMICS },
	{ REFUSAL_REGISTERING, REGIONS },
	{ REFUSAL_ATOMIC, ATOMICS },
	{ REFUSAL_MESSAGE_LONG, MESSAGES },
	{ REFUSAL_MISALIGNED, ATOMICS },
	{ REFUSAL_INVALIDATED, REGIONS },
	{ REFUSAL_NO_REGION, MESSAGES },
	{ REFUSAL_NO_READS, READS | ATOMICS },
	{ REFUSAL_NO_SRX, FAULT_ALL_KINDS },
};
enum { CAUSES = sizeof(causes) / sizeof(causes[0]) };

static const char *option_read_fault(const char *value, struct fault_rule *rule)
{
	static const char *const names[PLAN_SORTS] = {
		[PLAN_REFUSE] = "refuse",       [PLAN_RNR] = "rnr",         [PLAN_CUT] = "cut",
		[PLAN_HOLD] = "hold",           [PLAN_LATENCY] = "latency", [PLAN_COMPLETION] = "completion",
		[PLAN_REORDER] = "reorder",     [PLAN_LOSE] = "lose",       [PLAN_REGISTER] = "register",
		[PLAN_BANDWIDTH] = "bandwidth", [PLAN_QUEUE] = "queue",     [PLAN_THREAD] = "thread",
		[PLAN_CALL] = "call",           [PLAN_FAIL] = "fail",       [PLAN_EVENT] = "event",
		[PLAN_UNPLUGGED] = "unplugged", [PLAN_CM] = "cm",           [PLAN_FULL] = "full",
	};

	for (int i = 0; i < PLAN_SORTS; i++) {
		if (!strcmp(names[i], value)) {
			rule->sort = (enum fault_sort)i;
			return NULL;
		}
	}
	return "a fault";
}

/* Cuts a port off `host`: "host:port", "[host]:port", or none. An IPv6 address has colons of its own. */
static bool split_port(char *host, uint64_t *port)
{
	char *end = strrchr(host, ':');

	*port = 0;
	if (*host == '[') {
		char *closing = strchr(host, ']');

		if (!closing)
			return false;
		end = closing[1] ? closing + 1 : NULL;
		*closing = '\0';
		if (!end)
			return true;
		if (*end != ':')
			return false;
	} else if (!end || strchr(host, ':') != end) {
		return true;
	}
	*end = '\0';
	return parse_whole(end + 1, port) && *port > 0 && *port <= UINT16_MAX;
}

static const char *read_peer(const char *value, struct fault_rule *rule)
{
	static const char *const wanted = "an IPv4 or IPv6 address, perhaps with a port";
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	char text[FAULT_WORD_MAX], *host = text;
	uint64_t port;

	if (strlen(value) >= sizeof(text))
		return wanted;
	strcpy(text, value);
	if (!split_port(text, &port))
		return wanted;
	host += *host == '[';
	v4.sin_port = v6.sin6_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
		return address_canonical((struct sockaddr *)&v4, &rule->peer) ? NULL : wanted;
	if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1)
		return address_canonical((struct sockaddr *)&v6, &rule->peer) ? NULL : wanted;
	return wanted;
}

static const char *read_op(const char *value, struct fault_rule *rule)
{
	static const char receives[] = "recv", wanted[] = "a list of send, write, read, atomic, recv";
	uint32_t kinds = 0;

	while (*value) {
		size_t length = strcspn(value, ", ");
		uint32_t kind = 0;

		for (unsigned int i = 0; i <= FAULT_RECEIVES; i++) {
			const char *name = i == FAULT_RECEIVES ? receives : op_kind_name(i);

			if (strlen(name) == length && !strncmp(name, value, length))
				kind = 1u << i;
		}
		if (!kind)
			return wanted;
		kinds |= kind;
		value += length;
		value += strspn(value, ", ");
	}
	rule->kinds = kinds;
	return kinds ? NULL : wanted;
}

static const char *read_key(const char *value, struct fault_rule *rule)
{
	rule->keyed = true;
	return parse_whole(value, &rule->key) ? NULL : "a number, such as 42 or 0x2a";
}

static const char *read_positive(const char *value, uint64_t *number)
{
	uint64_t got;

	if (!parse_whole(value, &got) || !got)
		return "a positive number";
	*number = got;
	return NULL;
}

static const char *read_first(const char *value, struct fault_rule *rule)
{
	return read_positive(value, &rule->first);
}

static const char *read_every(const char *value, struct fault_rule *rule)
{
	return read_positive(value, &rule->every);
}

static const char *read_most(const char *value, struct fault_rule *rule)
{
	return read_positive(value, &rule->most);
}

static const char *read_chance(const char *value, struct fault_rule *rule)
{
	return parse_rate(value, &rule->chance) ? NULL : "a number from 0 to 1, such as 0.01";
}

static const char *read_cause(const char *value, struct fault_rule *rule)
{
	for (int i = 0; i < CAUSES; i++) {
		if (!strcmp(refusal_name(causes[i].cause), value)) {
			rule->cause = causes[i].cause;
			return NULL;
		}
	}
	return "a cause";
}

static const char *read_times(const char *value, struct fault_rule *rule)
{
	uint64_t times;

	if (read_positive(value, &times) || times > UINT32_MAX)
		return "a positive number below 2^32";
	rule->times = (uint32_t)times;
	return NULL;
}

static const char *read_when(const char *value, struct fault_rule *rule)
{
	rule->before = !strcmp(value, "before");
	return rule->before || !strcmp(value, "after") ? NULL : "before or after";
}

static const char *read_down(const char *value, struct fault_rule *rule)
{
	return parse_time(value, &rule->down_ns) ? NULL : A_TIME;
}

static const char *read_wait(const char *value, struct fault_rule *rule)
{
	return parse_time(value, &rule->wait_ns) ? NULL : A_TIME;
}

static const char *read_jitter(const char *value, struct fault_rule *rule)
{
	return parse_time(value, &rule->jitter_ns) ? NULL : A_TIME;
}

/* An errno by its name, as ENOMEM. Numbers above those of the system are the front end's own. */
static const char *read_error(const char *value, struct fault_rule *rule)
{
	enum { ERRNO_MAX = 133 };

	for (int err = 1; err <= ERRNO_MAX; err++) {
		const char *name = strerrorname_np(err);

		if (name && !strcmp(name, value)) {
			rule->err = err;
			return NULL;
		}
	}
	return "the name of an error, such as ENOMEM";
}

static const char *read_rate(const char *value, struct fault_rule *rule)
{
	return read_positive(value, &rule->rate);
}

static const char *read_entries(const char *value, struct fault_rule *rule)
{
	return read_positive(value, &rule->entries);
}

/* --- what the front end has names for; under one that has none any word will do, as it is for another library --- */

int fault_word(const char *words, const char *prefix, const char *word)
{
	size_t cut = strncmp(word, prefix, strlen(prefix)) ? 0 : strlen(prefix), length = strlen(word + cut);
	int number = 0;

	for (; length; number++) {
		size_t next = strcspn(words, " ");

		if (next == length && !strncmp(words, word + cut, length))
			return number;
		if (!words[next])
			break;
		words += next + 1;
	}
	return -1;
}

const char *fault_word_at(const char *words, uint32_t number, char name[FAULT_WORD_MAX])
{
	while (number--)
		words = strchr(words, ' ') + 1;
	snprintf(name, FAULT_WORD_MAX, "%.*s", (int)strcspn(words, " "), words);
	return name;
}

static const char *read_calls(const char *value, struct fault_rule *rule)
{
	const struct process_faults *faults = process_front.faults;
	char word[FAULT_WORD_MAX];
	uint64_t calls = 0;

	for (; faults && *value; value += strspn(value, ", ")) {
		size_t length = strcspn(value, ", ");
		int call;

		snprintf(word, sizeof(word), "%.*s", (int)length, value);
		call = fault_word(faults->calls, "", word);
		if (call < 0)
			return "a list of calls that can fail";
		calls |= UINT64_C(1) << call;
		value += length;
	}
	rule->called = true;
	rule->calls = calls;
	return faults && !calls ? "a list of calls that can fail" : NULL;
}

static const char *read_qp(const char *value, struct fault_rule *rule)
{
	return read_positive(value, &rule->qp);
}

static const char *read_cq(const char *value, struct fault_rule *rule)
{
	return read_positive(value, &rule->cq);
}

static const char *read_status(const char *value, struct fault_rule *rule)
{
	const struct process_faults *faults = process_front.faults;
	int status = faults ? fault_word(faults->statuses, faults->status_prefix, value) : 0;

	rule->word = (uint32_t)status;
	return status < 0 || (faults && !status) ? "a status of a failure" : NULL;
}

bool fault_event_find(const char *name, uint32_t *event)
{
	const struct process_faults *faults = process_front.faults;
	int found = faults ? fault_word(faults->events, faults->event_prefix, name) : -1;

	*event = (uint32_t)found;
	return found >= 0;
}

/* Which of the two is meant the fault says, which may stand behind it. */
static const char *read_event_name(const char *value, struct fault_rule *rule)
{
	const struct process_faults *faults = process_front.faults;

	rule->injects = fault_event_find(value, &rule->word);
	rule->cm_event = faults ? fault_word(faults->cm_events, faults->cm_prefix, value) : 0;
	return rule->injects || rule->cm_event >= 0 ? NULL : "an event that can be injected, or one of rdma_cm";
}

static const char *read_becomes(const char *value, struct fault_rule *rule)
{
	const struct process_faults *faults = process_front.faults;
	int event = faults ? fault_word(faults->cm_events, faults->cm_prefix, value) : 0;

	if (!strcmp(value, "nothing"))
		rule->becomes = FAULT_CM_NOTHING;
	else if (event >= 0)
		rule->becomes = FAULT_CM_FIRST + (uint32_t)event;
	return rule->becomes == FAULT_CM_ITSELF ? "an event of rdma_cm, or nothing" : NULL;
}

static const char *read_reason(const char *value, struct fault_rule *rule)
{
	uint64_t reason;

	if (read_positive(value, &reason) || reason > UINT16_MAX)
		return "a positive number below 65536, such as 28";
	rule->reason = (uint32_t)reason;
	return NULL;
}

static const char *read_after(const char *value, struct fault_rule *rule)
{
	rule->timed = true;
	return parse_time(value, &rule->after_ns) ? NULL : A_TIME;
}

/* Sorts of faults, a bit each. */
enum {
	REFUSING = 1 << PLAN_REFUSE,
	UNREADY = 1 << PLAN_RNR,
	CUT = 1 << PLAN_CUT,
	LATE = 1 << PLAN_HOLD | 1 << PLAN_LATENCY | 1 << PLAN_COMPLETION | 1 << PLAN_REORDER,
	REGISTERING = 1 << PLAN_REGISTER,
	SLOW = 1 << PLAN_BANDWIDTH,
	SMALL = 1 << PLAN_QUEUE,
	STARVED = 1 << PLAN_THREAD,
	FULL = 1 << PLAN_FULL,
	CALLING = 1 << PLAN_CALL,
	FAILING = 1 << PLAN_FAIL,
	TELLING = 1 << PLAN_EVENT,
	LOSING = 1 << PLAN_LOSE,
	MEETING = 1 << PLAN_CM,
	OPS = REFUSING | UNREADY | CUT | LATE | LOSING,
	NUMBERED = OPS | FULL | REGISTERING | CALLING | FAILING | TELLING | MEETING,
	ALL = NUMBERED | SLOW | SMALL | STARVED | 1 << PLAN_UNPLUGGED
};

static const struct option {
	const char *name;
	uint32_t fits, wanted; /* a bit for each enum fault_sort */
	const char *(*read)(const char *value, struct fault_rule *rule);
} options[FAULT_OPTIONS] = {
	[FAULT_OPTION_FAULT] = { "fault", ALL, ALL, option_read_fault },
	[FAULT_OPTION_PEER] = { "peer", OPS | SLOW, 0, read_peer },
	[FAULT_OPTION_OP] = { "op", OPS | FULL | FAILING, 0, read_op },
	[FAULT_OPTION_KEY] = { "key", OPS, 0, read_key },
	[FAULT_OPTION_FIRST] = { "first", NUMBERED, 0, read_first },
	[FAULT_OPTION_EVERY] = { "every", NUMBERED, 0, read_every },
	[FAULT_OPTION_MOST] = { "most", NUMBERED, 0, read_most },
	[FAULT_OPTION_CHANCE] = { "chance", NUMBERED, 0, read_chance },
	[FAULT_OPTION_CAUSE] = { "cause", REFUSING, REFUSING, read_cause },
	[FAULT_OPTION_TIMES] = { "times", UNREADY | FULL, 0, read_times },
	[FAULT_OPTION_WHEN] = { "when", CUT, 0, read_when },
	[FAULT_OPTION_DOWN] = { "down", CUT, 0, read_down },
	[FAULT_OPTION_WAIT] = { "wait", LATE | STARVED | CALLING | MEETING, LATE | STARVED, read_wait },
	[FAULT_OPTION_JITTER] = { "jitter", LATE | CALLING | MEETING, 0, read_jitter },
	[FAULT_OPTION_ERROR] = { "error", REGISTERING | CALLING | MEETING, 0, read_error },
	[FAULT_OPTION_RATE] = { "rate", SLOW, SLOW, read_rate },
	[FAULT_OPTION_ENTRIES] = { "entries", SMALL, SMALL, read_entries },
	[FAULT_OPTION_CALL] = { "call", CALLING | TELLING, CALLING, read_calls },
	[FAULT_OPTION_QP] = { "qp", CALLING | FAILING | TELLING, 0, read_qp },
	[FAULT_OPTION_CQ] = { "cq", TELLING, 0, read_cq },
	[FAULT_OPTION_STATUS] = { "status", FAILING, FAILING, read_status },
	[FAULT_OPTION_EVENT] = { "event", TELLING | MEETING, TELLING | MEETING, read_event_name },
	[FAULT_OPTION_AFTER] = { "after", TELLING, 0, read_after },
	[FAULT_OPTION_BECOMES] = { "becomes", MEETING, 0, read_becomes },
	[FAULT_OPTION_REASON] = { "reason", MEETING, 0, read_reason },
};

bool fault_option_find(const char *name, enum fault_option *option)
{
	for (int i = 0; i < FAULT_OPTIONS; i++) {
		if (!strcmp(options[i].name, name)) {
			*option = (enum fault_option)i;
			return true;
		}
	}
	return false;
}

bool fault_option_fits(enum fault_option option, enum fault_sort sort, const char **name)
{
	*name = options[option].name;
	return options[option].fits & 1u << sort;
}

bool fault_option_wanted(enum fault_option option, enum fault_sort sort, const char **name)
{
	*name = options[option].name;
	return options[option].wanted & 1u << sort;
}

const char *fault_option_read(enum fault_option option, const char *value, struct fault_rule *rule)
{
	return options[option].read(value, rule);
}

void fault_rule_begin(struct fault_rule *rule)
{
	*rule = (struct fault_rule){
		.kinds = FAULT_ALL_KINDS, .first = 1, .every = 1, .most = UINT64_MAX, .chance = FAULT_CERTAIN, .times = 1
	};
}

/* NULL; or why the event of the rule could never happen. An event by a call may be that of the call's queue pair. */
static const char *event_lacks(const struct fault_rule *rule)
{
	const struct process_faults *faults = process_front.faults;

	if (faults && !rule->injects)
		return "has an event of rdma_cm, which goes with \"fault = cm\"";
	if (rule->timed == rule->called)
		return "has neither \"after\" nor \"call\", or both";
	if (faults && faults->events_of_qps >> rule->word & 1 && rule->timed && !rule->qp)
		return "has an event of a queue pair, and \"after\", but no \"qp\"";
	if (faults && faults->events_of_cqs >> rule->word & 1 && !rule->cq)
		return "has an event of a completion queue, and no \"cq\"";
	return NULL;
}

/* Likewise of rdma_cm. */
static const char *cm_lacks(const struct fault_rule *rule)
{
	const struct process_faults *faults = process_front.faults;
	bool other = rule->becomes >= FAULT_CM_FIRST;
	uint32_t becomes = other ? rule->becomes - FAULT_CM_FIRST : 0;
	bool rejected = other && faults && becomes == faults->cm_rejected;

	if (rule->becomes == FAULT_CM_ITSELF && !rule->wait_ns && !rule->jitter_ns)
		return "has neither \"becomes\" nor \"wait\"";
	if (rule->becomes == FAULT_CM_NOTHING && (rule->wait_ns || rule->jitter_ns))
		return "has what is lost wait";
	if (!faults)
		return NULL;
	if (rule->cm_event < 0)
		return "has an event that is none of rdma_cm, and goes with \"fault = event\"";
	if (other && !(faults->cm_becomes[rule->cm_event] >> becomes & 1))
		return "has an event become one that never comes in its place";
	if (rule->reason && !rejected)
		return "has a \"reason\", which goes with \"becomes = REJECTED\"";
	if (rule->err && (!other || rejected))
		return "has an \"error\", which goes with an event of an error";
	return NULL;
}

/* Without "op" a rule is for all kinds of ops that can have its fault. */
const char *fault_rule_end(struct fault_rule *rule, bool kinds)
{
	uint32_t can = rule->sort == PLAN_RNR ? FAULT_ALL_KINDS & ~READS : FAULT_ALL_KINDS;

	if (rule->sort == PLAN_FAIL || rule->sort == PLAN_FULL)
		can |= 1u << FAULT_RECEIVES;
	if (rule->sort == PLAN_LOSE)
		can = MESSAGES | WRITES;
	if (rule->sort == PLAN_HOLD)
		can = WRITES | ATOMICS | READS;
	if (rule->sort == PLAN_REGISTER && !rule->err)
		rule->err = ENOMEM;
	if (rule->sort == PLAN_CALL && !rule->err && !rule->wait_ns && !rule->jitter_ns)
		return "has neither \"error\" nor \"wait\"";
	if (rule->sort == PLAN_EVENT && event_lacks(rule))
		return event_lacks(rule);
	if (rule->sort == PLAN_CM && cm_lacks(rule))
		return cm_lacks(rule);
	if (rule->sort == PLAN_THREAD && rule->wait_ns > TIME_MS(1000))
		return "has the NIC thread wait for more than a second";
	if (rule->keyed)
		can &= REGIONS;
	if (kinds && rule->kinds & ~can)
		return "names ops that cannot meet it";
	for (int i = 0; i < CAUSES; i++)
		if (rule->sort == PLAN_REFUSE && causes[i].cause == rule->cause)
			can &= causes[i].kinds;
	if (kinds && rule->kinds & ~can)
		return "names ops that are never refused for this cause";
	rule->kinds &= can;
	if (!rule->kinds)
		return "names a key, and ops that have none";
	return NULL;
}
