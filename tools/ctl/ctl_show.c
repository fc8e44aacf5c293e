/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_show.c - tables for people. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/ctl/emuctl.h"

const char *text_of(const cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

	return text ? text : "";
}

double number_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

bool flag_of(const cJSON *object, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

char *safe(const char *text)
{
	char *copy = malloc(4 * strlen(text) + 1), *to = copy;

	if (!copy)
		die("out of memory");
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			to += sprintf(to, "\\x%02x", (unsigned char)*text);
		else
			*to++ = *text;
	}
	*to = '\0';
	return copy;
}

void print_safe(const char *text)
{
	char *copy = safe(text);

	fputs(copy, stdout);
	free(copy);
}

void table_add(struct table *table, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	table->cell = realloc(table->cell, (table->cells + 1) * sizeof(*table->cell));
	if (!table->cell)
		die("out of memory");
	table->cell[table->cells++] = safe(text);
}

static size_t terminal_width(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 4096;
}

void table_print(struct table *table)
{
	size_t widths[32] = { 0 }, room = terminal_width();

	for (size_t i = 0; i < table->cells; i++)
		if (strlen(table->cell[i]) > widths[i % table->columns])
			widths[i % table->columns] = strlen(table->cell[i]);
	for (size_t row = 0; row < table->cells; row += table->columns) {
		char line[4097];
		size_t length = 0;

		for (size_t i = 0; i < table->columns && length < sizeof(line) - 1; i++) {
			const char *gap = i + 1 < table->columns ? "  " : "";
			int width = i + 1 < table->columns ? (int)widths[i] : 0;
			int wrote = snprintf(line + length, sizeof(line) - length, "%-*s%s", width, table->cell[row + i], gap);

			length += (size_t)wrote;
		}
		printf("%.*s\n", (int)room, line);
	}
	for (size_t i = 0; i < table->cells; i++)
		free(table->cell[i]);
	free(table->cell);
	*table = (struct table){ .columns = table->columns };
}

static void join(const cJSON *array, const char *between, char *text, size_t size)
{
	const cJSON *item;
	size_t length = 0;

	*text = '\0';
	cJSON_ArrayForEach(item, array)
	{
		const char *word = cJSON_GetStringValue(item);

		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? between : "", word ? word : "");
		if (length >= size)
			return;
	}
}

void age_text(double since_ns, char *text, size_t size)
{
	double age = (double)time(NULL) - since_ns / 1e9;

	if (age < 120)
		snprintf(text, size, "%.0f s", age > 0 ? age : 0);
	else if (age < 7200)
		snprintf(text, size, "%.0f min", age / 60);
	else
		snprintf(text, size, "%.0f h", age / 3600);
}

/* Columns: a head, the member, and how it is shown: s text, n number, b yes where it is true, l words, 0 ends. */
struct column {
	const char *head, *member;
	char how;
};

static const struct view {
	const char *command;
	struct column columns[12];
} views[] = {
	{ "ep",
	  { { "EP", "index", 'n' },
	    { "NAME", "name", 's' },
	    { "KIND", "kind", 's' },
	    { "DOMAIN", "domain", 'n' },
	    { "SESSIONS", "sessions", 'n' },
	    { "UNEXPECTED", "unexpected", 'n' },
	    { "TX CQ", "tx_cq", 's' },
	    { "RX CQ", "rx_cq", 's' },
	    { "CAPABILITIES", "caps", 'l' } } },
	{ "conn",
	  { { "EP", "ep", 'n' },
	    { "PEER", "peer", 's' },
	    { "STATE", "state", 's' },
	    { "BY", "transport", 's' },
	    { "SENT", "sent", 'n' },
	    { "OUTSTANDING", "outstanding", 'n' },
	    { "WAITS", "waits", 'b' },
	    { "SERVED", "served", 'n' },
	    { "CONNECTIONS", "connections", 'n' },
	    { "REFUSED DIALS", "refused_dials", 'n' },
	    { "NOT READY", "not_ready", 'b' } } },
	{ "mr",
	  { { "ID", "id", 'n' },
	    { "DOMAIN", "domain", 'n' },
	    { "KEY", "key", 's' },
	    { "ADDRESS", "addr", 's' },
	    { "LENGTH", "length", 'n' },
	    { "SEGMENTS", "segments", 'n' },
	    { "ENABLED", "enabled", 'b' },
	    { "ACCESS", "access", 'l' } } },
	{ "cq",
	  { { "CQ", "id", 's' },
	    { "SIZE", "size", 'n' },
	    { "UNREAD", "unread", 'n' },
	    { "OVERFLOW", "overflow", 'n' },
	    { "ERRORS", "errors", 'n' },
	    { "READ", "read", 'n' },
	    { "USERS", "users", 'n' } } },
};

