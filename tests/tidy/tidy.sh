#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tidy.sh - the house rules that a machine can check. Each check prints the offending lines, then its verdict.
cd "$(dirname "$0")/../.." || exit 1

FILE_LINES_MAX=600
FUNCTION_LINES_MAX=60
COLUMNS_MAX=132
README_LINES_MAX=80
DESIGN_LINES_MAX=250

files() {
	find . \( -path ./build -o -path ./.git \) -prune -o -type f \( "$@" \) -print | sed 's|^\./||' | sort
}

c_files() {
	files -name '*.c' -o -name '*.h'
}

# Everything that has comments of ours; documents and data have not.
sources() {
	files -name '*.[ch]' -o -name '*.sh' -o -name '*.lua' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.yml' \
		-o -name 'Dockerfile*' -o -path './.ci/run' -o -path ./tools/emurun -o -path ./tools/check
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

# What each layer may have of the system; rooms looks after our own headers. The address types live in socket headers, so the
# device may include those; device_calls looks after the calls.
LIBC='<(assert|ctype|endian|errno|fcntl|fenv|inttypes|limits|math|pthread|sched|semaphore|setjmp|signal|std[a-z]*|string|strings'
LIBC="$LIBC|time|ucontext|unistd|linux/[a-z_]*|sys/(mman|prctl|random|resource|syscall|types|uio|ucontext|wait))\\.h>"
SOCKET='<(arpa/inet|netinet/in|netinet/tcp|sys/socket)\.h>'
OUTSIDE='<(dirent|ifaddrs|liburing|net/if|netdb|poll|sys/(epoll|eventfd|ioctl|stat|timerfd|un|vfs)|uv)\.h>'
FABRIC='<rdma/[a-z_/]*\.h>'
VERBS='<infiniband/verbs\.h>'
# The stand-ins for kernel headers, which lie in front of the system's, and go on to these where they have the same name.
KERNEL='(_next )?<(linux/[a-z_-]*|emu_kernel|emu_module|emu_pages)\.h>'
# kfabric's headers (include/emu/kfi).
KFI='<(kfabric|kfi_[a-z_]*)\.h>'
include_arrows() {
	includes_beyond wire "$LIBC|<(xxhash|immintrin|sodium/[a-z0-9_]*)\.h>|\"wire/"
	includes_beyond emu/nic "$LIBC|$SOCKET|<(cpuid|float|sys/auxv)\.h>|\"wire/|\"emu/nic/" |
		grep -v '^emu/nic/base/no_sleep\.h:'	# which takes from the device what these declare
	includes_beyond emu/net "$LIBC|$SOCKET|$OUTSIDE|<malloc\.h>|<sodium/[a-z0-9_]*\.h>|\"emu/nic/|\"emu/net/" |
		grep -Ev '^emu/net/link/(tcp_line\.h|trunk\.h|trunk\.c|trunk_join\.c):.*"wire/'	# chunks
	includes_beyond emu/process "$LIBC|$SOCKET|$OUTSIDE|\"emu/(nic|net|process)/" |
		grep -v '^emu/process/faults/fault_file\.c:.*<ini\.h>' |
		grep -v '^emu/process/check/check_memory\.c:.*"wire/digest\.h"' |
		grep -Ev '^emu/process/report/call_stack\.c:.*<(dlfcn|elf|execinfo|link|unwind)\.h>' |
		grep -Ev '^emu/process/races/(memory_map|system_calls|watched_threads)\.c:.*<(elf|link|sys/ptrace)\.h>'
	includes_beyond emu/fi \
		"$LIBC|$SOCKET|$OUTSIDE|$FABRIC|\"emu/|\"include/emu/" |
		grep -v '^emu/fi/domain/fi_hmem\.c:.*<dlfcn\.h>'	# which finds a library that is loaded
	includes_beyond emu/verbs "$LIBC|$SOCKET|$OUTSIDE|$VERBS|\"emu/(nic|net|process|verbs)/|\"wire/gid\.h" |
		grep -v '^emu/verbs/cm/vb_cm\.h:.*"wire/rdma\.h"'
	includes_beyond emu/sys "$LIBC|$SOCKET|$OUTSIDE|$VERBS|<dlfcn\.h>|\"emu/sys/"
	includes_beyond emu/cm "$LIBC|$SOCKET|<netdb\\.h>|$VERBS|<rdma/rdma_(cma|verbs)\\.h>|\"emu/(cm|verbs)/|\"wire/gid\.h" |
		grep -v '^emu/cm/rsocket/'
	includes_beyond emu/cm/rsocket \
		"$LIBC|$SOCKET|<(poll|rdma/rsocket|sys/(epoll|eventfd|select))\\.h>|\"emu/(cm/rsocket|verbs/(cm|device|start))/"
	includes_beyond emu/hmem "$LIBC|\"emu/hmem/|\"include/emu/hmem\.h"
	includes_beyond emu/cuda "$LIBC|\"emu/cuda/|\"include/emu/hmem\.h" |
		grep -v '^emu/cuda/cuda_entry\.c:.*<dlfcn\.h>'	# which finds the library's own calls by name
	includes_beyond emu/kernel "$LIBC|$KERNEL|<malloc\.h>|\"emu/kernel/" |
		grep -Ev '^emu/kernel/debugfs\.c:.*<(poll|sys/eventfd)\.h>'	# its readers may not read
	includes_beyond emu/kfi \
		"$LIBC|$SOCKET|$OUTSIDE|<(dlfcn|execinfo|getopt)\\.h>|$FABRIC|$KERNEL|$KFI|\"emu/kfi/|\"emu/fi/provider/fi_kernel" |
		grep -Ev '^emu/kfi/provider/kemu_bits\.c:.*"emu/fi/provider/fi_(flag_names|words)\.h"'	# of both, in words
	includes_beyond include "$LIBC|$SOCKET|<sys/stat\\.h>|$KERNEL|$KFI|\"emu/"
}

# The rooms and their arrows: those of rooms.txt, which emu/DESIGN.md shows. Each has a short README, and a file's name is unique.
rooms() {
	local room

	c_files | grep -E '^(emu|wire)/' | xargs awk -f tests/tidy/rooms.awk tests/tidy/rooms.txt
	diff <(sed -n '/^```rooms$/,/^```$/p' emu/DESIGN.md | sed '1d;$d') tests/tidy/rooms.txt >/dev/null ||
		echo "emu/DESIGN.md, Rooms, is not tests/tidy/rooms.txt"
	c_files | grep -E '^(emu|wire)/' | xargs -n 1 basename | sort | uniq -d | sed 's/$/: two files have this name/'
	c_files | grep -E '^(emu|wire)/' | xargs -n 1 dirname | sort -u | while read -r room; do
		[ -e "$room/README.md" ] || echo "$room has no README.md"
		[ "$(wc -l <"$room/README.md")" -le $README_LINES_MAX ] ||
			echo "$room/README.md has more than $README_LINES_MAX lines"
	done 2>/dev/null
}

# The design is the door, and is read whole; what is more goes to the READMEs of the rooms.
design_length() {
	awk -v max=$DESIGN_LINES_MAX 'END { if (NR > max) print FILENAME ": " NR " lines" }' emu/DESIGN.md
}

# Links of documents to files of the tree lead somewhere.
links() {
	files -name '*.md' | while read -r file; do
		sed '/^ *```/,/^ *```/d' "$file" | grep -oE '\]\([^) ]+\)' | sed -E 's/^..//; s/\)$//; s/#.*//' |
			grep -vE '^([a-z]+:.*)?$' | while read -r to; do
			[ -e "$(dirname "$file")/$to" ] || echo "$file: leads to $to, which is not there"
		done
	done
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

# The device, the protocol and the process services know no front end: none of libfabric's names is in their code or strings.
# Comments may cite a man page, and settings are called FI_EMU_* under each front end.
device_vocabulary() {
	c_files | grep -E '^(wire|emu/nic|emu/process)/' | xargs awk '
		FNR == 1 { comment = 0 }
		{
			code = ""
			for (rest = $0; rest != ""; ) {
				at = index(rest, comment ? "*/" : "/*")
				if (!comment)
					code = code (at ? substr(rest, 1, at - 1) : rest)
				rest = at ? substr(rest, at + 2) : ""
				comment = at ? !comment : comment
			}
			gsub(/FI_EMU_/, "", code)
			if (code ~ /(^|[^A-Za-z0-9_])(fi|FI)_|libfabric|rdma\/|hints->/)
				print FILENAME ":" FNR ": " $0
		}'
}

# Asserts stay on: nothing but the lines that take NDEBUG out of CMake's defaults, and those of the wheel's compiler, may name it.
asserts_stay() {
	all_texts | grep -vE '^(tools/cmake/(EmuFlags|wheel).cmake|tests/tidy/tidy.sh)$' | xargs grep -nE 'NDEBUG'
}

leftovers() {
	local hosts='github\.com|ofiwg\.github\.io|www\.rfc-editor\.org|json\.schemastore\.org|[a-z0-9.-]*example(\.com|\.org)?'

	all_texts | grep -vx tests/tidy/tidy.sh |
		xargs grep -nE '\b(TODO|FIXME|XXX)\b|/work/|\.\./shared|shared/(spec|seeds|design|style)'
	all_texts | grep -vx tests/tidy/tidy.sh | xargs grep -noE 'https?://[A-Za-z0-9.-]+' | grep -vE "//($hosts)\$"
}

# Comments of these folders: threads, processes and objects are "it", and no sentence is about "who" does something.
PERSONS='who|whom|whoever|he|his|him'
PERSONS_IN='^(emu/net|emu/nic|emu/fi|emu/verbs|emu/cm|wire|include|tools|tests)/'
persons() {
	local file

	c_files | grep -E "$PERSONS_IN" | xargs awk -v words="(^|[^a-z_])($PERSONS)([^a-z_]|\$)" '
		FNR == 1 { inside = 0 }
		{
			line = $0
			text = ""
			while ((at = index(line, inside ? "*/" : "/*")) || inside) {
				if (inside)
					text = text " " (at ? substr(line, 1, at - 1) : line)
				if (!at)
					break
				inside = !inside
				line = substr(line, at + 2)
			}
			if (tolower(text) ~ words)
				print FILENAME ":" FNR ":" text
		}'
	sources | grep -E "$PERSONS_IN" | grep -v '\.[ch]$' | grep -vx tests/tidy/tidy.sh | while read -r file; do
		grep -niE "(^|[[:space:]])#.*\b($PERSONS)\b" "$file" | sed "s|^|$file:|"
	done
}

# Every bound and time of the device is obeyed somewhere.
limits_used() {
	local name

	[ -e emu/nic/base/limits.h ] || return
	sed -nE 's/^\t([A-Z][A-Z_]+) = .*/\1/p; s/^#define (TIME_[A-Z_]+_NS) .*/\1/p; s/^enum \{ ([A-Z_]+) = .*/\1/p' \
		emu/nic/base/limits.h | while read -r name; do
		grep -rqw --include='*.[ch]' --exclude=limits.h "$name" emu wire ||
			echo "emu/nic/base/limits.h: $name is not used"
	done
}

# causes PREFIX HEADER
causes() {
	sed -nE "s/^\t$1_([A-Z_]+) = ([0-9]+),.*/\1 \2/p" "$2"
}

# The causes in the public header are those of the device, by name and number.
public_causes() {
	[ -e emu/nic/regions/refusal.h ] || return
	diff <(causes REFUSAL emu/nic/regions/refusal.h | grep -vE '^(NONE|WIRE_MAX) ') <(causes EMU_CAUSE include/emu/emu.h) |
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
	[ -e tests/rules/harness/rule_table.c ] || return
	comm -3 <(sed -nE 's/^\t\[([0-9]+)\] = .*/S\1/p' tests/rules/harness/rule_table.c | sort) \
		<({ rules_stated; rules_left_out; } | sort) |
		sed -E 's/^\t(.*)/emu\/RULES.md names \1 twice, or it is no rule/; t; s/$/ is not in emu\/RULES.md/'
}

# The rules of verbs: their numbers, and the file that each lives in.
verbs_rules() {
	sed -nE 's/^\| (V[0-9]+) \|.* \| ([a-z_./]+) \|$/\1 emu\/\2/p' emu/RULES.md
}

# Those of the kit's table are in emu/RULES.md, each once; each has a test in tests/rules/verbs; and the file cites it.
verbs_rules_whole() {
	local rule file

	comm -3 <(sed -nE 's/^\t\[([0-9]+)\] = .*/V\1/p' tests/rules/harness/verbs_table.c | sort) \
		<(verbs_rules | cut -d ' ' -f 1 | sort) |
		sed -E 's/^\t(.*)/emu\/RULES.md names \1 twice, or the kit has no title of it/; t; s/$/ is not in emu\/RULES.md/'
	comm -3 <(verbs_rules | cut -d ' ' -f 1 | sort -u) \
		<(grep -rohE '^(V(TEST|DEVICE|PAIR|RESET)|RIDS)\(V[0-9]+' tests/rules/verbs | sed 's/.*(//' | sort -u) |
		sed -E 's/^\t(.*)/\1 has a test, but is no rule/; t; s/$/ is a rule without a test/'
	verbs_rules | while read -r rule file; do
		grep -qsw "$rule" "$file" || echo "$file, where $rule lives, does not cite it"
	done
}

# The rules of wire/PROTOCOL.md.
wire_rules() {
	sed -nE 's/^\*\*(WIRE-[0-9]+)\*\*.*/\1/p' wire/PROTOCOL.md | sort
}

# Each is stated once, each that is cited is stated, and each that is stated is cited by a test.
wire_rules_cited() {
	wire_rules | uniq -d | sed 's/$/ is stated twice/'
	comm -13 <(wire_rules) <(all_texts | xargs grep -ohE 'WIRE-[0-9]+' | sort -u) | sed 's/$/ is cited, but is no rule/'
	comm -23 <(wire_rules) <(grep -rohE --include='*.[ch]' --include='*.sh' 'WIRE-[0-9]+' tests | sort -u) |
		sed 's/$/ is a rule that no test cites/'
}

# The page says where each is.
wire_rules_indexed() {
	tests/tidy/wire_index.sh --check
}

# What a peer is told that breaks the protocol names the rule. The sentences stand on the line that they are returned in.
protocol_errors() {
	grep -nE '(return|[?:]|broken =|conn_broken\(conn,) "[A-Za-z]' emu/nic/requests/*.c emu/nic/messages/message.c \
		emu/nic/transport/{conn,conn_recv,session}.c | grep -vE 'WIRE-[0-9]|nic_log'
	grep -nE '(broken =|conn_broken\(conn,) "[A-Za-z]' emu/nic/transport/{hello,proof}.c | grep -v 'WIRE-[0-9]'
	grep -nE '^\t\[WIRE_(FLAW_|DG_)[A-Z_]+\] = ' wire/check.c wire/datagram.c | grep -vE 'WIRE-[0-9]|WIRE_DG_FLAWLESS'
}

# Each source file has tests, and tests/MAP.md tells which.
test_map() {
	tests/tidy/test_map.sh --check
}

# Where a session, a connection and a connected endpoint stand is written by their tables alone (*_state.c), once for each machine.
# Locks and digests have a `state`, too.
state_writers() {
	local writes='(->|\.)(state|peer_is)[ \t]*([-+*/%&|^]|<<|>>)?=([^=]|$)|(\+\+|--)[a-z_>.-]*(->|\.)(state|peer_is)\b'
	local places='&[a-z_>.-]*(->|\.)(state|peer_is)\b|(->|\.)(state|peer_is)[ \t]*(\+\+|--)'

	grep -rnE --include='*.[ch]' "$writes|$places" emu/nic |
		grep -vE '&(leaf|lock|driver->lock|d)(->|\.)state' |
		grep -vE '^emu/nic/(transport/(session|conn)|endpoint/cm)_state\.c:'
	grep -cE "$writes|$places" emu/nic/transport/{session,conn}_state.c emu/nic/endpoint/cm_state.c |
		grep -vE 'session_state.c:2$|(conn|cm)_state.c:1$' | sed 's/$/ writers: one for each machine/'
}

