#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# cancel.sh - no cancellation point is reached where the driver role is held (cancel.h): cancel.sh NM OBJECT[:OBJECT]...
#
# The objects are those of the device and of its outside, emu/nic and emu/net. What they call of libc's cancellation points, and
# of what may come to one, is listed here with the reason why it may. (Of emu/fi the device calls the log, between cancel_off()
# and cancel_back(), what is told of connections, likewise, and what wakes.)
set -euo pipefail

nm=$1
shift

points='accept accept4 clock_nanosleep close connect creat epoll_wait epoll_pwait eventfd_read eventfd_write fcntl fdatasync fsync
getrandom getaddrinfo ioctl msync nanosleep open openat pause poll ppoll pread pread64 pselect pthread_cond_clockwait
pthread_cond_timedwait pthread_cond_wait pthread_join pthread_testcancel pwrite pwrite64 read readv recv recvfrom recvmsg
recvmmsg select sem_clockwait sem_timedwait sem_wait send sendmsg sendmmsg sendto sleep splice syslog tcdrain usleep wait waitid
waitpid write writev fopen fclose fgets fputs fread fwrite fflush fprintf printf puts opendir readdir closedir uv_async_send
uv_run'

# Neither the NIC thread nor the worker can be cancelled: nobody knows them. Control actions have cancellation off.
allowed() {
	case $1 in
	tcp.c:close | tcp.c:nanosleep | tcp_listen.c:epoll_wait) ;;	# opening, the end; the NIC thread
	stream_tcp.c:accept4 | local.c:accept4) ;;	# the NIC thread
	thread.c:close | thread.c:eventfd_write | thread.c:pthread_join) ;;	# likewise
	thread.c:sem_clockwait | thread.c:uv_run) ;;	# the NIC thread
	thread.c:uv_async_send) ;;	# rouse(), and the end
	net.c:close | net.c:nanosleep | random.c:getrandom) ;;	# starting and stopping
	wait.c:close | wait.c:epoll_wait | wait.c:eventfd_read) ;;	# a sleeper has no role
	worker.c:pthread_cond_wait | worker.c:pthread_join | sync.c:msync) ;;	# the worker, and who waits for it
	uv_reserve.c:close | fork.c:close | fork.c:open | fork.c:read) ;;	# starting; a fork's child
	uffd.c:close | uffd.c:ioctl | uffd.c:poll | uffd.c:read) ;;	# registrations, and their thread
	av.c:getrandom) ;;	# opening
	tcp_line.c:ioctl | stream_tcp.c:ioctl | shm.c:fcntl) ;;	# none with glibc (fcntl() where it waits for a lock)
	*) return 1 ;;
	esac
}

failed=0 seen=0
for object in ${*//:/ }; do
	file=$(basename "$object" .o)
	called=$("$nm" -u "$object" | awk '{ sub(/@.*/, "", $2); print $2 }')
	seen=$((seen + $(wc -w <<<"$called")))
	for point in $(grep -xFf <(tr ' ' '\n' <<<"$points") <<<"$called"); do
		if ! allowed "$file:$point"; then
			echo "$file calls $point: see cancel.h"
			failed=1
		fi
	done
done
[ "$seen" -gt 0 ] || failed=1	# an nm that cannot read these
[ $failed = 0 ] && echo "ok no_cancellation_point_under_the_role" || echo "not ok no_cancellation_point_under_the_role"
exit $failed
