#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tidy.sh - the house rules that a machine can check. Each check prints the offending lines, then its verdict.
cd "$(dirname "$0")/../.." || exit 1

FILE_LINES_MAX=600
FUNCTION_LINES_MAX=60
COLUMNS_MAX=132

files() {
	find . \( -path ./build -o -path ./.git \) -prune -o -type f \( "$@" \) -print | sed 's|^\./||' | sort
}

c_files() {
	files -name '*.c' -o -name '*.h'
}

# Everything that has comments of ours; documents and data have not.
sources() {
	files -name '*.[ch]' -o -name '*.sh' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.yml' \
		-o -name 'Dockerfile*' -o -path './.ci/run' -o -path ./tools/emurun
}

all_texts() {
	sources
	files -name '*.md' -o -name '*.json' -o -name '*.in' -o -name '*.tsv' -o -name '*.supp'
}

# verdict NAME OFFENDERS
verdict() {
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		printf '%s\n' "$2"
		echo "not ok $1"
		failed=1
	fi
}

file_length() {
	sources | xargs wc -l | awk -v max=$FILE_LINES_MAX '$2 != "total" && $1 > max { print $2 ": " $1 " lines" }'
}

# A body begins at a brace in column 0, or at the end of a line that begins in column 0 with `name(`; it ends at a
# closing brace in column 0. Both braces count.
function_length() {
	c_files | xargs awk -v max=$FUNCTION_LINES_MAX '
		FNR == 1 { start = 0 }
		!start && (/^\{$/ || /^[A-Za-z_].*\) *\{$/) { start = FNR }
		start && /^\}/ {
			if (FNR - start + 1 > max)
				print FILENAME ":" start ": function of " FNR - start + 1 " lines"
			start = 0
		}'
}

line_width() {
	sources | while read -r file; do
		expand "$file" | awk -v max=$COLUMNS_MAX -v file="$file" \
			'length($0) > max { print file ":" FNR ": " length($0) " columns" }'
	done
}

spdx() {
	sources | xargs awk 'FNR <= 2 && /SPDX-License-Identifier: BSD-2-Clause/ { has[FILENAME] = 1 }
		FNR == 1 { seen[FILENAME] = 1 }
		END { for (file in seen) if (!has[file]) print file ": no SPDX line" }'
}

# Includes of folder $1 that do not match the expression $2.
includes_beyond() {
	grep -rnE --include='*.[ch]' '^[ \t]*#[ \t]*include' "$1" | grep -vE "include[ \t]*($2)"
}

# The arrows of emu/DESIGN.md, Layers. The address types live in socket headers, so those may be included by the device;
# device_calls looks after the calls.
LIBC='<(assert|ctype|endian|errno|fcntl|inttypes|limits|math|pthread|sched|semaphore|setjmp|signal|std[a-z]*|string|strings'
LIBC="$LIBC|time|ucontext|unistd|linux/[a-z_]*|sys/(mman|prctl|random|resource|syscall|types|uio|ucontext|wait))\\.h>"
SOCKET='<(arpa/inet|netinet/in|netinet/tcp|sys/socket)\.h>'
OUTSIDE='<(dirent|ifaddrs|liburing|net/if|netdb|poll|sys/(epoll|eventfd|ioctl|stat|timerfd|un)|uv)\.h>'
FABRIC='<rdma/[a-z_/]*\.h>'
# What the driver may see of the device; the other headers are the device's own.
DEVICE='"emu/nic/(nic|atomic|auth|auth_set|av|bond|clock|cm|cntr|cq|driver|errno|guard|key_map|limits|link|mr|mr_table|op)\.h"'
DEVICE="$DEVICE|\"emu/nic/(fault_plan|mr_cache|mr_pages|pagemap|pin|raw_key|refusal)\.h\""

include_arrows() {
	includes_beyond wire "$LIBC|<(xxhash|immintrin|sodium/[a-z0-9_]*)\.h>|\"wire/"
	includes_beyond emu/nic "$LIBC|$SOCKET|<(cpuid|float)\.h>|\"wire/|\"emu/nic/"
	includes_beyond emu/net "$LIBC|$SOCKET|$OUTSIDE|<malloc\.h>|\"emu/nic/|\"emu/net/"
	includes_beyond emu/fi \
		"$LIBC|$SOCKET|$OUTSIDE|$FABRIC|<ini\\.h>|$DEVICE|\"emu/net/|\"emu/fi/|\"include/emu/"
	includes_beyond include "$LIBC|\"emu/"
}

