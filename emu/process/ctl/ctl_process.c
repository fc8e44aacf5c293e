/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_process.c - the process itself: what it is, its settings, its log, its fault plan; and the folder of its control socket. */
#include "emu/process/ctl/ctl_commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "emu/process/ctl/ctl_answer.h"
#include "emu/process/faults/fault_calls.h"
#include "emu/process/faults/fault_file.h"
#include "emu/process/faults/fault_order.h"
#include "emu/process/faults/fault_option.h"
#include "emu/process/front/process_front.h"
#include "emu/process/log/log.h"
#include "emu/process/settings/setting_read.h"
#include "emu/process/trace/trace_file.h"
#include "emu/net/thread/net.h"

enum { COMMAND = 4096, LINES = 12, SETTING = 512, EVENT_NAMES = 160 };

/* When the NIC was started. The environment is read then, since the program may change it at any time. */
static struct {
	uint64_t started_ns;
	const char *personality;
	bool manual;
	char settings[2048];     /* NAME=value, each terminated; empty: the end */
	char temporary[SETTING]; /* the folder of temporary files */
	unsigned int watchers;
	bool was_debug;
} noted;

void ctl_process_note(const char *personality, bool manual)
{
	const char *temporary = secure_getenv("TMPDIR");
	size_t length = 0;
	struct timespec now;

	snprintf(noted.temporary, sizeof(noted.temporary), "%s",
		 temporary && *temporary && strlen(temporary) < sizeof(noted.temporary) ? temporary : "/tmp");
	clock_gettime(CLOCK_REALTIME, &now);
	noted.started_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	noted.personality = personality;
	noted.manual = manual;
	noted.watchers = 0;
	log_ring_tell(NULL);
	memset(noted.settings, 0, sizeof(noted.settings));
	for (char **at = environ; at && *at; at++) {
		size_t size = strlen(*at) + 1;

		if ((strncmp(*at, process_front.variables, strlen(process_front.variables)) && strncmp(*at, "EMU_", 4)) ||
		    !strchr(*at, '=') || size > SETTING || length + size >= sizeof(noted.settings))
			continue;
		memcpy(noted.settings + length, *at, size);
		length += size;
	}
}

/* The command's words, each terminated; the last may be cut. Returns their bytes. */
static size_t read_command(char command[COMMAND])
{
	int fd = open("/proc/thread-self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, command, COMMAND - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (got < 0)
		got = 0;
	command[got] = '\0';
	return (size_t)got;
}

static void put_settings(struct json *json)
{
	json_object(json, "settings");
	for (const char *at = noted.settings; *at; at += strlen(at) + 1) {
		const char *value = strchr(at, '=') + 1;
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)(value - 1 - at), at);
		json_string(json, name, value);
	}
	json_end(json);
}

enum ctl_next ctl_info(struct ctl_answer *answer, struct ctl_piece *piece)
{
	struct nic *nic = net_nic();
	struct view_counts counts;
	char command[COMMAND], version[24];
	size_t length = read_command(command);
	uint32_t running = process_front.library_version();
	struct json json;
	bool fault;

	(void)answer;
	driver_take(nic_driver(nic));
	view_counts(nic, &counts);
	fault = nic_fault_is_loaded(nic);
	driver_leave(nic_driver(nic));
	ctl_line(piece, &json, "process", CTL_PIECE - CTL_LINE);
	json_number(&json, "emuctl", 1);
	json_number(&json, "pid", (uint64_t)getpid());
	json_number(&json, "ppid", (uint64_t)getppid());
	json_string(&json, "program", program_invocation_short_name);
	json_number(&json, "uid", (uint64_t)geteuid());
	json_number(&json, "started_ns", noted.started_ns);
	json_string(&json, "personality", noted.personality);
	json_string(&json, "progress", noted.manual ? "manual" : "auto");
	json_bool(&json, "fault_plan", fault);
	snprintf(version, sizeof(version), "%d.%d", EMU_VERSION_MAJOR, EMU_VERSION_MINOR);
	json_string(&json, "version", version);
	snprintf(version, sizeof(version), "%u.%u", running >> 16, running & 0xffff);
	json_string(&json, process_front.library, version);
	json_number(&json, "endpoints", counts.endpoints);
	json_number(&json, "connections", counts.connections);
	json_number(&json, "regions", counts.regions);
	put_settings(&json);
	json_array(&json, "command");
	for (size_t at = 0; at < length; at += strlen(command + at) + 1)
		json_string(&json, NULL, command + at);
	json_end(&json);
	if (json.cut)
		json_bool(&json, "cut", true);
	ctl_line_end(piece, &json);
	return ctl_end(piece);
}

