/* SPDX-License-Identifier: BSD-2-Clause */
/* no_sleep.h - makes calls that may sleep, or that are cancellation points, errors of the compiler (D5).
 *
 * CMake puts it before each source of emu/nic and emu/net but those that emu/net/CMakeLists.txt says may sleep
 * (emu_no_sleep() in EmuFlags.cmake). No source includes it. System calls that a slice needs are in nocancel_file.h and
 * nocancel_socket.h. ioctl() and fcntl() are not here: with the requests that we make they neither sleep nor are cancellation
 * points. */
#ifndef EMU_NIC_NO_SLEEP_H
#define EMU_NIC_NO_SLEEP_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* An unavailable function cannot be named; gcc before 12 knows only of one that cannot be called. */
#if __has_attribute(unavailable)
#define MAY_SLEEP(call) extern __typeof__(call) call __attribute__((unavailable("it may sleep: see no_sleep.h")))
#else
#define MAY_SLEEP(call) extern __typeof__(call) call __attribute__((error("it may sleep: see no_sleep.h")))
#endif

/* Where the library is fortified its headers define some of these, and clang ignores what is said of a function after its
 * definition. Builds without _FORTIFY_SOURCE find them. */
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

/* clang-format off */
MAY_SLEEP(accept); MAY_SLEEP(accept4); MAY_SLEEP(connect); MAY_SLEEP(recv); MAY_SLEEP(recvfrom); MAY_SLEEP(recvmmsg);
MAY_SLEEP(recvmsg); MAY_SLEEP(send); MAY_SLEEP(sendmmsg); MAY_SLEEP(sendmsg); MAY_SLEEP(sendto);

MAY_SLEEP(close); MAY_SLEEP(creat); MAY_SLEEP(fdatasync); MAY_SLEEP(flock); MAY_SLEEP(fsync); MAY_SLEEP(lockf); MAY_SLEEP(msync);
MAY_SLEEP(open); MAY_SLEEP(openat); MAY_SLEEP(pread); MAY_SLEEP(preadv); MAY_SLEEP(pwrite); MAY_SLEEP(pwritev); MAY_SLEEP(read);
MAY_SLEEP(readv); MAY_SLEEP(splice); MAY_SLEEP(write); MAY_SLEEP(writev);

MAY_SLEEP(closedir); MAY_SLEEP(fclose); MAY_SLEEP(fflush); MAY_SLEEP(fgets); MAY_SLEEP(fopen); MAY_SLEEP(fprintf);
MAY_SLEEP(fputs); MAY_SLEEP(fread); MAY_SLEEP(fwrite); MAY_SLEEP(opendir); MAY_SLEEP(printf); MAY_SLEEP(putchar); MAY_SLEEP(puts);
MAY_SLEEP(readdir); MAY_SLEEP(vfprintf); MAY_SLEEP(vprintf);

MAY_SLEEP(epoll_pwait); MAY_SLEEP(epoll_wait); MAY_SLEEP(eventfd_read); MAY_SLEEP(eventfd_write); MAY_SLEEP(poll);
MAY_SLEEP(ppoll); MAY_SLEEP(pselect); MAY_SLEEP(select);

MAY_SLEEP(clock_nanosleep); MAY_SLEEP(nanosleep); MAY_SLEEP(pause); MAY_SLEEP(sigsuspend); MAY_SLEEP(sigtimedwait);
MAY_SLEEP(sigwait); MAY_SLEEP(sigwaitinfo); MAY_SLEEP(sleep); MAY_SLEEP(usleep);

MAY_SLEEP(pthread_barrier_wait); MAY_SLEEP(pthread_cond_clockwait); MAY_SLEEP(pthread_cond_timedwait);
MAY_SLEEP(pthread_cond_wait); MAY_SLEEP(pthread_join); MAY_SLEEP(pthread_testcancel);

MAY_SLEEP(sem_clockwait); MAY_SLEEP(sem_timedwait); MAY_SLEEP(sem_wait);

MAY_SLEEP(getrandom); MAY_SLEEP(syslog); MAY_SLEEP(system); MAY_SLEEP(wait); MAY_SLEEP(waitid); MAY_SLEEP(waitpid);
/* clang-format on */

#pragma GCC diagnostic pop
#undef MAY_SLEEP

#endif