void show_line(struct table *table, const char *command, const cJSON *object)
{
	const struct view *view = views, *end = views + sizeof(views) / sizeof(views[0]);
	char words[512];

	while (view < end && strcmp(view->command, command))
		view++;
	if (view == end)
		return;
	if (!table->cells)
		for (table->columns = 0; view->columns[table->columns].head; table->columns++)
			table_add(table, "%s", view->columns[table->columns].head);
	for (const struct column *column = view->columns; object && column->head; column++) {
		join(cJSON_GetObjectItemCaseSensitive(object, column->member), ",", words, sizeof(words));
		if (column->how == 'n')
			table_add(table, "%.0f", number_of(object, column->member));
		else if (column->how == 'b')
			table_add(table, "%s", flag_of(object, column->member) ? "yes" : "-");
		else if (column->how == 'l')
			table_add(table, "%s", *words ? words : "-");
		else
			table_add(table, "%s", *text_of(object, column->member) ? text_of(object, column->member) : "-");
	}
}

void show_info(const cJSON *info)
{
	static const char *const numbers[] = { "pid", "ppid", "uid", "endpoints", "connections", "regions" };
	static const char *const texts[] = { "program", "personality", "progress", "version", "libfabric", "libibverbs" };
	struct table table = { .columns = 2 };
	const cJSON *item;
	char text[1024];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!cJSON_GetObjectItemCaseSensitive(info, texts[i])) /* a process has one of the libraries */
			continue;
		table_add(&table, "%s", texts[i]);
		table_add(&table, "%s", text_of(info, texts[i]));
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		table_add(&table, "%s", numbers[i]);
		table_add(&table, "%.0f", number_of(info, numbers[i]));
	}
	table_add(&table, "fault plan");
	table_add(&table, "%s", flag_of(info, "fault_plan") ? "in force" : "none");
	age_text(number_of(info, "started_ns"), text, sizeof(text));
	table_add(&table, "NIC opened");
	table_add(&table, "%s ago", text);
	join(cJSON_GetObjectItemCaseSensitive(info, "command"), " ", text, sizeof(text));
	table_add(&table, "command");
	table_add(&table, "%s", text);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(info, "settings"))
	{
		table_add(&table, "%s", item->string);
		table_add(&table, "%s", cJSON_GetStringValue(item) ? cJSON_GetStringValue(item) : "");
	}
	table_print(&table);
}

void show_log(const cJSON *line)
{
	double time_ns = number_of(line, "time_ns");
	time_t seconds = (time_t)(time_ns / 1e9);
	struct tm at;
	char text[32];

	if (!strcmp(text_of(line, "type"), "lost")) {
		printf("(%.0f lines lost: they came faster than they were read)\n", number_of(line, "lines"));
		return;
	}
	localtime_r(&seconds, &at);
	strftime(text, sizeof(text), "%H:%M:%S", &at);
	printf("%s.%03d %-5s ", text, (int)((time_ns - (double)seconds * 1e9) / 1e6), text_of(line, "level"));
	print_safe(text_of(line, "text"));
	putchar('\n');
}

void show_trace(const cJSON *line)
{
	printf("%s%s: ", flag_of(line, "changed") ? "" : "already ", flag_of(line, "on") ? "on" : "off");
	print_safe(text_of(line, "file"));
	putchar('\n');
}