# Static functions and tags of the product: a name is one file's, so that a search for it, or a stack, leads to one place. What the
# tables of streams and the instruction sets of digests fill in alike keeps its name, and what stands in for the kernel has the
# kernel's.
SHARED='digest_kernel_bytes|digest_kernel_copy|dial|set_options'
shared_names() {
	c_files | grep -E '^(emu|wire|tools|include)/' | grep -v '^include/emu/kernel/' | xargs awk -v shared="^($SHARED)$" '
		function found(name, is) {
			if (name ~ shared || file[is name] == FILENAME)
				return
			if (file[is name])
				print FILENAME ":" FNR ": " name " is a " is " of " file[is name] ", too"
			file[is name] = FILENAME
		}
		/^(__attribute__.* )?static / && /[a-z0-9_]\(/ && !/[=;]$/ && !/ = / {
			gsub(/__attribute__\(\([^)]*\)+/, "")
			sub(/\(.*/, "")
			found($NF ~ /^\*/ ? substr($NF, match($NF, /[a-z]/)) : $NF, "function")
		}
		/^(static (const )?)?(struct|enum|union) [a-z0-9_]+ \{/ {
			for (i = 1; $i != "{"; i++)
				;
			found($(i - 1), "tag")
		}'
}

failed=0
for check in file_length function_length line_width spdx include_arrows rooms design_length links device_calls device_vocabulary \
	asserts_stay leftovers persons limits_used public_causes rules_whole verbs_rules_whole wire_rules_cited wire_rules_indexed \
	protocol_errors test_map state_writers shared_names; do
	verdict $check "$($check 2>&1)"
done
rules_cited
exit $failed