/* --- log --- */

static const char *const levels[] = { "warn", "info", "debug" };

/* Hides the digits of keys, which sentences call by that name. */
static void mask_keys(char *text)
{
	static const char name[] = "key 0x";

	for (char *at = strstr(text, name); at; at = strstr(at, name)) {
		char *digits = at + sizeof(name) - 1;
		size_t count = strspn(digits, "0123456789abcdefABCDEF");

		memset(digits, '.', count);
		at = digits + count;
	}
}

static void put_log_line(const struct ctl_answer *answer, struct ctl_piece *piece, struct log_ring_line *line)
{
	struct json json;

	if (!answer->request.reveal)
		mask_keys(line->text);
	ctl_line(piece, &json, "log", CTL_LINE);
	json_number(&json, "number", line->number);
	json_number(&json, "time_ns", line->time_ns);
	json_string(&json, "level", levels[line->level]);
	json_string(&json, "from", line->call ? "call" : "device");
	json_string(&json, "text", line->text);
	ctl_line_end(piece, &json);
}

static int level_of(const struct ctl_request *request)
{
	int level = 0;

	if (!*request->level)
		return LOG_RING_DEBUG;
	while (level <= LOG_RING_DEBUG && strcmp(levels[level], request->level))
		level++;
	return level;
}

/* Lines until there is none, or no room. False: there is none. */
static bool put_lines(struct ctl_answer *answer, struct ctl_piece *piece)
{
	struct log_ring_line line;

	for (int i = 0; i < LINES; i++) {
		if (!log_ring_next(answer->number, &line))
			return false;
		if (answer->watches && line.number > answer->number + 1) {
			struct json json;

			ctl_line(piece, &json, "lost", CTL_LINE);
			json_number(&json, "lines", line.number - answer->number - 1);
			ctl_line_end(piece, &json);
		}
		answer->number = line.number;
		if ((int)line.level <= level_of(&answer->request))
			put_log_line(answer, piece, &line);
	}
	return true;
}

static const char no_level[] = "the level is none of warn, info and debug";

enum ctl_next ctl_log(struct ctl_answer *answer, struct ctl_piece *piece)
{
	if (level_of(&answer->request) > LOG_RING_DEBUG)
		return ctl_error(piece, no_level);
	return put_lines(answer, piece) ? CTL_MORE : ctl_end(piece);
}

static bool debug_lines(bool on)
{
	struct nic *nic = net_nic();
	bool was;

	driver_take(nic_driver(nic));
	was = view_log_debug(nic, on);
	driver_leave(nic_driver(nic));
	return was;
}

static void watch_begin(struct ctl_answer *answer)
{
	answer->watches = true;
	answer->number = log_ring_last();
	if (noted.watchers++)
		return;
	noted.was_debug = debug_lines(true);
	log_ring_tell(ctl_wake);
}

void ctl_watch_end(struct ctl_answer *answer)
{
	if (!answer->watches || --noted.watchers)
		return;
	log_ring_tell(NULL);
	debug_lines(noted.was_debug);
}