# The device reaches the world through its link and clock only.
device_calls() {
	local file calls='socket|connect|accept4?|bind|listen|send|sendto|sendmsg|recv|recvfrom|recvmsg'

	calls="$calls|poll|ppoll|select|epoll_[a-z]+|clock_gettime|gettimeofday|time|usleep|nanosleep|sleep"
	calls="$calls|uv_[a-z_]+|io_uring_[a-z_]+|fi_[a-z_]+"
	c_files | grep -E '^(wire|emu/nic)/' | while read -r file; do
		# Comments, and members of the link's table, are not calls.
		sed -E 's|/\*.*||; s|^[ \t]+\* .*||' "$file" | grep -nE "(^|[^A-Za-z0-9_>.])($calls)\\(" |
			sed "s|^|$file:|"
	done
}

# Asserts stay on: nothing but the line that takes NDEBUG out of CMake's defaults may name it.
asserts_stay() {
	all_texts | grep -vE '^(tools/cmake/EmuFlags.cmake|tests/tidy/tidy.sh)$' | xargs grep -nE 'NDEBUG'
}

leftovers() {
	local hosts='github\.com|ofiwg\.github\.io|www\.rfc-editor\.org|[a-z0-9.-]*example(\.com|\.org)?'

	all_texts | grep -vx tests/tidy/tidy.sh |
		xargs grep -nE '\b(TODO|FIXME|XXX)\b|/work/|\.\./shared|shared/(spec|seeds|design|style)'
	all_texts | grep -vx tests/tidy/tidy.sh | xargs grep -noE 'https?://[A-Za-z0-9.-]+' | grep -vE "//($hosts)\$"
}

# Every bound and time of the device is obeyed somewhere.
limits_used() {
	local name

	[ -e emu/nic/limits.h ] || return
	sed -nE 's/^\t([A-Z][A-Z_]+) = .*/\1/p; s/^#define (TIME_[A-Z_]+_NS) .*/\1/p; s/^enum \{ ([A-Z_]+) = .*/\1/p' \
		emu/nic/limits.h | while read -r name; do
		grep -rqw --include='*.[ch]' --exclude=limits.h "$name" emu wire ||
			echo "emu/nic/limits.h: $name is not used"
	done
}

# causes PREFIX HEADER
causes() {
	sed -nE "s/^\t$1_([A-Z_]+) = ([0-9]+),.*/\1 \2/p" "$2"
}

# The causes in the public header are those of the device, by name and number.
public_causes() {
	[ -e emu/nic/refusal.h ] || return
	diff <(causes REFUSAL emu/nic/refusal.h | grep -vE '^(NONE|WIRE_MAX) ') <(causes EMU_CAUSE include/emu/emu.h) |
		sed -n 's/^[<>]/include\/emu\/emu.h and emu\/nic\/refusal.h differ: &/p'
}

numbers_in() {
	grep -rohP '(?<![A-Za-z0-9])S[0-9]+(?![A-Za-z0-9])' "$@" | sort -u # also in names: S42_no_key
}

# The rules of the tables in emu/RULES.md.
rules_stated() {
	sed -nE 's/^[^A-Za-z0-9]*(S[0-9]+)\b.*/\1/p' emu/RULES.md
}

# The rules that emu/RULES.md says to have no test, from its last table: numbers and spans of them.
rules_left_out() {
	sed -n '/^## Not in the table/,$ s/^| \([0-9][0-9, -]*\) |.*/\1/p' emu/RULES.md | tr -d ' ' | tr ',' '\n' |
		while IFS=- read -r first last; do
			seq -f 'S%.0f' "$first" "${last:-$first}"
		done
}

# Every rule that a test cites is in emu/RULES.md, and every rule there is cited by a test.
rules_cited() {
	if [ ! -e emu/RULES.md ]; then
		echo "skip rules_cited emu/RULES.md does not exist"
		return
	fi
	verdict rules_cited "$(comm -3 <(rules_stated | sort -u) \
		<(numbers_in --include='*.[ch]' --include='*.sh' tests) |
		sed -E 's/^\t(.*)/\1 is cited by a test, but is no rule/; t; s/$/ is a rule that no test cites/')"
}

# Every number of the kit's table of rules stands in emu/RULES.md, once: as a rule, or with the reason why it is none.
rules_whole() {
	[ -e tests/rules/rule_table.c ] || return
	comm -3 <(sed -nE 's/^\t\[([0-9]+)\] = .*/S\1/p' tests/rules/rule_table.c | sort) \
		<({ rules_stated; rules_left_out; } | sort) |
		sed -E 's/^\t(.*)/emu\/RULES.md names \1 twice, or it is no rule/; t; s/$/ is not in emu\/RULES.md/'
}

failed=0
for check in file_length function_length line_width spdx include_arrows device_calls asserts_stay leftovers \
	limits_used public_causes rules_whole; do
	verdict $check "$($check 2>&1)"
done
rules_cited
exit $failed
