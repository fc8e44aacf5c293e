/* SPDX-License-Identifier: BSD-2-Clause */
/* sys_paths.c - the C library's calls that name a path, in front of it: those below /sys/class/infiniband, its neighbour
 * infiniband_verbs and /dev/infiniband lead to the tree, and all others go on as they are.
 *
 * Loading starts nothing. The tree is made when a process first names such a path; a call from within that goes on. Any thread, not
 * in signal handlers; errno is as the call itself leaves it. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/sys/sys_impl.h"

#define EXPORT __attribute__((visibility("default")))

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char root[PATH_MAX / 2]; /* "": there is none */
static _Thread_local bool making;

static void make_tree(void)
{
	char folder[sizeof(root)];

	making = true;
	if (sys_tree_root(folder, sizeof(folder)) && sys_tree_make(folder))
		memcpy(root, folder, sizeof(root));
	making = false;
}

static bool is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return !strncmp(path, folder, length) && (!path[length] || path[length] == '/');
}

/* Where a path leads: it, or `room` filled. */
static const char *lead_path(const char *path, char room[PATH_MAX])
{
	int error = errno;

	if (!path || *path != '/' || making)
		return path;
	if (!is_below(path, "/sys/class/infiniband") && !is_below(path, "/sys/class/infiniband_verbs") &&
	    !is_below(path, "/dev/infiniband"))
		return path;
	pthread_once(&once, make_tree);
	errno = error;
	if (!*root || (size_t)snprintf(room, PATH_MAX, "%s%s", root, path) >= PATH_MAX)
		return path;
	return room;
}

/* The C library's own. Found at the first call, as the loader may call before constructors run. */
#define NEXT(type, name, ...)             \
	static type (*next)(__VA_ARGS__); \
	char room[PATH_MAX];              \
	if (!next)                        \
	*(void **)&next = dlsym(RTLD_NEXT, #name)

/* The optional mode. */
#define MODE(flags)                                                        \
	({                                                                 \
		mode_t mode_ = 0;                                          \
		va_list args_;                                             \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) { \
			va_start(args_, flags);                            \
			mode_ = va_arg(args_, mode_t);                     \
			va_end(args_);                                     \
		}                                                          \
		mode_;                                                     \
	})

#define OPEN(name)                                                      \
	EXPORT int name(const char *path, int flags, ...)               \
	{                                                               \
		NEXT(int, name, const char *, int, ...);                \
		return next(lead_path(path, room), flags, MODE(flags)); \
	}
#define OPENAT(name)                                                        \
	EXPORT int name(int at, const char *path, int flags, ...)           \
	{                                                                   \
		NEXT(int, name, int, const char *, int, ...);               \
		return next(at, lead_path(path, room), flags, MODE(flags)); \
	}
/* Without an argument behind the path, and with up to three. */
#define CALL_1(type, name)                          \
	EXPORT type name(const char *path)          \
	{                                           \
		NEXT(type, name, const char *);     \
		return next(lead_path(path, room)); \
	}
#define CALL_2(type, name, second)                      \
	EXPORT type name(const char *path, second b)    \
	{                                               \
		NEXT(type, name, const char *, second); \
		return next(lead_path(path, room), b);  \
	}
#define CALL_3(type, name, second, third)                      \
	EXPORT type name(const char *path, second b, third c)  \
	{                                                      \
		NEXT(type, name, const char *, second, third); \
		return next(lead_path(path, room), b, c);      \
	}
#define CALL_4(type, name, second, third, fourth)                       \
	EXPORT type name(const char *path, second b, third c, fourth d) \
	{                                                               \
		NEXT(type, name, const char *, second, third, fourth);  \
		return next(lead_path(path, room), b, c, d);            \
	}
/* Behind the descriptor of a folder, with one argument or two. */
#define CALL_AT_3(type, name, third)                        \
	EXPORT type name(int at, const char *path, third c) \
	{                                                   \
		NEXT(type, name, int, const char *, third); \
		return next(at, lead_path(path, room), c);  \
	}
#define CALL_AT(type, name, third, fourth)                            \
	EXPORT type name(int at, const char *path, third c, fourth d) \
	{                                                             \
		NEXT(type, name, int, const char *, third, fourth);   \
		return next(at, lead_path(path, room), c, d);         \
	}

typedef int dirent_chosen(const struct dirent *);
typedef int dirents_compared(const struct dirent **, const struct dirent **);
typedef int dirent64_chosen(const struct dirent64 *);
typedef int dirents64_compared(const struct dirent64 **, const struct dirent64 **);

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
CALL_2(int, __open_2, int)
CALL_2(int, __open64_2, int)
CALL_AT_3(int, __openat_2, int)
CALL_AT_3(int, __openat64_2, int)
CALL_2(FILE *, fopen, const char *)
CALL_2(FILE *, fopen64, const char *)
CALL_2(int, access, int)
CALL_AT(int, faccessat, int, int)
CALL_2(int, stat, struct stat *)
CALL_2(int, stat64, struct stat64 *)
CALL_2(int, lstat, struct stat *)
CALL_2(int, lstat64, struct stat64 *)
CALL_AT(int, fstatat, struct stat *, int)
CALL_AT(int, fstatat64, struct stat64 *, int)
CALL_3(ssize_t, readlink, char *, size_t)
CALL_4(ssize_t, __readlink_chk, char *, size_t, size_t)
CALL_AT(ssize_t, readlinkat, char *, size_t)
CALL_2(char *, realpath, char *)
CALL_3(char *, __realpath_chk, char *, size_t)
CALL_1(char *, canonicalize_file_name)
CALL_1(DIR *, opendir)
CALL_4(int, scandir, struct dirent ***, dirent_chosen *, dirents_compared *)
CALL_4(int, scandir64, struct dirent64 ***, dirent64_chosen *, dirents64_compared *)

EXPORT ssize_t __readlinkat_chk(int at, const char *path, char *text, size_t size, size_t room_size)
{
	NEXT(ssize_t, __readlinkat_chk, int, const char *, char *, size_t, size_t);
	return next(at, lead_path(path, room), text, size, room_size);
}

EXPORT int statx(int at, const char *path, int flags, unsigned int mask, struct statx *found)
{
	NEXT(int, statx, int, const char *, int, unsigned int, struct statx *);
	return next(at, lead_path(path, room), flags, mask, found);
}

/* As programs call them that were built with a C library before 2.33. */
#define OLD_STAT(name, type)                                        \
	EXPORT int name(int version, const char *path, type *found) \
	{                                                           \
		NEXT(int, name, int, const char *, type *);         \
		return next(version, lead_path(path, room), found); \
	}
OLD_STAT(__xstat, struct stat)
OLD_STAT(__xstat64, struct stat64)
OLD_STAT(__lxstat, struct stat)
OLD_STAT(__lxstat64, struct stat64)
