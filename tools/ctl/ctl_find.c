/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_find.c - the processes that have a control socket in the user's folder. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/ctl/emuctl.h"

/* FI_EMU_CTL names a folder, unless it is a word that turns the sockets off, or one that is refused. */
static bool names_folder(const char *set)
{
	static const char *const words[] = { "", "off", "0", "no", "false", "on", "1", "yes", "true" };

	for (size_t i = 0; set && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(set, words[i]))
			return false;
	return set;
}

/* True: it was named by somebody. */
static bool folder_name(const struct asking *options, char *name, size_t size)
{
	const char *set = getenv("FI_EMU_CTL"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (options->folder)
		snprintf(name, size, "%s", options->folder);
	else if (names_folder(set))
		snprintf(name, size, "%s", set);
	else
		snprintf(name, size, "%s/emu-%u", runtime && *runtime == '/' ? runtime : "/tmp", (unsigned)geteuid());
	return options->folder || names_folder(set);
}

/* Nobody listens there: the process has ended without its cleanup, or was killed. */
static bool is_stale(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	memcpy(at.sun_path, path, strlen(path) + 1);
	err = connect(fd, (struct sockaddr *)&at, sizeof(at)) ? errno : 0;
	close(fd);
	return err == ECONNREFUSED;
}

static bool keep_info(void *arg, const char *line, const cJSON *object)
{
	struct process *process = arg;

	(void)line;
	if (!strcmp(text_of(object, "type"), "process") && !process->info) {
		process->info = cJSON_Duplicate(object, true);
		snprintf(process->program, sizeof(process->program), "%s", text_of(object, "program"));
	}
	return true;
}

static int by_number(const void *a, const void *b)
{
	return ((const struct process *)a)->pid - ((const struct process *)b)->pid;
}

/* The folder is this user's: others could put sockets there that answer what they like. Root may name another user's. */
static void folder_believe(DIR *dir, const char *folder, bool named, struct stat *status)
{
	if (fstat(dirfd(dir), status))
		die("%s: %s", folder, strerror(errno));
	if (status->st_uid != geteuid() && (!named || geteuid()))
		die("%s: it is another user's, and is not believed", folder);
	if (status->st_mode & 022)
		die("%s: others can write to it, and it is not believed", folder);
}

static bool is_ours(const char *path, const struct stat *folder)
{
	struct stat status;

	return !lstat(path, &status) && S_ISSOCK(status.st_mode) && status.st_uid == folder->st_uid;
}

static struct process *found; /* by find_all(), for good */

size_t find_all(const struct asking *options, struct process **list)
{
	char folder[160];
	struct dirent *entry;
	struct stat status;
	size_t count = 0;
	bool named;
	DIR *dir;

	named = folder_name(options, folder, sizeof(folder));
	dir = opendir(folder);
	if (!dir && errno != ENOENT)
		die("%s: %s", folder, errno == EACCES ? "it is another user's" : strerror(errno));
	if (dir)
		folder_believe(dir, folder, named, &status);
	while (dir && (entry = readdir(dir))) {
		struct process process = { .pid = 0 };
		int end = 0;

		if (sscanf(entry->d_name, "%d.%*8[0-9a-f].sock%n", &process.pid, &end) != 1 || !end || entry->d_name[end])
			continue;
		if ((size_t)snprintf(process.path, sizeof(process.path), "%s/%.60s", folder, entry->d_name) >=
		    sizeof(((struct sockaddr_un *)0)->sun_path))
			continue;
		if (!is_ours(process.path, &status))
			continue;
		if (is_stale(process.path)) {
			unlink(process.path);
			continue;
		}
		found = realloc(found, (count + 1) * sizeof(process));
		if (!found)
			die("out of memory");
		found[count++] = process;
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(found, count, sizeof(*found), by_number);
	*list = found;
	return count;
}

const cJSON *find_info(const struct asking *options, struct process *process)
{
	if (!process->info)
		ask(process, options, "{\"cmd\":\"info\"}\n", keep_info, process, process->why, sizeof(process->why));
	return process->info;
}

/* A PID or a program's name, and a personality behind a slash. Any part of it may be missing. */
static bool process_is_meant(const struct asking *options, struct process *process, const char *which)
{
	size_t length = which ? strcspn(which, "/") : 0;
	char *end;
	long pid = length ? strtol(which, &end, 10) : 0;

	if (length && end == which + length && process->pid != pid)
		return false;
	if (length && end != which + length) {
		find_info(options, process);
		if (strlen(process->program) != length || strncmp(process->program, which, length) != 0)
			return false;
	}
	return !which || !which[length] || !strcmp(text_of(find_info(options, process), "personality"), which + length + 1);
}

_Noreturn static void die_of_many(const struct asking *options, struct process *a, struct process *b, const char *which)
{
	if (a->pid == b->pid)
		die("process %d has two NICs: name one as %d/%s or %d/%s", a->pid, a->pid,
		    text_of(find_info(options, a), "personality"), a->pid, text_of(find_info(options, b), "personality"));
	die("more than one process %s%s: name one by its PID, which `emuctl ps' shows", which ? "is called " : "is there",
	    which ? which : "");
}

struct process *find_one(const struct asking *options, const char *which)
{
	struct process *list, *one = NULL;
	size_t count = find_all(options, &list);

	for (size_t i = 0; i < count; i++) {
		if (!process_is_meant(options, &list[i], which))
			continue;
		if (one)
			die_of_many(options, one, &list[i], which);
		one = &list[i];
	}
	if (one)
		return one;
	if (which)
		die("no process %s has a control socket: it has ended, has no NIC, is another user's, or has FI_EMU_CTL=off",
		    which);
	die("no process of yours has opened a NIC");
}