/* The first line tells the client that from now on nothing is missed. */
enum ctl_next ctl_watch(struct ctl_answer *answer, struct ctl_piece *piece)
{
	if (level_of(&answer->request) > LOG_RING_DEBUG)
		return ctl_error(piece, no_level);
	if (!answer->watches) {
		struct json json;

		watch_begin(answer);
		ctl_line(piece, &json, "watching", CTL_LINE);
		ctl_line_end(piece, &json);
		return CTL_MORE;
	}
	return put_lines(answer, piece) ? CTL_MORE : CTL_WAIT;
}

/* --- what is changed --- */

/* Opens or ends a file, which may take a moment: the role is not held. */
enum ctl_next ctl_trace(struct ctl_answer *answer, struct ctl_piece *piece)
{
	char text[512];
	int err = trace_switch(answer->request.on, noted.temporary, text, sizeof(text));
	struct json json;

	if (err && err != -EALREADY)
		return ctl_error(piece, text);
	ctl_line(piece, &json, "trace", CTL_LINE);
	json_bool(&json, "on", answer->request.on);
	json_bool(&json, "changed", !err);
	json_string(&json, "file", text);
	ctl_line_end(piece, &json);
	return ctl_end(piece);
}

/* A plan without rules: none. */
static int put_plan_in_force(const struct fault_plan *next)
{
	const struct fault_plan *plan = next->rules ? next : NULL;
	struct nic *nic = net_nic();
	int err;

	driver_take(nic_driver(nic));
	err = nic_fault_load(nic, plan);
	if (!err)
		fault_calls_exchange(plan);
	driver_leave(nic_driver(nic));
	if (!err)
		net_slow(plan ? fault_thread(plan) : 0);
	return err;
}

enum ctl_next ctl_fault(struct ctl_answer *answer, struct ctl_piece *piece)
{
	const struct ctl_request *request = &answer->request;
	struct fault_plan plan = { 0 };
	int err;

	if (request->clear == (request->text != NULL))
		return ctl_error(piece, "either a plan is loaded, or plans are cleared");
	if (request->text && !fault_read_text(request->text, strlen(request->text), &plan, answer->why, sizeof(answer->why)))
		return ctl_error(piece, answer->why);
	if (!fault_order_add(&plan))
		return ctl_error(piece, "the plan has no room for the rules of FI_EMU_ORDER");
	err = put_plan_in_force(&plan);
	if (err)
		return ctl_error(piece, "the process has no memory for the plan, and the one before is in force");
	return ctl_end(piece);
}

static const char *no_such_event(char names[EVENT_NAMES])
{
	const struct process_faults *faults = process_front.faults;

	if (faults)
		snprintf(names, EVENT_NAMES, "there is no such event. There are: %s", faults->events);
	else
		snprintf(names, EVENT_NAMES, "programs of %s have no events that can be injected", process_front.library);
	return names;
}

/* "NAME", or "NAME NUMBER" of a queue pair or queue. */
enum ctl_next ctl_event(struct ctl_answer *answer, struct ctl_piece *piece)
{
	char *text = answer->request.text, *number = text ? strchr(text, ' ') : NULL;
	const char *why = "the request has no event";
	char names[EVENT_NAMES];
	uint64_t object = 0;
	uint32_t event;

	if (number)
		*number++ = '\0';
	if (text && !fault_event_find(text, &event))
		why = no_such_event(names);
	else if (number && (!parse_whole(number, &object) || !object))
		why = "what follows the event is no number of a queue pair or queue";
	else if (text)
		why = process_front.faults->event(event, object, object);
	return why ? ctl_error(piece, why) : ctl_end(piece);
}

/* --- the folder of this user's control sockets. tools/ctl/ctl_find.c looks in the same --- */

const char *ctl_folder(const char *set, char folder[CTL_PATH])
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int length;

	if (set && !*set)
		return NULL;
	if (set)
		length = snprintf(folder, CTL_PATH, "%s", set);
	else
		length = snprintf(folder, CTL_PATH, "%s/emu-%u", runtime && *runtime == '/' ? runtime : "/tmp",
				  (unsigned)geteuid());
	return length > 0 && length < CTL_PATH ? folder : NULL;
}
